"""Plays one reply to one request: its content, its pace and its faults."""

from __future__ import annotations

import asyncio

from handrail.testing._http import HTTPResponse
from handrail.testing._messages_api import EncodedReply, StreamEvent, encode_error, error_event
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import APIError, Dropped, Reply

# A request's outcome is noted before the last bytes leave, so that whoever has the answer finds it in the record.

__all__ = ["Player", "fail", "finish"]


class Player:
    """Plays one reply to one request: content, pace and faults."""

    def __init__(self, request: ModelRequest, reply: Reply, response: HTTPResponse) -> None:
        self._request = request
        self._reply = reply
        self._response = response
        self._encoded = EncodedReply(reply, request.model)

    async def play(self) -> None:
        if self._reply.delay:
            await asyncio.sleep(self._reply.delay)
        match self._reply.fault:
            case Dropped():
                self._request.outcome = "dropped"
                self._response.abort()
            case APIError(mid_stream=True) as error if self._request.streaming:
                await self._fail_mid_stream(error)
            case APIError() as error:
                await fail(self._request, self._response, error)
            case None if self._request.streaming:
                await self._stream()
            case None:
                await self._send_whole()

    async def _fail_mid_stream(self, error: APIError) -> None:
        await self._begin_stream()
        self._request.outcome = "failed"
        await self._response.end(self._encoded.start().data + error_event(error).data)

    async def _send_whole(self) -> None:
        if self._reply.hang_after is not None:
            await _silence()
        if self._reply.drop_after is not None:
            self._request.outcome = "dropped"
            await self._response.send_half(200, self._encoded.message())
            return
        await finish(self._request, self._response, 200, self._encoded.message())

    async def _stream(self) -> None:
        await self._begin_stream()
        *events, last = self._encoded.events()
        if not self._is_plain():
            await self._send_step_by_step(events)
            events = []
        if self._request.outcome != "dropped":
            self._request.outcome = "answered"
            await self._response.end(b"".join(event.data for event in [*events, last]))

    def _is_plain(self) -> bool:
        reply = self._reply
        return not reply.delta_delay and reply.drop_after is None and reply.hang_after is None

    async def _send_step_by_step(self, events: list[StreamEvent]) -> None:
        """Send the events one by one, up to the place where the script wants a fault (the end at the latest)."""
        deltas = 0
        for event in events:
            if event.is_delta:
                if deltas in (self._reply.hang_after, self._reply.drop_after):
                    break
                await asyncio.sleep(self._reply.delta_delay)
                deltas += 1
            await self._response.write(event.data)
        if self._reply.hang_after is not None:
            await _silence()
        if self._reply.drop_after is not None:
            self._request.outcome = "dropped"
            self._response.cut()

    async def _begin_stream(self) -> None:
        await self._response.begin(200, content_type="text/event-stream", cache_control="no-cache")


async def fail(request: ModelRequest, response: HTTPResponse, error: APIError) -> None:
    """Answer with an error."""
    headers = {} if error.retry_after is None else {"retry_after": f"{error.retry_after:g}"}
    request.outcome = "failed"
    await response.send(error.status, encode_error(error), **headers)


async def finish(request: ModelRequest, response: HTTPResponse, status: int, body: bytes) -> None:
    """Answer with a whole body."""
    request.outcome = "answered"
    await response.send(status, body)


async def _silence() -> None:
    """Say nothing until the client leaves or the model closes, either of which cancels this."""
    await asyncio.Event().wait()

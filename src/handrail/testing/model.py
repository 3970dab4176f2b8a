"""A model that plays a script: an Anthropic Messages API on loopback, so Claude Code needs no account.

::

    script = [
        ToolUse("Bash", {"command": "ls", "description": "List the files"}),
        "There are three files.",
    ]
    async with ScriptedModel(script) as model:
        env = isolated_env(tmp_path, model)     # or: {**os.environ, **model.env}
        ...                                     # run the CLI, or anything else that speaks the Messages API
        assert model.requests_in("main")[1].tool_results
        assert not model.exhausted

Every request of the main conversation takes the next entry of the script (see `handrail.testing.replies` for
what an entry can be). Position alone counts: steering, resuming or forking a session does not confuse it, and
an entry is spent once it has been played, also when the client hung up on it. When the script has ended, the
model says so in plain text and notes the request in `exhausted`.

Claude Code asks more than the main conversation's questions:

- *Scripted conversations.* Subagents have conversations of their own. With
  `conversations={"count the files": [...]}` the script is played to every conversation whose first prompt
  contains that text; `Conversation(replies, when=...)` chooses by any property of the request instead.
- *Side requests.* Titles, command prefixes, page gists, side questions and summaries get a fixed answer
  (`default`; for a summary, a summary) and spend nothing. A `Conversation` with `when` is asked first, so a
  script can answer these as well.
- *Other subagents*, those that no conversation names, get `default` too.

Synchronous code uses `with ScriptedModel(script).in_thread() as model: ...`. Scripts in a file are described
in `handrail.testing.script_file`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from handrail.testing._http import HTTPRequest, HTTPResponse, HTTPServer
from handrail.testing._playing import Player, fail, finish
from handrail.testing._routing import MAIN, Conversation, Router
from handrail.testing.model_request import ModelRequest, is_side_request, is_summary_request
from handrail.testing.replies import APIError, Reply, ReplyFunction, ReplyLike, ScriptEntry, as_reply
from handrail.testing.script_file import load_script

__all__ = ["Conversation", "ScriptedModel", "ThreadedModel"]

_log = logging.getLogger(__name__)

_SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key"})
_CHARACTERS_PER_TOKEN = 4

_T = TypeVar("_T")


class ScriptedModel:
    """A Messages API that plays a script. Use it with `async with`; see the module's description."""

    def __init__(
        self,
        main: Iterable[ScriptEntry] = (),
        *,
        conversations: Mapping[str, Iterable[ScriptEntry] | Conversation] | None = None,
        default: ReplyLike = "ok",
        is_side: Callable[[ModelRequest], bool] = is_side_request,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        """`default` answers what no script covers; `is_side` says what counts as a side request."""
        self.requests: list[ModelRequest] = []
        self.exhausted: list[ModelRequest] = []
        self.failures: list[Exception] = []
        self._router = Router(main, conversations or {}, is_side)
        self._default = as_reply(default)
        self._host = host
        self._port = port
        self._server = HTTPServer(self._handle)
        self._listening = False
        self._changed = asyncio.Event()

    @classmethod
    def from_file(cls, path: str | Path, *, host: str = "127.0.0.1", port: int = 0) -> Self:
        """A model that plays a script file. Raises `ScriptFileError` if there is something wrong with it."""
        script = load_script(path)
        return cls(script.main, conversations=script.conversations, default=script.default, host=host, port=port)

    # Running it

    async def start(self) -> None:
        """Listen. `async with` does this for you."""
        self._port = await self._server.start(self._host, self._port)
        self._listening = True

    async def aclose(self) -> None:
        """Stop listening and drop every connection. Idempotent."""
        self._listening = False
        await self._server.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
        if kind is None:
            self.raise_failures()

    @contextmanager
    def in_thread(self) -> Iterator[ThreadedModel]:
        """Run the model on an event loop in a thread of its own, for synchronous code."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="scripted-model", daemon=True)
        thread.start()
        threaded = ThreadedModel(self, loop)
        try:
            threaded.call(self.start())
            try:
                yield threaded
            finally:
                threaded.call(self.aclose())
            self.raise_failures()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    @property
    def url(self) -> str:
        """The base URL, while the model is running."""
        if not self._listening:
            raise RuntimeError("the model is not running: use it inside `async with ScriptedModel(...) as model:`")
        return f"http://{self._host}:{self._port}"

    @property
    def env(self) -> dict[str, str]:
        """The environment variables that make a Claude Code CLI talk to this model, and to nobody else."""
        return {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "scripted-model",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
            "NO_PROXY": self._host,
        }

    # Scripting it while it runs

    def extend(self, *entries: ScriptEntry, conversation: str = MAIN) -> None:
        """Add entries to the end of a script."""
        self._router.script(conversation).extend(entries)

    def remaining(self, conversation: str = MAIN) -> int:
        """How many entries of a script have not been played."""
        return self._router.script(conversation).remaining

    # What it was asked

    def requests_in(self, conversation: str = MAIN) -> list[ModelRequest]:
        """The message requests of one conversation, in order of arrival."""
        return [request for request in self.requests if request.conversation == conversation]

    async def wait_for_requests(
        self, count: int, *, conversation: str = MAIN, timeout: float = 30
    ) -> list[ModelRequest]:
        """Wait until a conversation has made `count` requests, and return its requests."""
        await self.wait_for(lambda model: len(model.requests_in(conversation)) >= count, timeout=timeout)
        return self.requests_in(conversation)

    async def wait_for(self, condition: Callable[[ScriptedModel], bool], *, timeout: float = 30) -> None:
        """Wait for a condition on this model; it is looked at whenever a request arrives or ends."""
        try:
            async with asyncio.timeout(timeout):
                while not condition(self):
                    await self._changed.wait()
        except TimeoutError:
            raise TimeoutError(f"not so after {timeout:g} s; so far: {self._summary()}") from None

    def raise_failures(self) -> None:
        """Raise what a reply function of the script raised, if any did."""
        if self.failures:
            raise self.failures[0]

    def _summary(self) -> str:
        lines = (f"{r.method} {r.path} ({r.conversation or 'no conversation'}, {r.outcome})" for r in self.requests)
        return "; ".join(lines) or "no request"

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # Answering

    async def _handle(self, http: HTTPRequest, response: HTTPResponse) -> None:
        request = _record(http)
        self.requests.append(request)
        try:
            await self._answer(request, len(http.body), response)
        except (asyncio.CancelledError, ConnectionError):
            if request.outcome != "dropped":
                request.outcome = "disconnected"
            raise
        finally:
            self._notify()

    async def _answer(self, request: ModelRequest, size: int, response: HTTPResponse) -> None:
        match request.method, request.path:
            case "POST", "/v1/messages":
                await self._answer_message(request, response)
            case "POST", "/v1/messages/count_tokens":
                tokens = {"input_tokens": 1 + size // _CHARACTERS_PER_TOKEN}
                await finish(request, response, 200, msgspec.json.encode(tokens))
            case "GET" | "HEAD", "/" | "/api/hello":
                await finish(request, response, 200, b'{"message":"hello"}')
            case method, path:
                await fail(
                    request,
                    response,
                    APIError.usual(404, f"There is no {method} {path} in this scripted API."),
                )

    async def _answer_message(self, request: ModelRequest, response: HTTPResponse) -> None:
        if not _is_message_request(request.body):
            await fail(
                request,
                response,
                APIError.usual(400, "The body is no Messages request: a JSON object with `messages`."),
            )
            return
        try:
            request.reply = await self._choose(request)
        except Exception as error:  # noqa: BLE001 - the script's own code: it is raised when the model closes
            request.reply = self._note_failure(error)
        self._notify()
        await Player(request, request.reply, response).play()

    def _note_failure(self, error: Exception) -> Reply:
        _log.error("the script's own code failed", exc_info=error)
        self.failures.append(error)
        # A status that no client retries, so that the test sees it soon.
        return Reply.error(400, f"The script's own code raised {error!r}")

    async def _choose(self, request: ModelRequest) -> Reply:
        request.conversation, script = self._router.route(request)
        if script is None:
            return self._canned(request)
        request.index = script.position
        entry = script.take()
        if entry is None:
            self.exhausted.append(request)
            return _the_end(request.conversation, len(script))
        self._notify()
        reply = await _resolve(entry, request)
        self._router.expect_subagents(reply)
        return reply

    def _canned(self, request: ModelRequest) -> Reply:
        if is_summary_request(request):
            return Reply("<summary>A scripted conversation.</summary>")
        return self._default


class ThreadedModel:
    """A scripted model in another thread, for synchronous code. Made by `ScriptedModel.in_thread`."""

    def __init__(self, model: ScriptedModel, loop: asyncio.AbstractEventLoop) -> None:
        self.model = model
        self._loop = loop

    @property
    def url(self) -> str:
        return self.model.url

    @property
    def env(self) -> dict[str, str]:
        return self.model.env

    @property
    def requests(self) -> list[ModelRequest]:
        return list(self.model.requests)

    @property
    def exhausted(self) -> list[ModelRequest]:
        return list(self.model.exhausted)

    def extend(self, *entries: ScriptEntry, conversation: str = MAIN) -> None:
        self.model.extend(*entries, conversation=conversation)

    def remaining(self, conversation: str = MAIN) -> int:
        return self.model.remaining(conversation)

    def requests_in(self, conversation: str = MAIN) -> list[ModelRequest]:
        return self.model.requests_in(conversation)

    def wait_for_requests(self, count: int, *, conversation: str = MAIN, timeout: float = 30) -> list[ModelRequest]:
        return self.call(self.model.wait_for_requests(count, conversation=conversation, timeout=timeout))

    def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run one of the model's coroutines on its event loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _record(http: HTTPRequest) -> ModelRequest:
    headers = {name: "redacted" if name in _SECRET_HEADERS else http.headers[name] for name in http.headers}
    return ModelRequest(http.method, http.path, http.query, headers, _decoded(http.body))


def _decoded(body: bytes) -> Any:
    """The body as JSON where it is JSON, else as text; None where there is none."""
    if not body:
        return None
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body.decode("utf-8", "replace")


def _is_message_request(body: Any) -> bool:
    messages = body.get("messages") if isinstance(body, dict) else None
    return isinstance(messages, list) and all(isinstance(message, dict) for message in messages)


async def _resolve(entry: Reply | ReplyFunction, request: ModelRequest) -> Reply:
    if isinstance(entry, Reply):
        return entry
    value = entry(request)
    if inspect.isawaitable(value):
        awaitable: Awaitable[ReplyLike] = value
        value = await awaitable
    return as_reply(value)


def _the_end(conversation: str, length: int) -> Reply:
    return Reply(f"The script has ended: {conversation!r} has {length} replies, and this request asks for one more.")

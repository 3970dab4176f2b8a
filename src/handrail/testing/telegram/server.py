"""A strict Telegram Bot API on loopback, and the people who talk to the bot under test.

::

    async with TelegramServer() as server:
        ann = server.user(id=1001, first_name="Ann")
        chat = ann.private_chat()
        await chat.send("/start")
        ...                                     # the bot under test polls server.url with server.token
        answer = await chat.wait_for_text("Hello")
        toast = await answer.press("Allow", by=ann)

It checks what a bot sends as the real server does, and refuses in the same words; with `pace=TelegramPace()` it also
counts as the real one does. `server.faults` makes things go wrong. `server.url + "/_playground"` draws the chats.

It runs on the small HTTP server of this package rather than on an ASGI server: it has to end connections in the middle
of an answer and to notice at once that a poller left, which ASGI hides, and the forms of the Bot API are easily read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import unquote

import msgspec

from handrail.testing._http import HTTPRequest, HTTPResponse, HTTPServer
from handrail.testing.telegram.api import BotApi
from handrail.testing.telegram.api_errors import ApiError
from handrail.testing.telegram.chats import Chat
from handrail.testing.telegram.faults import Faults
from handrail.testing.telegram.pace import TelegramPace
from handrail.testing.telegram.people import BotAccount, User
from handrail.testing.telegram.playground import PREFIX, Playground
from handrail.testing.telegram.requests import Parameters, read_parameters
from handrail.testing.telegram.world import World

__all__ = ["TEST_TOKEN", "ServedCall", "TelegramServer"]

_T = TypeVar("_T")
TEST_TOKEN = "123456:TEST-token-of-a-bot-that-does-not-exist"  # noqa: S105 - nobody's


@dataclass(frozen=True, slots=True)
class ServedCall:
    """A call that the server answered, or was to answer."""

    method: str
    params: dict[str, Any]
    at: float
    """By `time.monotonic()`."""
    status: int
    """200, the error's code, or 0 if the connection was dropped before it was looked at."""
    description: str = ""
    """What was said against it."""


class TelegramServer:
    """A Bot API for one bot. Use it with `async with`; see the module's description."""

    def __init__(
        self,
        token: str = TEST_TOKEN,
        *,
        pace: TelegramPace | None = None,
        username: str = "handrail_test_bot",
        first_name: str = "Handrail",
        reads_all_groups: bool = False,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        """Without a `pace` nothing is counted. `reads_all_groups` is a bot whose privacy mode is off."""
        self.token = token
        self.bot = BotAccount(token, first_name=first_name, username=username, reads_all_groups=reads_all_groups)
        self.faults = Faults()
        self.calls: list[ServedCall] = []
        """Every call, in the order in which they were answered."""
        self._world = World(self.bot, self.faults)
        self._api = BotApi(self._world, self.faults, pace)
        self._playground = Playground(self._world)
        self._host = host
        self._port = port
        self._server = HTTPServer(self._handle)

    # Running it

    async def __aenter__(self) -> Self:
        self._port = await self._server.start(self._host, self._port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._api.close()
        await self._server.close()

    @asynccontextmanager
    async def unreachable(self) -> AsyncIterator[None]:
        """Nobody listens meanwhile. Chats and updates stay, and the address is the same afterwards."""
        await self._server.close()
        try:
            yield
        finally:
            await self._server.start(self._host, self._port)

    @property
    def url(self) -> str:
        """The base: methods are at `/bot<token>/METHOD` below it, files at `/file/bot<token>/PATH`."""
        return f"http://{self._host}:{self._port}"

    @property
    def playground(self) -> str:
        """The address of the page that draws the chats; `#CHAT` or `#CHAT/TOPIC` shows one of them."""
        return f"{self.url}{PREFIX}"

    # Who is there

    def user(self, id: int, first_name: str, *, last_name: str = "", username: str = "", language: str = "en") -> User:
        """Somebody."""
        somebody = User(self._world, id, first_name, last_name=last_name, username=username, language=language)
        return self._world.add_user(somebody)

    def other_bot(self, id: int, first_name: str, username: str) -> User:
        """Another bot, to be put into groups: it writes there as people do, and the bot under test does not hear it."""
        return self._world.add_user(User(self._world, id, first_name, username=username, language="", is_bot=True))

    def group(
        self,
        id: int,
        title: str,
        *,
        members: Sequence[User] = (),
        is_forum: bool = False,
        bot_is_admin: bool = False,
    ) -> Chat:
        """A group with these people and the bot in it; ids of supergroups begin with -100."""
        kind = "supergroup" if str(id).startswith("-100") else "group"
        chat = Chat(self._world, id, kind, title=title, members=members, is_forum=is_forum, bot_is_admin=bot_is_admin)
        return self._world.add_group(chat)

    # Looking

    @property
    def counts_429(self) -> int:
        """How often the bot was told that it is too fast."""
        return sum(call.status == 429 for call in self.calls)

    @property
    def pending_updates(self) -> int:
        """How many updates the bot has not confirmed."""
        return self._world.updates.pending

    @property
    def is_polled(self) -> bool:
        """Whether a call of getUpdates waits for something to come."""
        return self._world.updates.is_polled

    def calls_of(self, method: str) -> list[ServedCall]:
        """The calls of one method."""
        return [call for call in self.calls if call.method.lower() == method.lower()]

    async def wait(self, condition: Callable[[Self], _T | None], timeout: float = 10) -> _T:
        """Wait until a condition on the server holds; it is looked at after every call and every change."""
        return await self._world.wait(lambda: condition(self), timeout, self._summary)

    def _summary(self) -> str:
        lines = [f"{call.method} {call.status} {call.description}".rstrip() for call in self.calls[-20:]]
        return "; ".join(["the last calls:", *(lines or ["none"])])

    # Serving

    async def _handle(self, request: HTTPRequest, response: HTTPResponse) -> None:
        path = unquote(request.path)
        if path.startswith("/file/bot"):
            await self._send_file(path.removeprefix("/file/bot"), response)
        elif path.startswith("/bot"):
            token, _, method = path.removeprefix("/bot").partition("/")
            await self._answer(token, method, request, response)
        elif path == PREFIX or path.startswith(f"{PREFIX}/"):
            await self._playground.handle(path.removeprefix(PREFIX).removesuffix("/"), request, response)
        else:
            await _send(response, ApiError(404, "Not Found"))

    async def _send_file(self, path: str, response: HTTPResponse) -> None:
        if self.faults.takes_drop("file"):
            response.abort()
            return
        token, _, file_path = path.partition("/")
        stored = self._world.files.at(file_path)
        if token != self.token or stored is None:
            await _send(response, ApiError(404, "Not Found"))
        else:
            await response.send(200, stored.data, content_type="application/octet-stream")

    async def _answer(self, token: str, method: str, request: HTTPRequest, response: HTTPResponse) -> None:
        if self.faults.takes_drop(method):
            self._note(method, Parameters({}), 0, "connection dropped")
            response.abort()
            return
        await asyncio.sleep(self.faults.takes_delay(method))
        parameters = Parameters({})
        try:
            self._check_token(token)
            parameters = read_parameters(request)
            result = await self._api.call(method, parameters)
        except ApiError as error:
            self._note(method, parameters, error.code, error.description)
            await _send(response, error)
            return
        self._note(method, parameters, 200)
        if self.faults.takes_loss(method):
            response.abort()
            return
        words = {"description": result.words} if result.words else {}
        await response.send(200, msgspec.json.encode({"ok": True, "result": result.value, **words}))

    def _check_token(self, token: str) -> None:
        number, colon, _ = token.partition(":")
        if not colon or not number.isdigit():
            raise ApiError(404, "Not Found")
        if token != self.token:
            raise ApiError(401, "Unauthorized")

    def _note(self, method: str, parameters: Parameters, status: int, description: str = "") -> None:
        self.calls.append(ServedCall(method, parameters.values, time.monotonic(), status, description))
        self._world.notify()


async def _send(response: HTTPResponse, error: ApiError) -> None:
    await response.send(error.code, msgspec.json.encode(error.as_json()))

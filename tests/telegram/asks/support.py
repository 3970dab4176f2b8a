"""Asks to be shown in chats, a hub that takes answers, and what Telegram would refuse."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import msgspec

from handrail.errors import AlreadyDecided, AskClosed, HandrailError, StaleDigest
from handrail.events.view import AskItem
from handrail.policy.answers.encoding import encode_answer
from handrail.policy.answers.plan import PlanContext
from handrail.protocol import descriptions as d
from handrail.protocol.asks import Ask
from handrail.remote.hub import Hub
from handrail.sessions.ask_records import ask_record
from handrail.sessions.asks import AnyAnswer
from handrail.store.base import AskRow
from handrail.store.migrations import migrate
from handrail.telegram.asks.desk import AskDesk, AskedIn, ReadFile, item_of
from handrail.telegram.model import Button, Content, Place, Press, SentMessage, User
from handrail.telegram.state import BridgeState, Tables
from handrail.telegram.state.schema import MIGRATIONS
from handrail.telegram.text.rich import RichText, utf16_length

__all__ = [
    "ABOUT",
    "ANN",
    "BEA",
    "HOME",
    "Chat",
    "FakeHub",
    "MemoryState",
    "check",
    "check_text",
    "find",
    "item",
    "new_chat",
    "row_of",
    "texts",
]

HOME = Place(1001)
ANN = User(1001, "Ann", "owner")
BEA = User(1002, "Bea", "approver")
ABOUT = AskedIn("s1", "Fix the rounding")
UNSET: Any = object()
T = TypeVar("T")


def row_of(
    what: d.What | None,
    *,
    kind: Any = "permission",
    tool: str = "Bash",
    given: dict[str, Any] | None = None,
    request: dict[str, Any] | None = None,
    suggestions: tuple[dict[str, Any], ...] = (),
    plan: str | None = None,
    context: PlanContext | None = None,
    digest: str = "d1",
    message: str = "",
    row: dict[str, Any] | None = None,
    **described: Any,
) -> AskRow:
    """The stored row of an ask about `what`; without that, of an ask that was never described."""
    description = None
    if what is not None:
        fields = {"title": "Run a command", "kind": kind, "tool": tool, "cwd": "/home/ada/weather", **described}
        description = d.LazyDescription(lambda: d.Description(what=what, **fields))
    ask = Ask(
        id="ask-1",
        kind=kind,
        request=request or {"subtype": "can_use_tool", "input": given or {}},
        tool_name=tool,
        input=given or {},
        suggestions=suggestions,
        plan=plan,
        message=message,
        digest=digest,
        described=description,
    )
    return AskRow(
        **{
            "session_id": "s1",
            "id": "ask-1",
            "kind": kind,
            "digest": digest,
            "title": "Run a command",
            "body": msgspec.json.encode(ask_record(ask, plan=context)),
            "opened_at": 5.0,
            **(row or {}),
        }
    )


def item(what: d.What | None = UNSET, **given: Any) -> AskItem:
    """The item of an ask; without anything, of one about `make test`."""
    if what is UNSET:
        what, given = d.Command(text="make test"), {"given": {"command": "make test"}, **given}
    return item_of(row_of(what, **given))


# ---------------------------------------------------------------- a hub


@dataclass
class FakeHub:
    """Takes the first answer to each ask, for exactly what is asked, and says who gave it."""

    rows: dict[str, AskRow] = field(default_factory=dict)
    by: str = ""
    decided: list[tuple[str, AnyAnswer, str | None, bool]] = field(default_factory=list)
    interrupted: list[str] = field(default_factory=list)
    fails_with: HandrailError | None = None

    def put(self, row: AskRow) -> AskRow:
        self.rows[row.id] = row
        return row

    def acting_for(self, user: User) -> Hub:
        acting = FakeHub(self.rows, user.name, self.decided, self.interrupted, self.fails_with)
        return cast(Hub, acting)

    @property
    def store(self) -> FakeHub:
        return self

    async def get_ask(self, session_id: str, ask_id: str) -> AskRow | None:
        return self.rows.get(ask_id)

    def session(self, session_id: str) -> FakeHub:
        return self

    async def interrupt(self) -> None:
        self.interrupted.append(self.by)

    async def decide(self, ask_id: str, answer: AnyAnswer, *, digest: str | None = None, resume: bool = False) -> None:
        if self.fails_with is not None:
            raise self.fails_with
        row = self.rows[ask_id]
        if row.state in ("lost", "unsent") and not resume:
            raise AskClosed("this ask is closed: the process that asked has ended", state=row.state)
        if row.state in ("sent", "resumed"):
            raise AlreadyDecided(f"already decided by {row.decided_by}", actor=row.decided_by, at=1.0)
        if row.state not in ("pending", "lost", "unsent"):
            raise AskClosed(f"this ask is closed: {row.state}", state=row.state)
        if digest != row.digest:
            raise StaleDigest("the digest is not that of this ask: look again")
        self.decided.append((ask_id, answer, digest, resume))
        encoded = msgspec.json.encode(encode_answer(answer))
        state: Any = "resumed" if row.state != "pending" else "sent"
        self.rows[ask_id] = msgspec.structs.replace(
            row, state=state, answer=encoded, decided_by=self.by, surface="telegram", decided_at=6.0
        )


# ---------------------------------------------------------------- a memory


class MemoryState:
    """The tables of a bridge's state, in memory: as `BridgeState`, without a file and without threads."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        migrate(self._connection, MIGRATIONS, ":memory:")
        self.now = 1.0

    def close(self) -> None:
        self._connection.close()

    async def write(self, function: Callable[[Tables], T]) -> T:
        self._connection.execute("BEGIN")
        try:
            result = function(Tables(self._connection, self.now))
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        return result

    async def read(self, function: Callable[[Tables], T]) -> T:
        return function(Tables(self._connection, self.now))


def new_chat(hub: FakeHub, place: Place = HOME) -> Chat:
    """A chat of its own, with a desk behind it. `chat.state` is to be closed."""
    state = cast(BridgeState, MemoryState())
    return Chat(state, hub, AskDesk(state, cast(Hub, hub)), place)


# ---------------------------------------------------------------- a chat


class Chat:
    """A place as people see it: presses buttons by their words, and replies to messages."""

    def __init__(self, state: BridgeState, hub: FakeHub, desk: AskDesk, place: Place = HOME) -> None:
        self.state = state
        self.hub = hub
        self.desk = desk
        self.place = place
        self._said = 500

    async def show(self, given: AskItem, about: AskedIn = ABOUT) -> Content:
        await self.state.write(lambda tables: self.desk.want(tables, given, about, self.place))
        return await self.ask(given.ask_id)

    @property
    def key(self) -> str:
        return f"ask:s1:ask-1:{self.place}"

    async def ask(self, ask_id: str = "ask-1") -> Content:
        """The message of the ask."""
        found = await self.message(f"ask:s1:{ask_id}:{self.place}")
        assert found is not None
        check(found.content)
        return found.content

    async def message(self, key: str) -> SentMessage | None:
        return await self.state.read(lambda tables: tables.sent(key))

    async def beside(self, name: str) -> list[SentMessage]:
        """The messages beside the ask's own whose names begin so, and that are there."""

        def found(tables: Tables) -> list[SentMessage]:
            own = f"ask:s1:ask-1:{self.place}:{name}"
            return [each for each in tables.of_ask("s1", "ask-1") if each.key.startswith(own) and each.content.text]

        return await self.state.read(found)

    async def press(self, words: str | Button, user: User = ANN, content: Content | None = None) -> str:
        """Press a button of the ask's message, by its words or as it once was; the toast."""
        button = words if isinstance(words, Button) else find(content or await self.ask(), words)
        press = await self.state.read(lambda tables: tables.press(button.token))
        assert press is not None
        return await self.pressed(press, user)

    async def pressed(self, press: Press, user: User = ANN) -> str:
        toast = await self.desk.toast(press, user)
        assert len(toast.text) <= 200
        if toast.goes_on:
            await self.desk.carry_out(press, user, self.hub.acting_for(user))
        return toast.text

    async def reply(
        self, text: str, user: User = ANN, to: SentMessage | None = None, file: ReadFile | None = None
    ) -> bool:
        """Reply to the ask's message, or to another one."""
        message = to or await self.message(self.key)
        assert message is not None
        self._said += 1
        acting = self.hub.acting_for(user)
        return await self.desk.replied(message, text, user, acting, message_id=self._said, file=file)


def find(content: Content, words: str) -> Button:
    buttons = [button for row in content.buttons for button in row]
    found = [button for button in buttons if button.text.startswith(words)]
    assert found, f"no button {words!r} among {[button.text for button in buttons]}"
    return found[0]


def texts(content: Content) -> list[str]:
    """What the buttons say."""
    return [button.text for row in content.buttons for button in row]


# ---------------------------------------------------------------- what Telegram would refuse


def check(content: Content) -> None:
    """Everything that Telegram checks of a message, and that each button can be read."""
    check_text(content.text, 1024 if content.attachment is not None else 4096)
    buttons = [button for row in content.buttons for button in row]
    assert len(buttons) <= 100
    assert (
        sum(len(f'{{"text":"{button.text}","callback_data":"{button.token}"}},'.encode()) for button in buttons) < 9_900
    )
    assert all(0 < len(row) <= 8 for row in content.buttons)
    for button in buttons:
        assert 1 <= len(button.text) <= 64
        assert button.text.strip()
        assert len(button.token.encode()) <= 64


def check_text(rich: RichText, limit: int = 4096) -> None:
    assert 0 < utf16_length(rich.text) <= limit
    assert rich.text.strip()
    assert len(rich.entities) <= 100
    rich.text.encode()
    for start, end in spans(rich):
        assert 0 <= start < end <= utf16_length(rich.text)
        units = rich.text.encode("utf-16-le")
        units[2 * start : 2 * end].decode("utf-16-le")  # it cuts no character in two
    ends: list[int] = []
    for start, end in sorted(spans(rich), key=lambda span: (span[0], -span[1])):
        while ends and ends[-1] <= start:
            ends.pop()
        assert not ends or end <= ends[-1], "entities overlap without being nested"
        ends.append(end)


def spans(rich: RichText) -> Iterator[tuple[int, int]]:
    for entity in rich.entities:
        yield entity.offset, entity.offset + entity.length

"""A chat with the bot's commands: a real hub, the bridge's real state and sessions, and no Telegram."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from handrail import Hub, Options, Session
from handrail.telegram.commands.context import CommandContext
from handrail.telegram.commands.desk import Commands
from handrail.telegram.commands.parsing import command_line
from handrail.telegram.model import Button, Content, Place, User
from handrail.telegram.names import Names
from handrail.telegram.people import People
from handrail.telegram.sessions import ChatSessions
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.state import BridgeState, Chat, Tables
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from ...server.support import ServedHub, served_hub

PATIENCE = 60.0
ANN = User(1001, "Ann", "owner")
BOB = User(1002, "Bob", "approver")
EVE = User(1003, "Eve", "viewer")
BOT = "handrail_bot"
ECHO = (sim.loop_turns("You said $text."),)
"""A session that repeats what it is told."""


@dataclass
class Report:
    """How the bridge is."""

    started_at: float = 0.0
    last_error: str = ""
    last_error_at: float = 0.0
    hub_connected: bool = True
    poller: str = "polling"
    waiting: int = 0

    async def backlog(self) -> int:
        return self.waiting


@dataclass
class Bench:
    """The commands, and what they work on."""

    served: ServedHub
    hub: Hub
    state: BridgeState
    settings: TelegramSettings
    report: Report
    sessions: ChatSessions
    people: People
    cli: SimulatedCLI
    commands: Commands = field(default_factory=Commands)
    now: Callable[[], float] = time.time
    message_ids: Iterator[int] = field(default_factory=lambda: iter(range(1, 10_000)))

    def chat(self, user: User = ANN, place: Place | None = None) -> Talk:
        return Talk(self, user, place or Place(user.id))

    async def unstarted(self, title: str) -> Session:
        """A session without a Claude Code."""
        return await self.served.manager.expect(Options(cwd="/elsewhere"), title=title)

    def in_a_terminal(self, conversation: str, prompt: str) -> None:
        """Somebody talked to Claude Code in the project, without Handrail."""
        cwd = self.project()
        kept = self.served.directory.parent / "home" / ".claude" / "projects" / re.sub("[^A-Za-z0-9]", "-", cwd)
        kept.mkdir(parents=True, exist_ok=True)
        line = {
            "type": "user",
            "message": {"role": "user", "content": prompt},
            "uuid": "u1",
            "cwd": cwd,
            "timestamp": "2026-01-01T10:00:00.000Z",
            "sessionId": conversation,
            "isSidechain": False,
        }
        (kept / f"{conversation}.jsonl").write_text(json.dumps(line) + "\n")

    def project(self, name: str = "shop") -> str:
        """A directory inside of the hub's roots."""
        directory = self.served.directory / name
        directory.mkdir(exist_ok=True)
        return str(directory)


@dataclass
class Talk:
    """Somebody in a chat: writes, presses, and sees what stands there."""

    bench: Bench
    user: User
    place: Place
    shown: dict[int, Content] = field(default_factory=dict)
    """The bot's messages by their ids, in the order in which they came."""
    sessions_of: dict[int, str] = field(default_factory=dict)

    async def write(self, text: str, *, reply_to: int = 0) -> str:
        """Write a command; returns the text of the bot's last message."""
        line = command_line(text, BOT)
        assert line is not None, f"{text!r} is no command"
        assert line.is_for_us
        context = self.context(next(self.bench.message_ids), replied=self.sessions_of.get(reply_to, ""))
        await self.bench.commands.run(context, line)
        await self.deliver()
        return self.last.text.text if self.shown else ""

    async def press(self, text: str, by: User | None = None) -> str:
        """Press the button of the bot's last message whose text begins so."""
        message_id, content = list(self.shown.items())[-1]
        button = next(each for each in flat(content) if each.text.startswith(text))
        return await self.press_token(button.token, message_id, by=by)

    async def press_token(self, token: str, message_id: int = 0, by: User | None = None) -> str:
        press = await self.bench.state.read(lambda tables: tables.press(token))
        assert press is not None
        talk = replace(self, user=by or self.user)
        if toast := self.bench.commands.toast(press, talk.user):
            return toast
        await self.bench.commands.pressed(talk.context(message_id), press)
        await self.deliver()
        return self.last.text.text

    def context(self, message_id: int, *, replied: str = "") -> CommandContext:
        bench = self.bench
        return CommandContext(
            user=self.user,
            place=self.place,
            message_id=message_id,
            hub=bench.people.hub_for(self.user),
            state=bench.state,
            settings=bench.settings,
            sessions=bench.sessions,
            bridge=bench.report,
            bot_username=BOT,
            replied_session=replied,
            now=bench.now,
        )

    async def deliver(self) -> None:
        """Bring the chat to what is wanted, as the outbox would."""

        def step(tables: Tables) -> bool:
            heads = [head for head in tables.heads() if head.place == self.place]
            for head in heads:
                delivery = tables.delivery(head.key)
                assert delivery is not None
                message_id = delivery.message_id or next(self.bench.message_ids)
                tables.shown(delivery, message_id)
                self.shown[message_id] = delivery.content
                sent = tables.sent(head.key)
                self.sessions_of[message_id] = sent.session_id if sent is not None else ""
            return bool(heads)

        while await self.bench.state.write(step):
            pass

    @property
    def last(self) -> Content:
        return list(self.shown.values())[-1]

    @property
    def last_id(self) -> int:
        return list(self.shown)[-1]

    @property
    def buttons(self) -> list[str]:
        return [button.text for button in flat(self.last)]

    async def chat(self) -> Chat:
        return await self.bench.state.read(lambda tables: tables.chat(self.place))

    async def session(self) -> Any:
        """The session of the chat, once it has one that is idle."""
        return self.bench.hub.session((await self.chat()).session_id)


def flat(content: Content) -> list[Button]:
    return [button for row in content.buttons for button in row]


async def eventually(condition: Callable[[], Awaitable[Any]]) -> Any:
    """What a condition gives once it is true."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await condition()):
            await asyncio.sleep(0.01)
    return found


async def idle(session: Any) -> None:
    """Once the session is done with what it was sent."""

    async def done() -> bool:
        view, row = await session.view(), await session.row()
        return row.status == "idle" and any(run.ended_at is not None for run in view.runs)

    await eventually(done)


@asynccontextmanager
async def bench(
    directory: Path, *steps: sim.Step, projects: dict[str, str] | None = None, users: tuple[User, ...] = (ANN, BOB, EVE)
) -> AsyncIterator[Bench]:
    """A hub whose sessions follow a script, with a project `shop`, in which chats work that have chosen none."""
    cli_directory = directory / "cli"
    cli_directory.mkdir()
    cli = SimulatedCLI(steps or ECHO, directory=cli_directory)
    home = directory / "home"
    home.mkdir()
    async with served_hub(directory, cli=cli, env={"HOME": str(home)}) as served:
        shop = served.directory / "shop"
        shop.mkdir()
        settings = TelegramSettings(token="1:T", users=users, projects=projects or {}, cwd=str(shop))
        async with Hub(served.url, served.tokens["owner"]) as hub, BridgeState(str(directory / "telegram.db")) as state:
            people = People(hub, lambda: settings)
            sessions = ChatSessions(
                hub=hub,
                state=state,
                people=people,
                settings=lambda: settings,
                names=Names(1),
                wake=lambda _: None,
                changed=lambda: None,
                instructions=lambda _: "",
            )
            yield Bench(served, hub, state, settings, Report(), sessions, people, cli)

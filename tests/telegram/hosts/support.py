"""Telegram, `handrail serve` with its bot, and `handrail host` on a machine of its own, over a line that can be cut."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from handrail.remote.hub import Hub
from handrail.telegram.bot import TelegramBot
from handrail.telegram.bridge import Bridge
from handrail.telegram.model import User
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.state import BridgeState
from handrail.testing import TelegramServer
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI
from handrail.testing.telegram import Button, Chat, Message
from handrail.testing.telegram import User as Person
from tests.chaos.hosts.machines import HostMachine, HubMachine, eventually
from tests.chaos.hosts.simulating import CONFIG_OF_HOST, CONFIG_OF_HUB
from tests.host.middle import Middle, middle
from tests.telegram.bridge.quick import FAST, QUICK

PATIENCE = 60.0
ECHO = (sim.loop_turns("You said $text."),)


@dataclass
class Fleet:
    """Ann's chat, and the machines behind it."""

    telegram: TelegramServer
    hub: HubMachine
    host: HostMachine
    line: Middle
    ann: Person
    chat: Chat
    cli: SimulatedCLI | None = None

    # ------------------------------------------------------------ the chat

    async def say(self, text: str, **how: Any) -> Message:
        return await self.chat.send(text, **how)

    async def hears(self, words: str, *, after: Message | None = None) -> Message:
        """What the bot says with these words, once it does; `after`: below this message."""

        def look(_: Any) -> Message | None:
            return next((each for each in self._said(after) if words in (each.text or each.caption)), None)

        found: Message = await self.chat.wait(look, timeout=PATIENCE)
        return found

    def _said(self, after: Message | None) -> list[Message]:
        return [each for each in self.chat.bot_messages if after is None or each.id > after.id]

    async def asks(self, text: str, words: str) -> Message:
        """Write something, and wait for an answer with these words."""
        return await self.hears(words, after=await self.say(text))

    async def card(self, words: str) -> Message:
        """What is asked with these words, once it is, with its buttons."""

        def look(_: Any) -> Message | None:
            return next((each for each in self.chat.bot_messages if words in each.text and each.buttons), None)

        found: Message = await self.chat.wait(look, timeout=PATIENCE)
        return found

    async def offered(self, button: str) -> Message:
        """The message with this button, once there is one."""

        def look(_: Any) -> Message | None:
            return next((each for each in self.chat.bot_messages if each.button(button) is not None), None)

        found: Message = await self.chat.wait(look, timeout=PATIENCE)
        return found

    async def press(self, words: str, button: str) -> str:
        """Press the button that begins so under the message with these words; returns what pops up."""
        card = await self.card(words)
        return (await card.press(_button(card, button), by=self.ann)).text

    def count(self, words: str) -> int:
        return sum(words in each.text for each in self.chat.bot_messages)

    # ------------------------------------------------------------ the machines

    @property
    def project(self) -> Path:
        """The project, which only the host has."""
        return self.host.project

    def cut(self) -> None:
        self.line.cut()

    async def cut_off(self) -> None:
        """Cut the line, and wait until the hub has noticed."""
        self.cut()
        await self.hub.until_host("away")

    async def mend(self) -> None:
        self.line.lead_to(self.hub.url)
        await self.hub.until_host("connected")

    async def drain(self, on: bool) -> None:
        """Drain the host, or go on, and wait until it has said that it does."""
        await self.hub.post("/api/hosts/box/drain", {"on": on})
        await self.hub.until_host("draining" if on else "connected")

    async def restart_host(self) -> None:
        """Kill the agent, and start it again."""
        await self.host.process.end(signal.SIGKILL)
        await self.host.work()

    def decisions(self) -> list[Any]:
        """What Claude Code was answered, of all that it asked for permission."""
        assert self.cli is not None
        answers = [
            each for each in self.cli.received() if isinstance(each, dict) and each["type"] == "control_response"
        ]
        inner = [(each["response"].get("response") or {}) for each in answers]
        return [each["behavior"] for each in inner if "behavior" in each]

    def outbox(self) -> Path:
        """Where Claude was told to put what it sends, from the directory of its session."""
        assert self.cli is not None
        told = re.findall(r"\.handrail-outbox/\w+", str(self.cli.received()))
        return Path(self.cli.launches()[-1].cwd, told[-1])


def _button(card: Message, words: str) -> Button:
    return next(each for each in buttons_of(card) if each.text.startswith(words))


def buttons_of(card: Message) -> Iterator[Button]:
    return (each for row in card.buttons for each in row)


def _of_hub(line: Middle) -> str:
    return f'{CONFIG_OF_HUB}allowed_hosts = ["{urlsplit(line.url).netloc}"]\n'


def _of_its_bot(telegram: TelegramServer, person: Person) -> str:
    users = f'[[telegram.users]]\nid = {person.id}\nname = "Ann"\nrole = "owner"\n'
    return f'[telegram]\napi_url = "{telegram.url}"\n{users}'


@asynccontextmanager
async def fleet(
    directory: Path,
    *steps: sim.Step,
    of_host: str = "",
    env: dict[str, str] | None = None,
    serves_bot: bool = False,
) -> AsyncIterator[Fleet]:
    """A chat whose sessions run on the host `box`, on a simulated CLI unless `env` and settings say otherwise.

    With `serves_bot` the bot is the hub's own; otherwise it runs here, faster than Telegram lets bots be.
    """
    async with TelegramServer() as telegram, middle() as line:
        ann = telegram.user(id=1001, first_name="Ann")
        token = {"HANDRAIL_TELEGRAM_TOKEN": telegram.token}
        config = _of_hub(line) + (_of_its_bot(telegram, ann) if serves_bot else "")
        hub = HubMachine(directory / "hub", config=config, env=token if serves_bot else None)
        host = HostMachine(directory / "box", config=f"{CONFIG_OF_HOST}{of_host}", env=env)
        cli = None
        if env is None:
            cli = SimulatedCLI(steps or ECHO, directory=host.directory)
            host.env["HANDRAIL_CLAUDE_CLI_PATH"] = str(cli.path)
        made = Fleet(telegram, hub, host, line, ann, ann.private_chat(), cli)
        async with _working(made), nullcontext() if serves_bot else _bridged(made):
            await eventually(lambda: telegram.is_polled, "the bot asks for news")
            yield made


@asynccontextmanager
async def _working(made: Fleet) -> AsyncIterator[None]:
    await made.hub.serve()
    try:
        made.line.lead_to(made.hub.url)
        await made.host.join(made.hub, made.line.url)
        yield
    finally:
        for machine in (made.host, made.hub):
            if hasattr(machine, "process"):
                await machine.process.end(signal.SIGKILL)


@asynccontextmanager
async def _bridged(made: Fleet) -> AsyncIterator[None]:
    """A bot that runs here, as an owner of the hub."""
    told = await made.hub.post("/api/tokens", {"name": "bot", "role": "owner"})
    settings = TelegramSettings(token=made.telegram.token, api_url=made.telegram.url, users=(User(made.ann.id, "Ann"),))
    async with (
        Hub(made.hub.url, str(told["token"])) as hub,
        TelegramBot(settings.token, api_url=settings.api_url) as bot,
        BridgeState(str(made.hub.directory / "bot.db")) as state,
    ):
        running = asyncio.create_task(Bridge(hub, bot, state, settings, rhythm=QUICK, pace=FAST).run())
        try:
            yield
            assert not running.done(), "the bridge ended"
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

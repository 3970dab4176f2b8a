"""A stage for bots: Telegram on loopback, and a hub whose sessions play what was laid out. A process of its own.

Usage: python -m bench.telegram_stage DIRECTORY SESSIONS WHERE

WHERE says where people follow the sessions: in `private` chats, or in `topics` of one group. If DIRECTORY has a fake
CLI, sessions play that, and Telegram sets the pace of the real one; otherwise a session asks and answers in each turn,
and Telegram sets no pace. It prints one line of facts as JSON, then for each line that it reads (a command and its
arguments, JSON) what came of it. It ends with its input.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from bench.contenders.relay import served
from handrail import Allow, Options
from handrail.events.model import AskOpened, Completed
from handrail.policy.storage.loading import Asked
from handrail.server.hub import Hub
from handrail.sessions.session import Session
from handrail.testing import TelegramPace, TelegramServer
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI
from handrail.testing.telegram import Message
from handrail.testing.telegram.server import ServedCall

PATIENCE = 30.0
FIRST_PERSON = 1001
GROUP = -1001000000001
STARTED_AT_ONCE = 4
APART = 0.06
"""Seconds between the beginnings of two runs."""
COMMAND = {"command": "python3 -m pytest tests/test_app.py -q", "description": "Run the tests"}
ANSWER = """You said $text.

## What was wrong

The **cache** was read before it was filled; `load()` now waits for it:

```python
async def load(self) -> Page:
    await self._filled.wait()
    return self._pages[self._current]
```

- the test in `tests/test_app.py` covers it
- nothing else was changed
"""


class Stage:
    """Telegram, sessions of a hub, and who follows each."""

    def __init__(self, telegram: TelegramServer, hub: Hub, sessions: Sequence[Session], where: str) -> None:
        self.telegram = telegram
        self.hub = hub
        self.sessions = sessions
        self.people = [telegram.user(id=FIRST_PERSON + n, first_name=f"P{n}") for n in range(len(sessions))]
        self.chat = self.people[0].private_chat()
        self.places = (
            [(person.private_chat().id, 0) for person in self.people] if where == "private" else self._topics()
        )

    def _topics(self) -> list[tuple[int, int]]:
        group = self.telegram.group(id=GROUP, title="Team", members=self.people, is_forum=True, bot_is_admin=True)
        return [(GROUP, int(group.topic(f"session {n}"))) for n in range(len(self.sessions))]

    async def facts(self) -> dict[str, Any]:
        _, token = await self.hub.tokens.mint("bench", "owner")
        return {
            "api": self.telegram.url,
            "bot_token": self.telegram.token,
            "hub": self.hub.settings.url,
            "hub_token": token,
            "people": [person.id for person in self.people],
            "followed": [
                {"session": session.id, "chat": chat, "thread": thread}
                for session, (chat, thread) in zip(self.sessions, self.places, strict=True)
            ],
        }

    # ------------------------------------------------------------ what is played

    async def press(self, count: int) -> dict[str, Any]:
        """Press the button of the first message that has one, again and again: how long each toast took."""
        message = await self._with_button(latest=False)
        return {"toast": [await self._pressed(message) for _ in range(count)]}

    async def exchange(self, first: int, count: int, pressed: bool) -> dict[str, Any]:
        """Turns that ask and then answer: how long both took to reach the chat, and each toast if it is pressed."""
        times = _Times()
        watching = asyncio.ensure_future(times.watch(self.sessions[0]))
        try:
            turns = [await self._turn(number, times, pressed=pressed) for number in range(first, first + count)]
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        return {kind: [turn[kind] for turn in turns] for kind in ("ask", "toast", "answer")}

    async def _turn(self, number: int, times: _Times, *, pressed: bool) -> dict[str, float]:
        session, words = self.sessions[0], f"number {number} of them"
        await session.send(words)
        asked = await self._sent(lambda call: bool(call.params.get("reply_markup")), number)
        await _until(lambda: len(times.asks) > number)
        opened, ask_id, digest = times.asks[number]
        toast = 0.0
        if pressed:
            toast = await self._pressed(await self._with_button(latest=True))
        else:
            await session.decide(ask_id, Allow(), digest=digest)
        answered = await self._sent(lambda call: f"You said {words}" in str(call.params.get("text", "")), 0)
        await _until(lambda: len(times.completed) > number)
        return {"ask": asked.at - opened, "toast": toast, "answer": answered.at - times.completed[number]}

    async def _sent(self, fits: Any, number: int) -> ServedCall:
        """The call of this number that sent such a message."""

        def look(server: TelegramServer) -> ServedCall | None:
            found = [call for call in server.calls_of("sendMessage") if fits(call)]
            return found[number] if len(found) > number else None

        return await self.telegram.wait(look, PATIENCE)

    async def _with_button(self, *, latest: bool) -> Message:
        """A message that can be answered."""
        found: list[Message] = await self.chat.wait(
            lambda messages: [each for each in messages if each.by_bot and each.button("Allow")], PATIENCE
        )
        return found[-1 if latest else 0]

    async def _pressed(self, message: Message) -> float:
        """As people do: long after the bot has asked for what is new."""
        await _until(lambda: self.telegram.is_polled)
        began = time.monotonic()
        await message.press("Allow", by=self.people[0], timeout=PATIENCE)
        return time.monotonic() - began

    async def polled(self) -> dict[str, Any]:
        """Wait until the bot asks for what is new."""
        await _until(lambda: self.telegram.is_polled)
        return {}

    async def arrivals(self) -> dict[str, Any]:
        """When messages were sent, by a clock that all processes of a machine share."""
        return {"at": [call.at for call in self.telegram.calls_of("sendMessage")]}

    async def play(self) -> dict[str, Any]:
        """A run in every session, one begun shortly after the other, to the end of all."""
        began = time.monotonic()
        ends = await asyncio.gather(*(_played(session, number * APART) for number, session in enumerate(self.sessions)))
        return {"seconds": time.monotonic() - began, "ends": dict(ends)}

    async def calls(self) -> dict[str, Any]:
        """How often each method was called, and how often that was too often."""
        refused = Counter(call.method for call in self.telegram.calls if call.status == 429)
        return {"methods": Counter(call.method for call in self.telegram.calls), "refused": refused}


class _Times:
    """When something was in the journal, for those who read it in the hub's own process."""

    def __init__(self) -> None:
        self.asks: list[tuple[float, str, str]] = []
        self.completed: list[float] = []

    async def watch(self, session: Session) -> None:
        async with aclosing(session.subscribe(deltas=False)) as items:
            async for item in items:  # from the first event on
                if isinstance(item, AskOpened):
                    self.asks.append((time.monotonic(), item.ask_id, item.digest))
                elif isinstance(item, Completed):
                    self.completed.append(time.monotonic())


async def _played(session: Session, pause: float) -> tuple[str, int]:
    """The number of the event that ends the run."""
    await asyncio.sleep(pause)
    async with aclosing(session.subscribe(deltas=False)) as items:
        await session.send("go")
        async for item in items:
            if isinstance(item, Completed):
                return session.id, item.seq
    raise AssertionError("the session ended before its run")


async def _until(condition: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.002)


@asynccontextmanager
async def staged(directory: Path, sessions: int, where: str) -> AsyncIterator[Stage]:
    played = directory / "claude"
    is_paced = played.exists()
    with tempfile.TemporaryDirectory(prefix="handrail-bench-") as name:
        cli = str(played if is_paced else _asking(Path(name)))
        async with (
            served(Path(name) / "hub") as hub,
            TelegramServer(pace=TelegramPace() if is_paced else None) as telegram,
        ):
            yield Stage(telegram, hub, await _started(hub, cli, sessions), where)


def _asking(directory: Path) -> Path:
    """A session that asks once in each turn, and answers when it was allowed."""
    (directory / "cli").mkdir()
    steps = (sim.loop_turns(sim.tool("Bash", COMMAND, output="passed"), ANSWER),)
    return Path(SimulatedCLI(steps, directory=directory / "cli").path)


async def _started(hub: Hub, cli: str, count: int) -> list[Session]:
    places = asyncio.Semaphore(STARTED_AT_ONCE)
    options = Options(cli_path=cli, include_partial_messages=True)

    async def start() -> Session:
        async with places:
            return await hub.manager.start(options, policy=Asked())

    return await asyncio.gather(*(start() for _ in range(count)))


async def main(directory: Path, sessions: int, where: str) -> None:
    async with staged(directory, sessions, where) as stage:
        print(json.dumps(await stage.facts()), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            command, arguments = json.loads(line)
            print(json.dumps(await getattr(stage, command)(**arguments)), flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))

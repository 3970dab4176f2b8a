"""A conversation with everything in it: permissions, questions, plans, and files that go both ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from handrail.telegram.files.outbox import outbox_of
from handrail.telegram.model import Place
from handrail.telegram.names import Names
from handrail.testing import simulated as sim
from handrail.testing.telegram import Message
from tests.telegram.bridge.support import PATIENCE

from .chain import Chain


def question(text: str, header: str, *labels: str, several: bool = False) -> dict[str, object]:
    options = [{"label": label, "description": f"{label} it is"} for label in labels]
    return {"question": text, "header": header, "multiSelect": several, "options": options}


DONE = "Done with $text."
SCRIPT = (
    sim.repeat(
        None,
        sim.turn("Let me see.", sim.tool("Bash", {"command": "make all"}, output="ok"), DONE),
        sim.turn(sim.tool("AskUserQuestion", {"questions": [question("Which?", "Colour", "Red", "Blue")]}), DONE),
        sim.turn(sim.tool("Read", {"file_path": "a"}, ask=False), sim.sleep(0.2), DONE),
        sim.turn(sim.tool("ExitPlanMode", {"plan": "# The plan\n\n1. Look\n2. Leap"}), DONE),
        sim.turn(
            sim.tool(
                "AskUserQuestion",
                {
                    "questions": [
                        question("Which parts?", "Parts", "Top", "End", several=True),
                        question("Which size?", "Size", "Small", "Large"),
                    ]
                },
            ),
            DONE,
        ),
    ),
)
"""A session that asks for something in most of its turns, whoever it is begun by."""


@dataclass
class Talk:
    """What somebody says in one chat, one after the other, and which files are sent meanwhile."""

    chain: Chain
    said: dict[str, Message] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    _outbox: Path | None = None

    async def go_on_until(self, is_enough: Callable[[], bool]) -> None:
        """Say something, wait for its answer, or for word that there will be none, and so on."""
        while not is_enough():
            word = f"job{len(self.said):02}"
            await self.say(word)
            await self.chain.chat.wait(partial(self.is_settled, word), timeout=PATIENCE)

    def is_settled(self, word: str, _: object = None) -> bool:
        return self.answers(word) > 0 or self.is_given_up(word)

    def answers(self, word: str) -> int:
        """How often it was answered. What came together is answered together, as a reply to one of them."""
        done = [each for each in self.chain.chat.bot_messages if each.text.startswith("Done with")]
        return sum(f"Done with {word}" in each.text or each.reply_to is self.said[word] for each in done)

    def is_given_up(self, word: str) -> bool:
        """Whether it was said that there will be no answer."""
        replies = [each for each in self.chain.chat.bot_messages if each.reply_to is self.said[word]]
        return any(each.text.startswith(("⚠", "✗")) for each in replies)

    async def say(self, word: str) -> None:
        self._put_file(word)
        if len(self.said) % 4 == 3:
            sent = await self.chain.chat.send_document(f"about {word}".encode(), "notes.txt", caption=word)
        else:
            sent = await self.chain.chat.send(word)
        self.said[word] = sent
        if self._outbox is None:
            name = Names(self.chain.telegram.bot.id).session(Place(self.chain.chat.id), sent.id)
            self._outbox = self.chain.projects / outbox_of(name)
            self._outbox.mkdir(parents=True)

    def _put_file(self, word: str) -> None:
        """What Claude would put there during its run."""
        if self._outbox is not None:
            name = f"{word}.txt"
            (self._outbox / name).write_text(f"made by {word}")
            self.files.append(name)

    def sent_back(self) -> list[str]:
        """The files that came to the chat."""
        return [message.file_name for message in self.chain.chat.bot_messages if message.document is not None]

"""A machine that is being connected with a Telegram bot: its files, and somebody who answers what is asked."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handrail.cli.showing.style import make_console
from handrail.cli.telegramming.dialogue import Dialogue
from handrail.cli.telegramming.setup import GivenSetup, Setup
from handrail.config import Config, load_config
from handrail.places import Places
from handrail.testing import TelegramServer

PATIENCE = 30.0
CODE = re.compile(r"start=(\d{8})")


async def eventually(condition: Callable[[], Any]) -> Any:
    """What a condition gives once it is true."""
    async with asyncio.timeout(PATIENCE):
        while not (found := condition()):
            await asyncio.sleep(0.01)
        return found


class Prepared(Dialogue):
    """Somebody who answers from a list, whatever is asked, and remembers what was said."""

    def __init__(self, *answers: str) -> None:
        self.output = io.StringIO()
        super().__init__(make_console(self.output, width=200))
        self._answers = list(answers)

    @property
    def has_person(self) -> bool:
        return True

    def secret(self, question: str) -> str:
        return self._next(question)

    def text(self, question: str, default: str) -> str:
        return self._next(question) or default

    def choice(self, question: str, choices: Mapping[Any, str], default: Any) -> Any:
        return self._next(question) or default

    def _next(self, question: str) -> str:
        self.say(question)
        return self._answers.pop(0) if self._answers else ""

    @property
    def said(self) -> str:
        return self.output.getvalue()


@dataclass
class Machine:
    """Handrail's files of somebody."""

    directory: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def places(self) -> Places:
        return Places(*(str(self.directory / name) for name in ("config", "state", "cache", "run")))

    @property
    def config(self) -> Config:
        return load_config(self.places, {})

    @property
    def is_written(self) -> bool:
        """Whether there is anything of it on the disk."""
        return Path(self.places.config_file).exists() or Path(self.places.config, "telegram-token").exists()

    def setup(self, server: TelegramServer | str, dialogue: Prepared, **given: Any) -> asyncio.Future[int]:
        """Set it up, in a thread of its own: the conversation waits for the terminal."""
        url = server if isinstance(server, str) else server.url
        how = GivenSetup(**{"api_url": url, "seconds": PATIENCE, **given})
        setup = Setup(how, self.config, self.places, self.environ, dialogue)
        return asyncio.ensure_future(asyncio.to_thread(setup.run))


async def code_in(dialogue: Prepared) -> str:
    """The code, once it is shown."""
    found = await eventually(lambda: CODE.search(dialogue.said))
    return str(found[1])

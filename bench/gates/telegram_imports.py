"""What Telegram adds to the start of a process: nothing where it is not used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

from bench.common import AT_MOST, Contender, Gate, Place, Samples, Verdict, clean_environment
from bench.gates.imports import cpu_of

__all__ = ["TelegramImports"]

COMMANDS = Contender("handrail's commands", "handrail")
BRIDGE = Contender("bridge and bot", "telegram_bridge")
PTB = Contender("python-telegram-bot", "telegram_ptb")
AIOGRAM = Contender("aiogram", "telegram_aiogram")
STATEMENTS = {
    COMMANDS.name: "import handrail.cli.app",
    BRIDGE.name: "import handrail.telegram.bridge, handrail.telegram.bot",
    PTB.name: "import telegram",
    AIOGRAM.name: "import aiogram",
}
LOADED = (
    "import sys; print(sum(name.split('.')[0] == 'telegram' or 'handrail.telegram' in name for name in sys.modules))"
)


class TelegramImports(Gate):
    name = "telegram-import"
    title = "Telegram: import, the whole process: CPU"
    contenders = (COMMANDS, BRIDGE, PTB, AIOGRAM)
    rounds = 3
    quick_rounds = 2

    def prepare(self, place: Place, *, quick: bool) -> None:
        """Write the compiled modules, so that nobody pays for that below."""
        for statement in STATEMENTS.values():
            subprocess.run([sys.executable, "-c", statement], capture_output=True, check=False, env=clean_environment())

    def run(self, contender: Contender, place: Place) -> Mapping[str, float]:
        statement = STATEMENTS[contender.name]
        loaded = {"modules": modules_of_telegram(statement)} if contender is COMMANDS else {}
        return {"cpu_ms": cpu_of(statement) * 1e3, **loaded}

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(above: Contender, below: Contender) -> list[float]:
            return samples.ratios("cpu_ms", above.name, below.name)

        loaded = samples.values("modules", COMMANDS.name)
        return [
            Verdict("modules of Telegram in the command line's", loaded, AT_MOST, 0, unit="", digits=0),
            Verdict("bridge and bot, of `import telegram`", ratios(BRIDGE, PTB)),
            Verdict("bridge and bot, of `import aiogram`", ratios(BRIDGE, AIOGRAM)),
            Verdict("bridge and bot, of the command line", ratios(BRIDGE, COMMANDS)),
        ]


def modules_of_telegram(statement: str) -> int:
    """How many modules of the bridge, or of the library that it uses, a statement loads."""
    command = [sys.executable, "-c", f"{statement}\n{LOADED}"]
    return int(subprocess.run(command, capture_output=True, check=True, env=clean_environment()).stdout)

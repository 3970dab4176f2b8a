"""Tools for testing against Claude Code without an account: a scripted model, a simulated CLI, recordings.

They are public because users of Handrail need them as much as its own tests do:

* `ScriptedModel` plays the Messages API on loopback, so that the real CLI runs without an account.
* `SimulatedCLI` is an executable that speaks the CLI's protocol from a script, faults included; its steps are in
  `handrail.testing.simulated`.
* `ReplayTransport` plays a recording to a client; `connect(record=…)` makes one.
* `claude_cli` finds or fetches a given version of the real CLI.
* `TelegramServer` is a Telegram Bot API on loopback, as strict as the real one, with people who write and press.
* `run_store_conformance` checks that a store keeps what the journal needs of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from handrail.testing.cli_cache import (
    MATRIX_VERSIONS,
    PINNED_VERSION,
    ClaudeCLI,
    CLIUnavailable,
    FetchProgress,
    claude_cli,
    latest_cli,
)
from handrail.testing.cli_sandbox import cli_slot, isolated_env
from handrail.testing.model import Conversation, ScriptedModel, ThreadedModel
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import RawBlock, Reply, Text, Thinking, ToolUse
from handrail.testing.script_file import ScriptFileError
from handrail.testing.simulated import SimulatedCLI
from handrail.transports.recorder import RecordingTransport
from handrail.transports.replay import ReplayTransport

if TYPE_CHECKING:
    from handrail.testing.journal_checks import journal_problems
    from handrail.testing.store_conformance import run_store_conformance
    from handrail.testing.telegram import TelegramPace, TelegramServer

__all__ = [
    "MATRIX_VERSIONS",
    "PINNED_VERSION",
    "CLIUnavailable",
    "ClaudeCLI",
    "Conversation",
    "FetchProgress",
    "ModelRequest",
    "RawBlock",
    "RecordingTransport",
    "ReplayTransport",
    "Reply",
    "ScriptFileError",
    "ScriptedModel",
    "SimulatedCLI",
    "TelegramPace",
    "TelegramServer",
    "Text",
    "Thinking",
    "ThreadedModel",
    "ToolUse",
    "claude_cli",
    "cli_slot",
    "isolated_env",
    "journal_problems",
    "latest_cli",
    "run_store_conformance",
]


_LATER = {
    "journal_problems": "handrail.testing.journal_checks",
    "run_store_conformance": "handrail.testing.store_conformance",
    "TelegramPace": "handrail.testing.telegram",
    "TelegramServer": "handrail.testing.telegram",
}


def __getattr__(name: str) -> Any:
    """The checks of journals and stores and the Telegram server are loaded when asked for: most tests need none."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

"""The guide to the guards names everything that can be set, and its defaults are those of the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from handrail.config import Limits
from handrail.sessions.guards.activity import StallLimits
from handrail.sessions.guards.notifications import KINDS, Notify
from handrail.sessions.guards.notifying.message import Notice, message_of
from handrail.sessions.guards.restarts import RestartLimit

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "guards.md").read_text()


def settings() -> dict[str, dict[str, object]]:
    (example,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.S)
    return tomllib.loads(example)


def test_every_limit_is_in_the_example() -> None:
    assert set(settings()["limits"]) == set(Limits.__struct_fields__)


@pytest.mark.parametrize(
    "name", ["restarts", "restart_window_minutes", "stall_minutes", "tool_stall_minutes", "on_stall"]
)
def test_the_example_shows_the_defaults(name: str) -> None:
    assert settings()["limits"][name] == getattr(Limits(), name)


def test_the_defaults_of_the_guards_are_those_of_the_settings() -> None:
    limits = Limits()
    stalls, restarts = StallLimits(), RestartLimit()
    assert (stalls.silence, stalls.tool) == (limits.stall_minutes * 60, limits.tool_stall_minutes * 60)
    assert (restarts.restarts, restarts.window) == (limits.restarts, limits.restart_window_minutes * 60)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_notification_is_named(kind: str) -> None:
    assert f"| `{kind}`" in GUIDE or f", `{kind}`" in GUIDE
    Notify(kinds=(kind,), command=("true",))


def test_every_variable_of_a_command_is_named() -> None:
    message = message_of([Notice(kind="ask", session_id="s", text="t")], dropped=0, details=False)
    assert [name for name in message.variables if f"`{name}`" not in GUIDE] == []

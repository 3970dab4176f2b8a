"""Hubs on the real CLI for tests in a browser, and what is done in all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from playwright.async_api import expect

from handrail.protocol.options import Options
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.cli_sandbox import cli_slot, isolated_env
from handrail.testing.model import ScriptedModel
from handrail.testing.replies import ToolUse

from ..server.support import ServedHub, served_hub
from ..telegram.bridge.support import World
from .visitor import Visitor

__all__ = ["OpenHub", "RealHub", "Talk", "Visit", "bash", "real_hub", "start_from_the_page", "told"]


@dataclass
class RealHub:
    """A hub whose sessions run on the real CLI."""

    served: ServedHub
    model: ScriptedModel

    @property
    def project(self) -> Path:
        """Where sessions work."""
        return self.served.directory


OpenHub: TypeAlias = Callable[..., Awaitable[RealHub]]
"""The fixture `real`."""
Visit: TypeAlias = Callable[..., Awaitable[Visitor]]
"""The fixture `visit`."""
Talk: TypeAlias = Callable[..., Awaitable[World]]
"""The fixture `talk`."""


@asynccontextmanager
async def real_hub(
    cli: ClaudeCLI, directory: Path, script: Any, *, conversations: Any = None, **options: Any
) -> AsyncIterator[RealHub]:
    """A hub on the real CLI, whose model plays `script`; further options are those of its sessions."""
    chosen = Options(
        cli_path=str(cli.path),
        use_api_billing=True,
        include_partial_messages=True,
        enable_file_checkpointing=True,
        **options,
    )
    async with ScriptedModel(script, conversations=conversations) as model, cli_slot():
        env = isolated_env(directory / "home", model)
        async with served_hub(directory, options=chosen, env=env) as served:
            yield RealHub(served, model)


async def start_from_the_page(visitor: Visitor, prompt: str, **choices: str) -> None:
    """Start a session on the page for new ones; `choices` are values of its lists, by label."""
    await visitor.follow("/new")
    await expect(visitor.page.get_by_label("Directory", exact=True).last).not_to_have_value("")
    await visitor.page.get_by_label("Prompt").fill(prompt)
    for label, value in choices.items():
        await visitor.page.get_by_label(label.replace("_", " ").capitalize()).select_option(value)
    await visitor.page.get_by_role("button", name="Start", exact=True).click()
    await expect(visitor("handrail-session .session-title")).not_to_be_empty()


def bash(command: str) -> ToolUse:
    return ToolUse("Bash", {"command": command, "description": "Run a command"})


def told(hub: RealHub) -> str:
    """All that the model was told, in the newest request of the conversation."""
    return str(hub.model.requests_in("main")[-1].messages)

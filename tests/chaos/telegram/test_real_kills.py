"""Bridge and hub are killed while somebody talks to the real CLI from the phone."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path

import pytest

from handrail.testing.cli_cache import claude_cli
from handrail.testing.cli_sandbox import cli_slot, isolated_env
from handrail.testing.model import ScriptedModel
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import Reply, ToolUse

from .chain import chain
from .killing import check_what_is_left, talk_through_kills

pytestmark = [pytest.mark.slow, pytest.mark.real_cli]


def _reply(request: ModelRequest) -> Reply:
    """First something that must be asked for, then the answer."""
    word = re.findall(r"job\d\d", json.dumps(request.messages))[-1]
    is_done = "tool_result" in json.dumps(request.messages[-1]["content"])
    return Reply(f"Done with {word}.") if is_done else Reply(ToolUse("Bash", {"command": f"mkdir -p {word}"}))


async def test_the_real_cli_with_kills(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    victims = ["bridge", "bridge", "hub", "bridge"]
    async with ScriptedModel([_reply] * 100) as model, cli_slot():
        env = {**dict.fromkeys(os.environ, ""), **isolated_env(tmp_path / "home", model)}
        options = {"cli_path": str(claude_cli().path), "env": env, "use_api_billing": True}
        async with chain(tmp_path, options=options) as here:
            await talk_through_kills(here, victims, random.Random(5))
        check_what_is_left(here)

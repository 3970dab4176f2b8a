"""The guide of the hub says what the code does: its keys, its settings, its figures, its program."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest

from handrail.config import load_config
from handrail.places import Places
from handrail.protocol.asks import Allow
from handrail.server.metrics import Metrics
from handrail.sessions.asks import Actor

from .support import PATIENCE, ServedHub

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/hub.md").read_text()
KEYS = ROOT / "src/handrail/web/js/keys.js"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.S | re.M)


def test_it_has_every_key_of_the_page() -> None:
    page = re.findall(r'keys: \["([^"]+)"\], words: "([^"]+)"', KEYS.read_text())
    (table,) = re.findall(r"^### Keys\n(.*?)^Keys do nothing", GUIDE, re.S | re.M)
    told = re.findall(r"^\| (`.+?) \| (.+) \|$", table, re.M)
    assert [(key.replace("`", "").replace(" then ", " "), words) for key, words in told] == page


def test_its_settings_can_be_read(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    (tmp_path / "config.toml").write_text(text)
    config = load_config(Places(*[str(tmp_path)] * 4), {})
    assert {name: getattr(config.hub, name) for name in tomllib.loads(text)["hub"]} == {
        "port": 4280,
        "roots": ("~/src", "~/work"),
        "open_browser": False,
        "drain_seconds": 120,
    }


def test_its_figures_exist() -> None:
    named = set(re.findall(r"`?(handrail_[a-z_]+)", GUIDE)) - {"handrail_session"}
    assert named
    assert named <= {figure.name for figure in Metrics().catalogue}


def test_its_service_waits_longer_than_the_hub_does() -> None:
    (unit,) = blocks("ini")
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.M)
    usual = load_config(Places(*["/nonexistent"] * 4), {}).hub.drain_seconds
    assert int(seconds) > usual
    assert f"`hub.drain_seconds` ({usual:g})" in GUIDE


@pytest.mark.slow
async def test_its_program_tells_what_waits(served: ServedHub, tmp_path: Path) -> None:
    (text,) = blocks("python")
    script = tmp_path / "program.py"
    script.write_text(text)
    env = {**os.environ, "HANDRAIL_HUB": served.url, "HANDRAIL_TOKEN": served.tokens["viewer"]}
    process = await asyncio.create_subprocess_exec(sys.executable, str(script), env=env, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        session = await served.session()
        await session.send("Clean up")
        asked = await served.asked(session)
        async with asyncio.timeout(PATIENCE):
            assert await process.stdout.readline() == "waits: Clean up · Run a command rm -rf build\n".encode()
            await session.decide(asked.id, Allow(), actor=Actor("ann", "web"), digest=asked.digest)
            assert await process.stdout.readline() == b"over: allowed by ann (web)\n"
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()

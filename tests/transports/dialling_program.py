"""A program that dials in as a Claude Code does, started with its command line and its descriptor of a token."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.transports.dialling_cli import DiallingCLI


def token() -> str:
    number = os.environ.get("CLAUDE_CODE_WEBSOCKET_AUTH_FILE_DESCRIPTOR")
    if number is None:
        return os.environ["CLAUDE_CODE_SESSION_ACCESS_TOKEN"]
    with os.fdopen(int(number)) as pipe:
        return pipe.read()


def given(flag: str) -> str | None:
    return next((each.partition("=")[2] for each in sys.argv if each.startswith(f"--{flag}=")), None)


async def main() -> int:
    if "--version" in sys.argv:
        print(os.environ.get("PLAYED_VERSION", "2.1.120 (Claude Code)"))
        return 0
    if words := os.environ.get("PLAYED_ERROR"):
        print(words, file=sys.stderr)
        return 1
    url = given("sdk-url") or ""
    posts = "CLAUDE_CODE_POST_FOR_SESSION_INGRESS_V2" in os.environ
    async with DiallingCLI(url, token(), posts=posts) as cli:
        cli.session_id = given("resume") or given("session-id") or cli.session_id
        await cli.dial()
        return 0 if await cli.closed(patience=None) == 4001 else 7


sys.exit(asyncio.run(main()))

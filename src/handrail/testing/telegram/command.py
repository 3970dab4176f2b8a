"""`python -m handrail.testing telegram`: a server to point a bot at, and to write to it from a page."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys

from handrail.testing.telegram.pace import TelegramPace
from handrail.testing.telegram.server import TEST_TOKEN, TelegramServer

__all__ = ["run"]

_FORUM = -1_001_000_000_001


def run(arguments: list[str]) -> int:
    """Serve until interrupted."""
    options = _parser().parse_args(arguments)
    with contextlib.suppress(KeyboardInterrupt):
        try:
            asyncio.run(_serve(options))
        except (OSError, ValueError) as error:
            print(f"The server cannot start: {error}", file=sys.stderr)
            return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m handrail.testing telegram", description="A Telegram Bot API on this machine, to play with."
    )
    parser.add_argument("--port", type=int, default=8081, help="where to listen on loopback; 0 takes any (%(default)s)")
    parser.add_argument("--token", default=TEST_TOKEN, help="the token that the bot uses (%(default)s)")
    parser.add_argument("--pace", action="store_true", help="refuse what is too fast, as Telegram does")
    parser.add_argument("--all-groups", action="store_true", help="the bot hears everything said in groups")
    return parser


async def _serve(options: argparse.Namespace) -> None:
    pace = TelegramPace() if options.pace else None
    server = TelegramServer(options.token, pace=pace, port=options.port, reads_all_groups=options.all_groups)
    async with server:
        _populate(server)
        print(f"Bot API     {server.url}   (methods at {server.url}/bot<token>/METHOD)")
        print(f"Token       {server.token}")
        print(f"Playground  {server.playground}   (write to the bot as Ann, id 1001, or Bob, id 1002)")
        print("Ctrl-C ends it; nothing is kept.", flush=True)
        await asyncio.Event().wait()


def _populate(server: TelegramServer) -> None:
    ann = server.user(id=1001, first_name="Ann")
    bob = server.user(id=1002, first_name="Bob")
    ann.private_chat()
    bob.private_chat()
    forum = server.group(_FORUM, "Team", members=[ann, bob], is_forum=True, bot_is_admin=True)
    forum.topic("build")

"""`python -m handrail.testing fetch [VERSION,…]` fetches real CLIs into the cache, the pinned one by default;
`python -m handrail.testing telegram` runs a Telegram Bot API server to play with.
"""

from __future__ import annotations

import sys

from handrail.testing.cli_cache import PINNED_VERSION, CLIUnavailable, claude_cli

USAGE = "usage: python -m handrail.testing fetch [VERSION[,VERSION…]] | telegram [--port PORT] [--token TOKEN] [--pace]"


def main(arguments: list[str]) -> int:
    """Do what the first word says; the exit code says whether it went well."""
    match arguments:
        case ["fetch"]:
            return fetch([PINNED_VERSION])
        case ["fetch", listed]:
            return fetch(listed.split(","))
        case ["telegram", *options]:
            from handrail.testing.telegram.command import run

            return run(options)
        case _:
            print(USAGE, file=sys.stderr)
            return 2


def fetch(versions: list[str]) -> int:
    """Fetch each version; one that cannot be had is reported, and the exit code says so."""
    missing = 0
    for version in versions:
        try:
            print(f"Claude Code {version}: {claude_cli(version).path}")
        except CLIUnavailable as error:
            missing += 1
            print(f"Claude Code {version}: {error}", file=sys.stderr)
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

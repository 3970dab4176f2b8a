"""`python -m handrail.testing fetch [VERSION,…]`: fetch real CLIs into the cache, the pinned one by default."""

from __future__ import annotations

import sys

from handrail.testing.cli_cache import PINNED_VERSION, CLIUnavailable, claude_cli

USAGE = "usage: python -m handrail.testing fetch [VERSION[,VERSION…]]"


def main(arguments: list[str]) -> int:
    """Fetch each version; one that cannot be had is reported, and the exit code says so."""
    match arguments:
        case ["fetch"]:
            versions = [PINNED_VERSION]
        case ["fetch", listed]:
            versions = listed.split(",")
        case _:
            print(USAGE, file=sys.stderr)
            return 2
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

"""How a CLI is started that connects to a server (`--sdk-url`), instead of being spoken to on its own pipes.

The traffic is the same, line by line; only who calls whom differs. Claude Code does this for servers of anybody up to
2.1.120. From 2.1.121 on it refuses every server but its vendor's, and so it is never asked to: `refusal_of_version`
says so before anything is started, and `refusal_in` recognises the CLI's own words.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from handrail.errors import InvalidOptions
from handrail.protocol.launch import command_line
from handrail.protocol.options import Options, TokenBy, TransportKind
from handrail.protocol.options.since import Version

__all__ = [
    "REFUSES_SINCE",
    "dialling_command_line",
    "dialling_environment",
    "refusal_in",
    "refusal_of_version",
    "shell_line",
]

REFUSES_SINCE: Final[Version] = (2, 1, 121)
"""The first version that connects to no server but its vendor's."""

BY_VARIABLE: Final = "CLAUDE_CODE_SESSION_ACCESS_TOKEN"
BY_DESCRIPTOR: Final = "CLAUDE_CODE_WEBSOCKET_AUTH_FILE_DESCRIPTOR"
HYBRID: Final = "CLAUDE_CODE_POST_FOR_SESSION_INGRESS_V2"

_SPARE_DESCRIPTOR: Final = 9
"""One that shells leave free for their users."""


def dialling_command_line(options: Options, cli: Sequence[str], url: str) -> list[str]:
    """The arguments that start `cli` so that it connects to `url`; give it nothing on standard input."""
    if not re.fullmatch(r"wss?://[^\s/]+(/\S*)?", url):
        raise InvalidOptions(f"the CLI connects to an address that begins with ws:// or wss://, not to {url!r}")
    return [*command_line(options, cli), "--print", f"--sdk-url={url}"]


def dialling_environment(
    options: Options, *, token: str | None = None, descriptor: int | None = None
) -> dict[str, str]:
    """What `child_environment` lacks for a CLI that connects to a server.

    The token that it shows there is read from `descriptor` to its end, or is a variable. A variable is inherited by
    everything that Claude runs, while a descriptor is not, and can be read once if it is a pipe.
    """
    variables = _switches(options.transport)
    if descriptor is not None:
        variables[BY_DESCRIPTOR] = str(descriptor)
    elif token is not None:
        variables[BY_VARIABLE] = token
    return variables


def _switches(transport: TransportKind) -> dict[str, str]:
    return {HYBRID: "1"} if transport == "hybrid" else {}


# ---------------------------------------------------------------- for somebody who starts it by hand


def shell_line(command: Sequence[str], environment: Mapping[str, str], token: str, *, by: TokenBy) -> str:
    """The line that starts such a CLI in a shell: in bash, zsh or ksh; in any if the token is to be a variable."""
    arguments = f"{shlex.join(command)} </dev/null"
    match by:
        case "descriptor":
            variables = {**environment, BY_DESCRIPTOR: str(_SPARE_DESCRIPTOR)}
            return f"{_assignments(variables)} {arguments} {_SPARE_DESCRIPTOR}<<<{shlex.quote(token)}"
        case "environment":
            return f"{_assignments({**environment, BY_VARIABLE: token})} {arguments}"


def _assignments(variables: Mapping[str, str]) -> str:
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())


# ---------------------------------------------------------------- versions that refuse

_INSTEAD: Final = (
    "Use the stdio transport, which works with every version (leave the transport out); for a Claude Code on another "
    "machine, run `handrail host` there"
)


def refusal_of_version(version: Version) -> str | None:
    """Why this version will not connect to a server of ours, and what to do instead; None if it will."""
    if version < REFUSES_SINCE:
        return None
    return (
        f"Claude Code {_dotted(version)} connects to no server but its vendor's: from {_dotted(REFUSES_SINCE)} on it "
        f"refuses --sdk-url for any other. {_INSTEAD}"
    )


def refusal_in(stderr: str) -> str | None:
    """The same from what a CLI wrote to standard error before it ended; None if it ended of something else."""
    said = re.search(r"--sdk-url rejected: ([^\n]*)", stderr)
    return None if said is None else f"Claude Code refused --sdk-url: {said[1].rstrip('. ')}. {_INSTEAD}"


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))

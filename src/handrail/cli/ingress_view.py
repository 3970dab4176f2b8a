"""Sessions whose Claude Code connects by itself, for a person: the line that starts it, and a list of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from rich.console import RenderableType
from rich.text import Text

from handrail.cli.commands.table import Column, Table
from handrail.cli.commands.wording import age
from handrail.cli.showing.style import DONE, FAILED, QUIET, exact
from handrail.errors import AmbiguousSession, SessionNotFound
from handrail.policy.describing.visible import one_line
from handrail.protocol.dialling import shell_line
from handrail.server.auth.addresses import stays_here

__all__ = ["id_meant", "ingress_table", "line_of", "remarks_on"]

COLUMNS = (
    Column("ID"),
    Column("TITLE", flexible=True),
    Column("TRANSPORT", optional=2),
    Column("SEEN", right=True, optional=1),
    Column("STATE"),
)


def line_of(made: Mapping[str, Any], *, as_variable: bool) -> str:
    """The line to paste."""
    by: Any = "environment" if as_variable else "descriptor"
    return shell_line(made["command"], made["environment"], made["token"], by=by)


def remarks_on(made: Mapping[str, Any], *, as_variable: bool) -> Iterator[str]:
    """What should be known before the line is pasted."""
    yield (
        f"the token in this line is a secret, shown this once: whoever has it can pose as the Claude Code of session "
        f"{_short(made)}. Begin the line with a space to keep it out of a shell's history; end it with "
        f"handrail ingress revoke {_short(made)}"
    )
    if any(each.startswith("--settings") for each in made["command"]):
        yield "leave its --settings in: without them, settings of a project there could switch the policy off"
    if as_variable:
        yield "as a variable the token can be read by everything that Claude runs"
    if stays_here(urlsplit(made["url"]).hostname or ""):
        yield (
            "the address is of this machine only: for others, let the hub be reached from there (handrail config set "
            "hub.public_url …)"
        )
    yield "paste it in the project's directory; it needs Claude Code 2.1.120 or older: for others, handrail host"


def id_meant(reference: str, ingresses: Sequence[Mapping[str, Any]]) -> str:
    """The session whose id begins so. Raises `SessionError`."""
    fitting = [str(each["id"]) for each in ingresses if str(each["id"]).startswith(reference)]
    if not reference or not fitting:
        raise SessionNotFound(f"no such session {reference!r} connects by itself: handrail ingress ls lists them")
    if len(fitting) > 1 and reference not in fitting:
        raise AmbiguousSession(f"{reference!r} fits {len(fitting)} sessions: type more of the id")
    return reference if reference in fitting else fitting[0]


def ingress_table(ingresses: Sequence[Mapping[str, Any]], *, now: float) -> RenderableType:
    """The sessions in columns."""
    return Table(COLUMNS, [_cells(each, now) for each in ingresses])


def _cells(ingress: Mapping[str, Any], now: float) -> tuple[Text, ...]:
    seen = ingress.get("last_seen_at")
    return (
        Text(_short(ingress)),
        exact(one_line(str(ingress["title"])) or "(no title)"),
        Text(str(ingress["transport"])),
        Text(age(now - seen) if seen else "never"),
        _state(ingress),
    )


def _state(ingress: Mapping[str, Any]) -> Text:
    if ingress.get("revoked_at"):
        return Text("revoked", FAILED)
    return Text("connected", DONE) if ingress.get("connected") else Text("waiting", QUIET)


def _short(ingress: Mapping[str, Any]) -> str:
    return str(ingress["id"])[:8]

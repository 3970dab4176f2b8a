"""Sessions whose CLI somebody else starts, elsewhere, and that dials in: what is known of them before it does.

Such a CLI outlives the process that had it. Whoever has it next finds in the journal what it has sent, and what it
still waits for: of its requests it lists only the permissions itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from handrail.policy.files import Elsewhere, Files
from handrail.protocol.ingress import IngressLink
from handrail.protocol.ingress_lines import Head, head_of
from handrail.sessions.launching import decode_settings
from handrail.store.base import FrameRow, Lease, SessionRow, Store
from handrail.transports.ingress.transport import IngressTransport
from handrail.transports.redact import REDACTED

__all__ = ["DIALLED_IN", "DialledIn", "link_again", "waits_for_its_cli"]

DIALLED_IN: Final = "dialled in"
"""Why such a CLI is in the list of starts."""
REMEMBERED: Final = 4_096
"""How many of the last messages are known again: the CLI sends up to a thousand a second time."""
REMEMBERED_REQUESTS: Final = 256
PAGE: Final = 1_000
LISTED_BY_THE_CLI: Final = "can_use_tool"
ASK_AGAIN: Final = "Handrail was restarted before anybody had answered this: make the same call again to have it asked."


@dataclass(frozen=True, slots=True)
class DialledIn:
    """A CLI that somebody else has started, and that has dialled in: perhaps not for the first time."""

    transport: IngressTransport
    ask_suffix: str = ""
    """Tells its asks from those that an earlier owner had to give up: the journal knows the end of these."""
    earlier: tuple[str, ...] = ()
    """The messages that an earlier owner has sent and saw no answer to: it may still answer them."""
    files: Files = field(default_factory=Elsewhere)

    @classmethod
    async def of(cls, transport: IngressTransport, store: Store, lease: Lease) -> DialledIn:
        """With what the journal of the session says."""
        since = max((start.at for start in await store.starts(lease.session_id)), default=0.0)
        lost = await store.messages(lease.session_id, states=("lost",))
        return cls(
            transport,
            ask_suffix=f".{lease.fence}" if lease.fence > 1 else "",
            earlier=tuple(row.uuid for row in lost if row.at >= since),
        )


def waits_for_its_cli(session_id: str) -> str:
    """What to tell whoever wants something of such a session while it has none."""
    return (
        f"session {session_id[:8]} waits for its Claude Code, which somebody starts elsewhere: start it there, with "
        "the line that `handrail ingress new` printed"
    )


async def link_again(store: Store, row: SessionRow) -> IngressLink:
    """The link to a CLI that may have been here before."""
    settings = decode_settings(row.settings)
    past = _Past()
    after = 0
    while page := await store.frames(row.id, after=after, limit=PAGE):
        after = page[-1].number
        past.see(page)
    unanswered = past.unanswered(settings.undelivered)
    return IngressLink(
        known=[*past.seen, *([settings.last_seen] if settings.last_seen is not None else [])],
        unanswered=[line for line in unanswered if REDACTED.encode() not in line],
        refusals=[_refusal(line) for line in unanswered if REDACTED.encode() in line],
        cli_version=past.cli_version,
    )


@dataclass(slots=True)
class _Past:
    """What the journal's lines say of a CLI."""

    seen: OrderedDict[str, None] = field(default_factory=OrderedDict)
    cli_version: str | None = None
    requests: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    """What it asked last, but for what it lists itself."""
    answered: set[str] = field(default_factory=set)

    def see(self, page: Iterable[FrameRow]) -> None:
        for frame in page:
            (self._received if frame.direction == "in" else self._sent)(head_of(frame.line), frame.line)

    def unanswered(self, undelivered: Iterable[str]) -> list[bytes]:
        """What it waits for, if it has not given up: `undelivered` answers may not have got there."""
        answered = self.answered - set(undelivered)
        return [line for request_id, line in self.requests.items() if request_id not in answered]

    def _received(self, head: Head, line: bytes) -> None:
        if head.uuid is not None:
            _remember(self.seen, head.uuid, None, REMEMBERED)
        if head.claude_code_version:
            self.cli_version = head.claude_code_version
        if head.type == "control_request" and head.request_id and head.asks != LISTED_BY_THE_CLI:
            _remember(self.requests, head.request_id, line, REMEMBERED_REQUESTS)
        elif head.type == "control_cancel_request":
            self.requests.pop(head.request_id or "", None)

    def _sent(self, head: Head, line: bytes) -> None:
        if head.response is not None and head.response.request_id in self.requests:
            self.answered.add(head.response.request_id)


def _remember(kept: OrderedDict[str, Any], key: str, value: Any, at_most: int) -> None:
    kept[key] = value
    if len(kept) > at_most:
        kept.popitem(last=False)


def _refusal(line: bytes) -> bytes:
    """The answer to a request of which the journal kept only a part: what it really asks cannot be judged any more."""
    request: dict[str, Any] = msgspec.json.decode(line)
    event = request["request"].get("input", {}).get("hook_event_name")
    response: dict[str, Any] = {"request_id": request["request_id"]}
    if event == "PreToolUse":
        decision = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": ASK_AGAIN}
        response |= {"subtype": "success", "response": {"hookSpecificOutput": decision}}
    else:
        response |= {"subtype": "error", "error": ASK_AGAIN}
    return msgspec.json.encode({"type": "control_response", "response": response}) + b"\n"

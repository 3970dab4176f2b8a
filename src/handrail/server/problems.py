"""What goes wrong, as problem details (RFC 9457): a status, words for people, and a code that programs can rely on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from handrail import errors
from handrail.error_records import record_of
from handrail.server.roles import RoleNeeded

__all__ = ["BY_ERROR", "CODES", "Problem", "ProblemDetails", "problem_of"]

CODES: Final[Mapping[str, tuple[int, str]]] = {
    "bad_request": (400, "The request cannot be understood"),
    "secret_in_address": (400, "A secret does not belong into an address"),
    "not_authenticated": (401, "Who are you?"),
    "wrong_code": (401, "This link or code is not valid any more"),
    "role_needed": (403, "Your role does not allow this"),
    "self_approval": (403, "A session cannot answer for itself"),
    "wrong_origin": (403, "The request comes from another site"),
    "outside_roots": (403, "The directory is outside of what the hub may show"),
    "private_file": (403, "The file is private"),
    "host_refused": (403, "The owner of the host does not allow this there"),
    "not_found": (404, "There is nothing here"),
    "session_not_found": (404, "There is no such session"),
    "ask_not_found": (404, "There is no such ask"),
    "token_not_found": (404, "There is no such token"),
    "host_not_found": (404, "There is no such host"),
    "method_not_allowed": (405, "This address takes other methods"),
    "already_decided": (409, "Somebody has answered already"),
    "ask_closed": (409, "The ask can no longer be answered"),
    "stale_digest": (409, "What was shown is not what is asked"),
    "session_busy": (409, "Another process has the session"),
    "session_not_live": (409, "No Claude Code runs for the session"),
    "ambiguous_session": (409, "Several sessions fit"),
    "session_exists": (409, "The id belongs to another session"),
    "in_progress": (409, "The same request is still being worked on"),
    "idempotency_key_reused": (422, "The idempotency key belongs to another request"),
    "host_name_taken": (409, "Another host has this name"),
    "message_not_queued": (409, "The message is not waiting any more"),
    "file_exists": (409, "The file is there already"),
    "session_limit": (429, "A limit of sessions is reached"),
    "budget_spent": (402, "The budget is spent"),
    "too_large": (413, "The request is too large"),
    "file_too_large": (413, "The file is too large"),
    "unsupported_media_type": (415, "The request must be JSON"),
    "wrong_host": (421, "The hub is not known under this name"),
    "invalid": (422, "The request does not fit"),
    "unfit_answer": (422, "The answer does not fit the ask"),
    "invalid_options": (422, "Claude Code cannot be started so"),
    "invalid_policy": (422, "The policy cannot be used so"),
    "invalid_config": (422, "The configuration is wrong"),
    "session_error": (409, "The session cannot do this now"),
    "control_refused": (422, "Claude Code refused"),
    "too_many_requests": (429, "Too many requests"),
    "internal_error": (500, "The hub made a mistake"),
    "cli_not_found": (503, "There is no Claude Code on this machine"),
    "launch_failed": (502, "Claude Code could not be started"),
    "process_exited": (502, "Claude Code ended"),
    "control_expired": (504, "Claude Code did not answer in time"),
    "store_unavailable": (503, "The journal cannot be used now"),
    "host_away": (503, "The host is not connected"),
    "outcome_unknown": (504, "Whether it was done is not known"),
    "host_error": (502, "The host did not do this"),
    "stopping": (503, "The hub is stopping"),
    "handrail_error": (500, "Something went wrong"),
}
"""Every code, with its status and its title. A code keeps its meaning; new ones may come."""

BY_ERROR: Final[tuple[tuple[type[errors.HandrailError], str], ...]] = (
    (RoleNeeded, "role_needed"),
    (errors.AlreadyDecided, "already_decided"),
    (errors.AskClosed, "ask_closed"),
    (errors.StaleDigest, "stale_digest"),
    (errors.UnfitAnswer, "unfit_answer"),
    (errors.SelfApproval, "self_approval"),
    (errors.PolicyError, "invalid_policy"),
    (errors.BudgetSpent, "budget_spent"),
    (errors.ConfigError, "invalid_config"),
    (errors.SessionNotFound, "session_not_found"),
    (errors.AmbiguousSession, "ambiguous_session"),
    (errors.SessionExists, "session_exists"),
    (errors.SessionBusy, "session_busy"),
    (errors.SessionNotLive, "session_not_live"),
    (errors.SessionLimit, "session_limit"),
    (errors.SessionError, "session_error"),
    (errors.HostNotFound, "host_not_found"),
    (errors.OutcomeUnknown, "outcome_unknown"),
    (errors.HostAway, "host_away"),
    (errors.HostRefused, "host_refused"),
    (errors.HostError, "host_error"),
    (errors.LeaseHeld, "session_busy"),
    (errors.Fenced, "session_busy"),
    (errors.StoreError, "store_unavailable"),
    (errors.CLINotFound, "cli_not_found"),
    (errors.InvalidOptions, "invalid_options"),
    (errors.LaunchError, "launch_failed"),
    (errors.ControlRefused, "control_refused"),
    (errors.ControlExpired, "control_expired"),
    (errors.ProcessError, "process_exited"),
)
"""The code of each error; the first that fits."""


class Problem(errors.HandrailError):
    """A request that cannot be done: one of the `CODES`, and what is the matter in words."""

    def __init__(self, code: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.code = code
        self.headers = dict(headers or {})
        self.more = more


class ProblemDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What a client gets instead of an answer."""

    type: str
    """`urn:handrail:problem:` and the code."""
    title: str
    status: int
    detail: str
    code: str


@dataclass(frozen=True, slots=True)
class Told:
    """A problem, ready to be sent."""

    code: str
    status: int
    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def problem_of(error: errors.HandrailError) -> Told:
    """What a client is told of `error`."""
    if isinstance(error, Problem):
        return _told(error.code, str(error), error.more, error.headers)
    code = next((code for kind, code in BY_ERROR if isinstance(error, kind)), "handrail_error")
    more: dict[str, Any] = {}
    match error:
        case errors.AlreadyDecided(actor=actor, at=at):
            more = {"by": actor, "at": at}
        case errors.AskClosed(state=state):
            more = {"state": state}
            code = "ask_not_found" if state == "unknown" else code
        case RoleNeeded(needed=needed):
            more = {"needed": needed}
    record = record_of(error)
    # For clients in Python, which raise it as what it was here.
    more["error"] = {"kind": record.kind, "fields": record.fields}
    return _told(code, str(error), more, {})


def _told(code: str, detail: str, more: Mapping[str, Any], headers: Mapping[str, str]) -> Told:
    status, title = CODES[code]
    details = ProblemDetails(type=f"urn:handrail:problem:{code}", title=title, status=status, detail=detail, code=code)
    content = msgspec.json.encode({**msgspec.to_builtins(details), **more})
    return Told(code, status, content, {"content-type": "application/problem+json", **headers})

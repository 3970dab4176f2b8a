"""Why a run failed: recognised by what the CLI told of its end, or else by its words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from handrail.events.model import Completed, RateLimit
from handrail.events.view import RunItem, SessionView
from handrail.telegram.show.amounts import moment, waiting_time
from handrail.telegram.text.safe import line

__all__ = ["Reason", "reason_of", "reason_of_run"]


class Reason(NamedTuple):
    """What happened, what to do (Markdown), and what the CLI said itself where that adds something."""

    what: str
    hint: str = ""
    said: str = ""


class _Known(NamedTuple):
    """Something that goes wrong. `quoted`: the CLI's own words are worth reading, too."""

    what: str
    hint: str
    quoted: bool = False


GO_ON: Final = "send “go on”"
_MACHINE: Final = "on the machine where it runs"
_RESUMED: Final = "Nothing that was said is lost: send a message, and the session is resumed."

OVERLOADED = _Known("The service is overloaded or has trouble.", f"Wait a moment, then {GO_ON}.", quoted=True)
RATE_LIMITED = _Known(
    "The rate limit is reached.", f"Wait a while, then {GO_ON}; or choose another model with /model.", quoted=True
)
CONTEXT_FULL = _Known(
    "The conversation is too long for the model.", "Send `/claude /compact` to shorten it, or begin anew with /new."
)
NOT_LOGGED_IN = _Known(
    "Claude Code is not logged in.",
    f"Log in {_MACHINE}: start `claude` in a terminal and type `/login`. Then {GO_ON}.",
    quoted=True,
)
NO_CREDIT = _Known("The account cannot pay for this.", f"Check its plan or its credit, then {GO_ON}.", quoted=True)
NOT_ALLOWED = _Known(
    "The account may not use this model or this feature.",
    f"Choose another model with /model, or log in with another account {_MACHINE}.",
    quoted=True,
)
NO_MODEL = _Known(
    "There is no such model for this account.", f"Choose another one with /model, then {GO_ON}.", quoted=True
)
MAX_TURNS = _Known("As many turns were taken as are allowed.", f"To go on where it stopped, {GO_ON}.")
BUDGET = _Known(
    "The budget is spent.", f"Raise it with /budget, then {GO_ON}; or begin a new session with /new.", quoted=True
)
LONG_ANSWER = _Known("The answer was longer than one message may be.", "Ask for it in smaller parts.")
NO_CONNECTION = _Known("Claude Code cannot reach the API.", f"Check the network {_MACHINE}, then {GO_ON}.", quoted=True)
NO_CONVERSATION = _Known(
    "Claude Code does not know this conversation any more.",
    "Choose another one with /sessions, or begin anew with /new.",
)
NO_CLI = _Known("Claude Code was not found.", f"Install it {_MACHINE}; /health shows what it finds.", quoted=True)
DISK_FULL = _Known(
    "The disk is full.", f"Free some space {_MACHINE}: what could not be written cannot be resumed later.", quoted=True
)
NO_ACCESS = _Known(
    "A file or directory may not be used.", f"Check its permissions {_MACHINE}, then {GO_ON}.", quoted=True
)
BAD_SETTINGS = _Known("Claude Code could not read its settings.", f"Correct the file {_MACHINE}.", quoted=True)
KILLED = _Known("Claude Code was killed, perhaps because memory ran out.", _RESUMED, quoted=True)
DIED = _Known("Claude Code ended unexpectedly.", _RESUMED, quoted=True)
REFUSAL = _Known(
    "The model refused to answer.", "Say it differently, or choose another model with /model.", quoted=True
)
REFUSED = _Known("The API refused the request.", "Say it in other words, or begin anew with /new.", quoted=True)
CUT_OFF = _Known("The run was cut off: Claude Code does not say why.", f"To go on where it stopped, {GO_ON}.")
UNSTRUCTURED = _Known("No answer in the wanted form came about.", f"To try again, {GO_ON}.", quoted=True)

_BY_STATUS: Final[Mapping[int, _Known]] = {
    401: NOT_LOGGED_IN,
    402: NO_CREDIT,
    403: NOT_ALLOWED,
    404: NO_MODEL,
    413: CONTEXT_FULL,
    429: RATE_LIMITED,
}
_FIRST_SERVER_ERROR: Final = 500

_BY_WORDS: Final[tuple[tuple[_Known, str], ...]] = (
    (CONTEXT_FULL, r"prompt.is.too.long|prompt_too_long|context (?:window|length|limit)|input is too long"),
    (MAX_TURNS, r"max_turns|maximum number of turns"),
    (BUDGET, r"max_budget|budget_exhausted|maximum budget|\$[\d.]+ .*are spent"),
    (UNSTRUCTURED, r"structured_output_retr|valid structured output"),
    (NOT_LOGGED_IN, r"/login|not logged in|failed to authenticate|authentication_(?:error|failed)|invalid api key"),
    (NOT_LOGGED_IN, r"oauth token (?:has )?expired|token has been revoked|API Error: 401"),
    (NO_CREDIT, r"credit balance|billing_error|API Error: 402"),
    (RATE_LIMITED, r"rate.limit|usage limit|limit reached|hit your [\w ]*limit|\(429\)|API Error: 429"),
    (OVERLOADED, r"overloaded|API Error: 5\d\d|server-side issue|internal server error"),
    (NOT_ALLOWED, r"permission_error|organi[sz]ation [\w ]*not allowed|API Error: 403"),
    (NO_MODEL, r"model_not_found|not_found_error|model .{0,80}(?:not exist|not found)|API Error: 404"),
    (LONG_ANSWER, r"max_output_tokens|output token maximum"),
    (NO_CONNECTION, r"unable to connect|ECONN|ENOTFOUND|ETIMEDOUT|UND_ERR|fetch failed"),
    (NO_CONNECTION, r"connection (?:dropped|error|refused|reset|closed)"),
    (NO_CONVERSATION, r"no conversation found|asked to resume session"),
    (NO_CLI, r"no `claude` on PATH|path of the CLI|claude: (?:command )?not found|ENOENT.{0,80}\bclaude\b"),
    (DISK_FULL, r"ENOSPC|no space left|disk is full"),
    (NO_ACCESS, r"EACCES|EPERM|permission denied"),
    (BAD_SETTINGS, r"invalid_config|configuration file .{0,200}(?:invalid|corrupt)"),
    (KILLED, r"code (?:-9|137)\b|SIGKILL|out of memory|heap limit"),
    (DIED, r"(?:CLI|claude code) (?:exited|died|was killed)|process (?:ended|exited|is gone)|exited with code"),
    (REFUSAL, r"refused to answer|refusal"),
    (REFUSED, r"invalid_request|API Error: 400"),
    (CUT_OFF, r"^error_during_execution$"),
)
"""The words by which each is known: the first that fits is it."""
_PATTERNS: Final = tuple((known, re.compile(words, re.IGNORECASE | re.MULTILINE)) for known, words in _BY_WORDS)
_RESET_IN_WORDS: Final = re.compile(r"\|\s*(\d{10})(?:\d{3})?\b")
_ENOUGH: Final = 4_000
_QUOTED: Final = 300


def reason_of_run(ended: RunItem | Completed, view: SessionView, *, now: float) -> Reason:
    """Why a run failed. A `Completed` tells more than its error: the API's status, and why the CLI stopped."""
    error = (ended.error or "").strip()
    if not isinstance(ended, Completed):
        return reason_of(error, view, now=now)
    status = ended.detail.get("api_error_status")
    named = f"{ended.detail.get('terminal_reason') or ''} {ended.subtype}"
    return reason_of(error, view, now=now, status=status if isinstance(status, int) else None, named=named)


def reason_of(error: str, view: SessionView, *, now: float, status: int | None = None, named: str = "") -> Reason:
    """What an error means, as far as it is known. `named` is what the CLI calls the end of the run."""
    known = _recognised(f"{named}\n{error[:_ENOUGH]}", status)
    if known is None:
        return Reason(_sentence(error) or "The run did not end well.", f"To try again, {GO_ON}.")
    if known is RATE_LIMITED and (until := _resets_at(error, view, now)):
        return _until(until, view, now)
    return Reason(known.what, known.hint, line(error, _QUOTED) if known.quoted and error else "")


def _recognised(text: str, status: int | None) -> _Known | None:
    if status is not None and status in _BY_STATUS:
        return _BY_STATUS[status]
    by_words = next((known for known, pattern in _PATTERNS if pattern.search(text)), None)
    if by_words is None and status is not None and status >= _FIRST_SERVER_ERROR:
        return OVERLOADED
    return by_words


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


# ---------------------------------------------------------------- limits


def _until(resets_at: float, view: SessionView, now: float) -> Reason:
    names = {limit.limit_type.replace("_", " ") for limit in _reached(view) if limit.limit_type}
    kind = line(next(iter(names)), 40) if len(names) == 1 else "rate"
    left = f" (in {waiting_time(resets_at - now)})" if now else ""
    return Reason(
        f"The {kind} limit is reached. It resets at {moment(resets_at, now or resets_at)}{left}.",
        f"After that, {GO_ON}; or go on now with another model: /model.",
    )


def _resets_at(error: str, view: SessionView, now: float) -> float | None:
    """When a limit ends: from the CLI's words (`…limit reached|1767225600`), or from what it told of limits."""
    found = _RESET_IN_WORDS.search(error[:_ENOUGH])
    told = float(found[1]) if found else max((limit.resets_at or 0.0 for limit in _reached(view)), default=0.0)
    return told if told > now else None


def _reached(view: SessionView) -> Iterator[RateLimit]:
    return (limit for limit in view.rate_limits.values() if limit.status == "rejected")

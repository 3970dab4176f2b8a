"""Words for what went wrong: what a person can do about it."""

from __future__ import annotations

__all__ = ["DISK_FULL", "LOG_IN", "hint_for"]

LOG_IN = (
    "Log in again: start `claude` in a terminal and type /login. "
    "To pay with an API key instead, set ANTHROPIC_API_KEY and `use_api_billing`."
)
DISK_FULL = "Free some space on the disk: what the CLI could not write cannot be resumed later."

_TRY_AGAIN = "The service has trouble: send the message again in a moment."
_LIMITED = "Wait until the limit resets, or go on with another model."

_HINTS = {
    "authentication_failed": LOG_IN,
    "authentication_error": LOG_IN,
    "permission_error": "The account may not use this model or this feature: choose another model, or another account.",
    "oauth_org_not_allowed": "The account's organisation may not use Claude Code: log in with another account.",
    "billing_error": "Check the plan or the credit of the account.",
    "rate_limit": _LIMITED,
    "rate_limit_error": _LIMITED,
    "overloaded": _TRY_AGAIN,
    "overloaded_error": _TRY_AGAIN,
    "server_error": _TRY_AGAIN,
    "api_error": _TRY_AGAIN,
    "invalid_request": "The API refused the request. If the conversation is too long, /compact it or start a new one.",
    "invalid_request_error": "The API refused the request. If the conversation is too long, /compact it.",
    "model_not_found": "There is no such model for this account: choose another one.",
    "not_found_error": "There is no such model for this account: choose another one.",
    "max_output_tokens": "The answer was longer than one message may be: ask for it in smaller parts.",
}
_STATUS_HINTS = {
    400: _HINTS["invalid_request"],
    401: LOG_IN,
    402: _HINTS["billing_error"],
    403: _HINTS["permission_error"],
    404: _HINTS["model_not_found"],
    413: _HINTS["invalid_request"],
    429: _LIMITED,
}
_FIRST_SERVER_ERROR = 500


def hint_for(error: str | None, status: int | None = None) -> str:
    """What to do about an API error, by its name or else by its HTTP status; empty if there is nothing to say."""
    if error in _HINTS:
        return _HINTS[error]
    if status is None:
        return ""
    return _TRY_AGAIN if status >= _FIRST_SERVER_ERROR else _STATUS_HINTS.get(status, "")

"""What the Bot API answers when it refuses: a code, and words that clients tell cases apart by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["ApiError", "bad_request", "conflict", "forbidden", "upgraded"]


class ApiError(Exception):
    """A refusal. `description` is what the real API says, letter by letter: clients match on it."""

    def __init__(self, code: int, description: str, parameters: Mapping[str, Any] | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = dict(parameters or {})

    def as_json(self) -> dict[str, Any]:
        """The body of the answer."""
        body: dict[str, Any] = {"ok": False, "error_code": self.code, "description": self.description}
        return {**body, "parameters": self.parameters} if self.parameters else body


def bad_request(words: str) -> ApiError:
    """The call was understood and is wrong."""
    return ApiError(400, f"Bad Request: {words}")


def forbidden(words: str) -> ApiError:
    """The bot may not do this."""
    return ApiError(403, f"Forbidden: {words}")


def conflict(words: str) -> ApiError:
    """Two ways of getting updates are in each other's way."""
    return ApiError(409, f"Conflict: {words}")


def upgraded(chat: int) -> ApiError:
    """The group is a supergroup now, which has another id."""
    words = "Bad Request: group chat was upgraded to a supergroup chat"
    return ApiError(400, words, {"migrate_to_chat_id": chat})

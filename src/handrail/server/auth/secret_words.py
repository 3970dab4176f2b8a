"""The secrets of the hub: how they are made, what is stored of them, and how they are kept out of logs."""

from __future__ import annotations

import hashlib
import re
import secrets

__all__ = [
    "CODE_PREFIX",
    "ENROLMENT_PREFIX",
    "HOST_PREFIX",
    "TOKEN_PREFIX",
    "contains_secret",
    "hashed",
    "is_secret",
    "new_secret",
    "redacted",
]

TOKEN_PREFIX = "hr_"  # noqa: S105  what secrets begin with, not one of them
CODE_PREFIX = "hrl_"
ENROLMENT_PREFIX = "hre_"
HOST_PREFIX = "hrh_"
_BYTES = 32
_PREFIXES = "|".join((TOKEN_PREFIX, CODE_PREFIX, ENROLMENT_PREFIX, HOST_PREFIX))
_SECRET = re.compile(rf"({_PREFIXES})[A-Za-z0-9_-]{{43}}", re.ASCII)
_BOT_TOKEN = re.compile(r"(?<![0-9])([0-9]{6,12}):[A-Za-z0-9_-]{30,60}", re.ASCII)
"""Of a Telegram bot: it stands in the address of every request to Telegram."""


def new_secret(prefix: str) -> str:
    """A secret that nobody can guess. The prefix lets people, and scanners for leaked secrets, see what it is."""
    return prefix + secrets.token_urlsafe(_BYTES)


def hashed(secret: str) -> str:
    """What is stored of a secret. It is random and long, so one plain hash cannot be turned back."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_secret(text: str, prefix: str) -> bool:
    """Whether `text` has the form of a secret with this prefix: what has not need not be looked up."""
    return text.startswith(prefix) and _SECRET.fullmatch(text) is not None


def contains_secret(text: str) -> bool:
    """Whether one of our secrets stands in `text`."""
    return _SECRET.search(text) is not None


def redacted(text: str) -> str:
    """`text` without our secrets, and without those of Telegram bots."""
    return _BOT_TOKEN.sub(r"\1:…", _SECRET.sub(r"\1…", text))

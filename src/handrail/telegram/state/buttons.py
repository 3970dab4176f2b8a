"""What the buttons stand for: Telegram carries 64 bytes, so a button carries a token, and its meaning is kept here."""

from __future__ import annotations

import secrets

import msgspec

from handrail.telegram.model import Press
from handrail.telegram.state.table import Table

__all__ = ["Buttons"]

_TOKEN_BYTES = 18
"""24 characters that nobody guesses."""


class Buttons(Table):
    """The table of buttons."""

    def mint(self, press: Press) -> str:
        """A token for a button. The same press of the same message gets the same again, so that nothing changes."""
        meaning = msgspec.json.encode(press, order="deterministic")
        found = self._connection.execute(
            "UPDATE buttons SET minted_at = ? WHERE key = ? AND press = ? RETURNING token",
            (self.now, press.key, meaning),
        ).fetchone()
        if found:
            return str(found[0])
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._connection.execute(
            "INSERT INTO buttons (token, key, press, minted_at) VALUES (?, ?, ?, ?)",
            (token, press.key, meaning, self.now),
        )
        return token

    def press(self, token: str) -> Press | None:
        """What a button stands for; None if nobody knows (any more)."""
        found = self._connection.execute("SELECT press FROM buttons WHERE token = ?", (token,)).fetchone()
        return msgspec.json.decode(found[0], type=Press) if found else None

    def retire(self, key: str) -> None:
        """The buttons of a message mean nothing any more."""
        self._connection.execute("DELETE FROM buttons WHERE key = ?", (key,))

"""The buttons under the message of an ask: each bound to the digest of what that message shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import msgspec

from handrail.policy.answers.encoding import encode_answer
from handrail.sessions.asks import AnyAnswer
from handrail.telegram.asks.fitting import stacked
from handrail.telegram.asks.words import line
from handrail.telegram.model import Button, ButtonStyle, Keyboard, Place, Press
from handrail.telegram.text.rich import RichText, plain

__all__ = ["LONGEST_LABEL", "Deck", "Mint"]

LONGEST_LABEL = 64
TWO_LINES = 48
"""About what a phone shows on two lines of a button."""
MOST_BUTTONS = 100
MOST_BYTES = 9_000
"""Telegram takes no more under one message: of bytes about 10,000, with all that is said of the buttons."""
BYTES_BESIDE = 60
"""What a button takes besides its words and its token."""

Mint: TypeAlias = Callable[[Press], str]
"""Gives the token that stands for a press."""


class _Row(NamedTuple):
    buttons: tuple[Button, ...]
    is_one_of_many: bool

    @property
    def size(self) -> int:
        return sum(len(button.text.encode()) + len(button.token) + BYTES_BESIDE for button in self.buttons)


class Deck:
    """Collects the buttons of one message. What does not fit on a button is listed, to be shown above it."""

    def __init__(
        self, mint: Mint, *, place: Place, key: str, session_id: str, ask_id: str, digest: str, at: int = 0
    ) -> None:
        self._mint = mint
        self._at = at
        """The step that is shown: a button of another one does nothing."""
        self._press = Press(
            action="", place=place, key=key, session_id=session_id, ask_id=ask_id, digest=digest, data={}
        )
        self._rows: list[_Row] = []
        self._cut: list[str] = []

    def row(self, *buttons: Button, is_one_of_many: bool = False) -> None:
        """Put buttons next to each other. Of `many`, those are left out that are more than Telegram takes."""
        if buttons:
            self._rows.append(_Row(buttons, is_one_of_many))

    @property
    def keyboard(self) -> Keyboard:
        needed = [row for row in self._rows if not row.is_one_of_many]
        buttons, size = sum(len(row.buttons) for row in needed), sum(row.size for row in needed)
        shown: list[tuple[Button, ...]] = []
        for row in self._rows:
            if row.is_one_of_many:
                buttons, size = buttons + len(row.buttons), size + row.size
            if not row.is_one_of_many or (buttons <= MOST_BUTTONS and size <= MOST_BYTES):
                shown.append(row.buttons)
        return tuple(shown)

    @property
    def listed(self) -> RichText:
        """The words of every button that could not hold them, whole."""
        return stacked((plain(f"{number}. {text}") for number, text in enumerate(self._cut, start=1)))

    # ------------------------------------------------------------ buttons

    def decide(
        self, text: str, answer: AnyAnswer, *, style: ButtonStyle = "", resume: bool = False, short: str = ""
    ) -> Button:
        """A button that answers the ask. With `short` it says that where the text would take more than two lines."""
        data: dict[str, Any] = {"answer": encode_answer(answer)}
        return self._button(text, "ask:decide", data | ({"resume": True} if resume else {}), style, short)

    def prompt(self, text: str, purpose: str) -> Button:
        """A button that asks for words, in a message that is to be replied to."""
        return self._button(text, "ask:prompt", {"purpose": purpose})

    def step(self, text: str, do: str, number: int = 0, *, style: ButtonStyle = "") -> Button:
        """A button that goes on to something else on the same message."""
        return self._button(text, "ask:step", {"do": do, "number": number, "at": self._at}, style)

    def confirm(self, text: str, choice: str) -> Button:
        """A button after which the person is asked once more."""
        return self._button(text, "ask:step", {"do": "confirm", "choice": choice, "at": self._at}, "danger")

    def show(self, text: str) -> Button:
        """A button that shows the whole request."""
        return self._button(text, "ask:show", {})

    def _button(self, text: str, action: str, data: dict[str, Any], style: ButtonStyle = "", short: str = "") -> Button:
        press = msgspec.structs.replace(self._press, action=action, data=data)
        return Button(text=self._label(text, short), token=self._mint(press), style=style)

    def _label(self, text: str, short: str) -> str:
        whole = line(text) or "…"
        if len(whole) <= (TWO_LINES if short else LONGEST_LABEL):
            return whole
        self._cut.append(whole)
        label = f"{len(self._cut)}. {line(short) or whole}"
        return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1].rstrip() + "…"

"""Asking the person at the terminal: shows an ask, takes their keys, and makes the answer of them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from handrail.cli.asking.ask_view import Asking, ask_panel
from handrail.cli.asking.filling import fill_in
from handrail.cli.asking.menu import Choice
from handrail.cli.asking.plans import answer_plan
from handrail.cli.asking.questions import answer_questions
from handrail.cli.asking.sheet import Hand, Sheet
from handrail.cli.asking.whole import whole_request
from handrail.cli.showing.screen import Screen
from handrail.cli.showing.style import DONE, FAILED
from handrail.cli.showing.tools import call_line, tool_title
from handrail.policy.describing.suggestions import describe_suggestion
from handrail.protocol.asks import Allow, Answer, Ask, Deny, DialogResult, Elicited
from handrail.sessions.asks import AnyAnswer

__all__ = ["STOPPED", "Asker"]

DENIED = "The user denied this."
STOPPED = "The user denied this and stopped the turn."
NO_MORE_INPUT = "Nobody answered: the terminal's input has ended."

YES = Choice("y", "allow once", "it runs this once; the next one is asked again")
NO = Choice("n", "deny", "it does not run; Claude is told so and goes on")
WHY = Choice("d", "deny and say why", "it does not run; Claude reads your reason and goes on")
EDIT = Choice("e", "edit", "change the input in your editor, look at it again, then decide", also=("ctrl-g",))
ALL = Choice("s", "show all", "the whole request as Claude Code sent it, as JSON")
STOP = Choice("i", "deny and stop", "it does not run, and the turn ends, as with Ctrl-C")

FILL_IN = Choice("y", "answer", "one value after another")
OPENED = Choice("y", "done", "you opened the address and did what it wants")
DECLINE = Choice("n", "decline", "the server gets no values and is told that you declined")
CANCEL = Choice("c", "cancel", "the server gets no values and is told that you left the form")
REPLY = Choice("r", "reply", "type the dialog's result as JSON")
CLOSE = Choice("n", "close", "the dialog is closed without a result")

GO_ON = Choice("y", "go on", "as much again may be spent before you are asked again")
ENOUGH = Choice("n", "enough", "no further message is sent in this session")


class Asker:
    """Asks one person, one ask at a time."""

    def __init__(self, screen: Screen, hand: Hand) -> None:
        self._screen = screen
        self._hand = hand

    async def answer(self, ask: Ask, asking: Asking) -> AnyAnswer:
        """The person's answer to `ask`."""
        with Sheet(self._screen, self._hand) as sheet:
            try:
                return await _KINDS[ask.kind](sheet, ask, asking)
            except EOFError:
                sheet.tell(FAILED, "denied: the terminal's input has ended")
                return Deny(NO_MORE_INPUT)


# ---------------------------------------------------------------- tools


async def _permission(sheet: Sheet, ask: Ask, asking: Asking) -> Answer:
    while True:
        # A suggestion is about the call as Claude made it.
        always = {} if asking.edited else _always(ask.suggestions)
        sheet.show(ask_panel(ask, asking), beside=3 + 2 * len(always))
        key = await _decided(sheet, ask, YES, NO, WHY, EDIT, ALL, STOP, *_always_choices(always))
        if key == EDIT.key:
            ask, asking = await _edited(sheet, ask, asking)
        elif key == YES.key:
            sheet.tell(DONE, f"allowed once: {_what(ask)}")
            return Allow(updated_input=_changed(ask, asking))
        elif key in always:
            sheet.tell(DONE, f"allowed: {_what(ask)}; from now on: {describe_suggestion(always[key])}")
            return Allow(updated_input=_changed(ask, asking), updated_permissions=(always[key],))
        elif (denial := await _denial(sheet, ask, key)) is not None:
            return denial


async def _decided(sheet: Sheet, ask: Ask, *choices: Choice) -> str:
    """What the person chooses, once they have seen all that they want to see."""
    while (key := await sheet.choose(*choices)) == ALL.key:
        sheet.write(whole_request(ask))
    return key


def _what(ask: Ask) -> str:
    return f"{tool_title(ask.tool_name)} {call_line(ask.tool_name, ask.input, ask.cwd)}"


async def _denial(sheet: Sheet, ask: Ask, key: str) -> Answer | None:
    if key == STOP.key:
        sheet.tell(FAILED, f"denied, and the turn is stopped: {_what(ask)}")
        return Deny(STOPPED, interrupt=True)
    reason = await sheet.line("Tell Claude why: ") if key == WHY.key else ""
    if reason is None:
        return None
    sheet.tell(FAILED, f"denied: {_what(ask)}" + (f" · {reason}" if reason else ""))
    return Deny(f"The user denied this and says: {reason}" if reason else DENIED)


async def _edited(sheet: Sheet, ask: Ask, asking: Asking) -> tuple[Ask, Asking]:
    text = json.dumps(ask.input, indent=2, ensure_ascii=False)
    try:
        edited = json.loads(await sheet.edit(text, ".json"))
    except OSError as error:
        sheet.hint(f"Nothing is changed: {error}.")
    except ValueError as error:
        sheet.hint(f"Nothing is changed, because that is not JSON: {error}.")
    else:
        if isinstance(edited, dict):
            return _with_input(ask, asking, edited)
        sheet.hint("Nothing is changed, because the input must be a JSON object.")
    return ask, asking


def _with_input(ask: Ask, asking: Asking, changed: dict[str, Any]) -> tuple[Ask, Asking]:
    edited = asking.edited or changed != ask.input
    return msgspec.structs.replace(ask, input=changed), msgspec.structs.replace(asking, edited=edited)


def _changed(ask: Ask, asking: Asking) -> Mapping[str, Any] | None:
    return ask.input if asking.edited else None


def _always(suggestions: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The suggestions by the key that chooses each."""
    keys = ["a"] if len(suggestions) == 1 else [str(number) for number in range(1, len(suggestions) + 1)]
    return dict(zip(keys, suggestions, strict=True))


def _always_choices(always: Mapping[str, Mapping[str, Any]]) -> list[Choice]:
    return [
        Choice(key, f"always: {describe_suggestion(suggestion)}", "it runs now, too", long=True)
        for key, suggestion in always.items()
    ]


# ---------------------------------------------------------------- plans and questions


async def _plan(sheet: Sheet, ask: Ask, asking: Asking) -> AnyAnswer:
    answer = await answer_plan(sheet, ask, asking, stop=STOP)
    if answer is None:
        sheet.tell(FAILED, "denied, and the turn is stopped")
        return Deny(STOPPED, interrupt=True)
    return answer


async def _questions(sheet: Sheet, ask: Ask, asking: Asking) -> AnyAnswer:
    return await answer_questions(sheet, ask, asking)


# ---------------------------------------------------------------- forms, dialogs, budgets


async def _elicitation(sheet: Sheet, ask: Ask, asking: Asking) -> Answer:
    address = ask.request.get("mode") == "url"
    while True:
        sheet.show(ask_panel(ask, asking))
        key = await sheet.choose(OPENED if address else FILL_IN, DECLINE, CANCEL)
        if key in _UNFILLED:
            action, said = _UNFILLED[key]
            sheet.tell(FAILED, said)
            return Elicited(action)
        answer = Elicited("accept") if address else await fill_in(sheet, ask)
        if answer is not None:
            sheet.tell(DONE, "sent")
            return answer


async def _dialog(sheet: Sheet, ask: Ask, asking: Asking) -> Answer:
    sheet.show(ask_panel(ask, asking))
    while True:
        if await sheet.choose(REPLY, CLOSE) == CLOSE.key:
            sheet.tell(FAILED, "closed")
            return DialogResult(behavior="cancelled")
        typed = await sheet.line("JSON: ")
        if typed is None:
            continue
        try:
            result = json.loads(typed)
        except ValueError as error:
            sheet.hint(f"Sorry, that is not JSON: {error}.")
        else:
            sheet.tell(DONE, "sent")
            return DialogResult(result)


async def _budget(sheet: Sheet, ask: Ask, asking: Asking) -> Answer:
    sheet.show(ask_panel(ask, asking))
    if await sheet.choose(GO_ON, ENOUGH) == ENOUGH.key:
        sheet.tell(FAILED, "nothing more is sent")
        return Deny("the person at the terminal decided not to go on")
    sheet.tell(DONE, "as much again may be spent")
    return Allow()


_UNFILLED: Mapping[str, tuple[Any, str]] = {
    DECLINE.key: ("decline", "declined"),
    CANCEL.key: ("cancel", "cancelled"),
}
_KINDS: Mapping[str, Callable[[Sheet, Ask, Asking], Awaitable[AnyAnswer]]] = {
    "permission": _permission,
    "plan": _plan,
    "enter_plan": _plan,
    "question": _questions,
    "elicitation": _elicitation,
    "dialog": _dialog,
    "budget": _budget,
}

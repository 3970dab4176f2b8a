"""Asking the person at the terminal: shows an ask, reads what is typed, and makes the answer of it.

Each answer is a typed line. Where lines come from is the `Typist`'s business, so all of this can be tested without a
terminal.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from rich.console import Console
from rich.text import Text

from handrail.cli.ask_view import Asking, ask_panel, option_labels, question_panel
from handrail.cli.forms import Field, form_fields, pick, read_value
from handrail.cli.layout import Hanging
from handrail.cli.menu import HELP_KEY, Choice, Menu
from handrail.cli.style import DONE, FAILED, MARKS, NEEDS_YOU, QUIET, exact, prose
from handrail.errors import UnfitAnswer
from handrail.policy.answers.forms import check_elicited
from handrail.policy.answers.plan import ApproveInFreshContext, ApprovePlan, ImplementNow, PlanAnswer, RejectPlan
from handrail.policy.answers.plan_choices import PlanChoice, plan_choices
from handrail.policy.answers.plan_rules import proposed_rules
from handrail.policy.describing.suggestions import describe_suggestion
from handrail.protocol.asks import Allow, Answer, Answers, Ask, Deny, DialogResult, Elicited
from handrail.sessions.asks import AnyAnswer

__all__ = ["Asker", "PromptInterrupted", "Typist"]

DENIED = "The user denied this."
STOPPED = "The user denied this and stopped the turn."
NO_MORE_INPUT = "Nobody answered: the terminal's input has ended."

YES = Choice("y", "allow once", "it runs this once; the next one is asked again")
NO = Choice("n", "deny", "it does not run; Claude is told so and goes on")
WHY = Choice("d", "deny and say why", "it does not run; Claude reads your reason and goes on")
EDIT = Choice("e", "edit", "change the input in your editor, look at it again, then decide")
STOP = Choice("i", "deny and stop", "it does not run, and the turn ends, as with Ctrl-C")

PLAN_KEYS: Mapping[str, tuple[str, str]] = {
    "accept-edits": ("a", "Claude carries out the plan; edits of files in the project are not asked"),
    "ask-edits": ("y", "Claude carries out the plan and asks before each edit and command"),
    "bypass": ("b", "Claude carries out the plan, and NOTHING is asked any more"),
    "fresh": ("f", "a new session carries out the plan and knows nothing else; this one ends"),
    "fresh-bypass": ("fb", "a new session carries out the plan, and NOTHING is asked there"),
    "compact": ("c", "Claude carries out the plan; what was said so far is summed up to make room"),
    "edit": ("e", "change the plan in your editor, look at it again, then decide"),
    "revise": ("n", "you say what to change, and Claude plans on"),
    "outline": ("o", "Claude writes the plan out step by step, and you decide then"),
    "reject": ("r", "the plan is not carried out; Claude is told so and goes on"),
    "yes": ("y", "Claude leaves plan mode and asks before each edit and command"),
    "no": ("n", "Claude stays in plan mode"),
    "enter": ("y", "Claude looks around and proposes a plan before it changes anything"),
    "implement": ("n", "Claude goes on without a plan"),
}
"""What to type for each answer to a plan, and what it does."""

APPROVE_EDITED = Choice(
    "y", "approve this and accept edits", "Claude carries out the plan as you changed it; edits of files are not asked"
)
BACK = Choice("n", "back", "the plan as Claude wrote it is shown again")
RULES = Choice("y", "allow these too", "for this session: what they cover is not asked")
NO_RULES = Choice("n", "ask for each", "they are asked like any other command")

FILL_IN = Choice("y", "answer", "one value after another")
OPENED = Choice("y", "done", "you opened the address and did what it wants")
DECLINE = Choice("n", "decline", "the server gets no values and is told that you declined")
CANCEL = Choice("c", "cancel", "the server gets no values and is told that you left the form")
REPLY = Choice("r", "reply", "type the dialog's result as JSON")
CLOSE = Choice("n", "close", "the dialog is closed without a result")

GO_ON = Choice("y", "go on", "as much again may be spent before you are asked again")
ENOUGH = Choice("n", "enough", "no further message is sent in this session")

LEAVE_OPEN = "-"


class PromptInterrupted(Exception):
    """Ctrl-C was pressed at a prompt: deny, and stop the turn."""


class Typist(Protocol):
    """The person's side of a terminal."""

    async def line(self) -> str:
        """The next line. Raises EOFError if there will be none, `PromptInterrupted` on Ctrl-C."""

    async def edit(self, text: str, suffix: str) -> str:
        """`text` as the person changed it in their editor. Raises OSError if that fails."""


class Asker:
    """Asks one person, one ask at a time."""

    def __init__(self, console: Console, typist: Typist) -> None:
        self._console = console
        self._typist = typist

    async def answer(self, ask: Ask, asking: Asking) -> AnyAnswer:
        """The person's answer to `ask`."""
        kinds: Mapping[str, Callable[[Ask, Asking], Awaitable[AnyAnswer]]] = {
            "permission": self._permission,
            "plan": self._plan,
            "enter_plan": self._plan,
            "question": self._questions,
            "elicitation": self._elicitation,
            "dialog": self._dialog,
            "budget": self._budget,
        }
        try:
            return await kinds[ask.kind](ask, asking)
        except EOFError:
            self._tell(FAILED, "denied: the terminal's input has ended")
            return Deny(NO_MORE_INPUT)

    # ------------------------------------------------------------ tools and plans

    async def _permission(self, ask: Ask, asking: Asking) -> Answer:
        self._console.print(ask_panel(ask, asking))
        # A suggestion is about the call as Claude made it.
        always = {} if asking.edited else _always(ask.suggestions)
        key = await self._choose(YES, NO, WHY, EDIT, STOP, *_always_choices(always))
        if key == EDIT.key:
            return await self._permission(*await self._edit_input(ask, asking))
        if key == YES.key:
            self._tell(DONE, "allowed once")
            return Allow(updated_input=_changed(ask, asking))
        if key in always:
            self._tell(DONE, f"allowed; from now on: {describe_suggestion(always[key])}")
            return Allow(updated_input=_changed(ask, asking), updated_permissions=(always[key],))
        return await self._denial(key)

    async def _denial(self, key: str) -> Answer:
        if key == STOP.key:
            self._tell(FAILED, "denied, and the turn is stopped")
            return Deny(STOPPED, interrupt=True)
        reason = await self._read("Tell Claude why: ") if key == WHY.key else ""
        self._tell(FAILED, f"denied: {reason}" if reason else "denied")
        return Deny(f"The user denied this and says: {reason}" if reason else DENIED)

    async def _plan(self, ask: Ask, asking: Asking) -> AnyAnswer:
        self._console.print(ask_panel(ask, asking))
        choices = {PLAN_KEYS[choice.id][0]: choice for choice in plan_choices(ask, asking.plan)}
        menu = [
            Choice(key, choice.label, PLAN_KEYS[choice.id][1], long=len(choices) > 2) for key, choice in choices.items()
        ]
        key = await self._choose(*menu, STOP)
        if key == STOP.key:
            return await self._denial(key)
        return await self._plan_answer(ask, asking, choices[key])

    async def _plan_answer(self, ask: Ask, asking: Asking, choice: PlanChoice) -> AnyAnswer:
        if choice.needs == "plan":
            return await self._edited_plan(ask, asking, choice)
        if choice.needs == "feedback":
            feedback = await self._read("What should change? ")
            if not feedback:
                self._hint("Nothing was typed, so nothing is sent.")
                return await self._plan(ask, asking)
            self._tell(NEEDS_YOU, "not approved; Claude plans on")
            return choice.filled_in(feedback)
        answer = await self._with_rules(ask, choice.answer)
        self._tell(FAILED if isinstance(answer, RejectPlan | ImplementNow) else DONE, choice.label)
        return answer

    async def _with_rules(self, ask: Ask, answer: PlanAnswer) -> PlanAnswer:
        """What the plan asks leave for beforehand, if the person gives it: rules that can be read, for this session."""
        prompts = proposed_rules(ask)
        rules = [rule for prompt in prompts for rule in prompt.rules]
        if not rules or not isinstance(answer, ApprovePlan | ApproveInFreshContext):
            return answer
        self._hint("The plan asks leave beforehand for:")
        for prompt in prompts:
            covered = ", ".join(prompt.rules) or "(it names no command: you are asked when it comes)"
            self._console.print(Hanging(Text("  "), exact(f"{prompt.prompt}  {covered}")))
        if await self._choose(RULES, NO_RULES) == NO_RULES.key:
            return answer
        return msgspec.structs.replace(answer, rules=rules)

    async def _edited_plan(self, ask: Ask, asking: Asking, choice: PlanChoice) -> AnyAnswer:
        try:
            plan = await self._typist.edit(ask.plan or "", ".md")
        except OSError as error:
            self._hint(f"Nothing is changed: {error}.")
            return await self._plan(ask, asking)
        if plan.strip() in ("", (ask.plan or "").strip()):
            self._hint("Nothing is changed.")
            return await self._plan(ask, asking)
        shown = msgspec.structs.replace(ask, plan=plan, input={**ask.input, "plan": plan}, described=None)
        self._console.print(ask_panel(shown, msgspec.structs.replace(asking, edited=True)))
        if await self._choose(APPROVE_EDITED, BACK) == BACK.key:
            return await self._plan(ask, asking)
        answer = await self._with_rules(shown, choice.filled_in(plan))
        self._tell(DONE, choice.label)
        return answer

    # ------------------------------------------------------------ questions, forms, dialogs

    async def _questions(self, ask: Ask, asking: Asking) -> Answer:
        answers: dict[str, str | Sequence[str]] = {}
        for question in ask.questions:
            self._console.print(question_panel(question, asking))
            answer = await self._question(question)
            if answer is not None:
                answers[str(question.get("question", ""))] = answer
        self._tell(DONE, "answered" if answers else "left open")
        # Each question that has no answer was left open by the person.
        return Answers(answers, partial=len(answers) < len(ask.questions))

    async def _question(self, question: Mapping[str, Any]) -> str | list[str] | None:
        labels = option_labels(question)
        several = bool(question.get("multiSelect"))
        self._hint(_how_to_answer(labels, several))
        while True:
            typed = await self._read()
            if typed == LEAVE_OPEN:
                return None
            if typed == HELP_KEY:
                self._hint(_how_to_answer(labels, several))
                continue
            try:
                return _chosen(typed, labels, several)
            except ValueError as error:
                self._hint(f"Sorry, {error}.")

    async def _elicitation(self, ask: Ask, asking: Asking) -> Answer:
        self._console.print(ask_panel(ask, asking))
        key = await self._choose(OPENED if ask.request.get("mode") == "url" else FILL_IN, DECLINE, CANCEL)
        if key == DECLINE.key:
            self._tell(FAILED, "declined")
            return Elicited("decline")
        if key == CANCEL.key:
            self._tell(FAILED, "cancelled")
            return Elicited("cancel")
        if ask.request.get("mode") == "url":
            self._tell(DONE, "sent")
            return Elicited("accept")
        return await self._filled_in(ask)

    async def _filled_in(self, ask: Ask) -> Answer:
        """The form, asked again from the start for as long as it does not fit its schema."""
        while True:
            values = {field.name: await self._value(field) for field in form_fields(ask.request)}
            answer = Elicited("accept", {name: value for name, value in values.items() if value is not None})
            try:
                check_elicited(ask, answer)
            except UnfitAnswer as error:
                self._hint(f"Sorry, {error}.")
            else:
                self._tell(DONE, "sent")
                return answer

    async def _value(self, field: Field) -> Any:
        self._console.print(_field_heading(field))
        for number, (_, shown) in enumerate(field.choices, start=1):
            self._console.print(Text.assemble((f"  {number}  ", f"bold {NEEDS_YOU}"), prose(shown)))
        while True:
            typed = await self._read()
            if not typed and (field.default is not None or not field.required):
                return field.default
            try:
                return read_value(field, typed)
            except ValueError as error:
                self._hint(f"Sorry, {error}.")

    async def _dialog(self, ask: Ask, asking: Asking) -> Answer:
        self._console.print(ask_panel(ask, asking))
        if await self._choose(REPLY, CLOSE) == CLOSE.key:
            self._tell(FAILED, "closed")
            return DialogResult(behavior="cancelled")
        while True:
            try:
                result = json.loads(await self._read("JSON: "))
            except ValueError as error:
                self._hint(f"Sorry, that is not JSON: {error}.")
            else:
                self._tell(DONE, "sent")
                return DialogResult(result)

    async def _budget(self, ask: Ask, asking: Asking) -> Answer:
        self._console.print(ask_panel(ask, asking))
        if await self._choose(GO_ON, ENOUGH) == ENOUGH.key:
            self._tell(FAILED, "nothing more is sent")
            return Deny("the person at the terminal decided not to go on")
        self._tell(DONE, "as much again may be spent")
        return Allow()

    # ------------------------------------------------------------ editing

    async def _edit_input(self, ask: Ask, asking: Asking) -> tuple[Ask, Asking]:
        text = json.dumps(ask.input, indent=2, ensure_ascii=False)
        try:
            edited = json.loads(await self._typist.edit(text, ".json"))
        except OSError as error:
            self._hint(f"Nothing is changed: {error}.")
        except ValueError as error:
            self._hint(f"Nothing is changed, because that is not JSON: {error}.")
        else:
            if isinstance(edited, dict):
                return _with_input(ask, asking, edited)
            self._hint("Nothing is changed, because the input must be a JSON object.")
        return ask, asking

    # ------------------------------------------------------------ lines

    async def _choose(self, *choices: Choice) -> str:
        menu = Menu(choices)
        self._console.print(menu.short())
        while True:
            typed = await self._read()
            key = menu.key_for(typed)
            if key is not None:
                return key
            self._console.print(menu.explained() if typed == HELP_KEY else menu.reminder())

    async def _read(self, prompt: str = "› ") -> str:
        self._console.print(Text(prompt, style=f"bold {NEEDS_YOU}"), end="")
        try:
            return (await self._typist.line()).strip()
        except BaseException:
            self._console.print()  # nobody ended the line
            raise

    def _tell(self, colour: str, text: str) -> None:
        self._console.print(Hanging(Text(f"{MARKS[colour]} ", style=colour), exact(text)))

    def _hint(self, text: str) -> None:
        self._console.print(exact(text, QUIET))


def _changed(ask: Ask, asking: Asking) -> Mapping[str, Any] | None:
    return ask.input if asking.edited else None


def _with_input(ask: Ask, asking: Asking, changed: dict[str, Any]) -> tuple[Ask, Asking]:
    edited = asking.edited or changed != ask.input
    return msgspec.structs.replace(ask, input=changed), msgspec.structs.replace(asking, edited=edited)


def _always(suggestions: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The suggestions by the key that chooses each."""
    keys = ["a"] if len(suggestions) == 1 else [f"a{number + 1}" for number in range(len(suggestions))]
    return dict(zip(keys, suggestions, strict=True))


def _always_choices(always: Mapping[str, Mapping[str, Any]]) -> list[Choice]:
    return [
        Choice(key, f"always: {describe_suggestion(suggestion)}", "it runs now, too", long=True)
        for key, suggestion in always.items()
    ]


def _how_to_answer(labels: Sequence[str], several: bool) -> str:
    numbers = ("Numbers with commas, or" if several else "A number, or") if labels else "In"
    return f"{numbers} your own words; {LEAVE_OPEN} leaves it open."


def _chosen(typed: str, labels: Sequence[str], several: bool) -> str | list[str]:
    """The labels whose numbers were typed, or the typed words themselves. Raises ValueError."""
    if not typed:
        raise ValueError(f"nothing was typed; {LEAVE_OPEN} leaves the question open")
    if not labels or not typed.replace(",", " ").replace(" ", "").isdecimal():
        return typed
    picked = [labels[index] for index in pick(typed, len(labels), several=several)]
    return picked if several else picked[0]


def _field_heading(field: Field) -> Text:
    notes = [field.description] if field.description else []
    if field.default is not None:
        notes.append(f"Enter for {field.default}")
    elif not field.required:
        notes.append("Enter to leave it out")
    if field.several:
        notes.append("several with commas")
    return Text.assemble(prose(field.title, "bold"), prose(f"  {'; '.join(notes)}", QUIET))

"""Answers without a person: all denied where nobody is there, all granted in the demo; each shown, and said so."""

from __future__ import annotations

from rich.text import Text

from handrail.cli.asking.ask_view import Asking, ask_panel, option_labels, question_panel
from handrail.cli.showing.layout import Hanging
from handrail.cli.showing.screen import Screen
from handrail.cli.showing.style import DONE, FAILED, MARKS, exact
from handrail.cli.showing.tools import call_line, tool_title
from handrail.policy.answers.plan import ApprovePlan, EnterPlan
from handrail.protocol.asks import Allow, Answer, Answers, Ask, Deny
from handrail.sessions.asks import Actor, AnyAnswer

__all__ = ["Automatic", "Nobody"]

DENIED = (
    "Denied because nobody could be asked: Handrail runs without a terminal here. "
    "The user did not see this request; do not take it for their decision."
)


class Nobody:
    """Denies what would be asked, and tells how to allow it beforehand. `denied` counts what was."""

    actor = Actor("Handrail", "unattended")

    def __init__(self, screen: Screen) -> None:
        self.denied = 0
        self._denying = ""
        self._has_hinted = False
        self._screen = screen

    async def answer(self, ask: Ask, asking: Asking) -> AnyAnswer:
        """A denial; only that Claude plans first needs nobody's leave."""
        if ask.kind == "enter_plan":
            return EnterPlan()
        self._denying = (
            f"{tool_title(ask.tool_name)} {call_line(ask.tool_name, ask.input)}" if ask.tool_name else ask.kind
        )
        return Deny(DENIED)

    def taken(self, answer: AnyAnswer) -> None:
        """The answer counts: neither the policy nor anybody else was faster."""
        if not isinstance(answer, Deny):
            return
        self.denied += 1
        self._say(f"denied, because nobody is at a terminal to be asked: {self._denying}")
        if not self._has_hinted:
            self._has_hinted = True
            self._say("allow it beforehand with --allowed-tools, --policy or --mode, or run this in a terminal")

    def _say(self, text: str) -> None:
        self._screen.show(Hanging(Text(f"{MARKS[FAILED]} ", style=FAILED), exact(text)), kind="notice")


class Automatic:
    """Shows each ask as a person would see it, and says yes. For the demo only."""

    actor = Actor("the demo", "unattended")
    denied = 0

    def __init__(self, screen: Screen, why: str) -> None:
        self._screen = screen
        self._why = why

    async def answer(self, ask: Ask, asking: Asking) -> AnyAnswer:
        """The friendliest answer that fits."""
        if ask.kind == "question":
            return self._first_choices(ask, asking)
        self._screen.show(ask_panel(ask, asking), kind="ask")
        if ask.kind in ("elicitation", "dialog"):
            self._say("declined")
            return Deny(DENIED)
        if ask.kind == "plan":
            self._say("approved, with edits accepted")
            return ApprovePlan("acceptEdits" if ask.plan else "default")
        self._say("allowed")
        return Allow()

    def _first_choices(self, ask: Ask, asking: Asking) -> Answer:
        answers = {}
        for question in ask.questions:
            self._screen.show(question_panel(question, asking), kind="ask")
            first = next(iter(option_labels(question)), "Whatever you think is best.")
            answers[str(question.get("question", ""))] = first
            self._say(f"answered “{first}”")
        return Answers(answers)

    def _say(self, what: str) -> None:
        said = exact(f"{what} by the demo itself: {self._why}")
        self._screen.show(Hanging(Text(f"{MARKS[DONE]} ", style=DONE), said), kind="ask")

"""Answers without a person: all denied where nobody is there, all granted in the demo; each shown, and said so."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from handrail.cli.ask_view import Asking, ask_panel, option_labels, question_panel
from handrail.cli.layout import Hanging
from handrail.cli.style import DONE, FAILED, MARKS, exact
from handrail.cli.tools import call_line, tool_title
from handrail.policy.answers.plan import ApprovePlan, EnterPlan
from handrail.protocol.asks import Allow, Answer, Answers, Ask, Deny
from handrail.sessions.asks import AnyAnswer

__all__ = ["Automatic", "Nobody"]

DENIED = (
    "Denied because nobody could be asked: Handrail runs without a terminal here. "
    "The user did not see this request; do not take it for their decision."
)


class Nobody:
    """Denies what would be asked, and tells how to allow it beforehand."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._explained = False

    async def answer(self, ask: Ask, asking: Asking) -> AnyAnswer:
        """A denial; only that Claude plans first needs nobody's leave."""
        if ask.kind == "enter_plan":
            return EnterPlan()
        what = f"{tool_title(ask.tool_name)} {call_line(ask.tool_name, ask.input)}" if ask.tool_name else ask.kind
        self._say(f"denied, because nobody is at a terminal to be asked: {what}")
        if not self._explained:
            self._explained = True
            self._say("allow it beforehand with --allowed-tools or --permission-mode, or run this in a terminal")
        return Deny(DENIED)

    def _say(self, text: str) -> None:
        self._console.print(Hanging(Text(f"{MARKS[FAILED]} ", style=FAILED), exact(text)))


class Automatic:
    """Shows each ask as a person would see it, and says yes. For the demo only."""

    def __init__(self, console: Console, why: str) -> None:
        self._console = console
        self._why = why

    async def answer(self, ask: Ask, asking: Asking) -> AnyAnswer:
        """The friendliest answer that fits."""
        if ask.kind == "question":
            return self._first_choices(ask, asking)
        self._console.print(ask_panel(ask, asking))
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
            self._console.print(question_panel(question, asking))
            first = next(iter(option_labels(question)), "Whatever you think is best.")
            answers[str(question.get("question", ""))] = first
            self._say(f"answered “{first}”")
        return Answers(answers)

    def _say(self, what: str) -> None:
        said = exact(f"{what} by the demo itself: {self._why}")
        self._console.print(Hanging(Text(f"{MARKS[DONE]} ", style=DONE), said))

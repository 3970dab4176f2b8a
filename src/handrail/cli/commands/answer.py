"""`handrail answer`: answer what a session asks, from any terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.candidates import ask_ids

if TYPE_CHECKING:
    from handrail.cli.commands.typed_answers import Typed
    from handrail.cli.commands.workplace import Workplace

__all__ = ["answer"]

AskId = Annotated[
    str,
    typer.Argument(metavar="ASK", help="An ask from handrail asks: its id or the start of it.", autocompletion=ask_ids),
]
Word = Annotated[
    str | None,
    typer.Argument(
        metavar="ANSWER",
        help="allow, always or deny; for plans also accept-edits, ask-edits, fresh, compact, edit, revise, outline and "
        "reject; for forms accept, decline and cancel; skip leaves questions open. Without it you are asked.",
    ),
]
Reason = Annotated[str, typer.Option("--reason", "-m", metavar="TEXT", help="What Claude is told with it.")]
Option = Annotated[
    list[str] | None,
    typer.Option(
        "--option", "-o", metavar="LABEL", help="Choose this one; HEADER=LABEL where several are asked. Repeatable."
    ),
]
Text = Annotated[
    list[str] | None, typer.Option("--text", "-t", metavar="TEXT", help="Answer a question in your own words.")
]
LeaveOpen = Annotated[bool, typer.Option("--leave-open", help="Leave the questions open that have no answer here.")]
Value = Annotated[
    list[str] | None, typer.Option("--value", metavar="NAME=VALUE", help="Fill in a field of a form. Repeatable.")
]
RuleNumber = Annotated[
    int | None, typer.Option(metavar="N", help="With always: which of the rules on offer, counted from 1.")
]
Rule = Annotated[
    list[str] | None,
    typer.Option("--rule", metavar="RULE", help="With a plan: allow this for the session, such as 'Bash(npm test:*)'."),
]
Plan = Annotated[Path | None, typer.Option("--plan", metavar="FILE", help="The plan as you changed it.")]
Input = Annotated[str | None, typer.Option("--input", metavar="JSON", help="With allow: run it with this input.")]
Result = Annotated[str | None, typer.Option("--result", metavar="JSON", help="The result of a dialog.")]
Interrupt = Annotated[bool, typer.Option("--interrupt", help="With deny: end the turn, too.")]
Answer = Annotated[
    str | None, typer.Option("--answer", metavar="JSON", help="The whole answer, as in the journal. For programs.")
]
Digest = Annotated[
    str | None, typer.Option(metavar="SHA256", help="Refuse unless exactly this is asked (handrail asks --json).")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="If its session has ended: resume it here, and allow exactly this once.")
]


def answer(
    ctx: typer.Context,
    ask: AskId,
    word: Word = None,
    reason: Reason = "",
    option: Option = None,
    text: Text = None,
    leave_open: LeaveOpen = False,
    value: Value = None,
    rule_number: RuleNumber = None,
    rule: Rule = None,
    plan: Plan = None,
    input_: Input = None,
    result: Result = None,
    interrupt: Interrupt = False,
    encoded: Answer = None,
    digest: Digest = None,
    resume: Resume = False,
) -> None:
    """Answer what a session asks.

    The ask is shown whole, and the answer counts only for what was shown.

    Example: handrail answer 8c1f deny --reason "not on a Friday"
    """
    from handrail.cli.commands.typed_answers import Typed
    from handrail.cli.commands.workplace import at_work

    typed = Typed(
        word=word,
        reason=reason,
        options=tuple(option or ()),
        texts=tuple(text or ()),
        leave_open=leave_open,
        values=tuple(value or ()),
        suggestion=rule_number,
        rules=tuple(rule or ()),
        plan=plan.read_text(encoding="utf-8") if plan is not None else None,
        given_input=input_,
        result=result,
        interrupt=interrupt,
        encoded=encoded,
    )
    at_work(ctx, lambda place: _answer(place, ask, typed, digest, resume=resume), may_start=resume)


async def _answer(place: Workplace, reference: str, typed: Typed, digest: str | None, *, resume: bool) -> int | None:
    from handrail.cli.commands.answering import Answering

    return await Answering(place, await place.ask(reference)).go(typed, digest, resume=resume)

"""The last lines of an answer: which model in which mode, what it took, and how to go on elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.events.model import Completed
from handrail.events.resume import resume_line
from handrail.events.view import RunItem, SessionView
from handrail.telegram.show.amounts import context, cost, count, duration
from handrail.telegram.show.mode_words import mode_words, planmode_words
from handrail.telegram.text.rich import RichText, code, joined, plain
from handrail.telegram.text.safe import line

__all__ = ["footer", "model_words"]

_LONGEST_TOKEN = 200


def footer(
    ended: RunItem | Completed, view: SessionView, *, planmode: str = "", resume: bool = True, host: str = ""
) -> RichText:
    """`🏷 model · mode · cost · time · context`, and the line that resumes the session in a terminal, of `host` if it
    runs there."""
    where = [f"on {line(host, 40)}"] if host else []
    lines = [plain(f"🏷 {' · '.join([*where, *_facts(ended, view, planmode)])}")]
    token = (ended.resume if isinstance(ended, Completed) else None) or view.resume
    if resume and token and len(token) <= _LONGEST_TOKEN and not any(map(str.isspace, token)):
        lines.append(code(resume_line(line(token, _LONGEST_TOKEN))))
    return joined(lines, "\n")


def model_words(model: str) -> str:
    """The name of a model without what every model's name has."""
    short = model.removeprefix("claude-")
    name, _, day = short.rpartition("-")
    return line(name if name and len(day) == 8 and day.isdecimal() else short, 60)


def _facts(ended: RunItem | Completed, view: SessionView, planmode: str) -> Iterator[str]:
    if view.model:
        yield model_words(view.model)
    planned = planmode_words(planmode)
    if planned:
        yield planned
    if view.mode and not (planned and view.mode == "plan"):  # once a plan is approved, it is another mode that counts
        yield mode_words(view.mode)
    yield cost(ended.cost_usd)
    if ended.duration_ms:
        yield duration(ended.duration_ms)
    if ended.num_turns > 1:
        yield count(ended.num_turns, "turn")
    if view.context_tokens:
        yield context(view.context_tokens, view.context_window)

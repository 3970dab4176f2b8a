"""What Claude answered, as messages: the answer or what went wrong, the files that it changed, and the footer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec

from handrail.events.model import Completed
from handrail.events.view import ActionItem, Item, RunItem, SessionView
from handrail.rendering.amounts import size
from handrail.telegram.model import Attachment
from handrail.telegram.show.amounts import count
from handrail.telegram.show.footer import footer
from handrail.telegram.show.notices import run_notice
from handrail.telegram.text.markdown import from_markdown
from handrail.telegram.text.rich import EMPTY, RichText, bold, code, joined, plain, pre, utf16_length
from handrail.telegram.text.safe import isolated, line, path_line, safe
from handrail.telegram.text.splitting import LONGEST_MESSAGE, MOST_ENTITIES, beginning, fits, left_out, split
from handrail.telegram.text.streaming import closed_for_now

__all__ = ["FILE_NAME", "LONGEST_WHOLE", "answer", "answer_file", "is_long", "items_of"]

FILE_NAME = "answer.md"
LONGEST_WHOLE = 4 * LONGEST_MESSAGE
MOST_MESSAGES = 6
"""An answer that is longer, or takes more, is shown in part, and sent whole as a file."""
SHOWN_OF_LONG = 2 * LONGEST_MESSAGE - 800
SHOWN_ENTITIES = 2 * MOST_ENTITIES - 20
"""As much of it: two messages, with room for what stands below them."""

_SHOWN_FILES = 8
_LOOKED_AT = 5_000
"""So many entries of a run are looked at for the files that it changed."""
_BETWEEN = "\n\n"


def answer(
    ended: RunItem | Completed,
    view: SessionView,
    *,
    title: str = "",
    now: float = 0.0,
    planmode: str = "",
    resume: bool = True,
    host: str = "",
    limit: int = LONGEST_MESSAGE,
) -> list[RichText]:
    """The messages that tell how a run ended: at least one, the last with the footer.

    `title` says which session it is, where that is not plain, and `host` which machine, if it is not the hub's; `now`
    is for the time until a limit resets.
    """
    named = bold(isolated(line(title, 80))) if title else EMPTY
    blocks = [block for block in (named, *_blocks(ended, view, now)) if block]
    end = joined([*_changed(ended, view), footer(ended, view, planmode=planmode, resume=resume, host=host)], "\n")
    return _with_end(joined(blocks, _BETWEEN), end, limit)


def answer_file(
    ended: RunItem | Completed, view: SessionView | None = None, *, name: str = FILE_NAME
) -> Attachment | None:
    """The whole answer as a file, if it is too long for messages."""
    if not is_long(ended.answer):
        return None
    return Attachment(name=name, data=ended.answer.encode("utf-8", "backslashreplace"))


def is_long(text: str) -> bool:
    """Whether an answer is shown in part only."""
    return _whole(text.strip()) is None


# ---------------------------------------------------------------- what it says


def _blocks(ended: RunItem | Completed, view: SessionView, now: float) -> Iterator[RichText]:
    text = ended.answer.strip()
    if ended.ok:
        yield _said(text) if text else _structured(ended) or plain("✓ done")
        return
    error = ended.error or ""
    if text and text != error.strip():
        yield _said(text)
    yield run_notice(ended, view, now=now)


def _said(text: str) -> RichText:
    whole = _whole(text)
    return whole if whole is not None else _in_part(text)


def _whole(text: str) -> RichText | None:
    """All of an answer, unless it takes too many messages: few letters may have many looks."""
    if len(text) > LONGEST_WHOLE:
        return None
    rich = from_markdown(text)
    return rich if len(split(rich)) <= MOST_MESSAGES else None


def _in_part(text: str) -> RichText:
    """The beginning of a long answer, and where the rest is."""
    # What was cut may be in the middle of a block of code.
    head = from_markdown(closed_for_now(_first_lines(text, SHOWN_OF_LONG)))
    lines = count(text.count("\n") + 1, "line")
    whole = size(len(text.encode("utf-8", "backslashreplace")))
    more = plain(f"… the answer has {lines} ({whole}): all of it is in the file {FILE_NAME}")
    return joined([beginning(head, SHOWN_OF_LONG, SHOWN_ENTITIES), more], _BETWEEN)


def _first_lines(text: str, characters: int) -> str:
    """The beginning of a text, up to the end of a paragraph or of a line if there is one."""
    head = text[:characters]
    cut = head.rfind("\n\n", characters // 2)
    cut = cut if cut > 0 else head.rfind("\n", characters // 2)
    return head[:cut] if cut > 0 else head


def _structured(ended: RunItem | Completed) -> RichText | None:
    value = ended.structured_output if isinstance(ended, Completed) else None
    if value is None:
        return None
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return left_out(pre(safe(text), "json"), LONGEST_WHOLE)


# ---------------------------------------------------------------- what it changed


def _changed(ended: RunItem | Completed, view: SessionView) -> list[RichText]:
    """The files that the run changed, on one line."""
    files = _changed_files(ended, view)
    if not files:
        return []
    shown: list[RichText | str] = ["changed: "]
    for number, (path, is_new) in enumerate(islice(files.items(), _SHOWN_FILES)):
        shown += [", " if number else "", code(path_line(_relative(path, view.cwd), 80)), " (new)" if is_new else ""]
    more = len(files) - _SHOWN_FILES
    return [joined([*shown, f" and {more} more" if more > 0 else ""])]


def _changed_files(ended: RunItem | Completed, view: SessionView) -> dict[str, bool]:
    """Each file, and whether it is new; the first change counts."""
    files: dict[str, bool] = {}
    for item in items_of(ended, view):
        if isinstance(item, ActionItem) and item.ok:
            for change in item.changes:
                if path := change.get("path"):
                    files.setdefault(path, change.get("kind") == "add")
    return files


def items_of(ended: RunItem | Completed, view: SessionView) -> list[Item]:
    """The entries of the run, subagents' included, in order."""
    number = ended.run if isinstance(ended, Completed) else ended.number
    found: list[Item] = []
    for item in islice(reversed(view.items), _LOOKED_AT):
        if item.run == number:
            found += [*reversed(item.children), item] if isinstance(item, ActionItem) else [item]
        elif item.run is not None and number is not None and item.run < number:
            break
    return found[::-1]


def _relative(path: str, cwd: str) -> str:
    return path.removeprefix(f"{cwd.rstrip('/')}/") if len(cwd) > 1 else path


# ---------------------------------------------------------------- in messages


def _with_end(body: RichText, end: RichText, limit: int) -> list[RichText]:
    """The body in messages, the last of which has room for the end."""
    parts = split(body, limit)
    if parts and not fits(_both(parts[-1], end), limit):
        room = limit - end.length - utf16_length(_BETWEEN)
        parts[-1:] = split(parts[-1], room, MOST_ENTITIES - len(end.entities))
    if not parts or not fits(_both(parts[-1], end), limit):
        return [*parts, beginning(end, limit)]
    return [*parts[:-1], _both(parts[-1], end)]


def _both(part: RichText, end: RichText) -> RichText:
    return joined([part, end], _BETWEEN)

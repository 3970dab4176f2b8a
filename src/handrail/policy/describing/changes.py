"""What a tool call would do to a file as it is now: the text before, the text after, and the diff between them.

The text after is made as Claude Code makes it: an edit looks for its text with Windows line ends read as plain ones,
takes straight quotation marks for curly ones if need be, and a deleted line takes its newline along.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from handrail.policy.describing.diffs import changed_blocks, hunks_of, split_lines
from handrail.policy.describing.json_text import text_in
from handrail.policy.files import Elsewhere, Files
from handrail.protocol.descriptions import Content, FileChange, Hunk, Outcome, Replacement

__all__ = ["PATH_FIELDS", "change_of"]

PATH_FIELDS: Mapping[str, str] = {
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "Write": "file_path",
}
"""The tools that change a file, and the field that names it."""

LARGEST_FILE = 16 * 1024 * 1024
MOST_LINES = 20_000
MOST_CHARACTERS = 1_000_000
LONGEST_PLACE = 10

_STRAIGHT = str.maketrans("‘’“”", "''\"\"")


@dataclass(frozen=True, slots=True)
class _OnDisk:
    """A file as it is: `text` is None where there is a file and it is not text that can be compared."""

    text: str | None
    content: Content | None = None
    notes: tuple[str, ...] = ()

    @property
    def exists(self) -> bool:
        return self.content is not None or self.text is None


def change_of(tool: str, given: Mapping[str, Any], path: str, files: Files) -> tuple[FileChange, set[str]] | None:
    """What the call does to the file at `path`, and which fields of its input that shows; None for any other call."""
    if tool == "Write" and isinstance(given.get("content"), str):
        return _written(path, text_in(given, "content"), _on_disk(path, files)), {"content"}
    if tool == "Edit" and isinstance(given.get("old_string"), str) and isinstance(given.get("new_string"), str):
        return _edited(path, [_replacement(given)], _on_disk(path, files)), _shown_fields(given)
    if tool == "MultiEdit" and (replacements := _replacements(given.get("edits"))):
        return _edited(path, replacements, _on_disk(path, files)), {"edits"}
    if tool == "NotebookEdit":
        return _cell_changed(path, given, _on_disk(path, files)), {"new_source"} & _strings_among(given)
    return None


def _strings_among(given: Mapping[str, Any]) -> set[str]:
    return {key for key, value in given.items() if isinstance(value, str)}


def _shown_fields(given: Mapping[str, Any]) -> set[str]:
    shown = {"old_string", "new_string"}
    return shown | {"replace_all"} if isinstance(given.get("replace_all"), bool) else shown


def _replacement(given: Mapping[str, Any]) -> Replacement:
    everywhere = given.get("replace_all") is True
    return Replacement(old=text_in(given, "old_string"), new=text_in(given, "new_string"), everywhere=everywhere)


def _replacements(edits: Any) -> list[Replacement]:
    """The edits of a MultiEdit; none if any of them has another shape, so that it is shown as it came instead."""
    if not isinstance(edits, list) or not all(_is_replacement(edit) for edit in edits):
        return []
    return [_replacement(edit) for edit in edits]


def _is_replacement(edit: Any) -> bool:
    return (
        isinstance(edit, dict)
        and edit.keys() <= {"old_string", "new_string", "replace_all"}
        and isinstance(edit.get("old_string"), str)
        and isinstance(edit.get("new_string"), str)
        and isinstance(edit.get("replace_all", False), bool)
    )


# ---------------------------------------------------------------- the file as it is


UNSEEN = "Claude Code runs where its files cannot be seen from here: no diff can be shown"


def _on_disk(path: str, files: Files) -> _OnDisk:
    if isinstance(files, Elsewhere):
        return _OnDisk(None, notes=(UNSEEN,))
    if files.is_directory(path):
        return _OnDisk(None, notes=("there is a directory at this path",))
    data = files.read(path, LARGEST_FILE)
    if data is not None:
        return _read(data)
    if not files.exists(path):
        return _OnDisk("")
    return _OnDisk(None, notes=(f"the file cannot be read, or is larger than {LARGEST_FILE // 2**20} MB",))


def _read(data: bytes) -> _OnDisk:
    content = _measured(data)
    if data.startswith(b"\xff\xfe"):
        return _OnDisk(data.decode("utf-16-le", "replace"), content, ("the file is UTF-16",))
    if b"\0" in data[:8192]:
        return _OnDisk(None, content, ("the file is binary",))
    try:
        return _OnDisk(data.decode(), content)
    except UnicodeDecodeError:
        return _OnDisk(
            data.decode("utf-8", "replace"),
            content,
            ("the file is not valid UTF-8: bytes that are no text are shown as U+FFFD and are lost when it is saved",),
        )


def _measured(data: bytes) -> Content:
    lines = data.count(b"\n") + (data[-1:] not in (b"", b"\n"))
    return Content(size=len(data), lines=lines, sha256=hashlib.sha256(data).hexdigest())


# ---------------------------------------------------------------- the tools


def _written(path: str, content: str, old: _OnDisk) -> FileChange:
    after = _measured(content.encode())
    if old.text is None:
        notes = (*old.notes, "so the new text cannot be compared with it")
        return FileChange(path=path, outcome="unknown", before=old.content, after=after, text=content, notes=notes)
    change = _compared(path, old, content, after)
    # The hunks of a new file show all of it; those of a change leave out what stays.
    return change if change.outcome == "created" and change.hunks else msgspec.structs.replace(change, text=content)


def _edited(path: str, replacements: Sequence[Replacement], old: _OnDisk) -> FileChange:
    given = tuple(replacements)
    if old.text is None:
        unknown = (*old.notes, "so it is not known what the edit would change")
        return FileChange(path=path, outcome="unknown", before=old.content, replacements=given, notes=unknown)
    text, notes = old.text.replace("\r\n", "\n"), list(old.notes)
    for number, replacement in enumerate(given, start=1):
        name = f"edit {number}: " if len(given) > 1 else ""
        result = _replaced(text, replacement, exists=old.exists)
        notes += [name + note for note in result.notes]
        if result.text is None:
            return FileChange(path=path, outcome="fails", before=old.content, replacements=given, notes=tuple(notes))
        text = result.text
    edited = _OnDisk(old.text, old.content, tuple(notes))
    return _compared(path, edited, text, _measured(text.encode()), replacements=given)


@dataclass(frozen=True, slots=True)
class _Replaced:
    text: str | None
    notes: tuple[str, ...] = ()


def _replaced(text: str, edit: Replacement, *, exists: bool) -> _Replaced:
    if edit.old == edit.new:
        return _Replaced(None, ("the old text and the new text are the same: the edit will fail",))
    if edit.old == "":
        return _created(text, edit, exists=exists)
    if not exists:
        return _Replaced(None, ("there is no such file: the edit will fail",))
    found, notes = _found(text, edit.old)
    count = text.count(found) if found else 0
    if not count:
        return _Replaced(None, ("the text to replace is not in the file: the edit will fail",))
    if count > 1 and not edit.everywhere:
        return _Replaced(None, (f"the text to replace is in the file {count} times: the edit will fail",))
    if count > 1:
        notes = (*notes, f"{count} places are replaced")
    takes_newline = edit.new == "" and not found.endswith("\n") and found + "\n" in text
    return _Replaced(text.replace(found + "\n" if takes_newline else found, edit.new), notes)


def _created(text: str, edit: Replacement, *, exists: bool) -> _Replaced:
    if exists and text.strip():
        return _Replaced(None, ("there is no text to look for, and the file is not empty: the edit will fail",))
    return _Replaced(edit.new)


def _found(text: str, wanted: str) -> tuple[str, tuple[str, ...]]:
    """`wanted` as it stands in `text`; empty if it does not."""
    if wanted in text:
        return wanted, ()
    at = text.translate(_STRAIGHT).find(wanted.translate(_STRAIGHT))
    if at < 0:
        return "", ()
    note = "the file has other quotation marks than the edit: Claude Code takes them as the same, and may adapt others"
    return text[at : at + len(wanted)], (note,)


# ---------------------------------------------------------------- notebooks


def _cell_changed(path: str, given: Mapping[str, Any], old: _OnDisk) -> FileChange:
    mode, cell_id, source = text_in(given, "edit_mode") or "replace", given.get("cell_id"), text_in(given, "new_source")
    cells = _cells(old.text)
    if cells is None:
        notes = (*old.notes, "this is not a notebook that can be read: the edit will fail")
        return FileChange(path=path, outcome="fails", before=old.content, text=source, notes=notes)
    index = _cell_index(cells, cell_id)
    if mode == "insert":
        where = "at the start" if cell_id is None else f"after cell {cell_id}"
        return _cell_compared(path, old, "", source, f"a new cell {where}")
    if index is None or mode not in ("replace", "delete"):
        notes = (*old.notes, f"there is no cell {cell_id} to {mode}: the edit will fail")
        return FileChange(path=path, outcome="fails", before=old.content, text=source, notes=notes)
    after = "" if mode == "delete" else source
    change = _cell_compared(path, old, _cell_source(cells[index]), after, f"cell {index + 1} of {len(cells)}: {mode}")
    return msgspec.structs.replace(change, text=source) if mode == "delete" and source else change


def _cells(text: str | None) -> list[Any] | None:
    try:
        notebook = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    return cells if isinstance(cells, list) else None


def _cell_index(cells: list[Any], cell_id: Any) -> int | None:
    """A cell is named by its id, or as `cell-N` by its place."""
    for index, cell in enumerate(cells):
        if isinstance(cell, dict) and cell_id is not None and cell.get("id") == cell_id:
            return index
    place = str(cell_id).removeprefix("cell-")
    named_by_place = place.isascii() and place.isdecimal() and len(place) < LONGEST_PLACE
    return int(place) if named_by_place and int(place) < len(cells) else None


def _cell_source(cell: Any) -> str:
    source = cell.get("source") if isinstance(cell, dict) else None
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")


def _cell_compared(path: str, old: _OnDisk, before: str, after: str, note: str) -> FileChange:
    cell = _OnDisk(before, old.content, (*old.notes, f"the diff is of the source of one cell ({note})"))
    change = _compared(path, cell, after, None)
    # The hunks show where the cell differs; what stays of its new source is shown as text.
    return change if not before and change.hunks else msgspec.structs.replace(change, text=after)


# ---------------------------------------------------------------- comparing


def _compared(
    path: str, old: _OnDisk, new: str, after: Content | None, *, replacements: tuple[Replacement, ...] = ()
) -> FileChange:
    before, new, notes = _with_like_ends(old.text or "", new)
    notes = (*old.notes, *notes)
    hunks, added, removed, too_large = _hunks(before, new)
    if too_large:
        notes = (*notes, f"too large to show line by line: {removed} lines removed, {added} added")
    return FileChange(
        path=path,
        outcome=_outcome(old, before == new),
        hunks=hunks,
        added=added,
        removed=removed,
        before=old.content,
        after=after,
        replacements=replacements,
        text=new if too_large and not replacements else None,
        notes=notes,
    )


def _count_lines(text: str) -> int:
    return text.count("\n") + (text[-1:] not in ("", "\n"))


def _outcome(old: _OnDisk, same: bool) -> Outcome:
    if old.content is None:
        return "created"
    return "unchanged" if same else "changed"


def _with_like_ends(before: str, after: str) -> tuple[str, str, tuple[str, ...]]:
    """Both texts with plain line ends, where each has one kind only; and what that leaves unsaid."""
    kinds = _line_ends(before), _line_ends(after)
    if "mixed" in kinds or "crlf" not in kinds:
        note = ("the line ends of the file are mixed",) if kinds[0] == "mixed" else ()
        return before, after, note
    notes = {
        ("crlf", "crlf"): "lines end in CRLF, and stay so",
        ("crlf", "lf"): "lines of the file end in CRLF, those of the new text in LF; older CLIs keep CRLF",
        ("crlf", "none"): "lines of the file end in CRLF",
        ("lf", "crlf"): "lines of the file end in LF, those of the new text in CRLF",
        ("none", "crlf"): "lines of the new text end in CRLF",
    }
    return before.replace("\r\n", "\n"), after.replace("\r\n", "\n"), (notes[kinds],)


def _line_ends(text: str) -> str:
    newlines, windows = text.count("\n"), text.count("\r\n")
    if not newlines:
        return "none"
    return "lf" if not windows else "crlf" if windows == newlines else "mixed"


def _hunks(before: str, after: str) -> tuple[tuple[Hunk, ...], int, int, bool]:
    """The hunks, how many lines they add and remove, and whether there are too many of them to show."""
    if not before and len(after) > MOST_CHARACTERS:
        return (), _count_lines(after), 0, True
    old, new = split_lines(before), split_lines(after)
    blocks = changed_blocks(old, new)
    removed = sum(block.old_end - block.old_start for block in blocks)
    added = sum(block.new_end - block.new_start for block in blocks)
    characters = sum(len(line) for block in blocks for line in old[block.old_start : block.old_end])
    characters += sum(len(line) for block in blocks for line in new[block.new_start : block.new_end])
    if added + removed > MOST_LINES or characters > MOST_CHARACTERS:
        return (), added, removed, True
    return hunks_of(old, new, blocks), added, removed, False

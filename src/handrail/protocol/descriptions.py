"""What an ask is about, in full and for every surface: values that can be stored and sent.

`handrail.policy.describing` makes them where the CLI's files are. The texts are as they came: a surface shows each
through `visible` or `legible` (`handrail.policy.describing.visible`), and says what it folds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

__all__ = [
    "Access",
    "AffectedPath",
    "Call",
    "Change",
    "Choice",
    "Command",
    "Content",
    "Description",
    "Fetch",
    "FileChange",
    "Flag",
    "Form",
    "FormField",
    "Hunk",
    "InputField",
    "LazyDescription",
    "Level",
    "Option",
    "Outcome",
    "PlanReview",
    "Question",
    "Questions",
    "Reason",
    "Replacement",
    "Risk",
    "What",
    "decode_description",
    "encode_description",
]

Level: TypeAlias = Literal["low", "medium", "high"]
Access: TypeAlias = Literal["read", "write", "delete"]
Outcome: TypeAlias = Literal["created", "changed", "unchanged", "fails", "unknown"]

VERSION = 1


class Value(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A part of a description."""


class Flag(Value, frozen=True):
    """Something a person should notice: a code for programs, words for people, and the piece it was seen in."""

    code: str
    words: str
    where: str = ""
    level: Level = "medium"


class Risk(Value, frozen=True):
    """How much there is to look at. `low` means that nothing stood out, not that it is safe."""

    level: Level = "low"
    reasons: tuple[str, ...] = ()


class InputField(Value, frozen=True):
    """One field of the input. `value` is the string itself, or JSON where `is_json` says so."""

    name: str
    value: str
    is_json: bool = False


class AffectedPath(Value, frozen=True):
    """A file or directory that would be touched: as it was written, made absolute, and with its links followed."""

    path: str
    absolute: str
    resolved: str
    access: Access = "write"
    inside_project: bool = True


class Reason(Value, frozen=True):
    """Why the CLI asks, in its own words; `code` says which of its fields that is."""

    code: str
    words: str


# ---------------------------------------------------------------- changes of files


class Hunk(Value, frozen=True):
    """Lines of a unified diff: each begins with " ", "-" or "+", or is the note about a missing last newline."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[str, ...]

    @property
    def header(self) -> str:
        """The line that says where the hunk belongs."""
        return f"@@ -{self.old_start},{self.old_count} +{self.new_start},{self.new_count} @@"


class Content(Value, frozen=True):
    """The measure of a file: its size, its lines, and the SHA-256 of its bytes."""

    size: int
    lines: int
    sha256: str


class Replacement(Value, frozen=True):
    """One replacement of an edit, as the tool call says it."""

    old: str
    new: str
    everywhere: bool = False


class FileChange(Value, frozen=True):
    """What a tool call does to a file as it is on the disk now.

    `text` is the whole new text wherever the hunks do not show all of it. `notes` say in words what a diff cannot: that
    the text to replace is not there, that the file is not text, that its lines end in another way.
    """

    path: str
    outcome: Outcome
    hunks: tuple[Hunk, ...] = ()
    added: int = 0
    removed: int = 0
    before: Content | None = None
    after: Content | None = None
    replacements: tuple[Replacement, ...] = ()
    text: str | None = None
    notes: tuple[str, ...] = ()

    def unified(self) -> str:
        """The hunks as a unified diff; empty if there are none."""
        if not self.hunks:
            return ""
        lines = [f"--- {'/dev/null' if self.before is None else self.path}", f"+++ {self.path}"]
        for hunk in self.hunks:
            lines += [hunk.header, *hunk.lines]
        return "\n".join([*lines, ""])


# ---------------------------------------------------------------- what would happen


class Command(Value, frozen=True, tag="command"):
    """A command line."""

    text: str
    language: str = "bash"


class Fetch(Value, frozen=True, tag="fetch"):
    """An address that is fetched."""

    url: str
    host: str = ""


class Change(Value, frozen=True, tag="change"):
    """A change of a file."""

    change: FileChange


class Call(Value, frozen=True, tag="call"):
    """Any other call of a tool, whose input is in the description's `fields`; `server` is the MCP server's name."""

    tool: str
    server: str = ""


class PlanReview(Value, frozen=True, tag="plan"):
    """A plan to approve; `path` is the file it is also in."""

    plan: str
    path: str = ""


class Option(Value, frozen=True):
    """A choice of a question."""

    label: str
    description: str = ""
    preview: str = ""
    fields: tuple[InputField, ...] = ()


class Question(Value, frozen=True):
    """One question; answers are keyed by its text."""

    text: str
    header: str = ""
    options: tuple[Option, ...] = ()
    multi_select: bool = False
    fields: tuple[InputField, ...] = ()


class Questions(Value, frozen=True, tag="questions"):
    """Questions to answer."""

    questions: tuple[Question, ...]


class Choice(Value, frozen=True):
    """A value that a form's field may have, as JSON, and how it is shown."""

    value: str
    shown: str


class FormField(Value, frozen=True):
    """One value that a form asks for; `default` is JSON, `fields` is what else its schema says."""

    name: str
    title: str = ""
    kind: str = "string"
    description: str = ""
    required: bool = False
    default: str | None = None
    choices: tuple[Choice, ...] = ()
    several: bool = False
    fields: tuple[InputField, ...] = ()


class Form(Value, frozen=True, tag="form"):
    """What an MCP server wants to know: values of a form, or a visit to an address."""

    server: str
    message: str
    url: str = ""
    form_fields: tuple[FormField, ...] = ()


What: TypeAlias = Command | Fetch | Change | Call | PlanReview | Questions | Form


class Description(Value, frozen=True, omit_defaults=False):
    """One ask, described. `fields` holds whatever of the input is not in `what`: nothing is left out."""

    title: str
    kind: str
    tool: str
    what: What
    fields: tuple[InputField, ...] = ()
    cwd: str = ""
    paths: tuple[AffectedPath, ...] = ()
    agent_id: str | None = None
    """The subagent that asks; None for the main conversation."""
    agent: str = ""
    """The subagent in words, if it has been introduced."""
    purpose: str = ""
    reasons: tuple[Reason, ...] = ()
    suggestions: tuple[str, ...] = ()
    risk: Risk = Risk()
    flags: tuple[Flag, ...] = ()
    version: int = VERSION


class LazyDescription:
    """A description that is made when it is first looked at, and then kept."""

    __slots__ = ("_make", "_value")

    def __init__(self, make: Callable[[], Description | None]) -> None:
        self._make: Callable[[], Description | None] | None = make
        self._value: Description | None = None

    @property
    def value(self) -> Description | None:
        """The description; None if it could not be made."""
        if self._make is not None:
            self._value = self._make()
            self._make = None
        return self._value


def encode_description(description: Description) -> bytes:
    """`description` as JSON, for storage."""
    return msgspec.json.encode(description)


def decode_description(stored: bytes | str) -> Description:
    """A stored description. Raises `msgspec.ValidationError` for what is none, or was made by a newer Handrail."""
    description = msgspec.json.decode(stored, type=Description)
    if description.version > VERSION:
        raise msgspec.ValidationError(
            f"the description has version {description.version}; this Handrail reads {VERSION}"
        )
    return description

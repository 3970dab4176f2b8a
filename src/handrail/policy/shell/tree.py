"""What a shell command consists of, as far as a verdict needs to know."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.policy.shell.words import Word

__all__ = ["Assignment", "Command", "Redirect", "Script"]


@dataclass(frozen=True, slots=True)
class Assignment:
    """`name=value` before a command, or alone. `raw` is the whole of it."""

    raw: str
    name: str
    value: Word


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect to or from a file. Here-documents and copies of descriptors are not among them."""

    writes: bool
    target: Word


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command. `text` is what was written, without its redirects: these are the script's."""

    text: str
    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()

    @property
    def name(self) -> str:
        """The command word, unquoted; empty if there are only assignments."""
        return self.words[0].value if self.words else ""

    @property
    def values(self) -> tuple[str, ...]:
        """The words, unquoted."""
        return tuple(word.value for word in self.words)


@dataclass(frozen=True, slots=True)
class Script:
    """A command line, taken apart."""

    text: str
    parts: tuple[Command, ...]
    """What runs, in order, where all of it can be told; every one of them needs to be allowed."""
    everything: tuple[Command, ...]
    """Every simple command anywhere in it, also in what cannot be followed: what deny and ask rules look at."""
    redirects: tuple[Redirect, ...]
    """Every file that it is redirected to or from, anywhere."""
    doubts: tuple[str, ...]
    """Why the command cannot be understood with certainty."""
    loops: tuple[Assignment, ...] = ()
    """What the variables of its loops are set to, value by value."""
    has_control_characters: bool = False
    is_broken: bool = False
    """Whether the grammar itself did not fit."""
    has_pipe: bool = False
    has_background: bool = False
    has_subshell: bool = False

"""Which files a command reads and which it writes, for the commands whose arguments are known to be paths."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from handrail.policy.rules.paths import Action
from handrail.policy.shell.actions import AWKS
from handrail.policy.shell.sed import only_prints
from handrail.policy.shell.words import HOME, Word

__all__ = ["EDIT_COMMANDS", "Operand", "has_unclear_operands", "operands", "reads_nearby", "writes"]


@dataclass(frozen=True, slots=True)
class Operand:
    """A path that a command is given, and what it does with it."""

    action: Action
    word: Word
    is_source: bool = False
    """Whether a command that writes also reads it, such as the file that `cp` copies."""


EDIT_COMMANDS = frozenset(["mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"])
"""What `acceptEdits` allows inside the project."""

_READERS = frozenset([
    "base64", "cat", "cmp", "column", "comm", "cut", "diff", "expand", "file", "fmt", "fold", "head", "hexdump", "ls",
    "md5sum", "nl", "numfmt", "od", "paste", "pr", "rev", "sha1sum", "sha256sum", "sort", "stat", "strings", "tac",
    "tail", "tsort", "unexpand", "uniq", "wc", "cd", "man",
])  # fmt: skip
_WRITERS = frozenset(["touch", "mkdir", "rm", "rmdir", "tee"])
_PATTERN_TESTS = frozenset([
    "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname",
])  # fmt: skip
_MOVERS = frozenset(["cp", "mv"])
_WALKERS = frozenset(["du", "egrep", "fd", "fgrep", "find", "grep", "ls", "rg", "tree"])
"""Commands that start from where they are if they are not told where."""


def operands(words: Sequence[Word]) -> Iterator[Operand]:
    """The paths among the arguments. A value of an option may be taken for a path, never the other way round."""
    if not words:
        return
    name, arguments = words[0].value, words[1:]
    if name in _READERS:
        yield from _all_as("read", arguments)
    elif name in _WRITERS:
        yield from _all_as("edit", arguments)
    elif name in _MOVERS:
        paths = list(_positionals(arguments))
        yield from (Operand("edit", word, is_source=word is not paths[-1]) for word in paths)
    elif name in _SPECIAL:
        yield from _SPECIAL[name](arguments)


def has_unclear_operands(words: Sequence[Word]) -> bool:
    """Whether it cannot be told which arguments are which: options of a mover, or names that the shell fills in."""
    name, arguments = words[0].value, words[1:]
    if name in _MOVERS:
        return any(word.value.startswith("-") for word in arguments)
    if name == "find":
        return any(word.has_glob for word in arguments) or any(_stray_patterns(arguments))
    if name in AWKS:
        return any(word.has_glob or word.value.startswith("-") for word in arguments)
    return name in ("sed", "printf") and any(word.has_glob for word in arguments)


def _stray_patterns(arguments: Sequence[Word]) -> Iterator[bool]:
    """Patterns of `find`, quoted or not, that no test asks for."""
    expected = False
    for word in arguments:
        yield not expected and re.search(r"[*?\[]", word.value) is not None
        expected = word.value in _PATTERN_TESTS


def writes(words: Sequence[Word]) -> bool:
    """Whether the command is one that writes, with or without arguments."""
    is_writer = words[0].value in _WRITERS or words[0].value in _MOVERS or (words[0].value == "sed" and len(words) == 1)
    return is_writer or any(operand.action == "edit" for operand in operands(words))


def reads_nearby(words: Sequence[Word]) -> bool:
    """Whether the command reads in the directory where it runs."""
    if words[0].value in _WALKERS:
        return True
    return any(not operand.word.value.startswith(("/", "~", HOME)) for operand in operands(words))


def _all_as(action: Action, arguments: Sequence[Word]) -> Iterator[Operand]:
    return (Operand(action, word) for word in _positionals(arguments))


def _positionals(arguments: Sequence[Word]) -> Iterator[Word]:
    """What is not an option; behind `--` everything. A path in `--option=path` counts."""
    after_dashes = False
    for word in arguments:
        if word.value == "--" and not after_dashes:
            after_dashes = True
        elif after_dashes or not word.value.startswith("-") or word.value == "-":
            yield word
        elif word.value.startswith("--") and "=" in word.value:
            yield from _path_of_option(word)


def _path_of_option(word: Word) -> Iterator[Word]:
    value = word.value.partition("=")[2]
    if value.startswith(("/", "~")) or ".." in value.split("/"):
        yield Word(value, value, word.doubt, word.has_glob, value.startswith("~"))


def _grep(arguments: Sequence[Word]) -> Iterator[Operand]:
    """The first argument is a pattern, unless an option gave one."""
    pattern_pending = True
    takes_value = ""
    after_dashes = False
    for word in arguments:
        value = word.value
        if takes_value:
            if takes_value == "f":
                yield Operand("read", word)
            takes_value = ""
        elif after_dashes or not value.startswith("-") or value == "-":
            if not pattern_pending:
                yield Operand("read", word)
            pattern_pending = False
        elif value == "--":
            after_dashes = True
        else:
            for path in _path_of_option(word):
                yield Operand("read", path)
            takes_value, gives_pattern = _grep_option(value)
            pattern_pending = pattern_pending and not gives_pattern


_GREP_VALUES = {
    "--regexp": "e", "--file": "f", "--after-context": "A", "--before-context": "B", "--context": "C",
    "--max-count": "m", "--type": "t", "--glob": "g",
}  # fmt: skip


def _grep_option(option: str) -> tuple[str, bool]:
    """Which kind of value the next word is, if it is one, and whether the option gives the pattern."""
    if option.startswith("--"):
        name, equals, _ = option.partition("=")
        kind = _GREP_VALUES.get(name, "")
        return ("" if equals else kind), kind in ("e", "f")
    last = option[-1]
    gives_pattern = "e" in option or "f" in option
    # An option with its value attached, such as -A3, takes no further word.
    return (last if last in "efABCmtg" else ""), gives_pattern


def _find(arguments: Sequence[Word]) -> Iterator[Operand]:
    yield from _starts(arguments)
    # Behind the first test, a path is the value of one, such as -path or -newer.
    for word in arguments:
        if "/" in word.value and not word.value.startswith("-"):
            yield Operand("read", word)


def _starts(arguments: Sequence[Word]) -> Iterator[Operand]:
    """Where `find` begins: what comes in front of the first test."""
    for word in arguments:
        if word.value in ("-H", "-L", "-P", "--"):
            continue
        if word.value.startswith(("-", "(", "!")):
            return
        yield Operand("read", word)


_SED_FLAGS = frozenset(["--", "--in-place", "--quiet", "--regexp-extended", "--silent"])
"""Long options of sed that hold no script."""


def _sed(arguments: Sequence[Word]) -> Iterator[Operand]:
    only_reads = only_prints([word.value for word in arguments]) and not any(word.has_glob for word in arguments)
    action: Action = "read" if only_reads else "edit"
    paths = list(_positionals(arguments))
    script_given = any(word.value.startswith(("-e", "-f", "--")) and word.value not in _SED_FLAGS for word in arguments)
    yield from (Operand(action, word, is_source=True) for word in (paths if script_given else paths[1:]))


def _program_then_files(arguments: Sequence[Word]) -> Iterator[Operand]:
    paths = list(_positionals(arguments))
    program_given = any(word.value.startswith("-f") for word in arguments)
    yield from (Operand("read", word) for word in (paths if program_given else paths[1:]))


def _tr(arguments: Sequence[Word]) -> Iterator[Operand]:
    """Its arguments are sets of characters, but the CLI takes the third for a path."""
    sets = 1 if any(word.value.startswith("-") for word in arguments) else 2
    yield from (Operand("read", word) for word in list(_positionals(arguments))[sets:])


def _git(arguments: Sequence[Word]) -> Iterator[Operand]:
    if arguments and arguments[0].value == "diff":
        yield from _all_as("read", arguments[1:])
    elif arguments and arguments[0].value == "grep":
        yield from _grep(arguments[1:])


_SPECIAL: dict[str, Callable[[Sequence[Word]], Iterator[Operand]]] = {
    "grep": _grep,
    "egrep": _grep,
    "fgrep": _grep,
    "rg": _grep,
    "find": _find,
    "sed": _sed,
    **dict.fromkeys(AWKS, _program_then_files),
    "jq": _program_then_files,
    "git": _git,
    "tr": _tr,
}

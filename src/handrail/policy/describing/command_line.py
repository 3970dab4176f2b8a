"""The simple commands of a shell command line, however deep they sit, and what could not be made out.

This is for pointing things out to a person: it would rather see a command too many than one too few. It goes into
substitutions, here-documents, functions, loops, wrappers (`sudo`, `env`, `xargs` …) and `sh -c '…'`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

__all__ = ["SHELLS", "CommandLine", "Redirect", "SimpleCommand", "Word", "read_command_line"]

LONGEST = 60_000
MOST_OPERATORS = 2_000
MOST_SOURCES = 50
DEEPEST = 60
LONGEST_VALUE = 1_000
DEEPEST_SCRIPT = 6

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "csh", "tcsh"})


@dataclass(frozen=True, slots=True)
class Word:
    """A word after quoting is undone. Where `known` is false, some of it is only known when the command runs."""

    text: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class Redirect:
    """`operator` and the file it names."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        return ">" in self.operator


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One program and its arguments."""

    words: tuple[Word, ...]
    text: str
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[tuple[str, Word], ...] = ()
    base: str | None = None
    """The directory it runs in; None if that is not known."""
    fed_by: tuple[str, ...] = ()
    """The programs before it in its pipeline."""
    holds: tuple[str, ...] = ()
    """The programs inside its substitutions."""
    script: str | None = None
    """The here-document that is its input."""
    background: bool = False

    @property
    def name(self) -> str:
        """The program, without its directory."""
        return posixpath.basename(self.words[0].text) if self.words else ""

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words[1:])

    @property
    def operands(self) -> tuple[str, ...]:
        """The arguments that are no options."""
        return tuple(argument for argument in self.arguments if not argument.startswith("-"))

    def has_option(self, letters: str, *names: str) -> bool:
        """Whether one of the options is given: a letter, perhaps among others behind one dash, or a long name."""
        for argument in self.arguments:
            if argument == "--":
                return False
            bundled = re.match(r"-[a-zA-Z0-9]+", argument)
            if argument.partition("=")[0] in names or (bundled and any(letter in bundled[0] for letter in letters)):
                return True
        return False


@dataclass(slots=True)
class CommandLine:
    """Everything that was made out. `problems` say in words what was not."""

    commands: list[SimpleCommand] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def problem(self, words: str) -> None:
        if words not in self.problems:
            self.problems.append(words)


def read_command_line(text: str, *, cwd: str, home: str) -> CommandLine:
    """The commands in `text`, wrappers and what they wrap both."""
    found = CommandLine()
    _Reader(found, home).read(text, cwd, 0)
    return found


@cache
def _grammar() -> Any:
    """The grammar, loaded when the first command is looked at."""
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def _tree(text: str) -> Any:
    """The tree of a command, with positions that count characters.

    The grammar sees a letter for each character beyond ASCII: to the shell they are parts of words, while the grammar's
    scanner looks them up in a table of 256 entries, which crashes the process for some.
    """
    import tree_sitter

    return tree_sitter.Parser(_grammar()).parse(_BEYOND_ASCII.sub("x", text).encode()).root_node


@dataclass(slots=True)
class _Place:
    """Where in the tree we are: what holds for the commands below."""

    base: str | None
    fed_by: tuple[str, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    script: str | None = None
    background: bool = False
    depth: int = 0

    def inner(self) -> _Place:
        return replace(self, depth=self.depth + 1)


class _Reader:
    def __init__(self, found: CommandLine, home: str) -> None:
        self._found = found
        self._home = home
        self._source = ""
        self._nesting = 0
        self._variables = {"HOME": home}

    def read(self, text: str, base: str | None, nesting: int) -> None:
        if len(text) > LONGEST or sum(text.count(operator) for operator in "|;&$`(") > MOST_OPERATORS:
            self._found.problem("it is too long to be looked at in full")
            self._guess(text[:LONGEST], base, set())
            return
        if nesting > DEEPEST_SCRIPT:
            self._found.problem("commands are nested too deeply to be looked at")
            return
        before = self._source, self._nesting
        self._source, self._nesting = text, nesting
        root = _tree(self._source)
        if root.has_error:
            self._found.problem("it is not written as the shell's grammar wants it, or not as far as we know that")
        self._blind_spots(text)
        seen = len(self._found.commands)
        self._visit(root, _Place(base))
        if self._found.problems:
            self._guess(text, base, {command.text for command in self._found.commands[seen:]})
        self._source, self._nesting = before

    def _blind_spots(self, text: str) -> None:
        """What the grammar takes for something else without an error."""
        if re.search(r"[^\s\\]\\\n\S", text):
            self._found.problem("a line break is hidden inside a word")
        if "\0" in text:
            self._found.problem("there is a NUL character in it")

    def _guess(self, text: str, base: str | None, seen: set[str]) -> None:
        """Where the grammar fails, whatever could be a command is taken for one."""
        for piece in re.split(r"[;&|\n(){}`]", text)[:MOST_OPERATORS]:
            words = [word.strip("\"'$\\") for word in piece.split()]
            words = [word for word in words if word]
            if words and piece.strip() not in seen:
                guessed = tuple(Word(word) for word in words)
                self._add(SimpleCommand(guessed, piece.strip(), base=base))

    # ------------------------------------------------------------ the tree

    def _visit(self, node: Any, place: _Place) -> None:
        if place.depth > DEEPEST:
            self._found.problem("commands are nested too deeply to be looked at")
            return
        visit = {
            "command": self._command,
            "list": self._list,
            "pipeline": self._pipeline,
            "redirected_statement": self._redirected,
            "heredoc_redirect": self._heredoc,
            "declaration_command": self._declaration,
            "variable_assignment": self._assigned,
            "subshell": self._scoped,
            "command_substitution": self._substituted,
            "process_substitution": self._substituted,
        }.get(node.type, self._children)
        visit(node, place)

    def _children(self, node: Any, place: _Place) -> None:
        inner = place.inner()
        for child in node.children:
            following = child.next_sibling
            in_background = following is not None and following.type == "&" and child.is_named
            self._visit(child, replace(inner, background=True) if in_background else inner)
            place.base = inner.base

    def _scoped(self, node: Any, place: _Place) -> None:
        """A subshell changes only its own directory."""
        self._children(node, replace(place))

    def _substituted(self, node: Any, place: _Place) -> None:
        self._children(node, _Place(place.base, depth=place.depth))

    def _list(self, node: Any, place: _Place) -> None:
        """`a && b > c`: the grammar gives the redirection to the whole list, the shell to its last command."""
        *others, last = [child for child in node.children if child.is_named]
        inner = place.inner()
        for child in others:
            alone = replace(inner, redirects=(), script=None)
            self._visit(child, alone)
            inner.base = alone.base
        self._visit(last, inner)
        place.base = inner.base

    def _pipeline(self, node: Any, place: _Place) -> None:
        self._piped([child for child in node.children if child.is_named], place.inner())

    def _piped(self, stages: Sequence[Any], place: _Place) -> None:
        fed_by = place.fed_by
        for number, stage in enumerate(stages, start=1):
            # Each stage is a process of its own, so that a change of directory ends with it.
            at = replace(place, fed_by=fed_by)
            if number < len(stages):
                at.redirects, at.script = (), None
            start = len(self._found.commands)
            self._visit(stage, at)
            fed_by = self._with_names_since(start, fed_by)

    def _with_names_since(self, start: int, names: tuple[str, ...]) -> tuple[str, ...]:
        found = (command.name for command in self._found.commands[start:])
        return tuple(dict.fromkeys((*names, *found)))[:MOST_SOURCES]

    def _redirected(self, node: Any, place: _Place) -> None:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.children if child.type.endswith("_redirect")]
        files = tuple(redirect for child in redirects for redirect in self._file_redirects(child))
        inner = place.inner()
        inner.script = next((self._script(child) for child in redirects if child.type != "file_redirect"), place.script)
        if body is not None and body.type in ("command", "list", "pipeline", "redirected_statement"):
            inner.redirects = (*place.redirects, *files)
        elif files:
            # Those of a loop or a group are opened once, before anything in it runs.
            self._add(SimpleCommand((), self._text(node), files, base=place.base))
        start = len(self._found.commands)
        if body is not None:
            self._visit(body, inner)
            place.base = inner.base
        fed_by = self._with_names_since(start, place.fed_by)
        for child in redirects:
            self._visit(child, _Place(place.base, fed_by, depth=place.depth + 1))

    def _script(self, node: Any) -> str:
        """The text of a here-document or a here-string."""
        if node.type == "herestring_redirect":
            return "".join(self._word(child).text for child in node.children if child.is_named)
        return self._heredoc_text(node)

    def _file_redirects(self, node: Any) -> Iterator[Redirect]:
        """The files that a redirection names; those of a here-document's line are inside its node."""
        if node.type == "file_redirect":
            target = node.child_by_field_name("destination")
            operator = next((child.type for child in node.children if not child.is_named), ">")
            if target is not None and not (operator.endswith("&") and target.type == "number"):
                yield Redirect(operator, self._word(target))
        elif node.type == "heredoc_redirect":
            for child in node.children:
                yield from self._file_redirects(child)

    def _heredoc(self, node: Any, place: _Place) -> None:
        """A here-document's line goes on inside its node: a pipe, or `&&` and more."""
        parts = [child.type for child in node.children]
        body = self._heredoc_text(node)
        quoted = any(
            mark in self._text(child) for child in node.children if child.type == "heredoc_start" for mark in "'\"\\"
        )
        if "heredoc_end" not in parts:
            self._found.problem("a here-document does not end")
        if "`" in body and not quoted:
            self._found.problem("a here-document has commands in backticks")
        for child in node.children:
            if child.type == "pipeline":
                stages = [stage for stage in child.children if stage.is_named]
                self._piped(stages, place.inner())
            else:
                self._visit(child, _Place(place.base, depth=place.depth + 1))

    def _heredoc_text(self, node: Any) -> str:
        return "".join(self._text(child) for child in node.children if child.type == "heredoc_body")

    def _declaration(self, node: Any, place: _Place) -> None:
        self._add(
            SimpleCommand((Word("export"),), self._text(node), assignments=self._assignments(node), base=place.base)
        )
        self._children(node, place)

    def _assigned(self, node: Any, place: _Place) -> None:
        """Remember what a variable was set to, so that a program cannot hide in one."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        word = Word("") if value is None else self._word(value)
        if name is not None and word.known and len(word.text) < LONGEST_VALUE:
            self._variables[self._text(name)] = word.text
        elif name is not None:
            self._variables.pop(self._text(name), None)
        self._children(node, place)

    # ------------------------------------------------------------ one command

    def _command(self, node: Any, place: _Place) -> None:
        named = [child for child in node.children if child.is_named]
        words = tuple(
            self._word(child)
            for child in named
            if child.type not in ("variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect")
        )
        here = next((child for child in named if child.type == "herestring_redirect"), None)
        command = SimpleCommand(
            words,
            self._text(node),
            (*place.redirects, *(redirect for child in named for redirect in self._file_redirects(child))),
            self._assignments(node),
            place.base,
            place.fed_by,
            background=place.background,
            script=place.script if here is None else self._script(here),
        )
        start = len(self._found.commands)
        self._children(node, _Place(place.base, depth=place.depth))
        holds = tuple(inner.name for inner in self._found.commands[start:])
        self._add(replace(command, holds=holds))
        self._move(command, place)

    def _move(self, command: SimpleCommand, place: _Place) -> None:
        """Follow a `cd`, as far as it says where."""
        if command.name not in ("cd", "pushd", "popd"):
            return
        targets = [word for word in command.words[1:] if not word.text.startswith("-")]
        target = targets[0] if targets else Word(self._home)
        known = target.known and place.base is not None and command.name != "popd"
        place.base = (
            posixpath.normpath(posixpath.join(place.base or "", _tilde(target.text, self._home))) if known else None
        )

    def _assignments(self, node: Any) -> tuple[tuple[str, Word], ...]:
        found = []
        for child in node.children:
            if child.type == "variable_assignment":
                name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
                if name is not None:
                    found.append((self._text(name), Word("") if value is None else self._word(value)))
        return tuple(found)

    def _add(self, command: SimpleCommand) -> None:
        """Keep a command, and look for the one that it runs."""
        seen = 0
        while command is not None and seen < DEEPEST:
            self._found.commands.append(command)
            self._read_scripts(command)
            wrapped = _wrapped(command)
            if wrapped is None:
                return
            command, seen = wrapped, seen + 1

    def _read_scripts(self, command: SimpleCommand) -> None:
        for script in _scripts(command):
            if script.known:
                base = None if command.name in _ELSEWHERE else command.base
                self.read(script.text, base, self._nesting + 1)
            else:
                self._found.problem("a script is put together only when it runs")

    # ------------------------------------------------------------ words

    def _word(self, node: Any) -> Word:
        text = self._text(node)
        match node.type:
            case "command_name" if node.named_child_count == 1:
                return self._word(node.named_children[0])
            case "word" | "number":
                return Word(_unescaped(text))
            case "raw_string":
                return Word(text[1:-1])
            case "ansi_c_string":
                return Word(_ansi_c(text[2:-1]))
            case "string" | "simple_expansion" | "expansion" | "translated_string":
                return self._expanded(text)
            case "concatenation" if node.named_child_count:
                return self._joined(node)
        return Word(text, known=False)

    def _joined(self, node: Any) -> Word:
        parts = [self._word(child) for child in node.children]
        return Word("".join(part.text for part in parts), all(part.known or part.text in "{},." for part in parts))

    def _expanded(self, text: str) -> Word:
        """A string with its variables; those whose value is known are put in."""
        inner = text[1:-1] if text[:1] == '"' and text[-1:] == '"' and len(text) > 1 else text
        inner = re.sub(r"(?<!\\)\$(?:(\w+)|\{(\w+)\})", self._value, inner)
        known = re.search(r"(?<!\\)[$`]", inner) is None
        return Word(re.sub(r'\\([$`"\\\n])', lambda match: match[1].strip("\n"), inner), known)

    def _value(self, variable: re.Match[str]) -> str:
        return self._variables.get(variable[1] or variable[2], variable[0])

    def _text(self, node: Any) -> str:
        return self._source[node.start_byte : node.end_byte]


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.|\n)", lambda match: match[1].strip("\n"), text) if "\\" in text else text


_ANSI_C = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}


def _ansi_c(text: str) -> str:
    def decoded(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xuU":
            return chr(min(int(code[1:], 16), 0x10FFFF))
        return chr(int(code, 8) & 0xFF) if code[0] in "01234567" else _ANSI_C.get(code, code)

    return re.sub(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", decoded, text)


def _tilde(path: str, home: str) -> str:
    return home + path[1:] if path == "~" or path.startswith("~/") else path


# ---------------------------------------------------------------- programs that run programs


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """Where the wrapped command begins: after options (`valued` ones take a word) and words of the wrapper's own."""

    valued: frozenset[str] = frozenset()
    own_words: int = 0


def _wrapper(valued: str = "", own_words: int = 0) -> _Wrapper:
    return _Wrapper(frozenset(valued.split()), own_words)


_WRAPPERS: dict[str, _Wrapper] = {
    "sudo": _wrapper("-u -g -h -p -C -T -D -R -U -r -t --user --group --host --prompt --chdir --chroot"),
    "doas": _wrapper("-u -C"),
    "pkexec": _wrapper("--user"),
    "run0": _wrapper("-u -g -D --user --group"),
    "env": _wrapper("-u -C -S --unset --chdir"),
    "xargs": _wrapper("-I -L -n -P -s -d -E -a --replace --max-args --max-procs --delimiter --arg-file"),
    "parallel": _wrapper("-j --jobs -I -S"),
    "timeout": _wrapper("-s -k --signal --kill-after", 1),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -p"),
    "nohup": _wrapper(),
    "setsid": _wrapper(),
    "stdbuf": _wrapper("-i -o -e"),
    "time": _wrapper("-f -o"),
    "command": _wrapper(),
    "builtin": _wrapper(),
    "exec": _wrapper("-a"),
    "coproc": _wrapper(),
    "caffeinate": _wrapper("-t -w"),
    "chroot": _wrapper("--userspec --groups", 1),
    "flock": _wrapper("-w -E --timeout", 1),
    "strace": _wrapper("-e -o -p -s"),
    "watch": _wrapper("-n --interval"),
    "unbuffer": _wrapper(),
    "proxychains": _wrapper("-f"),
    "firejail": _wrapper(),
    "then": _wrapper(),
    "do": _wrapper(),
    "!": _wrapper(),
}


_ELSEWHERE = frozenset({"ssh", "docker", "podman", "kubectl"})
"""Programs whose scripts run on another machine or in a container."""
_SSH_VALUED = frozenset({"-i", "-p", "-o", "-l", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-E", "-m", "-S", "-W"})


def _wrapped(command: SimpleCommand) -> SimpleCommand | None:
    if command.name == "find":
        return _found_and_run(command)
    wrapper = _WRAPPERS.get(command.name)
    if wrapper is None:
        return None
    words = list(command.words[1:])
    while words and _is_own(words[0].text, command.name):
        option = words.pop(0).text
        if option == "--":
            break
        if option in wrapper.valued and words:
            words.pop(0)
    words = words[wrapper.own_words :]
    return _same_but(command, words) if words else None


def _is_own(word: str, name: str) -> bool:
    return word.startswith("-") or (name in ("env", "sudo", "doas") and re.match(r"\w+=", word) is not None)


def _found_and_run(command: SimpleCommand) -> SimpleCommand | None:
    for index, word in enumerate(command.words):
        if word.text in ("-exec", "-execdir", "-ok", "-okdir"):
            words = [later for later in command.words[index + 1 :] if later.text not in (";", "+")]
            return _same_but(command, words) if words else None
    return None


def _same_but(command: SimpleCommand, words: Sequence[Word]) -> SimpleCommand:
    return replace(command, words=tuple(words), redirects=(), assignments=())


def _scripts(command: SimpleCommand) -> Iterator[Word]:
    """The shell scripts in a command's own arguments and input."""
    if command.name in SHELLS:
        yield from _shell_scripts(command)
    elif command.name in ("eval", "trap", "watch"):
        words = command.words[1:2] if command.name == "trap" else command.words[1:]
        if words:
            yield Word(" ".join(word.text for word in words), all(word.known for word in words))
    elif command.name == "ssh":
        yield from _remote_script(command)
    elif command.name in ("su", "runuser", "script", "docker", "podman", "kubectl"):
        yield from _after(command, lambda word: word == "-c")


def _remote_script(command: SimpleCommand) -> Iterator[Word]:
    words = [
        word for before, word in zip(command.words, command.words[1:], strict=False) if before.text not in _SSH_VALUED
    ]
    script = [word for word in words if not word.text.startswith("-")][1:]
    if script:
        yield Word(" ".join(word.text for word in script), all(word.known for word in script))


def _shell_scripts(command: SimpleCommand) -> Iterator[Word]:
    yield from _after(command, lambda word: re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word) is not None)
    if command.script:
        yield Word(command.script)


def _after(command: SimpleCommand, is_option: Callable[[str], bool]) -> Iterator[Word]:
    for option, word in zip(command.words[1:], command.words[2:], strict=False):
        if is_option(option.text):
            yield word
            return

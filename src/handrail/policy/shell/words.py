"""One word of a shell command: its value after quoting, and why the value is not certain, if it is not."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["HOME", "OPERATOR_INSIDE", "Word", "read_word"]

HOME = "\0HOME\0"
"""Stands in a value for the home directory, which is the one variable whose value is known."""

OPERATOR_INSIDE = "an operator inside a word"
"""The doubt about a word that the grammar cannot have meant."""

_LITERAL_HEREDOC = re.compile(r"\$\(cat <<(['\"])(\w+)\1\n(?:(.*?)\n)?\2\n[ \t]*\)", re.DOTALL)
_HOME = re.compile(r"\$HOME(?!\w)|\$\{HOME\}")
_SUM_OF_NUMBERS = re.compile(r"\$\(\([\d +*/%-]+\)\)")
_EXPANSION = re.compile(r"\$[\w({?!#@*$\[-]")
_HIDDEN_COMMENT = re.compile(r"\n[ \t]*#")


@dataclass(frozen=True, slots=True)
class Word:
    """`raw` is the text as written, `value` what the command gets, with expansions left as they are."""

    raw: str
    value: str
    doubt: str | None = None
    """Why the value is not certain, in words that follow `it holds`."""
    has_glob: bool = False
    """Whether there is an unquoted `*`, `?` or `[`."""
    has_tilde: bool = False
    """Whether it starts with an unquoted `~`."""

    @property
    def is_quoted(self) -> bool:
        """Whether quoting of any kind was removed."""
        return self.raw != self.value


def read_word(raw: str) -> Word:
    """The word that the shell makes of `raw`. Never raises; what it cannot follow is a doubt."""
    if _SUM_OF_NUMBERS.fullmatch(raw):
        return Word(raw, raw)
    if raw.startswith(("<(", ">(")):
        return Word(raw, raw, "a process substitution")
    return _Reader(raw).read()


class _Reader:
    """Goes through a word once, from quote to quote."""

    def __init__(self, raw: str) -> None:
        self._raw = raw
        self._at = 0
        self._value: list[str] = []
        self._plain: list[str] = []
        self._doubt: str | None = None
        self._in_quotes = False

    def read(self) -> Word:
        while self._at < len(self._raw):
            self._step()
        plain = "".join(self._plain)
        value = "".join(self._value)
        self._doubt_shape(plain, value)
        return Word(
            raw=self._raw,
            value=value,
            doubt=self._doubt,
            has_glob=any(sign in plain for sign in "*?["),
            has_tilde=self._raw.startswith("~"),
        )

    def _step(self) -> None:
        character = self._raw[self._at]
        match character:
            case "'":
                self._single_quoted()
            case '"':
                self._double_quoted()
            case "\\":
                self._escaped()
            case "$" | "`":
                self._expansion()
            case "(" | ")" | "<" | ">" | "|" | "&" | ";" | "\n":
                self._suspect(OPERATOR_INSIDE)
                self._take(1)
            case _:
                self._plain.append(character)
                self._take(1)

    def _take(self, count: int) -> None:
        self._value.append(self._raw[self._at : self._at + count])
        self._at += count

    def _suspect(self, doubt: str) -> None:
        self._doubt = self._doubt or doubt

    def _single_quoted(self) -> None:
        end = self._raw.find("'", self._at + 1)
        if end < 0:
            self._suspect("a quote that never ends")
            end = len(self._raw)
        self._value.append(self._raw[self._at + 1 : end])
        self._at = end + 1

    def _double_quoted(self) -> None:
        self._at += 1
        self._in_quotes = True
        while self._at < len(self._raw):
            character = self._raw[self._at]
            if character == '"':
                self._at += 1
                self._in_quotes = False
                return
            if character == "\\":
                self._escaped_in_quotes()
            elif character == "$" and self._literal_heredoc():
                continue
            elif character in "$`":
                self._expansion()
            else:
                self._take(1)
        self._suspect("a quote that never ends")

    def _literal_heredoc(self) -> bool:
        """Take `$(cat <<'EOF' …)` as the text that it is."""
        found = _LITERAL_HEREDOC.match(self._raw, self._at)
        if found is None:
            return False
        self._value.append(found[3] or "")
        self._at = found.end()
        return True

    def _escaped_in_quotes(self) -> None:
        following = self._raw[self._at + 1 : self._at + 2]
        if following == "\n":
            self._suspect("a line break in the middle of a word")
        if following in ("$", "`", '"', "\\"):
            self._at += 1
            self._take(1)
        else:
            self._take(2)

    def _escaped(self) -> None:
        following = self._raw[self._at + 1 : self._at + 2]
        if following == "" or following.isspace():
            self._suspect("escaped white space")
        if following in ("{", ","):
            self._plain.append(following)
        self._at += 1
        self._take(1)

    def _expansion(self) -> None:
        home = _HOME.match(self._raw, self._at)
        if home is not None:
            self._value.append(HOME)
            self._at = home.end()
            return
        if self._raw[self._at] == "`" or self._raw.startswith("$(", self._at):
            self._suspect("a command substitution")
        elif self._raw.startswith(("$'", '$"'), self._at) and not self._in_quotes:
            self._suspect("text with escape codes")
        elif _EXPANSION.match(self._raw, self._at) or not self._in_quotes:
            self._suspect("a variable")
        self._take(1)

    def _doubt_shape(self, plain: str, value: str) -> None:
        """What the plain characters would still turn into, in bash or in zsh."""
        if "{" in plain and ("," in plain or ".." in plain):
            self._suspect("a brace expansion")
        if self._raw.startswith("=") and self._raw != "==":
            self._suspect("a word that zsh replaces by a path")
        if _HIDDEN_COMMENT.search(value):
            self._suspect("a quoted line that looks like a comment")

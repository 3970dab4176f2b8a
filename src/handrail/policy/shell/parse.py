"""Shell text to simple commands, with tree-sitter's grammar of bash; whatever is not certain becomes a doubt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from handrail.policy.shell.setting import keeps_assignments, sets_unclearly
from handrail.policy.shell.tree import Assignment, Command, Redirect, Script
from handrail.policy.shell.variables import changes_the_shell
from handrail.policy.shell.words import OPERATOR_INSIDE, Word, read_word
from handrail.policy.shell.wrappers import layers

__all__ = ["parse"]

MAX_LENGTH = 10_000
"""Longer commands are not taken apart; the CLI gives up at the same length."""
_MAX_DEPTH = 50

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_NOT_ASCII = re.compile(rb"[^\x00-\x7f]")
"""Not shown to the grammar, whose scanner reads beyond a table of its own at such characters and can crash."""

_UNSAFE_TEXT = (
    (_CONTROL, "it holds control characters"),
    (re.compile(r"[\u0080-\u00a0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u2066-\u206f\u3000\ufeff]"),
     "it holds invisible characters or unusual white space"),
    (re.compile(r"[\ud800-\udfff]"), "it is not valid text"),
    (re.compile(r"\\[ \t]|(?<![ \t\n])\\\n|\\\n\s*\|"), "it holds escaped white space"),
    (re.compile(r"\{\w+\}[ \t]*[<>]"), "it sets a variable by redirecting"),
    (re.compile(r"(?:^|[\s;&|])=[A-Za-z_]"), "it holds a word that zsh replaces by a path"),
    (re.compile(r"(?<!\\)`[^`]*\\[^`]*`"), "it holds escapes inside backticks"),
)  # fmt: skip
"""What makes a shell read a text differently than people and grammars do."""

_EVALUATES = frozenset([
    ".", "alias", "autoload", "bind", "compgen", "complete", "coproc", "emulate", "enable", "eval", "exec", "fc",
    "hash", "let", "mapfile", "nocorrect", "readarray", "setopt", "shopt", "source", "trap", "unsetopt", "zmodload",
])  # fmt: skip
"""Builtins that take their arguments as code, or change what later words mean."""

_RESERVED = frozenset([
    "!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select", "then",
    "until", "while",
])  # fmt: skip
"""Words that are no commands: where one stands for a command, the grammar was misled."""


@lru_cache(maxsize=1)
def _bash() -> Language:
    return Language(tree_sitter_bash.language())


def parse(text: str) -> Script:
    """Take `text` apart. Total: what cannot be understood is a doubt of the script, never an exception."""
    stripped = text.strip(" \t\n")
    if len(text) > MAX_LENGTH:
        doubt = f"it is longer than {MAX_LENGTH} characters"
        return Script(stripped, (), tuple(_roughly(stripped)), (), (doubt,))
    doubts = [doubt for pattern, doubt in _UNSAFE_TEXT if pattern.search(text)]
    source = stripped.encode(errors="replace")
    root = Parser(_bash()).parse(_NOT_ASCII.sub(b"x", source)).root_node
    if _is_too_deep(root):
        return Script(stripped, (), tuple(_roughly(stripped)), (), ("it is nested too deeply",), is_broken=True)
    return _Walk(stripped, source, doubts).run(root)


class _Walk:
    """Collects the simple commands below a node: those that can be followed, and all of them."""

    def __init__(self, text: str, source: bytes, doubts: list[str]) -> None:
        self._text = text
        self._source = source
        self._doubts = doubts
        self._parts: list[Command] = []
        self._has_pipe = False
        self._has_background = False
        self._has_subshell = False

    def run(self, root: Node) -> Script:
        commands = tuple(self._every_command(root))
        is_broken = (
            root.has_error
            or any(_is_unsound(node, self._source) for node in _descendants(root))
            or any(word.doubt == OPERATOR_INSIDE for command in commands for word in command.words)
        )
        if is_broken:
            self._doubt("its syntax cannot be followed")
            commands += tuple(_roughly(self._text))
        self._statement(root)
        return Script(
            text=self._text,
            parts=tuple(self._parts),
            everything=(*commands, *self._in_heredocs(root)),
            redirects=tuple(self._every_redirect(root)),
            doubts=tuple(dict.fromkeys(self._doubts)),
            loops=tuple(self._every_loop(root)),
            has_control_characters=_CONTROL.search(self._text) is not None,
            is_broken=is_broken,
            has_pipe=self._has_pipe,
            has_background=self._has_background,
            has_subshell=self._has_subshell,
        )

    def _doubt(self, reason: str) -> None:
        self._doubts.append(reason)

    def _raw(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode(errors="replace")

    # What can be followed

    def _statement(self, node: Node) -> None:
        match node.type:
            case "list":
                self._statements(_flattened(node))
            case "program" | "do_group" | "else_clause" | "elif_clause" | "negated_command":
                self._statements(node.children)
            case "if_statement" | "while_statement":
                self._control(node)
                self._statements(node.children)
            case "pipeline":
                self._has_pipe = True
                if any(child.type == "variable_assignment" for child in node.children):
                    self._doubt("it sets a variable inside a pipe")
                self._statements(node.children)
            case "for_statement":
                self._for_loop(node)
            case "subshell":
                self._has_subshell = True
                self._statements(node.children)
            case "redirected_statement":
                self._redirected(node)
            case kind if kind in _SIMPLE or kind == "variable_assignment":
                self._add_part(node)
            case "comment":
                pass
            case kind if not node.is_named:
                self._operator(kind)
            case kind:
                self._doubt(f"it holds {_NAMES.get(kind, 'something that cannot be followed')}")

    def _statements(self, nodes: list[Node]) -> None:
        for node in nodes:
            self._statement(node)

    def _operator(self, kind: str) -> None:
        if kind == "&":
            self._has_background = True
        elif kind not in _OPERATORS:
            self._doubt("it holds something that cannot be followed")

    def _control(self, node: Node) -> None:
        if any(below.type == "pipeline" for below in _descendants(node)):
            self._doubt("it holds a pipe inside a condition or a loop")

    def _for_loop(self, node: Node) -> None:
        self._control(node)
        variable = node.child_by_field_name("variable")
        if self._raw(node).startswith("select") or variable is None:
            self._doubt("it holds a loop that cannot be followed")
        elif changes_the_shell(self._raw(variable)):
            self._doubt(f"it sets {self._raw(variable)}")
        for value in node.children_by_field_name("value"):
            self._value(value)
        body = node.child_by_field_name("body")
        if body is not None:
            self._statement(body)

    def _redirected(self, node: Node) -> None:
        for redirect in node.children_by_field_name("redirect"):
            self._check_redirect(redirect)
        body = node.child_by_field_name("body")
        if body is None or _last_command(body).type not in _SIMPLE - {"test_command"}:
            self._doubt("it redirects something other than a simple command")
        else:
            self._statement(body)

    def _add_part(self, node: Node) -> None:
        if not _gaps_are_blank(node, self._source):
            self._doubt("it holds a line break in the middle of a word")
        if node.type == "test_command" and re.search(r"\w[<>]|[<>]\w", self._raw(node)):
            self._doubt("it may redirect inside a test")
        if node.children and node.children[0].type == "file_redirect":
            self._doubt("it redirects before the command is named")
        for child in node.children:
            if child.type.endswith("_redirect"):
                self._check_redirect(child)
        command = self._command(node)
        self._check_words(node, command)
        self._parts.append(command)

    def _check_words(self, node: Node, command: Command) -> None:
        if command.name in _RESERVED:
            self._doubt(f"`{command.name}` stands where a command should")
        for words in layers(command.words):
            if words[0].value in _EVALUATES:
                self._doubt(f"`{words[0].value}` runs its arguments as code")
            if sets_unclearly(words):
                self._doubt(f"what `{words[0].value}` sets cannot be told")
        if node.type == "command" and (command.words[0].has_glob or command.words[0].has_tilde):
            self._doubt("its command word is a pattern")
        for word in command.words:
            if word.doubt:
                self._doubt(f"it holds {word.doubt}")
        if node.type == "variable_assignment":
            self._bare_assignment(node, command.assignments[0])
        else:
            for assignment in command.assignments:
                self._prefix_assignment(assignment)
                if keeps_assignments(command.name) and changes_the_shell(assignment.name):
                    self._doubt(f"it sets {assignment.name}")

    def _bare_assignment(self, node: Node, assignment: Assignment) -> None:
        if changes_the_shell(assignment.name) or not assignment.name.isidentifier():
            self._doubt(f"it sets {assignment.name}")
        value = node.child_by_field_name("value")
        if value is not None:
            self._value(value, is_assigned=True)

    def _prefix_assignment(self, assignment: Assignment) -> None:
        if not assignment.name.isidentifier() or assignment.name == "IFS":
            self._doubt("it sets something other than a plain variable")
        if assignment.value.doubt or assignment.value.has_tilde:
            self._doubt(f"it sets a variable to {assignment.value.doubt or 'a path with ~'}")

    def _value(self, node: Node, *, is_assigned: bool = False) -> None:
        """A value that is only remembered: it may come from one simple command."""
        if node.type == "command_substitution":
            inner = [child for child in node.children if child.is_named]
            if len(inner) == 1 and inner[0].type == "command":
                self._add_part(inner[0])
            else:
                self._doubt("it holds a command substitution")
            return
        word = read_word(self._raw(node))
        if word.doubt or node.type == "array":
            self._doubt(f"it holds {word.doubt or 'a list of values'}")
        elif is_assigned and word.has_tilde:
            self._doubt("it sets a variable to a path with ~")

    def _check_redirect(self, node: Node) -> None:
        match node.type:
            case "file_redirect":
                if not self._is_plain_redirect(node):
                    self._doubt("it holds a redirect that cannot be followed")
            case "heredoc_redirect":
                self._check_heredoc(node)
            case "herestring_redirect":
                for child in node.children:
                    if child.is_named and read_word(self._raw(child)).doubt:
                        self._doubt("it passes on something that cannot be told before it runs")
            case _:
                self._doubt("it holds a redirect that cannot be followed")

    def _is_plain_redirect(self, node: Node) -> bool:
        operator = _redirect_operator(node)
        targets = node.children_by_field_name("destination")
        is_certain = all(read_word(self._raw(target)).doubt is None for target in targets)
        return operator in _FILE_OPERATORS and len(targets) == 1 and is_certain

    def _check_heredoc(self, node: Node) -> None:
        if self._expands(node):
            self._doubt("it holds a here-document that the shell expands")
        kinds = {child.type for child in node.children}
        if kinds - {"<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end", "file_redirect", "file_descriptor"}:
            self._doubt("it goes on behind the start of a here-document")
        for child in node.children:
            if child.type == "file_redirect":
                self._doubt("it redirects behind the start of a here-document")

    def _expands(self, heredoc: Node) -> bool:
        start = next((self._raw(child) for child in heredoc.children if child.type == "heredoc_start"), "")
        return not start.startswith(("'", '"', "\\"))

    # Simple commands

    def _command(self, node: Node) -> Command:
        if node.type == "variable_assignment":
            return Command(self._raw(node), (), (self._assignment(node),))
        if node.type != "command":
            return Command(self._raw(node), tuple(self._leaf(leaf) for leaf in _leaves(node)))
        own = [child for child in node.children if not child.type.endswith("_redirect")]
        return Command(
            text=self._text_of(own),
            words=tuple(self._word(child) for child in own if child.type != "variable_assignment"),
            assignments=tuple(self._assignment(child) for child in own if child.type == "variable_assignment"),
        )

    def _leaf(self, node: Node) -> Word:
        """A word of `[ … ]` and the like, where operators stand for themselves."""
        raw = self._raw(node)
        if not node.is_named:
            return Word(raw, raw)
        word = read_word(raw)
        if word.doubt is None and any(sign.isspace() for sign in raw) and not word.is_quoted:
            return Word(raw, raw, "a test that cannot be followed")
        return word

    def _text_of(self, nodes: list[Node]) -> str:
        """The words as they were written, blanks between them included."""
        if not nodes:
            return ""
        text = self._source[nodes[0].start_byte : nodes[-1].end_byte].decode(errors="replace")
        return re.sub(r"[ \t]*\\\n[ \t]*", " ", text)

    def _word(self, node: Node) -> Word:
        word = read_word(self._raw(node))
        if word.doubt is None and node.type == "brace_expression":
            return Word(word.raw, word.value, "a brace expansion")
        return word

    def _assignment(self, node: Node) -> Assignment:
        raw = self._raw(node)
        name, _, value = raw.partition("=")
        return Assignment(raw, name.removesuffix("+"), read_word(value))

    # Everything, also where it cannot be followed

    def _in_heredocs(self, root: Node) -> Iterator[Command]:
        """What here-documents run: the grammar does not see backticks there, and behind `<<-` nothing at all.

        Where there are several, it does not tell their bodies apart, so that the whole text is searched.
        """
        documents = [node for node in _descendants(root) if node.type == "heredoc_redirect"]
        expanded = [node for node in documents if self._expands(node)]
        for text in [self._text] if expanded and len(documents) > 1 else map(self._raw, expanded):
            for inner in _substitutions(text):
                yield from _roughly(inner)

    def _every_loop(self, root: Node) -> Iterator[Assignment]:
        for node in _descendants(root):
            variable = node.child_by_field_name("variable") if node.type == "for_statement" else None
            if variable is not None:
                for value in node.children_by_field_name("value"):
                    yield Assignment(self._raw(value), self._raw(variable), read_word(self._raw(value)))

    def _every_command(self, root: Node) -> Iterator[Command]:
        for node in _descendants(root):
            is_bare = node.type == "variable_assignment" and node.parent is not None and node.parent.type not in _SIMPLE
            if node.type in _SIMPLE or is_bare:
                yield self._command(node)

    def _every_redirect(self, root: Node) -> Iterator[Redirect]:
        for node in _descendants(root):
            if node.type != "file_redirect":
                continue
            operator = _redirect_operator(node)
            for target in node.children_by_field_name("destination"):
                if operator not in ("<&", ">&") or target.type != "number":
                    yield Redirect(writes=operator not in ("<", "<&"), target=self._word(target))


_BACKTICKS = re.compile(r"`([^`]*)`")
_PARENTHESES = re.compile(r"[()]")
_SEPARATORS = re.compile(r"[;&|\n(){}`]+")
_KEYWORDS = re.compile(r"(?:\s*(?:!|if|then|elif|else|while|until|do|time)(?=\s))*\s*")
_ROUGHLY_AT_MOST = 100_000


def _substitutions(text: str) -> Iterator[str]:
    """The insides of backticks and of `$(…)`, which with a parenthesis missing goes on to the end."""
    for found in _BACKTICKS.finditer(text):
        yield found[1]
    end = 0
    while (start := text.find("$(", end)) >= 0:
        end = _closing(text, start + 2)
        yield text[start + 2 : end]


def _closing(text: str, start: int) -> int:
    depth = 1
    for found in _PARENTHESES.finditer(text, start):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.start()
    return len(text)


def _roughly(text: str) -> Iterator[Command]:
    """What may be commands in a text that the grammar does not fit, for deny and ask rules to look at."""
    for piece in _SEPARATORS.split(text[:_ROUGHLY_AT_MOST]):
        start = _KEYWORDS.match(piece)
        words = piece[start.end() if start else 0 :].split()
        if words:
            yield Command(" ".join(words), tuple(read_word(word) for word in words))


_SIMPLE = frozenset(["command", "declaration_command", "unset_command", "test_command"])
_OPERATORS = frozenset([
    "&&", "||", ";", ";;", "|", "|&", "\n", "!", "(", ")",
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "in",
])  # fmt: skip
_FILE_OPERATORS = frozenset(["<", ">", ">>", ">|", "&>", "&>>", ">&", "<&"])
_NAMES = {
    "compound_statement": "a group in braces",
    "case_statement": "a case statement",
    "function_definition": "a function",
    "c_style_for_statement": "a counting loop",
    "variable_assignments": "several assignments",
    "ERROR": "something that is not shell syntax",
}


def _redirect_operator(node: Node) -> str:
    return next((child.type for child in node.children if not child.is_named), "")


def _descendants(root: Node) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def _is_too_deep(root: Node) -> bool:
    """Whether following the nesting would cost more than any sensible command is worth."""
    pending = [(root, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > _MAX_DEPTH:
            return True
        # Lists are nested by the grammar, not by the command.
        below = depth if node.type == "list" else depth + 1
        pending.extend((child, below) for child in node.children)
    return False


def _is_unsound(node: Node, source: bytes) -> bool:
    """Whether the grammar took what a shell may read otherwise: an open here-document, a comment out of place."""
    if node.type == "command" and not _gaps_are_blank(node, source):
        return True
    if node.type == "heredoc_redirect":
        return all(child.type != "heredoc_end" for child in node.children)
    if node.type == "heredoc_end":
        return source[node.end_byte : node.end_byte + 1] not in (b"\n", b"")
    return node.type == "comment" and _is_misplaced(node)


def _is_misplaced(comment: Node) -> bool:
    before = comment.prev_sibling
    if before is not None and before.type == "redirected_statement":
        return before.end_point.row == comment.start_point.row
    return comment.parent is not None and comment.parent.type in ("list", "pipeline")


def _flattened(node: Node) -> list[Node]:
    """The members of a list, which the grammar nests to the left."""
    members: list[Node] = []
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type == "list":
            pending.extend(reversed(current.children))
        else:
            members.append(current)
    return members


def _last_command(node: Node) -> Node:
    """What a redirect behind a list or pipeline belongs to."""
    while node.type in ("list", "pipeline", "negated_command") and node.children:
        node = node.children[-1]
    return node


def _leaves(node: Node) -> Iterator[Node]:
    """The words of a command that the grammar gives a shape of its own, such as `[ … ]` or `export X=1`."""
    pending = list(reversed(node.children))
    while pending:
        child = pending.pop()
        if child.type in _INNER_SHAPES:
            pending.extend(reversed(child.children))
        else:
            yield child


_INNER_SHAPES = frozenset([
    "unary_expression", "binary_expression", "parenthesized_expression", "postfix_expression",
])  # fmt: skip


def _gaps_are_blank(node: Node, source: bytes) -> bool:
    """Whether only white space separates the words: the grammar skips an escaped line break without a word."""
    for before, after in pairwise(node.children):
        gap = source[before.end_byte : after.start_byte]
        if not re.fullmatch(rb"(?:[ \t]|(?<=[ \t\n])\\\n)*", gap):
            return False
        if not gap and node.type == "command" and not after.type.endswith("_redirect"):
            return False
    return True

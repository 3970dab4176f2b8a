"""What the rules, the mode and the CLI's own habits say about one shell command."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from handrail.policy.rules.grammar import Rule
from handrail.policy.rules.ruleset import Rules
from handrail.policy.shell import matching
from handrail.policy.shell.access import Access
from handrail.policy.shell.critical import critical_removal
from handrail.policy.shell.operands import EDIT_COMMANDS, Operand, has_unclear_operands, operands, reads_nearby, writes
from handrail.policy.shell.parse import parse
from handrail.policy.shell.readonly import is_read_only
from handrail.policy.shell.sed import is_accepted_edit
from handrail.policy.shell.stricter import hidden_commands, looks_alike
from handrail.policy.shell.tree import Command
from handrail.policy.shell.variables import Known, assigned, has_too_many_readings, readings
from handrail.policy.shell.words import HOME, read_word
from handrail.policy.shell.wrappers import basename, is_overwrapped, layers, peeled
from handrail.policy.situation import Situation
from handrail.policy.verdict import Behavior, Verdict

__all__ = ["judge_command"]


_VERSION_CONTROL = frozenset(["git", "hg", "jj", "svn"])
_CHANGING_DIRECTORY = frozenset(["cd", "pushd", "popd"])
_PLAIN_NAME = re.compile(r"[\w./ :@%+=#~-]*")
_CODE_IN_ARITHMETIC = re.compile(r"\$\(\([^)]*(?:`|\$\()")
_PIPE_OR_BACKGROUND = re.compile(r"(?<![|&>])\|(?!\|)|(?<![&>|])&(?![&>])")


def judge_command(command: str, rules: Rules, situation: Situation) -> Verdict:
    """Whether the command is allowed, denied, or for a person to answer. Never raises for what the command holds."""
    return _Judge(command, rules, situation).verdict()


def _ask(reason: str) -> Verdict:
    return Verdict("ask", reason)


def _by_rule(behavior: Behavior, rule: Rule, covers: str = "this command") -> Verdict:
    return Verdict(behavior, f"the {behavior} rule {rule.text} covers {covers}", rule.text)


class _Judge:
    """One command before the rules. Each step answers with a verdict, or with None to leave it to the next."""

    def __init__(self, command: str, rules: Rules, situation: Situation) -> None:
        self._script = parse(command)
        self._rules = rules
        self._situation = situation
        self._access = Access(rules, situation, list(self._directories()))

    def verdict(self) -> Verdict:
        """Deny comes before ask, and ask before allow; what no step settles is for a person."""
        return (
            self._forbidden("deny")
            or self._denied_path()
            or self._forbidden("ask")
            or self._forbidden_in_hiding()
            or self._too_dangerous()
            or self._bypassed()
            or self._never_allowed()
            or self._whole_tool_allowed()
            or self._cannot_be_followed()
            or self._unusual_structure()
            or self._change_of_directory()
            or self._path_doubt()
            or self._exactly_allowed()
            or self._each_part()
        )

    # Deny and ask rules

    def _forbidden(self, behavior: Behavior) -> Verdict | None:
        rule = matching.whole_tool_rule(self._rules, behavior) or matching.forbidding_rule(
            self._rules, behavior, self._script, self._script.everything
        )
        return _by_rule(behavior, rule) if rule else None

    def _denied_path(self) -> Verdict | None:
        written = [] if self._script.doubts else [*_certain_operands(self._script.parts), *self._redirects]
        for operand in [*written, *_certain_operands(self._with_values)]:
            rule = self._access.denied_by(operand)
            if rule and not (operand.action == "edit" and operand.word.has_glob):
                return _by_rule("deny", rule, operand.word.value)
        return None

    def _forbidden_in_hiding(self) -> Verdict | None:
        """What the CLI's rules would miss: see `stricter`."""
        if not matching.has_specific_rules(self._rules) and not self._rules.deny:
            return None
        for behavior in ("deny", "ask"):
            rule = matching.forbidding_rule(self._rules, behavior, self._script, self._hidden)
            if rule:
                return Verdict("ask", f"a command in its arguments falls under {rule.text}", rule.text)
        for operand in [*_all_operands((*self._script.everything, *self._hidden)), *self._every_redirect()]:
            rule = self._access.denied_by(operand)
            if rule:
                return Verdict("ask", f"a command in its arguments falls under {rule.text}", rule.text)
        if any(has_too_many_readings(command.text, self._known) for command in self._script.everything):
            return _ask("its variables take more values than can be followed")
        if matching.has_specific_rules(self._rules) and looks_alike(self._script):
            return _ask("its command word holds letters that can be mistaken for others")
        return None

    @cached_property
    def _hidden(self) -> tuple[Command, ...]:
        return (*self._with_values, *hidden_commands((*self._script.everything, *self._with_values)))

    @cached_property
    def _known(self) -> Known:
        return assigned(self._script)

    @cached_property
    def _with_values(self) -> tuple[Command, ...]:
        """The commands that use variables of the script, with their values in place."""
        texts = [text for command in self._script.everything for text in readings(command.text, self._known)]
        return tuple(command for text in dict.fromkeys(texts) for command in parse(text).everything)

    def _every_redirect(self) -> Iterator[Operand]:
        for operand in self._redirects:
            yield operand
            for value in readings(operand.word.value, self._known):
                yield replace(operand, word=read_word(value))

    # What no allow rule reaches

    def _too_dangerous(self) -> Verdict | None:
        removal = critical_removal(self._script, [*self._script.everything, *self._hidden], self._situation)
        if removal:
            return _ask(removal)
        if self._script.is_broken and any(sign in self._script.text for sign in ("$(", "${", "`")):
            return _ask("its syntax cannot be followed, and it expands something")
        if any(is_overwrapped(command.words) for command in self._script.everything):
            return _ask("it wraps a command too many times")
        if _CODE_IN_ARITHMETIC.search(self._script.text):
            return _ask("it runs commands in the middle of a calculation")
        if self._script.has_control_characters:
            return _ask("it holds control characters")
        return None

    def _bypassed(self) -> Verdict | None:
        if self._situation.mode != "bypassPermissions":
            return None
        return Verdict("allow", "the mode bypassPermissions allows it")

    def _never_allowed(self) -> Verdict | None:
        for operand in [*_all_operands(self._script.parts), *self._redirects]:
            reason = self._access.never_allowed(operand)
            if reason:
                return _ask(reason)
        return None

    # Allow rules

    def _whole_tool_allowed(self) -> Verdict | None:
        rule = matching.whole_tool_rule(self._rules, "allow")
        if rule and self._script.has_background and all(is_read_only(command) for command in self._script.parts):
            return _ask("it reads in the background, at a time when other commands may have changed what is there")
        return _by_rule("allow", rule, "every command") if rule else None

    def _cannot_be_followed(self) -> Verdict | None:
        """A command that is not understood is allowed only by a rule that names it as it is."""
        if not self._script.doubts:
            return None
        rule = matching.exact_rule(self._rules, self._script)
        if rule and self._is_contained():
            return _by_rule("allow", rule)
        return _ask(self._script.doubts[0])

    def _is_contained(self) -> bool:
        """Whether a command that cannot be followed at least has no part that escapes its rule."""
        script = self._script
        if script.is_broken or script.has_pipe or script.has_subshell or self._redirects:
            return False
        return _PIPE_OR_BACKGROUND.search(script.text) is None

    def _unusual_structure(self) -> Verdict | None:
        if self._script.has_background:
            return _ask("it runs something in the background")
        if self._script.has_subshell:
            return _ask("it runs something in a subshell")
        return None

    def _change_of_directory(self) -> Verdict | None:
        """After `cd`, words mean other files, and git reads another configuration."""
        changes = [inner for inner in map(_inner, self._script.parts) if inner.name in _CHANGING_DIRECTORY]
        if not changes:
            return None
        if len(changes) > 1:
            return _ask("it changes the directory more than once")
        (change,) = changes
        if change.name == "cd" and not _is_plain_change(change):
            return _ask("it changes the directory in a way that cannot be followed")
        if len(self._script.parts) == 1 and not self._redirects:
            return None
        if change.values == ("cd", "-") and self._uses_files():
            return _ask("it goes on in a directory that is not known")
        return self._work_elsewhere(change)

    def _uses_files(self) -> bool:
        others = [command for command in self._script.parts if _inner(command).name != "cd"]
        return bool(self._redirects) or any(True for _ in _all_operands(others))

    def _stays_in_place(self, change: Command) -> bool:
        return change.name == "cd" and all(
            posixpath.normpath(path) == posixpath.normpath(self._situation.cwd) for path in self._directories()
        )

    def _work_elsewhere(self, change: Command) -> Verdict | None:
        is_elsewhere = not self._stays_in_place(change)
        inside = [words for command in self._script.parts for words in layers(command.words)]
        if is_elsewhere and any(words[0].value in _VERSION_CONTROL for words in inside):
            return _ask("it runs version control in another directory, whose configuration may run commands")
        if self._redirects or any(writes(words) for words in inside):
            return _ask("it changes the directory and then uses files, by redirection or by writing to them")
        others = [words for words in inside if words[0].value not in _CHANGING_DIRECTORY]
        if is_elsewhere and any(rule.tool == "Read" for rule in self._rules.deny) and any(map(reads_nearby, others)):
            return _ask("it changes the directory and then reads files, and some must not be read")
        return None

    def _directories(self) -> Iterator[str]:
        """The directories that the script changes to."""
        for command in self._script.everything:
            inner = _inner(command)
            if inner.name in ("cd", "pushd") and len(inner.words) == 2:
                value = re.sub(r"^~(?=/|$)", HOME, inner.words[1].value).replace(HOME, self._situation.home)
                yield posixpath.normpath(posixpath.join(self._situation.cwd, value))

    def _path_doubt(self) -> Verdict | None:
        for command in self._script.parts:
            if any(has_unclear_operands(words) for words in layers(command.words)):
                return _ask(f"which files `{_shortened(command.text)}` is about cannot be told")
        for operand in _all_operands(self._script.parts):
            reason = self._access.doubt(operand)
            if reason:
                return _ask(reason)
        for operand in self._redirects:
            if operand.action == "read":
                reason = "its input is named by a pattern" if operand.word.has_glob else self._access.doubt(operand)
            else:
                reason = self._redirect_doubt(operand)
            if reason:
                return _ask(reason)
        return None

    def _redirect_doubt(self, operand: Operand) -> str | None:
        if operand.word.has_tilde:
            return "it writes to a path that the shell expands"
        shape = self._access.doubt(operand)
        if shape:
            return shape
        return None if self._access.may_redirect_to(operand) else f"it writes to {operand.word.value}"

    @cached_property
    def _redirects(self) -> tuple[Operand, ...]:
        return tuple(
            Operand("edit" if redirect.writes else "read", redirect.target)
            for redirect in self._script.redirects
            if redirect.target.value != "/dev/null"
        )

    def _exactly_allowed(self) -> Verdict | None:
        if self._script.has_pipe or any(sign in self._script.text for sign in ("$(", "`")):
            return None
        rule = matching.exact_rule(self._rules, self._script)
        return _by_rule("allow", rule) if rule else None

    def _each_part(self) -> Verdict:
        rules: list[Rule] = []
        for command in self._script.parts:
            if self._needs_no_rule(command):
                continue
            is_odd_test = command.name in ("[", "[[")
            rule = None if is_odd_test else matching.allowing_rule(self._rules, command)
            if rule is None:
                return _ask(f"`{_shortened(command.text)}` is not covered by any allow rule")
            rules.append(rule)
        if not rules:
            return Verdict("allow", self._why_no_rule())
        return _by_rule("allow", rules[0], "this command" if len(rules) == 1 else "it, with others")

    def _why_no_rule(self) -> str:
        if any(operand.action == "edit" for operand in [*_all_operands(self._script.parts), *self._redirects]):
            return "the mode or a rule allows these edits"
        return "it only reads" if self._script.parts else "it does nothing"

    def _needs_no_rule(self, command: Command) -> bool:
        if not command.words or self._is_accepted_edit(command):
            return True
        # What xargs adds may be a path that a deny rule forbids.
        is_unseen = _inner(command).name == "xargs" and any(rule.tool == "Read" for rule in self._rules.deny)
        return is_read_only(command) and not is_unseen

    def _is_accepted_edit(self, command: Command) -> bool:
        if self._situation.mode != "acceptEdits" or command.assignments or command.words[0].raw not in EDIT_COMMANDS:
            return False
        arguments = command.values[1:]
        if command.name == "sed":
            return is_accepted_edit(arguments)
        if not all(_PLAIN_NAME.fullmatch(argument) for argument in arguments):
            return False
        return command.name != "touch" or not any(argument.startswith("-") for argument in arguments)


def _inner(command: Command) -> Command:
    """The command itself, without wrappers."""
    *_, innermost = peeled(command)
    return innermost


def _is_plain_change(change: Command) -> bool:
    arguments = change.values[1:]
    return len(arguments) == 1 and (arguments[0] == "-" or not arguments[0].startswith("-"))


def _certain_operands(commands: Sequence[Command]) -> Iterator[Operand]:
    """The paths of commands that run as they are: what `xargs` adds to one is not known."""
    for command in commands:
        for words in layers(command.words):
            if basename(words[0].value) == "xargs":
                break
            yield from operands(words)


def _all_operands(commands: Sequence[Command]) -> Iterator[Operand]:
    for command in commands:
        for words in layers(command.words):
            yield from operands(words)


def _shortened(text: str, width: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"

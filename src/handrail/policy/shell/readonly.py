"""Commands that the CLI runs without a rule because they only read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from handrail.policy.shell.actions import has_find_action
from handrail.policy.shell.readonly_options import COMMANDS, DOCKER, GIT, HELP, Options
from handrail.policy.shell.sed import is_harmless
from handrail.policy.shell.tree import Command
from handrail.policy.shell.words import Word
from handrail.policy.shell.wrappers import peeled_for_reading

__all__ = ["is_read_only"]

_ANY_FILES = frozenset([
    "basename", "cat", "cmp", "column", "cut", "df", "diff", "dirname", "du", "echo", "head", "hexdump", "ls", "nl",
    "od", "readlink", "realpath", "rev", "stat", "strings", "tac", "tail", "tr", "wc",
])  # fmt: skip
"""Commands that read, whatever they are given; what they may read is a question of paths."""

_ANY_WORDS = frozenset([
    "cal", "cd", "comm", "expand", "expr", "false", "fmt", "fold", "free", "groups", "id", "locale", "nproc",
    "numfmt", "paste", "pr", "seq", "sleep", "true", "tsort", "uname", "unexpand", "uptime",
])  # fmt: skip
"""Commands that read, whatever they are given, as long as the shell does not expand it to names of files."""

_UNDER_WRAPPERS = frozenset(["cd", "grep", "egrep", "fgrep"])
"""What else than these keeps needing no rule behind `timeout` and its like."""

_EXACTLY = frozenset([
    "arch", "arch --help", "claude --help", "claude -h", "ifconfig", "ip addr", "node --version", "node -v", "pwd",
    "python --version", "python3 --version", "whoami", "xargs",
])  # fmt: skip
"""Whole commands."""

_UNARY_TESTS = frozenset([f"-{letter}" for letter in "bcdefghknprsuwxzGLNOS"])
_AFTER_UNARY_TEST = frozenset(["]", "]]", "-a", "-o", "&&", "||"])
_ARITHMETIC_TESTS = frozenset(["-eq", "-ne", "-lt", "-le", "-gt", "-ge"])
_STORES_IN_ZSH = re.compile(r"-\w*[AH]")
_INTEGER = re.compile(r"-?\d+")
_PAGE = re.compile(r"[A-Za-z0-9][\w.+-]*")
_JQ_FLAGS = re.compile(
    r"-[acehjnrsCMRS]+|--(?:raw|compact|ascii|join|color|monochrome)-output|--slurp|--null-input|--exit-status"
    r"|--sort-keys|--tab|--raw-input|--stream|--seq"
)
_JQ_CODE = re.compile(r"\b(?:env|ENV|system|include|import|inputs|debug|stderr|halt\w*|modulemeta|input_filename)\b")
_JQ_DOUBT = re.compile(r"[$\\]")
_TPUT = frozenset(["bold", "colors", "cols", "lines", "setab", "setaf", "sgr0"])
_XARGS_TARGETS = frozenset(["echo", "printf", "wc", "head", "tail", "grep"])
_FORMAT = re.compile(r"oneline|short|medium|full|fuller|raw|email|t?format:.*|.*%.*", re.DOTALL)
"""Formats of git that are not names somebody may have configured."""
_UNIQ = Options("-c -d -D -i -u -z --count --repeated --unique --ignore-case" + HELP, "", "-f -s -w", "none")
_XARGS = Options("-0 -r -t -x", "-I -d", "-L -P -n -s")


def is_read_only(command: Command) -> bool:
    """Whether the command needs no rule."""
    inner = peeled_for_reading(command)
    if not inner.words or inner.assignments:
        return False
    name, arguments = inner.name, inner.words[1:]
    if any(_is_somebodys_home(word) for word in arguments):
        return False
    if name in _ANY_FILES:
        return name != "stat" or not any(_STORES_IN_ZSH.match(word.value) for word in arguments)
    if inner.name != command.name and name not in _UNDER_WRAPPERS:
        return False
    if name in _ANY_WORDS:
        # A pattern as the target of cd is judged as the path it is.
        is_expanded = any(word.has_glob for word in arguments) or inner.words[0].is_quoted
        return name == "cd" or not is_expanded
    if inner.words[0].is_quoted:
        return False
    if inner.text in _EXACTLY:
        return True
    if name in _SPECIAL:
        return _SPECIAL[name](arguments)
    return name in COMMANDS and _fits(COMMANDS[name], arguments)


def _is_somebodys_home(word: Word) -> bool:
    return word.has_tilde and word.value[1:2] not in ("", "/")


def _fits(options: Options, arguments: Sequence[Word]) -> bool:
    """Whether the arguments hold nothing but the options and positionals that are known."""
    if any(word.value.startswith("~") or any(sign in word.raw for sign in "$`\n") for word in arguments):
        return False
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word.value == "--":
            return options.dashes and all(_is_positional(options, rest) for rest in arguments[at + 1 :])
        taken = _option(options, arguments, at) if word.value.startswith("-") and len(word.value) > 1 else None
        if taken is None and (word.value.startswith("-") or not _is_positional(options, word)):
            return False
        at += taken or 1
    return True


def _is_positional(options: Options, word: Word) -> bool:
    match options.positionals:
        case "any":
            return True
        case "none":
            return False
        case "no-patterns":
            return not word.has_glob and not word.value.startswith("+")


def _option(options: Options, arguments: Sequence[Word], at: int) -> int | None:
    """How many words the option takes; None if it is not known."""
    option = arguments[at].value
    name, equals, value = option.partition("=")
    if equals and name.startswith("--"):
        return 1 if _takes(options, name, value) else None
    if option in options.flags or (options.counts and option[1:].isdigit()):
        return 1
    has_value = at + 1 < len(arguments) and not (option == "-f" and arguments[at + 1].has_glob)
    following = arguments[at + 1].value if has_value else ""
    if following and not following.startswith("-") and _takes(options, option, following):
        return 2
    if options.attached and option[:2] in options.numbers and option[2:].isdigit():
        return 1
    is_cluster = not option.startswith("--") and all(f"-{letter}" in options.flags for letter in option[1:])
    return 1 if is_cluster else None


def _takes(options: Options, name: str, value: str) -> bool:
    """Whether the option may have this value."""
    if name in options.formats:
        return _FORMAT.fullmatch(value) is not None
    return name in options.texts or (name in options.numbers and value.isdigit())


def _subcommand(table: Mapping[tuple[str, ...], Options]) -> Callable[[Sequence[Word]], bool]:
    def check(arguments: Sequence[Word]) -> bool:
        for length in (2, 1):
            options = table.get(tuple(word.value for word in arguments[:length]))
            if options is not None:
                return _fits(options, arguments[length:])
        return False

    return check


def _find(arguments: Sequence[Word]) -> bool:
    return not has_find_action(word.value for word in arguments) and not any(word.has_glob for word in arguments)


def _sed(arguments: Sequence[Word]) -> bool:
    return is_harmless([word.value for word in arguments])


def _uniq(arguments: Sequence[Word]) -> bool:
    """A second file would be written to, so there may be none at all."""
    return _fits(_UNIQ, arguments)


def _date(arguments: Sequence[Word]) -> bool:
    return _fits(COMMANDS["date"], [word for word in arguments if not word.value.startswith("+")])


def _ps(arguments: Sequence[Word]) -> bool:
    """`e` in the old style shows the environment."""
    plain = [word.value for word in arguments if not word.value.startswith("-")]
    return _fits(COMMANDS["ps"], arguments) and all(re.fullmatch(r"[a-df-z]+|\d+", value) for value in plain)


def _history(arguments: Sequence[Word]) -> bool:
    return len(arguments) <= 1 and all(word.value.isdigit() for word in arguments)


def _printf(arguments: Sequence[Word]) -> bool:
    """A number may be calculated, and a shell may run code to do so: only text and plain numbers are printed."""
    if any(word.has_glob or "$" in word.raw for word in arguments):
        return False
    if not arguments or arguments[0].value.startswith("-"):
        return not arguments
    prints_text = not re.search(r"%[^s%]", arguments[0].value)
    return prints_text or all(word.value.isdigit() for word in arguments[1:])


def _test(arguments: Sequence[Word]) -> bool:
    values = [word.value for word in arguments]
    if any(word.has_glob or "$" in word.raw for word in arguments):
        return False
    if values[:1] == ["!"]:
        del values[0]
    if len(values) == 3:
        return values[1] in ("==", "!=") or (values[1] in _ARITHMETIC_TESTS and _brackets(arguments))
    if len(values) == 2:
        return values[0] in _UNARY_TESTS and not values[1].startswith("-")
    return len(values) == 1 and not values[0].startswith(("!", "-"))


def _brackets(arguments: Sequence[Word]) -> bool:
    """Numbers are compared arithmetically, and a shell may run code to find out what a name is worth."""
    values = [word.value for word in arguments]
    is_expanded = any(word.has_glob or "$" in word.raw for word in arguments[:-1])
    has_stray_operand = len(values) > 2 and values[0] in _UNARY_TESTS and values[2] not in _AFTER_UNARY_TEST
    if is_expanded or has_stray_operand or not all(_is_known_test(value) for value in values):
        return False
    for at, value in enumerate(values):
        if value in _ARITHMETIC_TESTS:
            around = values[at - 1 : at] + values[at + 1 : at + 2]
            if not all(_INTEGER.fullmatch(operand) for operand in around):
                return False
    return True


def _is_known_test(value: str) -> bool:
    is_operator = value in _UNARY_TESTS or value in _ARITHMETIC_TESTS or value in ("-nt", "-ot", "-ef")
    return not value.startswith("-") or is_operator or _INTEGER.fullmatch(value) is not None


def _jq(arguments: Sequence[Word]) -> bool:
    words = list(arguments)
    while words and words[0].value.startswith("-"):
        if words[0].value in ("--arg", "--argjson") and len(words) > 2:
            del words[:3]
        elif _JQ_FLAGS.fullmatch(words[0].value):
            del words[0]
        else:
            return False
    if not words or any(word.value.startswith("-") or word.has_glob or _JQ_DOUBT.search(word.raw) for word in words):
        return False
    return not any(_JQ_CODE.search(word.value) for word in words)


def _xargs(arguments: Sequence[Word]) -> bool:
    at = 0
    while at < len(arguments) and arguments[at].value.startswith("-"):
        taken = _option(_XARGS, arguments, at)
        if taken is None or (arguments[at].value == "-I" and arguments[at + 1].value != "{}"):
            return False
        at += taken
    target = arguments[at:]
    if not target or target[0].value not in _XARGS_TARGETS or any(word.has_glob for word in target):
        return False
    if target[0].value == "grep":
        return _fits(COMMANDS["grep"], target[1:])
    return target[0].value != "printf" or _printf(target[1:])


def _man(arguments: Sequence[Word]) -> bool:
    """A name with a slash is a file, which may call programs."""
    return bool(arguments) and all(_PAGE.fullmatch(word.value) for word in arguments)


def _type(arguments: Sequence[Word]) -> bool:
    return all(re.fullmatch(r"[\w./-]+", word.value) for word in arguments)


def _tput(arguments: Sequence[Word]) -> bool:
    return bool(arguments) and arguments[0].value in _TPUT and all(word.value.isdigit() for word in arguments[1:])


def _ifconfig(arguments: Sequence[Word]) -> bool:
    return len(arguments) == 1 and not arguments[0].value.startswith("-")


_SPECIAL: dict[str, Callable[[Sequence[Word]], bool]] = {
    "[": _brackets,
    "[[": _brackets,
    "date": _date,
    "docker": _subcommand(DOCKER),
    "find": _find,
    "git": _subcommand(GIT),
    "history": _history,
    "ifconfig": _ifconfig,
    "jq": _jq,
    "man": _man,
    "printf": _printf,
    "ps": _ps,
    "sed": _sed,
    "test": _test,
    "tput": _tput,
    "type": _type,
    "uniq": _uniq,
    "xargs": _xargs,
}

"""Code as HTML, in colours where its language is known."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from handrail.policy.describing.visible import visible
from handrail.rendering.folding import fold, split_at
from handrail.rendering.marks import marked

if TYPE_CHECKING:
    from pygments.formatters import HtmlFormatter
    from pygments.lexer import Lexer

__all__ = ["LONGEST_HIGHLIGHTED", "code_html", "highlighted"]

LONGEST_HIGHLIGHTED = 20_000
"""Highlighting is slow: longer texts are shown as they are."""
LONGEST_LINE_HIGHLIGHTED = 1_000
"""Some of the patterns take time that grows with the square of a line."""

LANGUAGES: Mapping[str, str] = {
    **dict.fromkeys(("bash", "sh", "shell", "zsh", "ksh", "bats"), "bash"),
    **dict.fromkeys(("console", "shell-session", "shellsession"), "console"),
    **dict.fromkeys(("c", "h"), "c"),
    **dict.fromkeys(("cpp", "c++", "cc", "cxx", "hpp", "hh"), "cpp"),
    **dict.fromkeys(("css",), "css"),
    **dict.fromkeys(("diff", "patch", "udiff"), "diff"),
    **dict.fromkeys(("docker", "dockerfile"), "docker"),
    **dict.fromkeys(("elixir", "ex", "exs"), "elixir"),
    **dict.fromkeys(("go", "golang"), "go"),
    **dict.fromkeys(("haskell", "hs"), "haskell"),
    **dict.fromkeys(("html", "htm", "xhtml"), "html"),
    **dict.fromkeys(("ini", "cfg", "conf", "editorconfig"), "ini"),
    **dict.fromkeys(("javascript", "js", "mjs", "cjs", "jsx"), "javascript"),
    **dict.fromkeys(("json", "jsonl", "json5", "ipynb"), "json"),
    **dict.fromkeys(("kotlin", "kt", "kts"), "kotlin"),
    **dict.fromkeys(("lua",), "lua"),
    **dict.fromkeys(("objective-c", "objc", "m"), "objective-c"),
    **dict.fromkeys(("perl", "pl", "pm"), "perl"),
    **dict.fromkeys(("php",), "php"),
    **dict.fromkeys(("powershell", "ps1", "pwsh"), "powershell"),
    **dict.fromkeys(("protobuf", "proto"), "protobuf"),
    **dict.fromkeys(("python", "py", "python3", "pyi", "py3"), "python"),
    **dict.fromkeys(("r",), "r"),
    **dict.fromkeys(("ruby", "rb"), "ruby"),
    **dict.fromkeys(("rust", "rs"), "rust"),
    **dict.fromkeys(("scala",), "scala"),
    **dict.fromkeys(("scss",), "scss"),
    **dict.fromkeys(("sql",), "sql"),
    **dict.fromkeys(("swift",), "swift"),
    **dict.fromkeys(("toml",), "toml"),
    **dict.fromkeys(("typescript", "ts", "tsx", "mts", "cts"), "typescript"),
    **dict.fromkeys(("xml", "svg", "xsl", "plist"), "xml"),
    **dict.fromkeys(("yaml", "yml"), "yaml"),
    **dict.fromkeys(("zig",), "zig"),
}
"""The languages that are coloured, by their names and by the endings of files. Whoever writes Markdown chooses the
language: so it is one whose patterns are known to take no longer for one text than for another."""


def code_html(text: str, language: str = "", file_name: str = "", *, shown: int | None = None) -> str:
    """A block of code, whole. With `shown`, what comes after so many lines is folded."""
    lines = highlighted(visible(text), language or _ending(file_name)).split("\n")
    head = split_at(lines, shown)
    first = _block(lines[:head])
    return first if head == len(lines) else fold(first, _block(lines[head:]), len(lines))


def highlighted(text: str, language: str) -> str:
    """`text`, which is shown as it is, with a class for each kind of word. No element spans a line's end."""
    lexer = _lexer(LANGUAGES.get(language.lower(), "")) if _is_quick(text) else None
    if lexer is None:
        return escape(text, quote=False)
    tokens = list(lexer.get_tokens(text))
    if "".join(value for _, value in tokens) != text:  # some leave out what they do not understand
        return escape(text, quote=False)
    written = StringIO()
    _formatter().format(tokens, written)
    html = written.getvalue()
    return html if text.endswith("\n") else html.removesuffix("\n")


def _block(lines: list[str]) -> str:
    # A reader of HTML takes away one newline right after <pre>: this one, and not one of the text.
    return marked('<pre class="code">\n' + "\n".join(lines) + "</pre>")


def _ending(file_name: str) -> str:
    name = file_name.rpartition("/")[2].lower()
    return name.rpartition(".")[2] or name


def _is_quick(text: str) -> bool:
    return len(text) <= LONGEST_HIGHLIGHTED and max(map(len, text.split("\n"))) <= LONGEST_LINE_HIGHLIGHTED


@cache
def _lexer(name: str) -> Lexer | None:
    if not name:
        return None
    from pygments.lexers import get_lexer_by_name

    # Texts are shown as they are: pygments would take away blank lines and change line ends.
    options: dict[str, Any] = {"stripnl": False, "ensurenl": False}
    return get_lexer_by_name(name, **options)


@cache
def _formatter() -> HtmlFormatter[str]:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True)

"""Markdown from elsewhere, made fit to stand in a document of ours.

It keeps its shape, and can do nothing to what is around it: no HTML, no picture that is fetched when the document is
opened, no link but to the web, no fence or comment left open. What cannot be made so is shown as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from handrail.policy.describing.visible import legible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["fence", "longest_backticks", "safe_markdown"]

SAFE_LINK = re.compile(r"(?i)(?:https?://|mailto:|[/#?.%_0-9-]|[a-z][a-z0-9+.-]*(?:[/?#]|\Z))")
"""Addresses on the web and of mail, and those without a scheme, which lead to files beside the document."""

_BACKTICKS = re.compile(r"`+")
_HAS_MEANING = re.compile(r"<|\[|```|~~~")
"""Without any of these there is no HTML, no link, no picture and no fence."""
_INDENT = re.compile(r"^[ \t]+")
_AFTERWARDS = "what follows"


def longest_backticks(text: str) -> int:
    """How many backticks stand side by side, at most."""
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def fence(text: str, language: str = "") -> str:
    """`text` as a block of code, whatever it holds."""
    ticks = "`" * max(3, longest_backticks(text) + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{ticks}{language}\n{text}{end}{ticks}"


def safe_markdown(text: str) -> str:
    """`text` as Markdown that stays inside of itself."""
    # An indent at the beginning would make it a part of a list that stands before it.
    shown = legible(text.replace("\r\n", "\n")).strip()
    if not _HAS_MEANING.search(shown):
        return shown
    shown = _with_spaces(shown)
    dangers = _dangers(shown)
    if not dangers:
        return shown
    for attempt in _attempts(shown, dangers):
        if not _dangers(attempt):
            return attempt
    return fence(shown, "markdown")


def _with_spaces(text: str) -> str:
    """Tabs that indent a line mean less inside of a quote or a list, where the text may come to stand."""
    if "\t" not in text:
        return text
    fenced = _lines_of_code(text, "fence")
    return "\n".join(
        line if number in fenced else _INDENT.sub(lambda indent: indent[0].expandtabs(4), line)
        for number, line in enumerate(text.split("\n"))
    )


def _attempts(text: str, dangers: set[str]) -> Iterator[str]:
    """`text` with more and more of what could do harm taken its meaning, outside of blocks of code."""
    closed = text + (_missing_end(text) if "open" in dangers else "")
    code = _lines_of_code(closed, "fence", "code_block")
    enough = "link" if "link" in dangers else "image" if "image" in dangers else "html"
    for harmful in _HARMFUL[enough]:
        yield _escaped(closed, harmful, code, spans=True)
        yield _escaped(closed, harmful, code, spans=False)


_HARMFUL = {"link": (r"[<!\[\]]",), "image": (r"<|!(?=\[)", r"[<!\[\]]"), "html": ("<", r"<|!(?=\[)", r"[<!\[\]]")}
"""What to escape, by the worst that was found."""


def _missing_end(text: str) -> str:
    fences = [token for token in _parser().parse(text) if token.type == "fence"]
    return f"\n{fences[-1].markup}" if fences else ""


def _escaped(text: str, harmful: str, code: set[int], *, spans: bool) -> str:
    """`spans`: what looks like code within a line is left alone. Whether it was, is looked at afterwards."""
    pattern = re.compile((r"(`+)(?!`).+?(?<!`)\1(?!`)|\\.|" if spans else r"\\[^`]|") + f"({harmful})")
    group = 2 if spans else 1
    return "\n".join(
        line if number in code else pattern.sub(lambda found: "\\" * bool(found[group]) + found[0], line)
        for number, line in enumerate(text.split("\n"))
    )


def _lines_of_code(text: str, *kinds: str) -> set[int]:
    blocks = [token.map for token in _parser().parse(text) if token.type in kinds and token.map]
    return {line for start, end in blocks for line in range(start, end)}


# ---------------------------------------------------------------- what could do harm


def _dangers(text: str) -> set[str]:
    """What of `text` could do harm: html, image, link; and open, if it would swallow what follows it."""
    references: dict[str, dict[str, dict[str, str]]] = {}
    tokens = _careless_parser().parse(f"{text}\n\n{_AFTERWARDS}", references)
    found = {danger for token in _all_of(tokens) if (danger := _danger(token))}
    if not all(_leads_to_the_web(known["href"]) for known in references.get("references", {}).values()):
        found.add("link")
    last = tokens[-3:]
    if len(last) < 3 or last[0].level != 0 or last[1].content != _AFTERWARDS:
        found.add("open")
    return found


def _danger(token: Token) -> str:
    if token.type in ("html_block", "html_inline"):
        return "html"
    if token.type == "image":
        return "image"
    harmless = token.type != "link_open" or _leads_to_the_web(str(token.attrGet("href") or ""))
    return "" if harmless else "link"


def _leads_to_the_web(address: str) -> bool:
    return not address or SAFE_LINK.match(address) is not None


def _all_of(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _all_of(token.children or [])


@cache
def _parser() -> MarkdownIt:
    """Reads Markdown as it is meant here: HTML is text."""
    from markdown_it import MarkdownIt  # costs nobody anything who exports nothing

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


@cache
def _careless_parser() -> MarkdownIt:
    """Reads Markdown as the most careless program would."""
    from markdown_it import MarkdownIt

    class Careless(MarkdownIt):
        def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
            return True

    return Careless("commonmark", {"html": True}).enable(["table", "strikethrough"])

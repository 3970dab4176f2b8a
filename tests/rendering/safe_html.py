"""Reads HTML as strictly as it should have been written, and says whether there is anything in it that may not be."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser

import nh3

__all__ = ["Page", "check_html", "shown_text"]

VOID = {"br", "hr", "img"}
PROSE = "a blockquote br code del em hr li ol p pre s span strong ul h1 h2 h3 h4 h5 h6 table tbody td th thead tr"
TAGS = {*PROSE.split(), "div", "mark", "details", "summary", "ins"}
ATTRIBUTES = {
    "a": {"href", "title", "rel"},
    "ol": {"start"},
    "td": {"class", "colspan"},
    "mark": {"title"},
    **{tag: {"class"} for tag in ("span", "div", "pre", "th", "p", "table", "tr", "details", "ul")},
}
HREF = re.compile(r"(?i)(https?://|mailto:)|(?![a-z][a-z0-9+.-]*:)")
CLASS = re.compile(r"[A-Za-z][A-Za-z0-9-]*( [A-Za-z][A-Za-z0-9-]*)*")
LEFT_OUT_OF_ADDRESSES = re.compile(r"[\x00-\x20]")
"""What a browser does not see in an address."""


class Page(HTMLParser):
    """The elements, attributes and text of some HTML."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> without a beginning"
        assert self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")


@cache
def check_html(html: str) -> None:
    """Fail unless `html` has only the elements and attributes that text may become."""
    page = Page(html)
    assert page.open == []
    assert set(page.tags) <= TAGS
    for tag, name, value in page.attributes:
        assert name in ATTRIBUTES.get(tag, ()), (tag, name, value)
        if name == "href":
            assert HREF.match(LEFT_OUT_OF_ADDRESSES.sub("", value)), value
        if name == "class":
            assert CLASS.fullmatch(value), value
    # What a browser reads and writes again as it is means the same to both; the rest is read once more.
    written = _written_by_a_browser(html)
    assert written == _without_first_newlines(html) or Page(written).tags == page.tags
    html.encode()


def _written_by_a_browser(html: str) -> str:
    """The HTML as the parser of a browser understands it: nothing that two parsers understand in two ways is safe."""
    attributes = {tag: names - {"rel"} for tag, names in ATTRIBUTES.items()}
    return nh3.clean(html, tags=TAGS, attributes=attributes)


def _without_first_newlines(html: str) -> str:
    """A reader of HTML leaves out a newline right after <pre>."""
    return re.sub(r"(<pre[^>]*>)\n", r"\1", html)


def shown_text(html: str) -> str:
    """The text that a reader sees."""
    return "".join(Page(_without_first_newlines(html)).text)

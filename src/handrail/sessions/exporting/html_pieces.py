"""The pieces of an HTML export: prose, code, output and pictures from elsewhere, made safe to stand in a page."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from handrail.policy.describing.visible import legible, one_line, visible
from handrail.sessions.exporting.ansi import PLAIN, Style, styled_output
from handrail.sessions.exporting.words import shortened, size

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict
    from pygments.formatters import HtmlFormatter
    from pygments.lexer import Lexer

__all__ = ["code_html", "line_html", "output_html", "picture_html", "prose_html"]

LONGEST_HIGHLIGHTED = 20_000
"""Highlighting is slow: longer texts are shown as they are."""
_WRITTEN_OUT = re.compile(r"&lt;(U\+[0-9A-F]{4,6})&gt;")
_IMAGE_STARTS: Mapping[str, tuple[bytes, ...]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
"""The images that are shown, and how each begins. An SVG is a program, and is not among them."""


def line_html(text: str) -> str:
    """Text on one line; hidden characters stand out."""
    return _marked(escape(one_line(text)))


def _marked(html: str) -> str:
    return _WRITTEN_OUT.sub(r"<mark>\1</mark>", html)


# ---------------------------------------------------------------- prose


def prose_html(text: str) -> str:
    """Markdown as HTML: rendered without any HTML of its own, then sanitised all the same."""
    import nh3

    rendered = _markdown().render(legible(text.replace("\r\n", "\n")))
    return _marked(
        nh3.clean(
            rendered,
            tags=_TAGS,
            attributes={"a": {"href", "title"}, "span": {"class"}, "th": {"style"}, "td": {"style"}, "ol": {"start"}},
            filter_style_properties={"text-align"},
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer",
        )
    )


_TEXT_TAGS = {"a", "blockquote", "br", "code", "del", "em", "hr", "li", "ol", "p", "pre", "s", "span", "strong", "ul"}
_TAGS = _TEXT_TAGS | {"h1", "h2", "h3", "h4", "h5", "h6", "table", "tbody", "td", "th", "thead", "tr"}


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "highlight": _highlighted_fence})
    parser.enable(["table", "strikethrough"])
    parser.add_render_rule("image", _image_as_link)
    return parser


def _highlighted_fence(text: str, language: str, _attributes: str) -> str:
    return _highlighted(text, language)


def _image_as_link(
    _renderer: RendererHTML, tokens: list[Token], index: int, _options: OptionsDict, _env: EnvType
) -> str:
    """A page that is opened must not tell anybody: what would be fetched is a link."""
    token = tokens[index]
    address = escape(str(token.attrGet("src") or ""))
    return f'<a href="{address}">🖼 {escape(token.content) or address}</a>'


# ---------------------------------------------------------------- code


def code_html(text: str, language: str = "", file_name: str = "") -> str:
    """A block of code, in colours where its language is known."""
    shown = visible(shortened(text))
    return f"<pre>{_marked(_highlighted(shown, language, file_name))}</pre>"


def _highlighted(text: str, language: str, file_name: str = "") -> str:
    lexer = _lexer(language, file_name) if len(text) <= LONGEST_HIGHLIGHTED else None
    if lexer is None:
        return escape(text, quote=False)
    from pygments import highlight

    return str(highlight(text, lexer, _formatter())).removesuffix("\n")


def _lexer(language: str, file_name: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
    from pygments.util import ClassNotFound

    # Texts are shown as they are: pygments would take away blank lines and change line ends.
    options: dict[str, Any] = {"stripnl": False, "ensurenl": False}
    try:
        if language:
            return get_lexer_by_name(language, **options)
        return get_lexer_for_filename(file_name, **options) if file_name else None
    except ClassNotFound:
        return None


@cache
def _formatter() -> HtmlFormatter[str]:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True)


# ---------------------------------------------------------------- output


def output_html(text: str) -> str:
    """What a program printed, in its colours."""
    runs = "".join(_run(visible(part), style) for part, style in styled_output(shortened(text.strip("\n"))))
    return f'<pre class="output">{_marked(runs)}</pre>'


def _run(text: str, style: Style) -> str:
    shown = escape(text, quote=False)
    if style == PLAIN or not text:
        return shown
    colour, background = (style.background, style.colour) if style.inverse else (style.colour, style.background)
    names = [name for name in ("bold", "dim", "italic", "underline", "struck") if getattr(style, name)]
    if isinstance(background, str) and colour is None:
        colour = "ffffff" if _is_dark(background) else "000000"
    if style.inverse and colour is None and background is None:
        names.append("inverse")
    if isinstance(colour, int):
        names.append(f"f{colour}")
    if isinstance(background, int):
        names.append(f"b{background}")
    colours = {"color": colour, "background": background}
    exact = [f"{what}:#{value}" for what, value in colours.items() if isinstance(value, str)]
    attributes = f' class="{" ".join(names)}"' if names else ""
    attributes += f' style="{";".join(exact)}"' if exact else ""
    return f"<span{attributes}>{shown}</span>"


def _is_dark(colour: str) -> bool:
    red, green, blue = bytes.fromhex(colour)
    return red * 299 + green * 587 + blue * 114 < 128_000


# ---------------------------------------------------------------- pictures


def picture_html(media_type: str, data: str) -> str:
    """An image inside of the page, if it is one."""
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if not decoded.startswith(_IMAGE_STARTS.get(media_type, ())):
        return f'<p class="quiet">({line_html(media_type)}, {size(len(data) * 3 // 4)}: not shown)</p>'
    encoded = base64.b64encode(decoded).decode()
    return f'<img alt="{media_type}" src="data:{media_type};base64,{encoded}">'

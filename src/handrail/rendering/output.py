"""What programs print, as HTML in its colours."""

from __future__ import annotations

from html import escape

from handrail.policy.describing.visible import visible
from handrail.rendering.ansi import PLAIN, Style, styled_output
from handrail.rendering.folding import fold, split_at
from handrail.rendering.marks import marked

__all__ = ["output_html"]

_WEIGHTS = ("bold", "dim", "italic", "underline", "struck")


def output_html(text: str, *, shown: int | None = None) -> str:
    """What a program printed, whole. With `shown`, what comes after so many lines is folded."""
    lines = _lines(text.strip("\n"))
    head = split_at(lines, shown)
    first = _block(lines[:head])
    return first if head == len(lines) else fold(first, _block(lines[head:]), len(lines))


def _block(lines: list[str]) -> str:
    return marked('<pre class="output">\n' + "\n".join(lines) + "</pre>")


def _lines(text: str) -> list[str]:
    """The lines, each with elements that end where it does."""
    lines = [""]
    for run, style in styled_output(text):
        first, *others = escape(visible(run), quote=False).split("\n")
        opening = _opening(style)
        lines[-1] += _styled(first, opening)
        lines += [_styled(other, opening) for other in others]
    return lines


def _styled(html: str, opening: str) -> str:
    return f"{opening}{html}</span>" if opening and html else html


def _opening(style: Style) -> str:
    if style == PLAIN:
        return ""
    names = [name for name in _WEIGHTS if getattr(style, name)]
    colour, background = (style.background, style.colour) if style.inverse else (style.colour, style.background)
    if background is not None:
        # The ground decides the colour of its text: with two colours to choose, a program could hide what it prints.
        names.append(f"b{background}")
    elif style.inverse:
        names.append("inverse")
    elif colour is not None:
        names.append(f"f{colour}")
    return f'<span class="{" ".join(names)}">' if names else ""

"""What programs print: colours are kept, commands are not, and nothing can be hidden."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.policy.describing.visible import visible
from handrail.rendering.ansi import plain_output, styled_output
from handrail.rendering.output import output_html

from .hostile import NASTY
from .safe_html import check_html, shown_text


def test_colours_become_runs() -> None:
    runs = list(styled_output("a\x1b[1;31mb\x1b[38;5;208mc\x1b[48;2;1;2;3md\x1b[0me\x1b[92mf\x1b[38;5mg"))
    assert "".join(text for text, _ in runs) == "abcdefg"
    assert (runs[1][1].bold, runs[1][1].colour) == (True, 1)
    assert runs[2][1].colour == 208
    assert runs[3][1].background == 16
    assert runs[4][1].colour is None
    assert runs[5][1].colour == 10


TITLES = ["\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1bP1$r\x1b\\"]


@pytest.mark.parametrize("command", [*TITLES, "\x1b[2J", "\x1b(B", "\x9b31m", "\x1b[?25l", "\x1b7"])
def test_other_commands_to_the_terminal_leave_nothing(command: str) -> None:
    assert plain_output(f"a{command}b") == "ab"


def test_what_was_written_over_is_still_there() -> None:
    assert plain_output("10%\r20%\r\ndone") == "10%\n20%\ndone"


@settings(deadline=None, max_examples=40)
@given(st.text(alphabet="\x1b[]0123456789;:mK\x07\\PX^_\x9b\x9d\x9c\ra") | st.text())
def test_any_output_can_be_shown(text: str) -> None:
    shown = "".join(part for part, _ in styled_output(text))
    assert shown == plain_output(text)
    assert "\x1b[" not in shown


def test_a_run_of_colour_ends_with_its_line() -> None:
    html = output_html("\x1b[31mone\ntwo\x1b[0m three")
    assert html == '<pre class="output">\n<span class="f1">one</span>\n<span class="f1">two</span> three</pre>'


@pytest.mark.parametrize("hidden", ["30;40", "31;41", "38;5;200;48;5;200", "38;2;7;7;7;48;2;7;7;7", "7;30;40", "8"])
def test_no_choice_of_colours_hides_text(hidden: str) -> None:
    """The ground alone decides about the colour of its text."""
    html = output_html(f"\x1b[{hidden}mseen\x1b[0m")
    names = re.findall(r'class="([^"]+)"', html)[1:]
    assert all(not re.search(r"\bf\d", name) or not re.search(r"\bb\d", name) for name in names)
    assert shown_text(html) == "seen"


def test_long_output_is_folded_and_whole() -> None:
    text = "\n".join(f"\x1b[3{number % 8}mline {number}\x1b[0m" for number in range(500))
    html = output_html(text, shown=60)
    assert "<summary>Show all 500 lines</summary>" in html
    assert shown_text(html).replace("Show all 500 lines", "\n") == plain_output(text)
    check_html(html)


def test_what_is_a_little_too_long_is_not_folded() -> None:
    assert "details" not in output_html("x\n" * 65, shown=60)


@settings(deadline=None, max_examples=40)
@given(NASTY)
def test_any_output_becomes_harmless_html(text: str) -> None:
    html = output_html(text)
    check_html(html)
    # The mark of a hidden character shows its number without the brackets.
    seen, wanted = shown_text(html), visible(plain_output(text.strip("\n")))
    assert re.sub(r"<(U\+[0-9A-F]{4,6})>", r"\1", seen) == re.sub(r"<(U\+[0-9A-F]{4,6})>", r"\1", wanted)

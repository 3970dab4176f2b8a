"""The screen: lines that stay, above a part that changes and leaves nothing behind."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from handrail.cli.showing.screen import Screen
from handrail.cli.showing.style import make_console

from .support import Paper, printed


class Terminal:
    """A screen on a terminal of our own, and what is to be seen on it."""

    def __init__(self, columns: int = 40, rows: int = 12) -> None:
        self.console = Console(
            file=io.StringIO(), force_terminal=True, width=columns, height=rows, legacy_windows=False
        )
        self.status = "status"
        self.screen = Screen(self.console, status=lambda: Text(self.status))
        self._columns = columns

    @property
    def written(self) -> str:
        assert isinstance(self.console.file, io.StringIO)
        return self.console.file.getvalue()

    @property
    def lines(self) -> list[str]:
        return Paper(self._columns).write(self.written).lines


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


def test_what_changes_is_below_what_stays(terminal: Terminal) -> None:
    terminal.screen.draw()
    assert terminal.lines == ["", "status"]
    terminal.screen.show(Text("one"), kind="a")
    terminal.screen.show(Text("two"), kind="a")
    assert terminal.lines == ["one", "two", "", "status"]
    terminal.screen.put("preview", Text("growing"))
    terminal.screen.draw()
    assert terminal.lines == ["one", "two", "", "growing", "status"]
    terminal.screen.stop()
    assert terminal.lines == ["one", "two"]


def test_what_is_of_another_kind_stands_apart(terminal: Terminal) -> None:
    for kind in ("a", "a", "b", "text", "text"):
        terminal.screen.show(Text(kind), kind=kind)
    assert terminal.lines == ["a", "a", "", "b", "", "text", "", "text"]


def test_nothing_is_written_while_nothing_changes(terminal: Terminal) -> None:
    terminal.screen.draw()
    before = terminal.written
    terminal.screen.draw()
    assert terminal.written == before
    terminal.status = "other"
    terminal.screen.draw()
    assert terminal.lines == ["", "other"]


def test_an_ask_takes_the_place_of_what_is_being_written(terminal: Terminal) -> None:
    terminal.screen.put("preview", Text("growing"))
    terminal.screen.put("ask", Text("allow?"))
    terminal.screen.draw()
    assert terminal.lines == ["", "allow?", "status"]
    terminal.screen.put("ask", None)
    terminal.screen.draw()
    assert terminal.lines == ["", "growing", "status"]


def test_what_is_too_tall_shows_its_end(terminal: Terminal) -> None:
    terminal.screen.put("preview", Text("\n".join(f"line {number}" for number in range(50))))
    terminal.screen.draw()
    assert len(terminal.lines) == 11
    assert terminal.lines[-2:] == ["line 49", "status"]
    assert not terminal.screen.fits(Text("\n" * 10))
    assert terminal.screen.fits(Text("\n" * 5))


def test_the_cursor_is_where_one_types(terminal: Terminal) -> None:
    terminal.screen.put_input(lambda width: (Text("› typed"), 4))
    terminal.screen.draw()
    assert terminal.lines == ["", "status", "› typed"]
    assert terminal.written.endswith("\r\x1b[4C\x1b[?25h")
    terminal.screen.put_input(None)
    terminal.screen.draw()
    assert terminal.lines == ["", "status"]


def test_while_something_is_held_the_rest_waits(terminal: Terminal) -> None:
    with terminal.screen.held():
        terminal.screen.show(Text("later"), kind="a")
        terminal.screen.show(Text("at once"), kind="a", now=True)
        assert terminal.lines == ["at once"]
    assert terminal.lines == ["at once", "later"]


def test_another_program_has_the_terminal_to_itself(terminal: Terminal) -> None:
    terminal.screen.draw()
    with terminal.screen.lent():
        before = terminal.written
        terminal.screen.show(Text("later"), kind="a")
        terminal.screen.draw()
        assert terminal.written == before
        assert terminal.lines == []
    assert terminal.lines == ["later", "", "status"]


def test_a_terminal_that_became_narrower_keeps_no_rests(terminal: Terminal) -> None:
    terminal.status = "x" * 38
    terminal.screen.draw()
    terminal.console.width = 20  # the terminal folds the long row in two
    terminal.screen.stop()
    assert terminal.written.count("\x1b[2K") == 3


def test_nothing_but_lines_that_stay_is_written_to_a_file() -> None:
    console = make_console(io.StringIO(), width=40)
    screen = Screen(console, status=lambda: Text("status"))
    screen.put("preview", Text("growing"))
    screen.draw()
    screen.show(Text("one"), kind="a")
    screen.stop()
    assert printed(console) == "one\n"


@given(st.lists(st.sampled_from(["show", "draw", "preview", "ask", "none", "stop", "input"]), max_size=30))
def test_what_stays_is_never_touched_by_what_changes(steps: list[str]) -> None:
    terminal = Terminal()
    shown = 0
    for step in steps:
        match step:
            case "show":
                terminal.screen.show(Text(f"line {shown}"), kind="a")
                shown += 1
            case "draw":
                terminal.screen.draw()
            case "stop":
                terminal.screen.stop()
            case "input":
                terminal.screen.put_input(lambda width: (Text("› x"), 3))
            case "none":
                terminal.screen.put("ask", None)
                terminal.screen.put_input(None)
            case "preview" | "ask":
                terminal.screen.put(step, Text("\n".join("p" * 60 for _ in range(shown + 1))))
    terminal.screen.stop()
    assert terminal.lines == [f"line {number}" for number in range(shown)]

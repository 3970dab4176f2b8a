"""Columns stay columns: on a narrow terminal, on a wide one, and in a pipe."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from handrail.cli.commands.table import Column, Table
from handrail.cli.showing.style import make_console

COLUMNS = (
    Column("ID"),
    Column("TITLE", flexible=True),
    Column("AGE", right=True, optional=1),
    Column("DIRECTORY", flexible=True, optional=2),
)
ROW = ("3f2a9c01", "fix the flaky login test", "5 min", "~/src/api-server")


def printed(rows: list[tuple[str, ...]], *, width: int, terminal: bool) -> list[str]:
    console = make_console(io.StringIO(), width=width)
    console._force_terminal = terminal
    console.print(Table(COLUMNS, [tuple(map(Text, row)) for row in rows]), crop=terminal)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_columns_are_aligned() -> None:
    heading, first, second = printed([ROW, ("91bc", "x", "now", "/")], width=100, terminal=True)
    assert heading == "ID        TITLE                       AGE  DIRECTORY"
    assert first == "3f2a9c01  fix the flaky login test  5 min  ~/src/api-server"
    assert second == "91bc      x                           now  /"


def test_in_a_pipe_nothing_is_cut() -> None:
    long = ("3f2a9c01", "t" * 300, "5 min", "/" + "d" * 300)
    assert "  ".join(long) in printed([long], width=80, terminal=False)


def test_a_narrow_terminal_leaves_out_what_matters_least() -> None:
    heading, row = printed([ROW], width=40, terminal=True)
    assert heading.split() == ["ID", "TITLE", "AGE"]
    assert cell_len(row) <= 40
    assert row.endswith("5 min")


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.text("ab", min_size=8, max_size=8), *[st.text("ab 漢", max_size=60)] * 3), max_size=5),
    st.integers(22, 120),
)
def test_no_line_is_wider_than_the_terminal(rows: list[tuple[str, ...]], width: int) -> None:
    lines = printed(rows, width=width, terminal=True)
    assert len(lines) == len(rows) + 1
    assert all(cell_len(line) <= width for line in lines)

"""Which session is meant by what somebody types or pastes."""

from __future__ import annotations

import pytest

from handrail.cli.commands.references import reference_in

ID = "6ca440c5-8391-4eb6-a834-4e5b6c95b955"


@pytest.mark.parametrize(
    "typed",
    [
        ID,
        f"  {ID}\n",
        f"claude --resume {ID}",
        f"`claude -r {ID}`",
        f"claude --resume={ID}",
        f'handrail run --cwd /tmp/x --resume {ID} "…"',
        f"cd /src && claude --model opus --resume '{ID}'",
        f"handrail resume {ID}",
        f'  go on with: handrail resume {ID} "…"',
        f"$ handrail show {ID}",
    ],
)
def test_an_id_is_found_in_what_is_pasted(typed: str) -> None:
    assert reference_in(typed) == ID


@pytest.mark.parametrize("typed", ["@", "last", "3f2a", "some words that are no command"])
def test_anything_else_is_taken_as_it_is(typed: str) -> None:
    assert reference_in(typed) == typed

"""What is sent when a run is over."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.events.resume import find_resume_token
from handrail.telegram.show.answers import MOST_MESSAGES, answer, answer_file
from handrail.telegram.text.rich import RichText
from tests.telegram.text.support import check, check_sendable, looks

from .support import CWD, RESUME, Story

FOOTER = f"🏷 opus-9 · Ask · $0.42 · 2 min 14 s · 3 turns\nclaude --resume {RESUME}"


def answered(text: str, story: Story | None = None, **given: object) -> list[RichText]:
    story = story or Story()
    parts = answer(story.ends(text), story.view, **given)  # type: ignore[arg-type]
    for part in parts:
        check_sendable(part)
    return parts


def test_an_answer_with_its_footer() -> None:
    (part,) = answered("It is **done**.")
    assert part.text == f"It is done.\n\n{FOOTER}"
    assert looks(part) == [("bold", "done"), ("code", f"claude --resume {RESUME}")]
    assert find_resume_token(part.text) == RESUME


def test_what_is_told_beside_it() -> None:
    story = Story(mode="plan")
    story.view.context_tokens, story.view.context_window = 76_000, 200_000
    (part,) = answered("ok", story, title="shop", planmode="auto", resume=False)
    assert (
        part.text
        == "shop\n\nok\n\n🏷 opus-9 · plan first, then on by itself · $0.42 · 2 min 14 s · 3 turns · context 38% of 200k"
    )


def test_in_which_mode_a_plan_was_carried_out_is_told_beside_that_there_was_one() -> None:
    (part,) = answered("ok", Story(mode="bypassPermissions"), planmode="on", resume=False)
    assert "🏷 opus-9 · plan first · Bypass · $0.42" in part.text


def test_the_files_that_were_changed() -> None:
    story = Story()
    for number in range(10):
        change = {"path": f"{CWD}/src/f{number}.py", "kind": "update" if number else "add"}
        story.calls(str(number), "Edit", change["path"], "file_change", changes=[change]).returns(
            str(number), changes=[change]
        )
    story.calls("x", "Write", "/nope", "file_change", changes=[{"path": "/nope", "kind": "add"}])
    story.returns("x", "denied", ok=False)
    (part,) = answered("ok", story)
    assert "\n\nchanged: src/f0.py (new), src/f1.py, " in part.text
    assert " and 2 more\n🏷" in part.text
    assert "nope" not in part.text


def test_an_answer_without_words() -> None:
    assert answered("")[0].text.startswith("✓ done\n\n🏷")
    story = Story()
    (part,) = answer(story.ends("", structured_output={"a": 1}), story.view)
    assert part.entities[0].kind == "pre"
    assert part.text.startswith('{\n  "a": 1\n}')


def test_a_long_answer_has_its_footer_in_the_last_message() -> None:
    parts = answered("\n\n".join(f"Paragraph {number} " + "word " * 60 for number in range(30)))
    assert len(parts) > 2
    assert [FOOTER in part.text for part in parts] == [False] * (len(parts) - 1) + [True]
    assert "Paragraph 29" in parts[-1].text


@pytest.mark.parametrize("length", range(3_960, 4_110, 7))
def test_the_footer_never_makes_a_message_too_long(length: int) -> None:
    parts = answered("word " * (length // 5))
    assert FOOTER in parts[-1].text
    assert parts[-1].text != FOOTER


def test_code_is_not_broken() -> None:
    code = "\n".join(f"    line_{number} = {number}" for number in range(120))
    parts = answered("intro " * 500 + f"\n\n```python\n{code}\n```\n\nend")
    assert any(code in part.text for part in parts)


@pytest.mark.slow
def test_a_very_long_answer_is_shown_in_part_and_sent_as_a_file() -> None:
    text = "# Title\n\n" + "\n".join(f"- item **{number}**" for number in range(60_000))
    story = Story()
    ended = story.ends(text)
    parts = answered(text)
    assert len(parts) == 2
    assert "… the answer has 60,002 lines (985 KB): all of it is in the file answer.md" in parts[-1].text
    file = answer_file(ended)
    assert file is not None
    assert file.data.decode() == text
    assert answer_file(Story().ends("short")) is None


def test_a_run_that_failed_says_why_and_what_it_had_said() -> None:
    story = Story()
    (part,) = answer(story.ends("I began.", ok=False, error="the CLI exited with code 1"), story.view)
    assert part.text.startswith("I began.\n\n✗ Claude Code ended unexpectedly.\n")


def test_an_error_that_is_the_answer_is_said_once() -> None:
    story = Story()
    (part,) = answer(story.ends("Prompt is too long", ok=False, error="Prompt is too long"), story.view)
    assert "Prompt" not in part.text
    assert part.text.startswith("✗ The conversation is too long for the model.")


def test_an_interrupted_run() -> None:
    story = Story()
    ended = story.ends("so far", ok=False, error="[ede_diagnostic] x", detail={"terminal_reason": "aborted_tools"})
    for told in (ended, story.view.runs[-1]):
        (part,) = answer(told, story.view)
        assert part.text.startswith("so far\n\n■ interrupted\nWrite what to do instead")


def test_a_strange_token_does_not_break_the_line() -> None:
    story = Story()
    assert "--resume" not in answer(story.ends("ok", resume="a b\nc"), story.view)[0].text
    assert "--resume" not in answer(story.ends("ok", resume="x" * 5_000), story.view)[0].text


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [
        "\u202e" * 20_000,
        "x" * 1_000_000,
        "**a** `b` " * 1_600,
        "> " * 5_000 + "x",
        "ש " * 9_000,
        "😀" * 9_000,
        "\ud800",
        "[" * 16_000,
        "\n" * 20_000,
    ],
    ids=lambda text: f"{text[:3]!r}×{len(text)}",
)
def test_hostile_answers(hostile: str) -> None:
    for ok in (True, False):
        story = Story()
        ended = story.ends(hostile, ok=ok, error=None if ok else hostile + "!")
        parts = answer(ended, story.view, title=hostile)
        assert len(parts) <= MOST_MESSAGES + 1
        for part in parts:
            check(part, longest=4096, most_entities=100)
            part.text.encode()
        answer_file(ended)


@given(
    st.lists(
        st.sampled_from(["word ", "**b** ", "`c` ", "\n", "\n\n", "```\n", "- x\n", "😀" * 40, "y" * 500]), max_size=200
    ),
    st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_any_answer_fits(pieces: list[str], ok: bool) -> None:
    story = Story()
    parts = answer(story.ends("".join(pieces), ok=ok, error=None if ok else "x"), story.view)
    for part in parts:
        check(part, longest=4096, most_entities=100)
    assert parts[-1].text.endswith(FOOTER)

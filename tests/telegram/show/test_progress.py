"""The message that changes while Claude works."""

from __future__ import annotations

import time

import pytest

from handrail.events.model import Action, ApiRetry, AskOpened, Compacting, Delta, RateLimit, Task, Usage
from handrail.telegram.show.progress import LONGEST_PROGRESS, progress, summary
from handrail.telegram.show.streamed import streamed
from tests.telegram.text.support import check, looks

from .support import CWD, Story


def shown(story: Story, **given: object) -> str:
    rich = progress(story.view, now=story.at, **{"verbose": False, **given})  # type: ignore[arg-type]
    check(rich, longest=LONGEST_PROGRESS, most_entities=100)
    return rich.text


def test_a_run_that_has_just_begun() -> None:
    assert shown(Story()) == "▸ waiting for Claude · 0 s"
    assert shown(Story(), title="shop").startswith("shop\n▸ waiting")


def test_a_host_of_which_nothing_is_heard() -> None:
    story = Story()
    story.calls("1", "Bash", "make", "command")
    last = "⚠ box is not connected: this is the last that was heard. What runs there goes on."
    assert shown(story, away="box") == f"{shown(story)}\n\n{last}"


def test_what_was_done_and_what_runs() -> None:
    story = Story()
    story.calls("1", "Edit", f"{CWD}/app.py", "file_change")
    patch = [{"lines": ["+a", "+b", "-c", " d"]}]
    story.returns("1", tool_use_result={"structuredPatch": patch})
    story.calls("2", "Bash", "make lint", "command").returns("2", "Exit code 1\nlots of it", ok=False)
    story.calls("3", "mcp__github__search", "github: search").returns("3")
    story.calls("4", "Bash", "make test\nmake more", "command")
    story.tell(Usage(context_tokens=76_000, context_window=200_000))
    story.at += 40
    assert shown(story) == (
        "▸ working · 45 s · context 38% of 200k\n\n"
        "✓ Edit app.py · +2 −1\n"
        "✗ Bash make lint · Exit code 1\n"
        "✓ github · search\n"
        "▸ Bash make test ⏎ make more · 40 s"
    )
    assert ("code", "app.py") in looks(progress(story.view, now=story.at, verbose=False))


def test_looks_in_a_row_are_one_line_unless_all_is_wanted() -> None:
    story = Story()
    for number in range(3):
        story.calls(f"r{number}", "Read", f"Read {CWD}/f{number}.py").returns(f"r{number}")
    story.calls("g", "Grep", "Grep TODO").returns("g")
    story.calls("b", "Bash", "ls", "command").returns("b")
    assert shown(story).endswith("\n\n✓ 3 reads, 1 search … TODO\n✓ Bash ls")
    assert "✓ Read f1.py\n" in shown(story, verbose=True)


def test_only_the_last_are_shown() -> None:
    story = Story()
    for number in range(50):
        story.calls(f"c{number}", "Bash", f"echo {number}", "command").returns(f"c{number}")
    assert shown(story).count("✓") == 4
    assert shown(story, verbose=True).count("✓") == 10
    assert shown(story).endswith("✓ Bash echo 49")


def test_calls_of_an_earlier_run_are_not_shown() -> None:
    from handrail.events.model import Started

    story = Story()
    story.calls("1", "Bash", "old", "command").returns("1")
    story.ends("done")
    story.tell(Started())
    assert "old" not in shown(story)


def test_subagents_and_the_background() -> None:
    story = Story()
    story.calls("a", "Agent", "find the callers", "subagent")
    story.tell(Task(id="ta", phase="started", title="find the callers", tool_use_id="a"))
    story.calls("a1", "Grep", "Grep one", parent="a").returns("a1")
    story.calls("a2", "Grep", "Grep two", parent="a")
    story.tell(Task(id="s", phase="started", title="dev server", background=True, tool_use_id="x"))
    story.tell(Task(id="t", phase="started", title="inner", parent="s"))
    story.tell(Task(id="q", phase="started", title="quiet", detail={"ambient": True}))
    assert shown(story) == (
        "▸ working · 5 s\n\n"
        "▸ Agent find the callers · 5 s\n"
        "    ▸ Grep two · 2 calls\n\n"
        "▸ in the background: dev server · 0 s\n"
        "    ▸ inner · 0 s"
    )


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            ApiRetry(attempt=2, max_retries=10, error="overloaded"),
            "⚠ the API failed (overloaded, attempt 2 of 10): trying again",
        ),
        (Compacting(phase="started"), "▸ compacting the conversation"),
        (AskOpened(ask_id="1", kind="permission", digest="d", title="t"), "⏸ waits for an answer"),
        (
            RateLimit(status="allowed_warning", limit_type="five_hour", utilization=0.91),
            "⚠ the rate limit (five hour) is near, 91% used",
        ),
        (Delta(block="b", kind="text", offset=0, text="x"), "▸ writing"),
        (Delta(block="b", kind="thinking", offset=0, text="x"), "▸ thinking"),
        (Delta(block="b", kind="input", offset=0, text="x"), "▸ preparing a call"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_in_the_way(event: object, words: str) -> None:
    assert words in shown(Story().tell(event))  # type: ignore[arg-type]


def test_a_limit_that_is_over_is_not_shown() -> None:
    story = Story().tell(RateLimit(status="rejected", resets_at=500.0))
    assert "limit" not in shown(story)


def test_what_is_being_written() -> None:
    story = Story().streams("I have **found")
    assert shown(story, streamed=True).endswith("\n\nI have found")
    assert "found" not in shown(story)
    story = Story().streams("hm, " * 100, "thinking")
    assert "hm, hm" in shown(story, verbose=True)


def test_a_draft_is_the_end_of_a_long_text() -> None:
    story = Story().streams("\n".join(f"- item **{number}**" for number in range(2_000)))
    draft = streamed(story.view)
    check(draft, longest=4096, most_entities=100)
    assert draft.text.startswith("…\n")
    assert draft.text.endswith("item 1999")
    assert not streamed(Story().view)


@pytest.mark.parametrize(
    "hostile", ["\u202e" * 5_000, "x" * 1_000_000, "ש" * 3_000, "a\nb\n" * 5_000, "😀" * 3_000, "\x00", "```" * 900]
)
def test_hostile_text_in_every_field(hostile: str) -> None:
    story = Story()
    story.calls("1", hostile, hostile).returns("1", hostile, ok=False)
    story.calls("2", "Bash", hostile, "command").calls("3", "Read", f"Read {hostile}")
    story.calls("4", "Agent", hostile, "subagent").calls("5", f"mcp__{hostile}__x", hostile, parent="4")
    story.tell(Task(id="t", phase="started", title=hostile, summary=hostile, background=True))
    story.tell(ApiRetry(attempt=1, max_retries=2, error=hostile), RateLimit(status=hostile, limit_type=hostile))
    story.tell(Action(id="n", kind="note", title=hostile, phase="completed"))
    story.streams(hostile).streams(hostile, "thinking")
    text = shown(story, verbose=True, streamed=True, title=hostile)
    assert "\u202e" not in text
    assert "\x00" not in text


def test_text_from_right_to_left_moves_nothing_around_it() -> None:
    story = Story().calls("1", "Bash", "echo שלום", "command")
    story.at += 60
    assert shown(story).endswith("▸ Bash \u2068echo שלום\u2069 · 1:00")


def test_time_is_told_in_steps_so_that_little_changes() -> None:
    story = Story()
    began = story.at
    texts = {progress(story.view, now=began + second, verbose=False).text for second in range(600)}
    assert len(texts) == 12 + 36


def test_it_is_cheap_however_long_the_session_is() -> None:
    story = Story()
    for number in range(3_000):
        story.calls(f"c{number}", "Bash", f"echo {number}", "command").returns(f"c{number}", "x" * 1_000)
    began = time.process_time()
    for second in range(200):
        progress(story.view, now=story.at + second, verbose=False)
    assert (time.process_time() - began) / 200 < 0.005


def test_the_line_that_stays() -> None:
    story = Story()
    story.calls("1", "Bash", "ls", "command").returns("1")
    story.ends("done")
    assert summary(story.view.runs[-1], story.view).text == "✓ done · 1 call · 2 min 14 s"
    story.view.runs[-1].ok = False
    assert summary(story.view.runs[-1], story.view, title="shop").text.startswith("shop\n✗ failed")
    story.view.runs[-1].interrupted = True
    assert summary(story.view.runs[-1], story.view).text.startswith("■ interrupted")

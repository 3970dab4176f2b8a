"""What went wrong, in words that say what to do from Telegram."""

from __future__ import annotations

import json
import time

import pytest

from handrail import errors
from handrail.events.model import Completed, ProcessExited, RateLimit
from handrail.events.recording import events_of_recording
from handrail.events.reduce import reduce
from handrail.events.view import PromptItem, SessionView
from handrail.remote.errors import HubError, HubUnreachable
from handrail.telegram.show.notices import exited, explained, run_notice, undone
from tests.events.support import RECORDINGS, lines_of
from tests.telegram.text.support import check, looks

NOON = time.mktime((2026, 5, 4, 12, 0, 0, 0, 0, -1))


def told(error: str, *, view: SessionView | None = None, status: int | None = None, **fields: object) -> str:
    detail = {} if status is None else {"api_error_status": status}
    event = Completed(ok=False, error=error, detail=detail, **fields)  # type: ignore[arg-type]
    rich = run_notice(event, view or SessionView(), now=NOON)
    check(rich)
    return rich.text


@pytest.mark.parametrize(
    ("error", "what", "todo"),
    [
        ("Prompt is too long", "✗ The conversation is too long", "/claude /compact"),
        ("Failed to authenticate. API Error: 401 {}", "✗ Claude Code is not logged in.", "type /login. Then send"),
        ("Invalid API key · Please run /login", "✗ Claude Code is not logged in.", "type /login"),
        ("API Error: Request rejected (429) · slow down", "✗ The rate limit is reached.", "/model"),
        (
            'API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}',
            "✗ The service is overloaded",
            "Wait a moment",
        ),
        ("API Error: 500 mock 500. This is a server-side issue", "✗ The service is overloaded", "Wait a moment"),
        (
            "API Error: Unable to connect to API (ECONNRESET)",
            "✗ Claude Code cannot reach the API.",
            "Check the network",
        ),
        ("API Error: Connection dropped (ECONNRESET).", "✗ Claude Code cannot reach the API.", "Check the network"),
        ("Reached maximum number of turns (1)", "✗ As many turns were taken", "send “go on”"),
        ("Reached maximum budget ($5)", "✗ The budget is spent.", "/budget"),
        ("Credit balance is too low", "✗ The account cannot pay", "credit"),
        ("No conversation found with session ID: 9", "✗ Claude Code does not know this conversation", "/sessions"),
        ("there is no `claude` on PATH, where its installers put it", "✗ Claude Code was not found.", "/health"),
        ("the CLI exited with code 137", "✗ Claude Code was killed", "the session is resumed"),
        (
            "the CLI exited with code 1: boom",
            "✗ Claude Code ended unexpectedly.",
            "It said: the CLI exited with code 1: boom",
        ),
        ("ENOSPC: no space left on device, write", "✗ The disk is full.", "Free some space"),
        ("EACCES: permission denied, open '/etc/x'", "✗ A file or directory may not be used.", "/etc/x"),
        (
            "Failed to provide valid structured output after 5 attempts",
            "✗ No answer in the wanted form",
            "send “go on”",
        ),
        ("error_during_execution", "✗ The run was cut off", "send “go on”"),
        ("something nobody knows", "✗ Something nobody knows", "To try again"),
        ("", "✗ The run did not end well.", "To try again"),
    ],
)
def test_errors_in_words(error: str, what: str, todo: str) -> None:
    text = told(error)
    assert text.startswith(what)
    assert todo in text


@pytest.mark.parametrize(
    ("status", "what"),
    [
        (401, "not logged in"),
        (402, "cannot pay"),
        (403, "may not use"),
        (404, "no such model"),
        (413, "too long"),
        (429, "rate limit"),
        (503, "overloaded"),
        (529, "overloaded"),
    ],
)
def test_by_the_status_of_the_api(status: int, what: str) -> None:
    assert what in told("API Error", status=status)


def test_what_the_cli_calls_it_counts_without_any_words() -> None:
    assert "As many turns" in told("", subtype="error_max_turns")
    assert "budget" in told("", subtype="error_max_budget_usd")


def test_a_limit_says_when_it_resets() -> None:
    view = SessionView()
    reduce(view, RateLimit(seq=1, status="rejected", limit_type="five_hour", resets_at=NOON + 7_800))
    text = told("API Error: Request rejected (429)", view=view, status=429)
    assert text.startswith("✗ The five hour limit is reached. It resets at 14:10 (in 2 h 10 min).\nAfter that, send")
    assert "It resets at 13:00 (in 1 h)" in told(f"Claude AI usage limit reached|{int(NOON) + 3_600}")
    assert "It resets at May 6, 12:00 (in 2 d)" in told(f"usage limit reached|{int(NOON) + 2 * 86_400}")
    assert "Wait a while" in told(f"usage limit reached|{int(NOON) - 3_600}")


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_recorded_failure_is_told(path: object) -> None:
    view = SessionView()
    for event in events_of_recording(lines_of(path)):  # type: ignore[arg-type]
        reduce(view, event)
        if isinstance(event, Completed) and not event.ok:
            rich = run_notice(event, view, now=event.at)
            check(rich, longest=2_000)
            assert rich.text.startswith(("✗ ", "■ interrupted"))
            assert "[ede_diagnostic]" not in rich.text
            json.dumps(rich.text).encode()


@pytest.mark.parametrize(
    ("error", "todo"),
    [
        (errors.CLINotFound("there is no `claude` on PATH"), "/health"),
        (errors.BudgetSpent("$5.00 of $5.00 are spent: no"), "/budget"),
        (errors.SessionNotFound("there is no session 'x'"), "/sessions"),
        (errors.HostAway("the host box is away"), "Try again once the machine is connected"),
        (errors.OutcomeUnknown("the host box did not answer"), "what became of it, before you try again"),
        (errors.HandrailError("data.bin is empty"), "✗ data.bin is empty"),
        (errors.SessionLimit("4 of 4 sessions run"), "/stop"),
        (HubUnreachable("there is no hub"), "handrail serve"),
        (HubError("this needs the role owner", code="role_needed", status=403), "Somebody with that role"),
        (errors.HandrailError("odd"), "✗ Odd"),
    ],
)
def test_our_own_errors(error: errors.HandrailError, todo: str) -> None:
    rich = explained(error)
    check(rich)
    assert todo in rich.text


def test_only_the_first_sentence_stands_out() -> None:
    rich = explained(errors.HandrailError("it is away. What runs there goes on\nas before"))
    assert rich.text == "✗ It is away. What runs there goes on\nas before"
    assert looks(rich) == [("bold", "✗ It is away.")]
    assert looks(explained(errors.HandrailError("x" * 500))) == [("bold", "✗")]


def test_a_process_that_is_gone() -> None:
    rich = exited(ProcessExited(exit_code=1, stderr="x\n" * 2_000 + "the reason"))
    check(rich, longest=1_500)
    assert rich.text.startswith("✗ Claude Code exited with code 1\nNothing that was said is lost")
    assert rich.text.endswith("the reason")
    assert exited(ProcessExited(reason="it broke", stderr="broke")).text.count("broke") == 1


def test_a_message_that_nobody_takes_up() -> None:
    rich = undone(PromptItem(uuid="u", content="please\ndo " + "it " * 1_000, reason="cancelled"))
    check(rich, longest=400)
    assert rich.text.startswith("⚠ not taken up: cancelled\n“please do it")
    assert rich.text.endswith("Send it again if it is still wanted.")


@pytest.mark.parametrize("hostile", ["\u202e" * 9_000, "x" * 1_000_000, "a\n" * 9_000, "`" * 5_000, "\ud800"])
def test_hostile_errors(hostile: str) -> None:
    for rich in (
        run_notice(Completed(ok=False, error=hostile), SessionView()),
        run_notice(Completed(ok=False, error=f"API Error: 529 {hostile}"), SessionView()),
        explained(errors.HandrailError(hostile)),
        exited(ProcessExited(reason=hostile, stderr=hostile)),
        undone(PromptItem(uuid="u", content=hostile, reason=hostile)),
    ):
        check(rich, longest=4096)
        rich.text.encode()

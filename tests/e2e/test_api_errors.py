"""Failures of the API: the CLI retries, the result says what went wrong, the session survives."""

from __future__ import annotations

import pytest

from handrail.protocol.frames import ApiRetry
from handrail.protocol.launch import Options
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.replies import Reply

from .support import Asks, Observe, World, bash, by_version, outcome_of

TWO_RETRIES = Options(env={"CLAUDE_CODE_MAX_RETRIES": "2"})


async def test_an_overloaded_api_is_retried(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    async with world.live([Reply.error(529, retry_after=0, times=2), "At last."]) as live:
        result = await live.client.run("Go")
        assert result.ok
        assert result.result == "At last."
        retries = live.all(ApiRetry)
        assert [retry.attempt for retry in retries] == by_version(cli, {"2.1.37": [], "2.1.120": [1, 2]})
        told = [f"attempt {retry.attempt}: {retry.error_status} {retry.error}" for retry in retries]
        observe("api errors: 529 twice, then an answer", f"success; api_retry: {', '.join(told) or 'none'}")


@pytest.mark.parametrize("status", [401, 400, 429])
async def test_an_error_that_is_not_overcome(world: World, observe: Observe, status: int) -> None:
    refusals = Reply.error(status, "this is the reason", retry_after=0, times=10)
    async with world.live([refusals], options=TWO_RETRIES) as live:
        result = await live.client.run("Go")
        assert result.is_error
        assert not result.ok
        tries = len(live.model.requests_in())
        assert tries < 10
        assert "this is the reason" in (result.result or "")
        observe(f"api errors: {status}", f"{outcome_of(result)}, after {tries} request(s)")


async def test_a_server_that_only_fails(world: World, observe: Observe) -> None:
    async with world.live([Reply.error(500, retry_after=0, times=3), "Back again."], options=TWO_RETRIES) as live:
        result = await live.client.run("Go")
        assert result.is_error
        assert len(live.model.requests_in()) == 3
        observe("api errors: 500 for ever", f"{outcome_of(result)}, {len(live.all(ApiRetry))} api_retry frame(s)")
        assert (await live.client.run("And now?")).result == "Back again."


async def test_a_connection_that_is_lost_in_the_middle_of_a_message(world: World, observe: Observe) -> None:
    async with world.live([Reply("This is cut off here", drop_after=2), "Here I am again."]) as live:
        result = await live.client.run("Go")
        again = len(live.model.requests_in()) - 1
        observe("api errors: connection lost mid-stream", f"{outcome_of(result)}, asked again {again} time(s)")
        assert live.model.requests_in()[0].outcome == "dropped"


async def test_a_connection_that_is_refused_at_first(world: World, observe: Observe) -> None:
    async with world.live([Reply.drop(), "Here I am."]) as live:
        result = await live.client.run("Go")
        assert result.result == "Here I am."
        observe("api errors: connection lost before any answer", f"{outcome_of(result)}, asked again")


async def test_the_limit_of_turns(world: World, observe: Observe) -> None:
    options = Options(max_turns=1)
    async with world.live([bash("mkdir made"), "Done.", "Yes."], options=options, on_ask=Asks()) as live:
        result = await live.client.run("Make a directory")
        assert not result.ok
        observe("limits: max_turns 1", outcome_of(result))

"""Decisions with the real CLI: answered once, by whoever is first, and for good where a person says so."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from handrail import (
    Actor,
    Allow,
    AlreadyDecided,
    Ask,
    AskChange,
    AskClosed,
    AskState,
    Deny,
    Policy,
    StaleDigest,
    deny_tool,
    hook,
)
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.replies import Reply, ToolUse

from .support import Asks, Observe, World, bash, by_version, subagent, write

ALICE = Actor("alice", "web")
BOB = Actor("bob", "telegram")


async def leave_open(ask: Ask) -> None:
    """Leaves every ask to whoever calls `decide`."""


class Watch:
    """Keeps what happens to asks, and waits for it."""

    def __init__(self) -> None:
        self.changes: list[AskChange] = []
        self._changed = asyncio.Event()

    def __call__(self, change: AskChange) -> None:
        self.changes.append(change)
        self._changed.set()

    def states(self, ask_id: str) -> list[AskState]:
        return [change.state for change in self.changes if change.ask.id == ask_id]

    async def opened(self, count: int = 1) -> list[Ask]:
        """The asks that were opened, once there are `count` of them."""
        async with asyncio.timeout(60):
            while len(asks := {change.ask.id: change.ask for change in self.changes}) < count:
                self._changed.clear()
                await self._changed.wait()
        return list(asks.values())

    async def closed(self, ask_id: str) -> AskChange:
        async with asyncio.timeout(60):
            while (last := [change for change in self.changes if change.ask.id == ask_id][-1]).state in (
                AskState.PENDING,
                AskState.DECIDED,
            ):
                self._changed.clear()
                await self._changed.wait()
        return last


async def test_two_people_answer_and_the_first_wins(world: World) -> None:
    watch = Watch()
    async with (
        world.live([bash("mkdir made"), "Done."], on_ask=leave_open, on_ask_change=watch) as live,
        live.client.turn("Make it") as turn,
    ):
        (ask,) = await watch.opened()
        assert ask.cwd == str(world.cwd)
        assert ask.description is not None
        with pytest.raises(StaleDigest):
            await live.client.decide(ask.id, Allow(), actor=BOB, digest="0" * 64)
        results = await asyncio.gather(
            live.client.decide(ask.id, Allow(), actor=ALICE, digest=ask.digest),
            live.client.decide(ask.id, Deny("no"), actor=BOB, digest=ask.digest),
            return_exceptions=True,
        )
        assert isinstance(results[1], AlreadyDecided)
        assert "alice" in str(results[1])
        assert (await turn.wait()).ok
    assert (world.cwd / "made").is_dir()


async def test_three_asks_of_one_message_are_decided_each_for_itself(world: World) -> None:
    (world.outside / "one.txt").write_text("this is one")
    calls = [
        ToolUse("WebFetch", {"url": "http://127.0.0.1:9/", "prompt": "What is there?"}, id="toolu_page"),
        ToolUse("Read", {"file_path": str(world.outside / "one.txt")}, id="toolu_one"),
    ]
    watch = Watch()
    async with (
        world.live([Reply(*calls), "Done."], on_ask=leave_open, on_ask_change=watch) as live,
        live.client.turn("Look at both") as turn,
    ):
        by_tool = {ask.tool_name: ask for ask in await watch.opened(2)}
        assert by_tool["Read"].digest != by_tool["WebFetch"].digest
        with pytest.raises(StaleDigest):  # the right person, the wrong card
            await live.client.decide(by_tool["WebFetch"].id, Allow(), actor=ALICE, digest=by_tool["Read"].digest)
        await live.client.decide(by_tool["Read"].id, Allow(), actor=ALICE, digest=by_tool["Read"].digest)
        await live.client.decide(
            by_tool["WebFetch"].id, Deny("not there"), actor=BOB, digest=by_tool["WebFetch"].digest
        )
        assert (await turn.wait()).ok
        told = live.model.requests_in()[-1].tool_results
    assert "this is one" in str(told["toolu_one"])
    assert "not there" in str(told["toolu_page"])


async def test_asks_of_two_subagents_say_who_asks(world: World, observe: Observe) -> None:
    jobs = {"the first job": [bash("mkdir one"), "First."], "the second job": [bash("mkdir two"), "Second."]}
    calls = [subagent(world.cli, prompt, run_in_background=False) for prompt in jobs]
    watch = Watch()
    async with (
        world.live(
            [Reply(*calls), "Both are done."], on_ask=leave_open, on_ask_change=watch, conversations=jobs
        ) as live,
        live.client.turn("Do both") as turn,
    ):
        first, second = await watch.opened(2)
        assert first.agent_id
        assert second.agent_id
        assert first.agent_id != second.agent_id
        observe("decisions: an ask of a subagent names it", "in words" if first.agent else "by id")
        for ask in (second, first):
            await live.client.decide(ask.id, Allow(), actor=ALICE, digest=ask.digest)
        assert (await turn.wait()).ok
    assert (world.cwd / "one").is_dir()
    assert (world.cwd / "two").is_dir()


@pytest.mark.parametrize("policy", [None, Policy.of("careful")], ids=["no policy", "careful"])
async def test_an_interrupt_cancels_the_ask(world: World, policy: Policy | None) -> None:
    watch = Watch()
    async with (
        world.live([bash("mkdir made"), "Done."], on_ask=leave_open, on_ask_change=watch, policy=policy) as live,
        live.client.turn("Make it") as turn,
    ):
        (ask,) = await watch.opened()
        await live.client.interrupt()
        assert (await watch.closed(ask.id)).state is AskState.CANCELLED
        with pytest.raises(AskClosed, match="no longer wants an answer"):
            await live.client.decide(ask.id, Allow(), actor=ALICE, digest=ask.digest)
        await turn.wait()
    assert not (world.cwd / "made").exists()


@pytest.mark.parametrize("first", ["answer", "interrupt"])
async def test_an_answer_that_races_with_a_cancellation(world: World, first: str) -> None:
    """Whichever comes first, the ask is closed once, both sides agree on how, and the session goes on."""
    watch = Watch()
    script = [bash("mkdir made"), "Done.", "Still here.", "Still here."]
    async with world.live(script, on_ask=leave_open, on_ask_change=watch) as live:
        async with live.client.turn("Make it") as turn:
            (ask,) = await watch.opened()
            answer = live.client.decide(ask.id, Allow(), actor=ALICE, digest=ask.digest)
            moves = [answer, live.client.interrupt()]
            outcome = await asyncio.gather(*(moves if first == "answer" else reversed(moves)), return_exceptions=True)
            await turn.wait()
        states = watch.states(ask.id)
        assert states in (
            [AskState.PENDING, AskState.DECIDED, AskState.SENT],
            [AskState.PENDING, AskState.CANCELLED],
        )
        refused = [each for each in outcome if isinstance(each, AskClosed)]
        assert len(refused) == (states[-1] is AskState.CANCELLED)
        assert not [each for each in outcome if isinstance(each, Exception) and each not in refused]
        assert (await live.client.run("Are you there?")).ok


async def test_a_decision_taken_but_not_yet_recorded_gives_way_to_a_cancellation(world: World) -> None:
    watch = Watch()
    recording, go_on = asyncio.Event(), asyncio.Event()

    async def record(decision: Any) -> None:
        recording.set()
        await go_on.wait()

    async with (
        world.live(
            [bash("mkdir made"), "Done."], on_ask=leave_open, on_ask_change=watch, record_decision=record
        ) as live,
        live.client.turn("Make it") as turn,
    ):
        (ask,) = await watch.opened()
        deciding = asyncio.create_task(live.client.decide(ask.id, Allow(), actor=ALICE, digest=ask.digest))
        await recording.wait()
        await live.client.interrupt()
        assert (await watch.closed(ask.id)).state is AskState.CANCELLED
        go_on.set()
        with pytest.raises(AskClosed):
            await deciding
        await turn.wait()
    assert not (world.cwd / "made").exists()


async def test_a_person_and_a_policy_answer_at_once(world: World) -> None:
    """The person answers in the very moment the ask opens; the policy would allow it."""
    answers: list[asyncio.Task[Any]] = []

    def on_change(change: AskChange) -> None:
        if change.state is AskState.PENDING and not answers:
            person = live.client.decide(change.ask.id, Deny("no"), actor=ALICE, digest=change.ask.digest)
            answers.append(asyncio.get_running_loop().create_task(person))

    file = world.cwd / "written.txt"
    policy = Policy.of("edits")
    async with world.live(
        [write(file, "x"), "Done."], on_ask=leave_open, on_ask_change=on_change, policy=policy
    ) as live:
        assert (await live.client.run("Write it")).ok
        (outcome,) = await asyncio.gather(*answers, return_exceptions=True)
    assert file.exists() is isinstance(outcome, AlreadyDecided)


async def test_a_permission_request_hook_answers_through_the_same_door(world: World, cli: ClaudeCLI) -> None:
    watch = Watch()

    @hook("PermissionRequest")
    async def refuse(call: Any) -> Any:
        return deny_tool("the hook said no")

    async with world.live(
        [bash("mkdir made"), "All right."], on_ask=leave_open, on_ask_change=watch, hooks=[refuse]
    ) as live:
        assert (await live.client.run("Make it")).ok
        assert "the hook said no" in await live.tool_result_text()
    assert not (world.cwd / "made").exists()
    if not by_version(cli, {"2.1.37": False, "2.1.52": True}):  # the hook is called instead of asking
        assert watch.changes == []
        return
    (ask,) = await watch.opened()
    decision = watch.changes[-1].decision
    assert watch.states(ask.id) == [AskState.PENDING, AskState.DECIDED, AskState.SENT]
    assert decision is not None
    assert decision.actor.surface == "hook"


async def test_an_ask_that_expires_tells_claude_that_nobody_answered(world: World) -> None:
    watch = Watch()
    async with world.live(
        [bash("mkdir made"), "I will wait."],
        on_ask=leave_open,
        on_ask_change=watch,
        policy=Policy.of("careful", expire_after=0.2),
    ) as live:
        assert (await live.client.run("Make it")).ok
        told = await live.tool_result_text()
    assert "Nobody answered" in told
    assert "Nobody refused" in told
    assert watch.changes[-1].state is AskState.EXPIRED


SETTINGS = {
    "localSettings": ("cwd", ".claude/settings.local.json"),
    "projectSettings": ("cwd", ".claude/settings.json"),
    "userSettings": ("home", ".claude/settings.json"),
}


@pytest.mark.parametrize("policy", [None, "careful"], ids=["no policy", "careful"])
@pytest.mark.parametrize("destination", ["session", *SETTINGS])
async def test_what_is_always_allowed_is_not_asked_again(
    world: World, cli: ClaudeCLI, observe: Observe, destination: str, policy: str | None
) -> None:
    job = world.cwd / "job.sh"
    job.write_text("#!/bin/sh\nmkdir $1\n")
    job.chmod(0o755)
    rule = {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "./job.sh:*"}],
        "behavior": "allow",
        "destination": destination,
    }
    asks = Asks(Allow(updated_permissions=[rule]), Allow())
    script = [bash("./job.sh one"), bash("./job.sh two"), "Done."]
    async with world.live(script, on_ask=asks, policy=Policy.of(policy) if policy else None) as live:
        assert (await live.client.run("Make two directories")).ok
    assert (world.cwd / "two").is_dir()
    if policy is None:
        observe(f"decisions: a rule for {destination}", f"the second call is {'not ' * (len(asks.asked) == 1)}asked")
    else:
        assert len(asks.asked) == 1
    # On older CLIs the answer goes through the policy's hook, and the rule is kept by Handrail alone.
    kept_by_the_cli = policy is None or by_version(cli, {"2.1.37": False, "2.1.120": True})
    if destination in SETTINGS and kept_by_the_cli:
        root, name = SETTINGS[destination]
        kept = json.loads((getattr(world, root) / name).read_text())
        assert kept["permissions"]["allow"] == ["Bash(./job.sh:*)"]


async def test_the_suggestions_of_the_cli_can_be_taken_as_they_are(world: World, observe: Observe) -> None:
    asks = Asks(lambda ask: Allow(updated_permissions=ask.suggestions))
    job = world.cwd / "job.sh"
    job.write_text("#!/bin/sh\nmkdir $1\n")
    job.chmod(0o755)
    async with world.live(
        [bash("./job.sh one"), bash("./job.sh one"), "Done."], on_ask=asks, policy=Policy.of("careful")
    ) as live:
        assert (await live.client.run("Make it")).ok
    places = sorted({str(each.get("destination")) for each in asks.asked[0].suggestions})
    observe("decisions: a Bash ask suggests rules for", ", ".join(places))
    assert len(asks.asked) == 1

"""Decisions in a live session, against a simulated CLI: who may answer, in which order, and what the CLI is told."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail import (
    Actor,
    Allow,
    AlreadyDecided,
    Answers,
    ApproveInFreshContext,
    ApprovePlan,
    Ask,
    AskChange,
    AskClosed,
    AskState,
    BudgetSpent,
    Client,
    Decision,
    Deny,
    EnterPlan,
    HookContext,
    ImplementNow,
    InvalidOptions,
    Options,
    OutlinePlan,
    Policy,
    SelfApproval,
    StaleDigest,
    UnfitAnswer,
    allow_tool,
    connect,
    deny_tool,
    hook,
)
from handrail.policy.answers.plan import NO_PLAN_WANTED
from handrail.protocol.frames import Assistant
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

pytestmark = pytest.mark.timeout(60)

MAKE = {"command": "make all"}
ALICE = Actor("alice", "web")


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., tuple[SimulatedCLI, Options]]:
    """Make a simulated CLI from steps, and options that start it."""
    (tmp_path / "cli").mkdir()
    (tmp_path / "project").mkdir()

    def make(*steps: sim.Step, **settings: Any) -> tuple[SimulatedCLI, Options]:
        cli = SimulatedCLI(steps or None, directory=tmp_path / "cli", **settings)
        return cli, Options(cli_path=str(cli.path), cwd=str(tmp_path / "project"))

    return make


async def leave_open(ask: Ask) -> None:
    """Leaves every ask to whoever calls `decide`."""


def bodies(cli: SimulatedCLI) -> dict[str, Any]:
    """What the CLI was answered, by request id."""
    responses = [line["response"] for line in cli.received() if line["type"] == "control_response"]
    return {response["request_id"]: response.get("response", response.get("error")) for response in responses}


async def until(condition: Callable[[], Any]) -> Any:
    async with asyncio.timeout(30):
        while not (found := condition()):
            await asyncio.sleep(0.005)
    return found


async def open_ask(client: Client, number: int = 1) -> Ask:
    """The ask that has waited for the shortest time, once `number` of them wait."""
    await until(lambda: len(client.asks) >= number)
    return list(client.asks.values())[-1]


# ---------------------------------------------------------------- people


@pytest.mark.slow
async def test_an_ask_that_the_callback_leaves_open_is_answered_by_decide(play: Any) -> None:
    cli, options = play(sim.turn(sim.ask("Bash", MAKE, request_id="r1")))
    async with connect(options, on_ask=leave_open) as client:
        running = asyncio.create_task(client.run("hi"))
        ask = await open_ask(client)
        assert (ask.id, ask.tool_name, ask.input, ask.cwd) == ("r1", "Bash", MAKE, str(options.cwd))
        assert ask.waited(ask.opened_at + 3) == 3
        assert len(ask.digest) == 64
        assert ask.description is not None
        with pytest.raises(StaleDigest, match="must carry the digest"):
            await client.decide("r1", Allow(), actor=ALICE)
        decision = await client.decide("r1", Allow(), actor=ALICE, digest=ask.digest)
        assert decision.actor == ALICE
        await running
        with pytest.raises(AlreadyDecided, match="alice"):
            await client.decide("r1", Deny("no"), actor="bob")
    assert bodies(cli)["r1"]["behavior"] == "allow"


async def test_whoever_is_faster_than_the_callback_withdraws_it(play: Any) -> None:
    withdrawn = asyncio.Event()

    async def think(ask: Ask) -> Allow:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            withdrawn.set()
            raise
        return Allow()

    cli, options = play(sim.turn(sim.ask("Bash", MAKE, request_id="r1")))
    async with connect(options, on_ask=think) as client:
        running = asyncio.create_task(client.run("hi"))
        ask = await open_ask(client)
        await client.decide(ask.id, Deny("not now"), actor="bob")
        await withdrawn.wait()
        await running
    assert bodies(cli)["r1"]["message"] == "not now"


async def test_parallel_asks_are_answered_each_for_itself(play: Any) -> None:
    asks = [sim.ask("Bash", {"command": f"make {name}"}, request_id=name, wait=False) for name in "abc"]
    cli, options = play(sim.turn(*asks, sim.ask("Bash", MAKE, request_id="last")))
    async with connect(options, on_ask=leave_open) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client, 4)
        assert list(client.asks) == ["a", "b", "c", "last"]
        assert len({ask.digest for ask in client.asks.values()}) == 4
        for name, answer in (("b", Deny("b")), ("a", Allow()), ("c", Deny("c")), ("last", Allow())):
            await client.decide(name, answer, actor="bob")
        await running
    assert {name: body["behavior"] for name, body in bodies(cli).items()} == {
        "a": "allow",
        "b": "deny",
        "c": "deny",
        "last": "allow",
    }


async def test_an_answer_that_does_not_fit_is_refused_and_the_ask_stays(play: Any) -> None:
    _cli, options = play(sim.turn(sim.ask("Bash", MAKE, request_id="r1")))
    async with connect(options, on_ask=leave_open) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client)
        with pytest.raises(UnfitAnswer, match="does not answer a permission ask"):
            await client.decide("r1", ApprovePlan(), actor="bob")
        with pytest.raises(UnfitAnswer, match="cannot be written as JSON"):
            await client.decide("r1", Allow({"command": object()}), actor="bob")
        assert "r1" in client.asks
        await client.decide("r1", Allow(), actor="bob")
        await running


async def test_asks_that_end_with_the_process_are_lost(play: Any) -> None:
    changes: list[AskChange] = []
    ask = sim.ask("Bash", MAKE, request_id="r1", wait=False)
    _cli, options = play(sim.turn(ask, sim.expect("keep_alive"), sim.die()))
    async with connect(options, on_ask=leave_open, on_ask_change=changes.append) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client)
        client.keep_alive()
        with pytest.raises(Exception, match="killed by signal"):
            await running
        with pytest.raises(AskClosed, match="process that asked has ended"):
            await client.decide("r1", Allow(), actor="bob")
    assert [change.state for change in changes] == [AskState.PENDING, AskState.LOST]


@pytest.mark.slow
async def test_a_decision_is_recorded_before_the_cli_hears_of_it(play: Any) -> None:
    cli, options = play(sim.turn(sim.ask("Bash", MAKE, request_id="r1")))
    recorded: list[Decision] = []
    may_go_on = asyncio.Event()

    async def record(decision: Decision) -> None:
        recorded.append(decision)
        if len(recorded) == 1:
            raise OSError("disk full")
        await may_go_on.wait()

    async with connect(options, on_ask=leave_open, record_decision=record) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client)
        with pytest.raises(OSError, match="disk full"):
            await client.decide("r1", Allow(), actor="bob")
        assert "r1" in client.asks
        deciding = asyncio.create_task(client.decide("r1", Allow(), actor="carol"))
        await until(lambda: len(recorded) == 2)
        assert bodies(cli) == {}
        may_go_on.set()
        assert (await deciding).actor == Actor("carol")
        await running


async def test_a_process_of_the_session_cannot_answer_for_it(play: Any) -> None:
    _cli, options = play(sim.turn(sim.ask("Bash", MAKE, request_id="r1")))
    async with connect(options, on_ask=leave_open) as client:
        running = asyncio.create_task(client.run("hi"))
        ask = await open_ask(client)
        for pid in (client.pid, 2**22 + 7):  # the CLI itself, and a process that is gone
            with pytest.raises(SelfApproval, match="cannot answer for itself"):
                await client.decide("r1", Allow(), actor=Actor("claude", "http", pid=pid), digest=ask.digest)
        await client.decide("r1", Allow(), actor=Actor("alice", "http", pid=os.getpid()), digest=ask.digest)
        await running


async def test_a_listener_that_fails_keeps_no_answer_from_the_cli(play: Any) -> None:
    def fail(change: AskChange) -> None:
        raise RuntimeError("the page is gone")

    async def on_ask(ask: Ask) -> Allow:
        return Allow()

    cli, options = play(sim.turn(sim.ask("Bash", MAKE, request_id="r1")))
    async with connect(options, on_ask=on_ask, on_ask_change=fail) as client:
        await client.run("hi")
    assert bodies(cli)["r1"]["behavior"] == "allow"


async def test_an_ask_that_cannot_be_described_is_asked_all_the_same(play: Any, monkeypatch: Any) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("no words")

    monkeypatch.setattr("handrail.policy.describing.describe.describe", fail)
    seen: list[Ask] = []

    async def on_ask(ask: Ask) -> Deny:
        seen.append(ask)
        return Deny("no")

    cli, options = play(sim.turn(sim.ask("Bash", MAKE, request_id="r1")))
    async with connect(options, on_ask=on_ask) as client:
        await client.run("hi")
    assert seen[0].description is None
    assert bodies(cli)["r1"]["message"] == "no"


async def test_an_ask_that_cannot_be_taken_on_is_answered_with_an_error(play: Any, monkeypatch: Any) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr("handrail.sessions.survey.ask_digest", fail)
    cli, options = play(sim.turn(sim.ask("Bash", MAKE, request_id="r1"), "Going on."))
    async with connect(options, on_ask=leave_open) as client:
        assert (await client.run("hi")).ok
        assert not client.asks
    assert "could not take this on" in bodies(cli)["r1"]


async def test_a_policy_that_fails_leaves_the_ask_to_a_person(play: Any, monkeypatch: Any) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("no rules today")

    monkeypatch.setattr("handrail.sessions.enforcement.Enforcement.answer", fail)
    cli, options = play(sim.turn(sim.ask("WebSearch", {"query": "x"}, request_id="r1")))

    async def on_ask(ask: Ask) -> Deny:
        return Deny("by a person")

    async with connect(options, on_ask=on_ask, policy=Policy.of(allow=["WebSearch"])) as client:
        await client.run("hi")
    assert bodies(cli)["r1"]["message"] == "by a person"


# ---------------------------------------------------------------- what was shown


async def test_an_edit_of_a_file_that_changed_meanwhile_is_asked_again(play: Any, tmp_path: Path) -> None:
    target = tmp_path / "project" / "notes.txt"
    target.write_text("one\n")
    seen: list[Ask] = []
    shown: list[Any] = []

    async def on_ask(ask: Ask) -> Allow:
        seen.append(ask)
        shown.append(ask.description)
        if len(seen) == 1:
            target.write_text("two\n")
        return Allow()

    edit = {"file_path": str(target), "old_string": "one", "new_string": "three"}
    cli, options = play(sim.turn(sim.ask("Edit", edit, request_id="r1")))
    async with connect(options, on_ask=on_ask) as client:
        await client.run("hi")
    first, second = seen
    assert first.digest != second.digest
    assert shown[0] != shown[1]
    assert bodies(cli)["r1"]["behavior"] == "allow"


@pytest.mark.slow
async def test_a_large_edit_is_looked_at_without_keeping_others_waiting(play: Any, tmp_path: Path) -> None:
    target = tmp_path / "project" / "large.txt"
    target.write_text("line\n" * 60_000)
    write = {"file_path": str(target), "content": "other\n" * 60_000}
    cli, options = play(sim.turn(sim.ask("Write", write, request_id="r1")))
    async with connect(options, on_ask=leave_open) as client:
        running = asyncio.create_task(client.run("hi"))
        ask = await open_ask(client)
        await client.decide("r1", Deny("too much"), actor=ALICE, digest=ask.digest)
        await running
    assert bodies(cli)["r1"]["behavior"] == "deny"


# ---------------------------------------------------------------- policy


async def test_a_policy_answers_before_anybody_is_asked(play: Any) -> None:
    changes: list[AskChange] = []
    asked: list[str] = []

    async def on_ask(ask: Ask) -> Deny:
        asked.append(ask.id)
        return Deny("by a person")

    cli, options = play(
        sim.turn(
            sim.ask("WebFetch", {"url": "https://example.com", "prompt": "x"}, request_id="denied"),
            sim.ask("WebSearch", {"query": "x"}, request_id="allowed"),
            sim.ask("Write", {"file_path": "/etc/x", "content": ""}, request_id="asked"),
        )
    )
    policy = Policy.of("careful", allow=["WebSearch"], deny=["WebFetch"])
    async with connect(options, on_ask=on_ask, policy=policy, on_ask_change=changes.append) as client:
        await client.run("hi")
    answers = bodies(cli)
    assert answers["allowed"]["behavior"] == "allow"
    assert answers["denied"]["behavior"] == "deny"
    assert "Handrail's policy" in answers["denied"]["message"]
    assert answers["asked"]["message"] == "by a person"
    assert asked == ["asked"]
    actors = {change.decision.ask_id: change.decision.actor for change in changes if change.decision}
    assert actors["allowed"] == Actor("policy: WebSearch", "policy")
    assert actors["denied"] == Actor("policy: WebFetch", "policy")


@pytest.mark.parametrize("field", ["matched_ask_rule", "requires_user_interaction"])
async def test_what_the_cli_itself_wants_a_person_for_is_left_to_one(play: Any, field: str) -> None:
    wanted: dict[str, Any] = {field: {"tool_name": "WebSearch", "source": "user"} if "rule" in field else True}
    cli, options = play(sim.turn(sim.ask("WebSearch", {"query": "x"}, request_id="r1", **wanted)))
    async with connect(options, policy=Policy.of(allow=["WebSearch"])) as client:
        await client.run("hi")
    assert "nobody is there" in bodies(cli)["r1"]["message"]


async def test_plans_and_questions_are_never_answered_by_policy(play: Any) -> None:
    question = {"questions": [{"question": "Which?", "header": "W", "options": [], "multiSelect": False}]}
    _cli, options = play(
        sim.turn(
            sim.ask("ExitPlanMode", {"plan": "1. Do"}, request_id="plan"),
            sim.ask("AskUserQuestion", question, request_id="question"),
        )
    )
    seen: list[str] = []

    async def on_ask(ask: Ask) -> Deny:
        seen.append(ask.kind)
        return Deny("no")

    policy = Policy.of("trusted", allow=["ExitPlanMode", "AskUserQuestion"])
    async with connect(options, on_ask=on_ask, policy=policy) as client:
        await client.run("hi")
    assert seen == ["plan", "question"]


@pytest.mark.slow
async def test_an_ask_that_nobody_answers_in_time_is_no_denial(play: Any) -> None:
    changes: list[AskChange] = []
    cli, options = play(sim.turn(sim.ask("Write", {"file_path": "/etc/x", "content": ""}, request_id="r1")))
    policy = Policy.of("careful", expire_after=0.05)
    async with connect(options, on_ask=leave_open, policy=policy, on_ask_change=changes.append) as client:
        await client.run("hi")
    message = bodies(cli)["r1"]["message"]
    assert "Nobody answered this within 0.05 seconds" in message
    assert "Nobody refused it" in message
    assert [change.state for change in changes] == [AskState.PENDING, AskState.EXPIRED]


async def test_a_person_and_a_policy_at_once_give_one_answer(play: Any) -> None:
    """The person answers in the very moment the ask opens, before the policy has had its turn."""
    refusals: list[Exception] = []
    answering: list[asyncio.Task[Decision]] = []

    def on_change(change: AskChange) -> None:
        if change.state is AskState.PENDING:
            person = client.decide(change.ask.id, Deny("by a person"), actor=ALICE, digest=change.ask.digest)
            answering.append(asyncio.get_running_loop().create_task(person))

    cli, options = play(sim.turn(sim.ask("WebSearch", {"query": "x"}, request_id="r1")))
    policy = Policy.of(allow=["WebSearch"])
    async with connect(options, on_ask=leave_open, policy=policy, on_ask_change=on_change) as client:
        await client.run("hi")
        (result,) = await asyncio.gather(*answering, return_exceptions=True)
        if isinstance(result, Exception):
            refusals.append(result)
    sent = [line for line in cli.received() if line["type"] == "control_response"]
    assert len(sent) == 1
    if refusals:
        assert isinstance(refusals[0], AlreadyDecided)
        assert bodies(cli)["r1"]["behavior"] == "allow"
    else:
        assert bodies(cli)["r1"]["message"] == "by a person"


def pre_tool_use(tool: str, given: dict[str, Any], **fields: Any) -> sim.Step:
    return sim.hook("PreToolUse", {"tool_name": tool, "tool_input": given, **fields}, request_id="hook")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "given", "decision"),
    [
        ("WebFetch", {"url": "https://example.com"}, "deny"),
        ("WebSearch", {"query": "x"}, "ask"),
        ("Read", {"file_path": "README.md"}, None),
        ("AskUserQuestion", {"questions": []}, None),
        ("ExitPlanMode", {"plan": "x"}, None),
    ],
)
async def test_the_policy_sees_every_call_in_a_hook(play: Any, tool: str, given: Any, decision: str | None) -> None:
    cli, options = play(sim.turn(pre_tool_use(tool, given)))
    async with connect(options, policy=Policy.of(deny=["WebFetch"], ask=["WebSearch"])) as client:
        await client.run("hi")
    specific = bodies(cli)["hook"].get("hookSpecificOutput", {})
    assert specific.get("permissionDecision") == decision


@pytest.mark.slow
@pytest.mark.parametrize(
    ("session", "call", "asked"),
    [
        ("acceptEdits", "acceptEdits", False),
        ("acceptEdits", "default", True),
        ("default", "acceptEdits", True),
        ("default", None, True),
        ("acceptEdits", None, False),
    ],
)
async def test_a_call_is_judged_in_the_stricter_of_its_own_mode_and_the_sessions(
    play: Any, session: Any, call: str | None, asked: bool
) -> None:
    given = {"tool_name": "Write", "tool_input": WRITE, **({"permission_mode": call} if call else {})}
    cli, options = play(sim.turn(sim.hook("PreToolUse", given, request_id="hook")))
    options = msgspec.structs.replace(options, permission_mode=session)
    async with connect(options, policy=Policy.of("careful")) as client:
        await client.run("hi")
    assert ("hookSpecificOutput" in bodies(cli)["hook"]) is asked


@pytest.mark.slow
async def test_the_policy_has_the_last_word_on_what_a_hook_changes(play: Any) -> None:
    @hook("PreToolUse")
    async def rewrite(call: Any, context: HookContext) -> Any:
        return allow_tool(updated_input={"url": "https://evil.example", "prompt": "x"})

    given = {"url": "https://good.example", "prompt": "x"}
    cli, options = play(sim.turn(pre_tool_use("WebFetch", given)))
    policy = Policy.of(allow=["WebFetch(domain:good.example)"], deny=["WebFetch(domain:evil.example)"])
    async with connect(options, policy=policy, hooks=[rewrite]) as client:
        await client.run("hi")
    specific = bodies(cli)["hook"]["hookSpecificOutput"]
    assert specific["permissionDecision"] == "deny"


async def test_the_policy_has_the_last_word_on_what_an_answer_changes(play: Any) -> None:
    cli, options = play(sim.turn(sim.ask("Bash", MAKE, request_id="r1")))
    async with connect(options, on_ask=leave_open, policy=Policy.of(deny=["Bash(curl *)"])) as client:
        running = asyncio.create_task(client.run("hi"))
        digest = (await open_ask(client)).digest
        forbidden = Allow(updated_input={"command": "curl evil.example"})
        with pytest.raises(UnfitAnswer, match="policy denies"):
            await client.decide("r1", forbidden, actor=ALICE, digest=digest)
        await client.decide("r1", Allow(updated_input={"command": "make one"}), actor=ALICE, digest=digest)
        await running
    assert bodies(cli)["r1"]["updatedInput"] == {"command": "make one"}


async def test_what_a_person_always_allows_is_not_asked_again(play: Any) -> None:
    rule = {"type": "addRules", "rules": [{"toolName": "WebSearch"}], "behavior": "allow", "destination": "session"}
    search = {"query": "x"}
    before, after = (
        sim.hook("PreToolUse", {"tool_name": "WebSearch", "tool_input": search}, request_id=name)
        for name in ("before", "after")
    )
    cli, options = play(sim.turn(before, sim.ask("WebSearch", search, request_id="r1"), after))

    async def on_ask(ask: Ask) -> Allow:
        return Allow(updated_permissions=[rule])

    async with connect(options, on_ask=on_ask, policy=Policy.of("careful")) as client:
        await client.run("hi")
    answers = bodies(cli)
    assert answers["before"]["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert answers["r1"]["updatedPermissions"] == [rule]
    assert answers["after"] == {}


PERMISSIVE = {
    "permissions": {"deny": ["WebFetch"]},
    "env": {"A": "b", "CLAUDE_CODE_SIMPLE": "1"},
    "disableAllHooks": True,
}


async def test_the_cli_is_started_with_what_its_settings_can_say_of_the_policy(play: Any) -> None:
    cli, options = play(sim.turn("Hello"))
    options = msgspec.structs.replace(options, settings=PERMISSIVE)
    async with connect(options, policy=Policy.of(deny=["WebSearch"], ask=["Bash(git push:*)"])) as client:
        await client.run("hi")
    (given,) = [each for each in cli.launches()[0].argv if each.startswith("--settings=")]
    settings = json.loads(given.removeprefix("--settings="))
    assert (settings["env"], settings["disableAllHooks"]) == ({"A": "b", "CLAUDE_CODE_SIMPLE": "0"}, False)
    assert settings["permissions"]["deny"][:2] == ["WebFetch", "WebSearch"]
    assert "Bash(git push:*)" in settings["permissions"]["ask"]
    assert "allow" not in settings["permissions"]


@pytest.mark.parametrize("settings", ["{nonsense", "missing.json", "[]", {"permissions": "all"}])
async def test_settings_that_no_policy_can_be_added_to_are_an_error(play: Any, settings: Any) -> None:
    _cli, options = play(sim.turn("Hello"))
    options = msgspec.structs.replace(options, settings=settings)
    with pytest.raises(InvalidOptions, match="policy can be added"):
        async with connect(options, policy=Policy.of()):
            pass


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "decision"), [(Allow(), "allow"), (Deny("not that"), "deny")])
async def test_where_the_cli_outvotes_hooks_the_hook_itself_waits_for_the_decision(
    play: Any, answer: Any, decision: str
) -> None:
    call = sim.hook("PreToolUse", {"tool_name": "Bash", "tool_input": MAKE}, tool_use_id="toolu_1", request_id="hook")
    again = sim.ask("Bash", MAKE, request_id="r1", tool_use_id="toolu_1")
    cli, options = play(sim.turn(call, again if decision == "allow" else "Done."), version="2.1.62")
    async with connect(options, on_ask=leave_open, policy=Policy.of("careful")) as client:
        running = asyncio.create_task(client.run("hi"))
        ask = await open_ask(client)
        assert (ask.kind, ask.tool_name, ask.input, ask.tool_use_id) == ("permission", "Bash", MAKE, "toolu_1")
        assert "hook" not in bodies(cli)
        await client.decide(ask.id, answer, actor=ALICE, digest=ask.digest)
        await running
        assert not client.asks
    assert bodies(cli)["hook"]["hookSpecificOutput"]["permissionDecision"] == decision
    if decision == "allow":  # nobody is asked twice about one call
        assert bodies(cli)["r1"]["behavior"] == "allow"


async def test_a_call_that_waits_in_a_hook_is_withdrawn_with_it(play: Any) -> None:
    changes: list[AskChange] = []
    call = sim.hook(
        "PreToolUse",
        {"tool_name": "Bash", "tool_input": MAKE},
        tool_use_id="toolu_1",
        request_id="hook",
        wait=False,
    )
    steps = [call, sim.expect("keep_alive"), sim.cancel("hook")]
    _cli, options = play(sim.turn(*steps), version="2.1.62")
    async with connect(options, on_ask=leave_open, policy=Policy.of("careful"), on_ask_change=changes.append) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client)
        client.keep_alive()
        await running
        await until(lambda: not client.asks)
    assert changes[-1].state is AskState.CANCELLED


WRITE = {"file_path": "new.txt", "content": "x"}


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
async def test_a_subagent_cannot_widen_by_the_mode_it_was_defined_with(play: Any, mode: str) -> None:
    given = {"tool_name": "Write", "tool_input": WRITE, "permission_mode": mode, "agent_id": "a1"}
    cli, options = play(sim.turn(sim.hook("PreToolUse", given, request_id="hook")))
    async with connect(options, policy=Policy.of("careful")) as client:
        await client.run("hi")
    assert bodies(cli)["hook"]["hookSpecificOutput"]["permissionDecision"] == "ask"


async def test_a_stricter_subagent_is_judged_in_its_own_mode_when_the_cli_asks(play: Any) -> None:
    given = {"tool_name": "Write", "tool_input": WRITE, "permission_mode": "default", "agent_id": "a1"}
    cli, options = play(
        sim.turn(
            sim.hook("PreToolUse", given, tool_use_id="toolu_1", request_id="hook"),
            sim.ask("Write", WRITE, request_id="r1", tool_use_id="toolu_1", agent_id="a1"),
        )
    )
    options = msgspec.structs.replace(options, permission_mode="acceptEdits")
    async with connect(options, policy=Policy.of("careful")) as client:
        await client.run("hi")
    assert "nobody is there" in bodies(cli)["r1"]["message"]


async def test_a_call_is_judged_where_the_shell_has_moved_to(play: Any, tmp_path: Path) -> None:
    secrets = tmp_path / "project" / "secrets"
    secrets.mkdir()
    (secrets / "key").write_text("x")
    given = {"tool_name": "Bash", "tool_input": {"command": "cat key"}, "cwd": str(secrets)}
    cli, options = play(sim.turn(sim.hook("PreToolUse", given, request_id="hook")))
    async with connect(options, policy=Policy.of("careful", deny=[f"Read(/{secrets}/**)"])) as client:
        await client.run("hi")
    assert bodies(cli)["hook"]["hookSpecificOutput"]["permissionDecision"] == "deny"


async def test_a_rule_of_an_answer_that_was_not_sent_is_not_granted(play: Any) -> None:
    rule = {"type": "addRules", "rules": [{"toolName": "WebSearch"}], "behavior": "allow", "destination": "session"}
    search = {"query": "x"}
    after = sim.hook("PreToolUse", {"tool_name": "WebSearch", "tool_input": search}, request_id="after")
    cli, options = play(sim.turn(sim.ask("WebSearch", search, request_id="r1"), after))
    recorded: list[Decision] = []

    async def record(decision: Decision) -> None:
        recorded.append(decision)
        if len(recorded) == 1:
            raise OSError("disk full")

    async with connect(options, on_ask=leave_open, policy=Policy.of("careful"), record_decision=record) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client)
        with pytest.raises(OSError, match="disk full"):
            await client.decide("r1", Allow(updated_permissions=[rule]), actor="alice")
        await client.decide("r1", Deny("no"), actor="bob")
        await running
    assert bodies(cli)["after"]["hookSpecificOutput"]["permissionDecision"] == "ask"


@pytest.mark.slow
@pytest.mark.parametrize("directories", [5, [5], None])
async def test_a_rule_that_cannot_be_taken_over_holds_up_no_answer(play: Any, directories: Any) -> None:
    update = {"type": "addDirectories", "directories": directories, "destination": "session"}
    cli, options = play(sim.turn(sim.ask("WebSearch", {"query": "x"}, request_id="r1")))

    async def on_ask(ask: Ask) -> Allow:
        return Allow(updated_permissions=[update])

    async with connect(options, on_ask=on_ask, policy=Policy.of("careful")) as client:
        await client.run("hi")
    assert bodies(cli)["r1"]["behavior"] == "allow"


@pytest.mark.slow
@pytest.mark.parametrize("answer", [Allow(5), Allow(None, 5), Answers(None)])  # type: ignore[arg-type]
async def test_a_malformed_answer_of_a_callback_is_an_error_and_no_silence(play: Any, answer: Any) -> None:
    async def on_ask(ask: Ask) -> Any:
        return answer

    cli, options = play(sim.turn(sim.ask("Bash", MAKE, request_id="r1")))
    async with connect(options, on_ask=on_ask) as client:
        await client.run("hi")
    assert "UnfitAnswer" in bodies(cli)["r1"]


async def test_a_decision_is_seen_through_if_whoever_decided_goes_away(play: Any) -> None:
    cli, options = play(sim.turn(sim.ask("Bash", MAKE, request_id="r1")))
    recording, go_on = asyncio.Event(), asyncio.Event()

    async def record(decision: Decision) -> None:
        recording.set()
        await go_on.wait()

    async with connect(options, on_ask=leave_open, record_decision=record) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client)
        deciding = asyncio.create_task(client.decide("r1", Allow(), actor="alice"))
        await recording.wait()
        deciding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await deciding
        with pytest.raises(AlreadyDecided, match="alice"):
            await client.decide("r1", Deny("no"), actor="bob")
        go_on.set()
        await running
    assert bodies(cli)["r1"]["behavior"] == "allow"


async def test_what_the_policy_answers_to_an_edit_that_changed_meanwhile_is_judged_again(
    play: Any, tmp_path: Path
) -> None:
    target = tmp_path / "project" / "notes.txt"
    target.write_text("one\n")

    def on_change(change: AskChange) -> None:
        if change.state is AskState.PENDING and target.read_text() == "one\n":
            target.write_text("two\n")

    edit = {"file_path": str(target), "old_string": "one", "new_string": "three"}
    cli, options = play(sim.turn(sim.ask("Edit", edit, request_id="r1")))
    async with connect(options, policy=Policy.of("edits"), on_ask_change=on_change) as client:
        await client.run("hi")
    assert bodies(cli)["r1"]["behavior"] == "allow"


# ---------------------------------------------------------------- PermissionRequest hooks


@pytest.mark.slow
@pytest.mark.parametrize("first", ["hook", "ask"])
async def test_a_permission_request_hook_decides_like_everybody_else(play: Any, first: str) -> None:
    changes: list[AskChange] = []

    @hook("PermissionRequest")
    async def refuse(call: Any) -> Any:
        return deny_tool("a hook said no")

    call = sim.hook(
        "PermissionRequest",
        {"tool_name": "Bash", "tool_input": MAKE},
        tool_use_id="toolu_1",
        request_id="hook",
        wait=first != "hook",
    )
    ask = sim.ask("Bash", MAKE, request_id="r1", tool_use_id="toolu_1", wait=first == "hook")
    steps = [call, ask] if first == "hook" else [ask, call]
    cli, options = play(sim.turn(*steps))
    async with connect(options, on_ask=leave_open, hooks=[refuse], on_ask_change=changes.append) as client:
        await client.run("hi")
        await until(lambda: len(bodies(cli)) == 2)
    assert bodies(cli)["r1"]["message"] == "a hook said no"
    assert bodies(cli)["hook"] == {}
    assert changes[-1].decision is not None
    assert changes[-1].decision.actor.surface == "hook"


async def test_a_permission_request_hook_that_is_too_late_changes_nothing(play: Any) -> None:
    decided = asyncio.Event()

    @hook("PermissionRequest")
    async def slow(call: Any) -> Any:
        await decided.wait()
        return deny_tool("too late")

    call = sim.hook(
        "PermissionRequest",
        {"tool_name": "Bash", "tool_input": MAKE},
        tool_use_id="toolu_1",
        request_id="hook",
        wait=False,
    )
    cli, options = play(sim.turn(call, sim.ask("Bash", MAKE, request_id="r1", tool_use_id="toolu_1")))
    async with connect(options, on_ask=leave_open, hooks=[slow]) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client)
        await client.decide("r1", Allow(), actor="bob")
        decided.set()
        await running
        await until(lambda: len(bodies(cli)) == 2)
    assert bodies(cli)["r1"]["behavior"] == "allow"
    assert bodies(cli)["hook"] == {}


# ---------------------------------------------------------------- plans


def plan_call(plan: str, tool_use_id: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": tool_use_id, "name": "ExitPlanMode", "input": {"plan": plan}}
    message = {"role": "assistant", "content": [block]}
    return {"type": "assistant", "message": message, "session_id": "$session", "uuid": "$uuid"}


@pytest.mark.slow
async def test_a_plan_that_the_ask_lacks_is_taken_from_the_call(play: Any) -> None:
    cli, options = play(
        sim.turn(
            sim.send(plan_call("1. Bake", "toolu_1")),
            sim.ask("ExitPlanMode", {}, request_id="r1", tool_use_id="toolu_1"),
        )
    )
    async with connect(options, on_ask=leave_open) as client:
        running = asyncio.create_task(client.run("hi"))
        ask = await open_ask(client)
        assert ask.plan == "1. Bake"
        await client.decide("r1", ApprovePlan(), actor="bob")
        await running
    body = bodies(cli)["r1"]
    assert body["updatedPermissions"] == [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]


async def test_a_plan_that_comes_after_its_ask_completes_it(play: Any) -> None:
    changes: list[AskChange] = []
    _cli, options = play(
        sim.turn(
            sim.ask("ExitPlanMode", {}, request_id="r1", tool_use_id="toolu_1", wait=False),
            sim.expect("keep_alive"),
            sim.send(plan_call("1. Bake", "toolu_1")),
            sim.ask("Bash", MAKE, request_id="r2"),
        )
    )
    async with connect(options, on_ask=leave_open, on_ask_change=changes.append) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client)
        client.keep_alive()
        await open_ask(client, 2)
        opened, completed = (change.ask for change in changes if change.ask.id == "r1")
        assert (opened.plan, completed.plan) == (None, "1. Bake")
        assert opened.digest != completed.digest
        with pytest.raises(StaleDigest):
            await client.decide("r1", ApprovePlan(), actor=ALICE, digest=opened.digest)
        for ask in list(client.asks.values()):
            await client.decide(ask.id, Deny("no"), actor=ALICE, digest=ask.digest)
        await running


@pytest.mark.slow
async def test_after_an_outline_the_next_plan_waits_for_the_person(play: Any) -> None:
    cli, options = play(
        sim.turn(
            sim.ask("ExitPlanMode", {"plan": "1. Bake"}, request_id="r1"),
            sim.ask("ExitPlanMode", {"plan": "1. Bake slowly"}, request_id="r2", wait=False),
            sim.ask("WebSearch", {"query": "ovens"}, request_id="r3"),
        )
    )
    policy = Policy.of("careful", expire_after=1.0)
    async with connect(options, on_ask=leave_open, policy=policy) as client:
        running = asyncio.create_task(client.run("hi"))
        first = await open_ask(client)
        assert not first.after_outline
        await client.decide("r1", OutlinePlan(), actor="bob")
        await until(lambda: "r2" in client.asks)
        assert client.asks["r2"].after_outline
        await until(lambda: "r3" in bodies(cli))  # which was asked later, and has expired
        assert "Nobody answered" in bodies(cli)["r3"]["message"]
        await client.decide("r2", ApprovePlan("default"), actor="bob")
        await running
    assert "step-by-step outline" in bodies(cli)["r1"]["message"]


async def test_with_the_cooldown_on_a_plan_that_comes_too_soon_is_sent_back(play: Any) -> None:
    cli, options = play(
        sim.turn(
            sim.ask("ExitPlanMode", {"plan": "1. Bake"}, request_id="r1"),
            sim.ask("ExitPlanMode", {"plan": "1. Bake now"}, request_id="r2"),
        )
    )
    async with connect(options, on_ask=leave_open, policy=Policy.of(outline_cooldown=True)) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client)
        await client.decide("r1", OutlinePlan(), actor="bob")
        await running
    assert "sent back unread" in bodies(cli)["r2"]["message"]


@pytest.mark.slow
async def test_a_plan_approved_in_a_fresh_context_names_its_successor(play: Any) -> None:
    cli, options = play(sim.turn(sim.ask("ExitPlanMode", {"plan": "1. Bake"}, request_id="r1")))
    options = msgspec.structs.replace(options, allowed_tools=["Read"], permission_mode="plan")
    async with connect(options, on_ask=leave_open) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client)
        assert client.successor is None
        await client.decide("r1", ApproveInFreshContext("acceptEdits", rules=["Bash(make:*)"]), actor="bob")
        successor = await until(lambda: client.successor)
        await running
    assert successor.prompt == "Implement the following plan:\n\n1. Bake"
    assert successor.options.permission_mode == "acceptEdits"
    assert list(successor.options.allowed_tools) == ["Read", "Bash(make:*)"]
    assert bodies(cli)["r1"]["interrupt"] is True


async def test_a_session_that_may_bypass_permissions_hands_that_on(play: Any) -> None:
    _cli, options = play(sim.turn(sim.ask("ExitPlanMode", {"plan": "1. Bake"}, request_id="r1")))
    options = msgspec.structs.replace(options, dangerously_skip_permissions=True)
    async with connect(options, on_ask=leave_open) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client)
        await client.decide("r1", ApproveInFreshContext("bypassPermissions"), actor="bob")
        successor = await until(lambda: client.successor)
        await running
    assert successor.options.permission_mode == "bypassPermissions"
    assert successor.options.allow_dangerously_skip_permissions


async def test_compacting_waits_for_the_end_of_the_turn(play: Any) -> None:
    cli, options = play(
        sim.turn(sim.ask("ExitPlanMode", {"plan": "1. Bake"}, request_id="r1"), sim.ask("Bash", MAKE, request_id="r2")),
        sim.turn("Compacted."),
    )
    async with connect(options, on_ask=leave_open) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client)
        await client.decide("r1", ApprovePlan(compact=True), actor="bob")
        await until(lambda: "r2" in client.asks)
        assert "/compact" not in str(cli.received())
        await client.decide("r2", Allow(), actor="bob")
        await running
        await until(lambda: "/compact" in str(cli.received()))


async def test_a_mode_that_the_cli_does_not_announce_is_set_once_more(play: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("handrail.sessions.plan_review.MODE_FOLLOWS_WITHIN", 0.01)
    cli, options = play(sim.turn(sim.ask("ExitPlanMode", {"plan": "1. Bake"}, request_id="r1")))
    options = msgspec.structs.replace(options, permission_mode="plan")

    def modes_set() -> list[str]:
        requests = [line["request"] for line in cli.received() if line["type"] == "control_request"]
        return [request["mode"] for request in requests if request["subtype"] == "set_permission_mode"]

    async with connect(options, on_ask=leave_open) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client)
        await client.decide("r1", ApprovePlan("default"), actor="bob")
        await running
        assert await until(modes_set) == ["default"]


def enter_plan_mode(tool_use_id: str) -> list[dict[str, Any]]:
    """Claude enters plan mode, and the CLI says so without asking."""
    block = {"type": "tool_use", "id": tool_use_id, "name": "EnterPlanMode", "input": {}}
    message = {"role": "assistant", "content": [block]}
    return [
        {"type": "assistant", "message": message, "session_id": "$session", "uuid": "$uuid"},
        {"type": "system", "subtype": "status", "permissionMode": "plan", "session_id": "$session"},
    ]


async def test_entering_plan_mode_unasked_is_shown_and_taken_back_with_one_answer(play: Any) -> None:
    cli, options = play(sim.turn(sim.send(*enter_plan_mode("toolu_1")), sim.ask("Bash", MAKE, request_id="r1")))
    async with connect(options, on_ask=leave_open) as client:
        running = asyncio.create_task(client.run("hi"))
        await open_ask(client, 2)
        ask = next(ask for ask in client.asks.values() if ask.kind == "enter_plan")
        assert ask.tool_use_id == "toolu_1"
        assert client.permission_mode == "plan"
        await client.decide(ask.id, ImplementNow(), actor=ALICE, digest=ask.digest)
        await until(lambda: client.permission_mode == "default")
        await until(lambda: NO_PLAN_WANTED in str(cli.received()))
        await client.decide("r1", Deny("no"), actor="bob")
        await running
    modes = [line["request"] for line in cli.received() if line["type"] == "control_request"]
    assert {"subtype": "set_permission_mode", "mode": "default"} in modes


@pytest.mark.slow
@pytest.mark.parametrize("asked", [False, True])
async def test_plan_mode_that_is_left_or_was_asked_for_is_not_asked_about(play: Any, asked: bool) -> None:
    changes: list[AskChange] = []
    left = {"type": "system", "subtype": "status", "permissionMode": "default", "session_id": "$session"}
    entering = sim.send(*enter_plan_mode("toolu_1"))
    ask = sim.ask("EnterPlanMode", {}, request_id="r1", tool_use_id="toolu_1")
    _cli, options = play(sim.turn(ask, entering) if asked else sim.turn(entering, sim.send(left)))

    async def on_ask(ask: Ask) -> EnterPlan | None:
        return EnterPlan() if asked else None

    async with connect(options, on_ask=on_ask, on_ask_change=changes.append) as client:
        await client.run("hi")
        assert not client.asks
    last = {change.ask.id: change.state for change in changes}
    assert last == ({"r1": AskState.SENT} if asked else {"entered-plan-mode-toolu_1": AskState.CANCELLED})


# ---------------------------------------------------------------- budget


def costing(dollars: float) -> sim.Step:
    return sim.turn("Done.", result={"total_cost_usd": dollars})


async def test_a_spent_budget_is_asked_about_before_anything_more_is_sent(play: Any) -> None:
    cli, options = play(costing(0.5), costing(1.25), costing(1.5))
    async with connect(options, on_ask=leave_open, budget=1.0) as client:
        await client.run("one")
        assert not client.asks
        await client.run("two")
        ask = await open_ask(client)
        assert ask.kind == "budget"
        assert ask.input == {"spent_usd": 1.25, "limit_usd": 1.0}
        assert "$1.25 of $1.00 are spent" in ask.message
        third = asyncio.create_task(client.run("three"))
        await client.control("mcp_status")  # once that is answered, whatever was written before has arrived
        assert len([line for line in cli.received() if line["type"] == "user"]) == 2
        with pytest.raises(UnfitAnswer, match=r"above the \$1.25"):
            await client.decide(ask.id, Allow({"limit_usd": 1.0}), actor=ALICE, digest=ask.digest)
        await client.decide(ask.id, Allow({"limit_usd": 3}), actor=ALICE, digest=ask.digest)
        assert (await third).ok
        assert not client.asks


async def test_a_budget_that_is_not_raised_ends_the_spending(play: Any) -> None:
    _cli, options = play(costing(2.0))

    async def on_ask(ask: Ask) -> Deny:
        return Deny("enough for today")

    async with connect(options, on_ask=on_ask, budget=1.0) as client:
        await client.run("one")
        with pytest.raises(BudgetSpent, match=r"\$2.00 of \$1.00 are spent: enough for today"):
            await client.run("two")
        with pytest.raises(BudgetSpent):
            await client.send("three")


async def test_tools_of_what_still_runs_are_asked_about_when_the_budget_is_spent(play: Any) -> None:
    """Asked outside of a turn, as in the background: a turn would be interrupted, perhaps before the answer is in."""
    cli, options = play(costing(2.0), pre_tool_use("Read", {"file_path": "x"}))
    async with connect(options, on_ask=leave_open, budget=1.0) as client:
        await client.run("one")
        await until(lambda: "hook" in bodies(cli))
    assert bodies(cli)["hook"]["hookSpecificOutput"]["permissionDecision"] == "ask"


@pytest.mark.parametrize("amount", [0, -1, float("nan"), float("inf")])
def test_a_budget_is_an_amount(amount: float) -> None:
    with pytest.raises(InvalidOptions, match="above 0"):
        connect(Options(), budget=amount)


# ---------------------------------------------------------------- modes


async def test_the_client_knows_the_mode_and_how_full_the_context_is(play: Any) -> None:
    usage = {"input_tokens": 30_000, "cache_read_input_tokens": 20_000, "output_tokens": 0}
    message = {"role": "assistant", "content": [{"type": "text", "text": "x"}], "usage": usage}
    frame = {"type": "assistant", "message": message, "session_id": "$session", "uuid": "$uuid"}
    status = {"type": "system", "subtype": "status", "permissionMode": "plan", "session_id": "$session"}
    _cli, options = play(sim.turn(sim.send(frame, status)))
    async with connect(options) as client:
        frames = client.frames()
        await client.run("hi")
        assert client.permission_mode == "plan"
        assert client.plan_context.previous_mode == "default"
        assert client.plan_context.context_used == pytest.approx(25.0)
        async for seen in frames:
            if isinstance(seen, Assistant):
                break

"""Hooks: registration, typed inputs from recorded traffic, answers in wire form, and guards that fail closed."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import InvalidOptions
from handrail.protocol.control import (
    HOOK_EVENTS,
    HookInput,
    HookOutput,
    PermissionAllow,
    PermissionRequestOutput,
    PostToolUseInput,
    PreToolUseInput,
    PreToolUseOutput,
)
from handrail.sessions.hooks import (
    GUARDS,
    Hook,
    HookAnswer,
    HookContext,
    HookRunner,
    add_context,
    allow_tool,
    ask_tool,
    block,
    defer_tool,
    deny_tool,
    hook,
    run_async,
)

FIXTURES = Path(__file__).parents[1] / "fixtures" / "sessions"
RECORDED = [json.loads(line) for line in (FIXTURES / "hook_callbacks.jsonl").read_text().splitlines()]

TOOL_INPUT = {"command": "ls", "description": "t"}
INPUTS: dict[str, dict[str, Any]] = {
    "PreToolUse": {"tool_name": "Bash", "tool_input": TOOL_INPUT},
    "PermissionRequest": {"tool_name": "Bash", "tool_input": TOOL_INPUT},
    "UserPromptSubmit": {"prompt": "hello"},
}


def recorded_id(entry: dict[str, Any]) -> str:
    return f"{entry['version']}-{entry['request']['input']['hook_event_name']}"


def answering(event: str, answer: Any, **settings: Any) -> Hook:
    @hook(event, **settings)
    async def canned(input: Any) -> Any:
        return answer

    return canned


def raising(event: str, error: BaseException, **settings: Any) -> Hook:
    @hook(event, **settings)
    async def broken(input: Any) -> HookAnswer:
        raise error

    return broken


def callback(runner: HookRunner, event: str, **fields: Any) -> dict[str, Any]:
    """The request the CLI makes for the first hook of `event`."""
    (callback_id, *_) = runner.registration()[event][0]["hookCallbackIds"]
    sent = {"hook_event_name": event, **INPUTS.get(event, {}), **fields}
    return {"subtype": "hook_callback", "callback_id": callback_id, "input": sent, "tool_use_id": "toolu_1"}


async def run_once(item: Hook) -> dict[str, Any]:
    runner = HookRunner([item])
    return await runner.run(callback(runner, item.events[0]))


def refusal_in(answer: dict[str, Any]) -> str | None:
    """The reason, if the answer says no in the way its event wants it."""
    match answer:
        case {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"} as specific}:
            return str(specific["permissionDecisionReason"])
        case {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny"} as no}}:
            return str(no["message"])
        case {"decision": "block", "reason": str(reason)}:
            return reason
    return None


class TestDecorator:
    async def test_the_hook_can_still_be_called(self) -> None:
        @hook("PreToolUse", matcher="Bash", timeout=5)
        async def guard(input: PreToolUseInput) -> HookAnswer:
            return deny_tool(input.tool_name)

        assert (guard.events, guard.matcher, guard.timeout, guard.name) == (("PreToolUse",), "Bash", 5, "guard")
        assert await guard(PreToolUseInput(tool_name="Bash")) == deny_tool("Bash")

    @pytest.mark.parametrize(
        ("slip", "meant"),
        [("PreTooluse", "PreToolUse"), ("pretooluse", "PreToolUse"), ("PostToolUses", "PostToolUse"), ("stop", "Stop")],
    )
    def test_a_slip_in_the_name_of_an_event_is_an_error(self, slip: str, meant: str) -> None:
        with pytest.raises(InvalidOptions, match=f"did you mean '{meant}'"):
            hook(slip)

    @pytest.mark.parametrize("event", sorted(HOOK_EVENTS))
    def test_every_known_event_is_accepted_in_silence(self, event: str, caplog: pytest.LogCaptureFixture) -> None:
        assert answering(event, None).events == (event,)
        assert not caplog.records

    def test_an_unknown_event_is_accepted_with_a_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        assert answering("MoonRise", None).events == ("MoonRise",)
        assert "MoonRise" in caplog.text

    def test_what_cannot_be_a_hook_is_refused(self) -> None:
        async def no_parameters() -> None: ...

        async def three_parameters(a: Any, b: Any, c: Any) -> None: ...

        def not_async(input: Any) -> None: ...

        for function in (no_parameters, three_parameters, not_async):
            with pytest.raises(InvalidOptions):
                hook("Stop")(function)  # type: ignore[arg-type]
        with pytest.raises(InvalidOptions, match="already"):
            hook("Stop")(answering("PreToolUse", None))
        with pytest.raises(InvalidOptions, match="event"):
            hook()
        with pytest.raises(InvalidOptions, match="timeout"):
            hook("Stop", timeout=0)


class TestRegistration:
    def test_each_hook_gets_its_own_callback_and_the_cli_waits_longer_than_we_do(self) -> None:
        runner = HookRunner(
            [
                answering("PreToolUse", None, matcher="Bash", timeout=10),
                answering("PreToolUse", None),
                answering("Stop", None, timeout=0.5),
            ]
        )
        registered = runner.registration()
        first, second = registered["PreToolUse"]
        assert runner
        assert (first["matcher"], first["timeout"]) == ("Bash", 15)
        assert "matcher" not in second
        assert second["timeout"] == 65
        assert registered["Stop"][0]["timeout"] == 6
        ids = [name for entries in registered.values() for entry in entries for name in entry["hookCallbackIds"]]
        assert len(ids) == len(set(ids)) == 3

    def test_only_guards_ask_the_cli_to_block_when_no_answer_comes(self) -> None:
        runner = HookRunner([answering(event, None) for event in (*GUARDS, "PostToolUse")])
        blocking = {event for event, (entry,) in runner.registration().items() if entry.get("onFailure") == "block"}
        assert blocking == set(GUARDS)

    def test_without_hooks_there_is_nothing_to_register(self) -> None:
        assert not HookRunner()
        assert HookRunner().registration() == {}

    def test_a_function_that_is_no_hook_is_refused(self) -> None:
        with pytest.raises(InvalidOptions, match="@hook"):
            HookRunner([answering("Stop", None).function])  # type: ignore[list-item]

    async def test_one_function_can_serve_several_events(self) -> None:
        seen: list[str] = []

        @hook("PreToolUse", "PostToolUse")
        async def both(input: PreToolUseInput | PostToolUseInput, context: HookContext) -> None:
            seen.append(context.event)

        runner = HookRunner([both])
        for event in both.events:
            await runner.run(callback(runner, event))
        assert seen == ["PreToolUse", "PostToolUse"]


class TestInput:
    @pytest.mark.parametrize("entry", RECORDED, ids=recorded_id)
    async def test_recorded_inputs_arrive_typed_and_whole(
        self, entry: dict[str, Any], caplog: pytest.LogCaptureFixture
    ) -> None:
        request = entry["request"]
        event = request["input"]["hook_event_name"]
        seen: list[tuple[Any, HookContext]] = []

        @hook(event)
        async def watch(input: Any, context: HookContext) -> None:
            seen.append((input, context))

        runner = HookRunner([watch])
        (callback_id,) = runner.registration()[event][0]["hookCallbackIds"]
        assert await runner.run({**request, "callback_id": callback_id}) == {}

        ((typed, context),) = seen
        assert type(typed) is HOOK_EVENTS[event]
        assert (context.event, context.tool_use_id) == (event, request["tool_use_id"])
        assert context.raw == request["input"]
        known = {field.encode_name for field in msgspec.structs.fields(typed)} | {"hook_event_name"}
        assert request["input"].keys() <= known
        assert typed.session_id == request["input"]["session_id"]
        assert not caplog.records

    async def test_a_field_of_the_wrong_type_keeps_its_default_and_is_logged(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        seen: list[HookInput] = []

        @hook("Stop")
        async def watch(input: HookInput) -> None:
            seen.append(input)

        runner = HookRunner([watch])
        await runner.run(callback(runner, "Stop", stop_hook_active="yes", session_id="s", brand_new=[1]))
        (stop,) = seen
        assert (stop.session_id, getattr(stop, "stop_hook_active", None)) == ("s", False)
        assert "stop_hook_active" in caplog.text

    async def test_an_unknown_event_brings_the_plain_dict(self) -> None:
        seen: list[Any] = []

        @hook("MoonRise")
        async def watch(input: dict[str, Any]) -> None:
            seen.append(input)

        runner = HookRunner([watch])
        await runner.run(callback(runner, "MoonRise", phase="full"))
        assert seen == [{"hook_event_name": "MoonRise", "phase": "full"}]

    @pytest.mark.parametrize("broken", [{"tool_input": None}, {"tool_input": "ls"}, {"tool_name": 7}])
    async def test_a_guard_is_not_shown_a_call_it_cannot_judge(self, broken: dict[str, Any]) -> None:
        runner = HookRunner([answering("PreToolUse", allow_tool())])
        assert refusal_in(await runner.run(callback(runner, "PreToolUse", **broken)))


PRE = {"hookEventName": "PreToolUse"}
PERMISSION = {"hookEventName": "PermissionRequest"}


class TestAnswers:
    @pytest.mark.parametrize(
        ("event", "answer", "wire"),
        [
            ("Stop", None, {}),
            ("Stop", {}, {}),
            ("Stop", HookOutput(), {}),
            (
                "PreToolUse",
                allow_tool(reason="ok by hook"),
                {**PRE, "permissionDecision": "allow", "permissionDecisionReason": "ok by hook"},
            ),
            (
                "PreToolUse",
                allow_tool(updated_input={"command": "echo changed"}),
                {**PRE, "permissionDecision": "allow", "updatedInput": {"command": "echo changed"}},
            ),
            (
                "PreToolUse",
                deny_tool("denied by hook"),
                {**PRE, "permissionDecision": "deny", "permissionDecisionReason": "denied by hook"},
            ),
            ("PreToolUse", ask_tool(), {**PRE, "permissionDecision": "ask"}),
            (
                "PreToolUse",
                defer_tool("later"),
                {**PRE, "permissionDecision": "defer", "permissionDecisionReason": "later"},
            ),
            (
                "PreToolUse",
                PreToolUseOutput(updated_input={"command": "x"}),
                {**PRE, "updatedInput": {"command": "x"}},
            ),
            ("PreToolUse", add_context("CTX"), {**PRE, "additionalContext": "CTX"}),
            ("PreModelSwitch", deny_tool("stay"), {"hookEventName": "PreModelSwitch", "permissionDecision": "deny"}),
            ("UserPromptSubmit", add_context("CTX"), {"hookEventName": "UserPromptSubmit", "additionalContext": "CTX"}),
            (
                "PermissionRequest",
                allow_tool(),
                {**PERMISSION, "decision": {"behavior": "allow", "updatedInput": TOOL_INPUT}},
            ),
            (
                "PermissionRequest",
                allow_tool(updated_input={"command": "x"}),
                {**PERMISSION, "decision": {"behavior": "allow", "updatedInput": {"command": "x"}}},
            ),
            (
                "PermissionRequest",
                deny_tool("no"),
                {**PERMISSION, "decision": {"behavior": "deny", "message": "no"}},
            ),
            (
                "PermissionRequest",
                PermissionRequestOutput(decision=PermissionAllow(updated_input={"command": "x"})),
                {**PERMISSION, "decision": {"behavior": "allow", "updatedInput": {"command": "x"}}},
            ),
            ("UserPromptSubmit", block("prompt not allowed"), {"decision": "block", "reason": "prompt not allowed"}),
            ("Stop", block("please continue"), {"decision": "block", "reason": "please continue"}),
            ("PreToolUse", {"continue": False, "stopReason": "why"}, {"continue": False, "stopReason": "why"}),
            ("PreToolUse", run_async(5), {"async": True, "asyncTimeout": 5000}),
            ("PreToolUse", run_async(), {"async": True}),
            ("Notification", {"somethingNew": 1}, {"somethingNew": 1}),
        ],
    )
    async def test_wire_forms(self, event: str, answer: Any, wire: dict[str, Any]) -> None:
        sent = await run_once(answering(event, answer))
        assert sent.get("hookSpecificOutput", sent).items() >= wire.items()
        assert bool(sent) == bool(wire)

    async def test_an_event_nobody_modelled_may_have_an_output_of_its_own(self) -> None:
        answer = {"hookSpecificOutput": {"tide": "high"}, "systemMessage": "m"}
        assert await run_once(answering("MoonRise", answer)) == {
            "hookSpecificOutput": {"hookEventName": "MoonRise", "tide": "high"},
            "systemMessage": "m",
        }


MISUNDERSTOOD: list[tuple[str, Any]] = [
    ("PreToolUse", "deny"),
    ("PreToolUse", True),
    ("PreToolUse", {1: 2}),
    ("PreToolUse", {"reason": object()}),
    ("PreToolUse", {"reason": "\ud800"}),
    ("PreToolUse", {"hookSpecificOutput": "deny"}),
    ("PreToolUse", {"hookSpecificOutput": None}),
    ("PreToolUse", {"hookSpecificOutput": {"permissionDecision": "maybe"}}),
    ("PreToolUse", {"hookSpecificOutput": {"hookEventName": "PostToolUse"}}),
    ("PreToolUse", {"permissionDecision": "deny"}),
    ("PreToolUse", {"continue_": False}),
    ("PreToolUse", {"hookSpecificOutput": {"permission_decision": "deny"}}),
    ("PermissionRequest", {"hookSpecificOutput": {"decision": {"behavior": "perhaps"}}}),
    ("PermissionRequest", ask_tool()),
    ("PermissionRequest", block("no")),
    ("PermissionRequest", add_context("text")),
    ("UserPromptSubmit", deny_tool("no")),
    ("UserPromptSubmit", {"decision": "deny"}),
]


class TestFailure:
    @pytest.mark.parametrize("event", sorted(GUARDS))
    async def test_a_guard_that_raises_says_no(self, event: str, caplog: pytest.LogCaptureFixture) -> None:
        reason = refusal_in(await run_once(raising(event, ValueError("token=hunter2"))))
        assert reason is not None
        assert "guard did not work, not because anyone refused" in reason
        assert "broken failed with ValueError" in reason
        assert "hunter2" not in reason
        assert "hunter2" in caplog.text

    @pytest.mark.parametrize("event", sorted(GUARDS))
    async def test_a_guard_that_takes_too_long_says_no(self, event: str) -> None:
        cancelled = asyncio.Event()

        @hook(event, timeout=0.01)
        async def slow(input: Any) -> HookAnswer:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            return None

        reason = refusal_in(await run_once(slow))
        assert reason is not None
        assert "slow took more than 0.01 s" in reason
        assert cancelled.is_set()

    async def test_a_timeout_error_of_the_hooks_own_is_not_taken_for_ours(self) -> None:
        reason = refusal_in(await run_once(raising("PreToolUse", TimeoutError())))
        assert reason is not None
        assert "failed with TimeoutError" in reason

    @pytest.mark.parametrize(("event", "answer"), MISUNDERSTOOD)
    async def test_an_answer_of_a_guard_that_cannot_be_understood_says_no(self, event: str, answer: Any) -> None:
        assert refusal_in(await run_once(answering(event, answer)))

    @pytest.mark.parametrize("answer", ["text", {"decision": "perhaps"}, deny_tool("no"), {"reason": {1, object()}}])
    async def test_an_observer_that_cannot_be_understood_has_no_opinion(
        self, answer: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert await run_once(answering("PostToolUse", answer)) == {}
        assert "PostToolUse" in caplog.text

    @pytest.mark.parametrize("event", sorted(HOOK_EVENTS.keys() - GUARDS.keys()))
    async def test_an_observer_that_raises_is_logged(self, event: str, caplog: pytest.LogCaptureFixture) -> None:
        assert await run_once(raising(event, ValueError("why"))) == {}
        assert [record.levelno for record in caplog.records] == [logging.WARNING]

    async def test_cancelling_the_run_cancels_the_hook(self) -> None:
        started, cancelled = asyncio.Event(), asyncio.Event()

        @hook("PreToolUse")
        async def waits(input: Any) -> HookAnswer:
            started.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return None

        task = asyncio.create_task(run_once(waits))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert cancelled.is_set()

    async def test_a_cancellation_from_inside_the_hook_is_a_failure_of_the_hook(self) -> None:
        reason = refusal_in(await run_once(raising("PreToolUse", asyncio.CancelledError())))
        assert reason is not None
        assert "was cancelled" in reason

    async def test_a_callback_nobody_registered_is_refused_where_it_guards(self) -> None:
        runner = HookRunner()
        body = {"callback_id": "lost", "input": {"hook_event_name": "PreToolUse"}}
        assert refusal_in(await runner.run(body))
        assert await runner.run({"callback_id": "lost", "input": {"hook_event_name": "Stop"}}) == {}
        assert await runner.run({"callback_id": ["odd"], "input": None}) == {}

    async def test_hooks_run_side_by_side(self) -> None:
        both = asyncio.Barrier(2)

        @hook("PreToolUse")
        async def meets(input: Any) -> HookAnswer:
            await both.wait()
            return None

        runner = HookRunner([meets])
        body = callback(runner, "PreToolUse")
        assert list(await asyncio.gather(runner.run(body), runner.run(body))) == [{}, {}]


class TestOlderForm:
    """`hook_name` and `hook_data`, without a callback id."""

    async def test_without_a_hook_of_that_name_it_is_acknowledged(self) -> None:
        assert await HookRunner().run({"hook_name": "pre-commit", "hook_data": {}}) == {}
        runner = HookRunner([raising("PreToolUse", ValueError())])
        assert await runner.run({"hook_name": "pre-commit"}) == {}

    async def test_hooks_of_that_name_see_it_and_a_refusal_goes_first(self, caplog: pytest.LogCaptureFixture) -> None:
        runner = HookRunner(
            [
                answering("pre-commit", None),
                answering("pre-commit", {"systemMessage": "hm"}),
                answering("pre-commit", block("no")),
            ]
        )
        answer = await runner.run({"hook_name": "pre-commit", "hook_data": {"a": 1}})
        assert answer == {"decision": "block", "reason": "no"}

    async def test_the_data_is_the_input(self, caplog: pytest.LogCaptureFixture) -> None:
        seen: list[Any] = []

        @hook("pre-commit")
        async def watch(input: Any) -> None:
            seen.append(input)

        await HookRunner([watch]).run({"hook_name": "pre-commit", "hook_data": {"a": 1}})
        assert seen == [{"a": 1}]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WORDS = st.sampled_from(["allow", "deny", "ask", "defer", "approve", "block", "maybe"])
SPECIFIC = st.dictionaries(
    st.sampled_from(["hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "decision"]),
    WORDS | JSON | st.sampled_from(sorted(GUARDS)),
)
OUTPUTS = JSON | st.dictionaries(
    st.sampled_from(["continue", "decision", "reason", "hookSpecificOutput", "async"]), WORDS | JSON | SPECIFIC
)


class TestProperties:
    @given(st.sampled_from(sorted(GUARDS)), OUTPUTS)
    async def test_whatever_a_guard_returns_the_cli_understands_the_answer(self, event: str, output: Any) -> None:
        sent = await run_once(answering(event, output))
        msgspec.convert(msgspec.json.decode(msgspec.json.encode(sent)), HookOutput)
        assert sent.get("hookSpecificOutput", {}).get("hookEventName", event) == event
        if not sent:
            assert output in (None, {})

    @given(st.sampled_from(sorted(HOOK_EVENTS)), st.dictionaries(st.text(max_size=5), JSON))
    async def test_whatever_the_cli_sends_an_observer_is_called(self, event: str, extra: dict[str, Any]) -> None:
        seen: list[HookContext] = []

        @hook(event)
        async def watch(input: Any, context: HookContext) -> None:
            seen.append(context)

        runner = HookRunner([watch])
        body = callback(runner, event)
        assert await runner.run({**body, "input": {**extra, **body["input"]}}) == {}
        assert len(seen) == 1

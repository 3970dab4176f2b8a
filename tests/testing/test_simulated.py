"""The simulated CLI passes for the real one, and misbehaves exactly as told."""

import asyncio
import contextlib
import json
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.testing import simulated as sim
from handrail.testing.simulated import Answer, SimulatedCLI

TRANSCRIPTS = Path(__file__).parents[1] / "fixtures" / "transcripts"
STREAM_JSON = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
CONTROL = (*STREAM_JSON, "--permission-prompt-tool", "stdio", "--permission-mode", "default")
DEADLINE = 30


def user(text: str, uuid: str | None = None) -> dict[str, Any]:
    message = {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None}
    return message | ({"uuid": uuid} if uuid else {})


def request(request_id: str, subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": request_id, "request": {"subtype": subtype, **fields}}


def response(request_id: str, **body: Any) -> dict[str, Any]:
    inner = {"subtype": "success", "request_id": request_id, "response": body}
    return {"type": "control_response", "response": inner}


def kind(frame: dict[str, Any]) -> str:
    return f"{frame['type']}/{frame['subtype']}" if "subtype" in frame else str(frame["type"])


class Process:
    """A running simulated CLI, seen from its host."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.frames: list[dict[str, Any]] = []

    def write(self, *messages: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def write_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def end_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def read_line(self) -> bytes:
        assert self.process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            return await self.process.stdout.readline()

    async def next(self) -> dict[str, Any]:
        line = await self.read_line()
        assert line, "the simulated CLI ended"
        self.frames.append(json.loads(line))
        return self.frames[-1]

    async def until(self, wanted: str | Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Read up to a frame of this kind."""
        while True:
            frame = await self.next()
            if kind(frame) == wanted if isinstance(wanted, str) else wanted(frame):
                return frame

    async def response_to(self, request_id: str) -> dict[str, Any]:
        frame = await self.until(lambda frame: frame.get("response", {}).get("request_id") == request_id)
        answer: dict[str, Any] = frame["response"]
        return answer

    async def rest(self) -> list[dict[str, Any]]:
        """End input, and read what is left."""
        self.end_input()
        while line := await self.read_line():
            self.frames.append(json.loads(line))
        return self.frames

    async def exit_code(self) -> int:
        async with asyncio.timeout(DEADLINE):
            return await self.process.wait()

    async def stderr(self) -> str:
        assert self.process.stderr is not None
        async with asyncio.timeout(DEADLINE):
            return (await self.process.stderr.read()).decode()


@contextlib.asynccontextmanager
async def started(cli: SimulatedCLI, *arguments: str, **options: Any) -> AsyncIterator[Process]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *cli.argv, *(arguments or CONTROL), stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 26, **options
    )
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., SimulatedCLI]:
    def make(*script: sim.Step, **options: Any) -> SimulatedCLI:
        return SimulatedCLI(script or None, directory=tmp_path, **options)

    return make


Make = Callable[..., SimulatedCLI]


# Starting


@pytest.mark.parametrize("flag", ["--version", "-v"])
async def test_it_says_its_version(make: Make, flag: str) -> None:
    cli = make(version="2.1.197")
    async with started(cli, flag) as process:
        assert await process.read_line() == b"2.1.197 (Claude Code)\n"
        assert await process.exit_code() == 0
    assert cli.launches() == []


async def test_how_it_was_started_and_what_it_received_are_on_record(make: Make, tmp_path: Path) -> None:
    cli = make()
    (tmp_path / "elsewhere").mkdir()
    for text in ("first", "second"):
        environment = {"PATH": os.environ["PATH"], "WHO": text}
        async with started(cli, *CONTROL, "--resume=abc", env=environment, cwd=tmp_path / "elsewhere") as process:
            process.write(user(text))
            await process.rest()
            assert await process.exit_code() == 0
            pid = process.process.pid
    first, second = cli.launches()
    assert second.argv == [*CONTROL, "--resume=abc"]
    assert second.env["WHO"] == "second"
    assert second.cwd == str(tmp_path / "elsewhere")
    assert second.pid == pid
    assert first.received == [user("first")]
    assert cli.received() == [user("first"), user("second")]
    assert cli.find("user", content="second") == user("second")
    assert cli.find("user", content="third") is None


async def test_it_works_in_a_directory_with_an_awkward_name(tmp_path: Path) -> None:
    directory = tmp_path / 'it\'s a "long" $HOME' / ("x" * 150)
    directory.mkdir(parents=True)
    async with started(SimulatedCLI(directory=directory)) as process:
        process.write(user("hi"))
        assert (await process.until("result/success"))["result"] == "Hello from the simulated CLI."


async def test_a_new_one_in_the_same_place_starts_with_a_clean_record(make: Make) -> None:
    for text in ("one", "two"):
        cli = make()
        async with started(cli) as process:
            process.write(user(text))
            await process.rest()
        assert cli.received() == [user(text)]


@pytest.mark.slow
async def test_session_ids_follow_the_flags(make: Make) -> None:
    async def session(*flags: str) -> str:
        async with started(make(), *CONTROL, *flags) as process:
            process.write(user("hi"))
            return str((await process.until("system/init"))["session_id"])

    assert await session("--session-id", "abc") == "abc"
    assert await session("--resume=abc") == "abc"
    assert await session("--resume", "abc", "--fork-session") != "abc"
    assert await session() != await session()


async def test_one_shot_prompts_need_no_input(make: Make) -> None:
    for arguments in (("-p", "hello", "--output-format", "stream-json"), ("-p", "--verbose", "--", "hello")):
        async with started(make(sim.turn("you said $text")), *arguments) as process:
            assert (await process.until("result/success"))["result"] == "you said hello"
            assert await process.exit_code() == 0


def test_a_version_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"looks like 2\.1\.\d+, not 'newest'"):
        SimulatedCLI(directory=tmp_path, version="newest")


# Turns


async def test_by_default_every_message_gets_a_turn(make: Make) -> None:
    async with started(make()) as process:
        process.write(request("i", "initialize"))
        answer = await process.response_to("i")
        assert answer["subtype"] == "success"
        assert answer["response"]["commands"]
        for text in ("one", "two"):
            process.write(user(text))
            await process.until("result/success")
        frames = await process.rest()
        assert await process.exit_code() == 0
    assert [kind(frame) for frame in frames] == [
        "control_response",
        *["system/init", "assistant", "result/success"] * 2,
    ]
    assert len({frame["session_id"] for frame in frames[1:]}) == 1
    assert len({frame["uuid"] for frame in frames[1:]}) == 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "cases"),
    [
        ("2.1.325", ["p3d_permreq_first_allow", "06a_user_during_turn_std", "06h_partial_messages_std"]),
        ("2.1.120", ["p4a_sdk_mcp"]),
        ("2.1.62", ["p3b_pre_allow"]),
    ],
)
async def test_frames_have_no_member_that_the_real_ones_lack(make: Make, version: str, cases: list[str]) -> None:
    real: dict[str, set[str]] = {}
    for case in cases:
        for row in (TRANSCRIPTS / version / f"{case}.jsonl").read_text().splitlines():
            entry = json.loads(row)
            if entry["dir"] == "in":
                real.setdefault(kind(entry["raw"]), set()).update(entry["raw"])

    script = sim.turn("Let me see.", sim.tool("Bash", {"command": "ls"}, request_id="ask"))
    frames = []
    for uuid, flags in (("u-1", ()), (None, ("--include-partial-messages",))):
        async with started(make(script, version=version), *CONTROL, *flags) as process:
            process.write(request("i", "initialize"), user("go", uuid))
            await process.until("control_request")
            process.write(response("ask", behavior="allow", updatedInput={}))
            frames += await process.rest()
    checked = {kind(frame) for frame in frames if kind(frame) in real}
    assert checked >= {"system/init", "assistant", "user", "result/success", "control_request"}
    for frame in frames:
        assert set(frame) <= real.get(kind(frame), set(frame)), kind(frame)


async def test_results_do_not_start_with_their_type_on_new_versions(make: Make) -> None:
    for version, first in (("2.1.197", b'{"type":"result"'), ("2.1.325", b'{"subtype":"success"')):
        async with started(make(sim.turn("x"), version=version)) as process:
            process.write(user("hi"))
            lines = [await process.read_line() for _ in range(3)]
            assert lines[-1].startswith(first)


async def test_messages_sent_during_a_turn_are_merged(make: Make) -> None:
    async with started(make(sim.loop_turns("ok"))) as process:
        process.write(user("one", "u-1"), user("two", "u-2"), user("three", "u-3"))
        frames = await process.rest()
    results = [frame for frame in frames if frame["type"] == "result"]
    assert [frame["user_message_uuids"] for frame in results] == [["u-1"], ["u-2", "u-3"]]
    assert [frame["user_message_uuid"] for frame in results] == ["u-1", "u-3"]
    states: dict[str, list[str]] = {}
    for frame in frames:
        if frame["type"] == "command_lifecycle":
            states.setdefault(frame["command_uuid"], []).append(frame["state"])
    assert states == {uuid: ["queued", "started", "completed"] for uuid in ("u-1", "u-2", "u-3")}


async def test_old_versions_give_each_message_its_turn_and_say_nothing_about_it(make: Make) -> None:
    async with started(make(version="2.1.62")) as process:
        process.write(user("one", "u-1"), user("two", "u-2"), user("three", "u-3"))
        frames = await process.rest()
    assert [kind(frame) for frame in frames] == ["system/init", "assistant", "result/success"] * 3
    assert not any("user_message_uuid" in frame for frame in frames)


async def test_a_message_sent_twice_runs_once(make: Make) -> None:
    async with started(make(), *CONTROL, "--replay-user-messages") as process:
        process.write(user("one", "u-1"), user("one again", "u-1"))
        frames = await process.rest()
    echoes = [frame["message"]["content"] for frame in frames if frame.get("isReplay")]
    assert echoes == ["one", "one again"]
    assert sum(frame["type"] == "result" for frame in frames) == 1


async def test_text_is_streamed_if_the_host_wants_it(make: Make) -> None:
    async with started(make(sim.turn("a few words")), *CONTROL, "--include-partial-messages") as process:
        process.write(user("hi"))
        frames = await process.rest()
    events = [frame["event"]["type"] if frame["type"] == "stream_event" else frame["type"] for frame in frames]
    assert events == [
        "system",
        "system",
        "message_start",
        "content_block_start",
        *["content_block_delta"] * 3,
        "assistant",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "result",
    ]
    deltas = [frame["event"].get("delta", {}).get("text", "") for frame in frames if frame["type"] == "stream_event"]
    assert "".join(deltas) == "a few words"


async def test_a_turn_can_start_by_itself_and_fail(make: Make) -> None:
    failure = {"is_error": True, "result": "API Error: 500", "origin": {"kind": "task-notification"}}
    async with started(make(sim.turn(prompted=False, result=failure))) as process:
        result = await process.until("result/success")
        assert {name: result[name] for name in failure} == failure


async def test_queued_messages_can_be_withdrawn(make: Make) -> None:
    async with started(make(sim.turn(sim.sleep(60)), sim.loop_turns())) as process:
        process.write(user("one", "u-1"))
        await process.until("system/init")
        process.write(
            user("two", "u-2"), user("three", "u-3"), request("c", "cancel_async_message", message_uuid="u-2")
        )
        assert (await process.response_to("c"))["response"] == {"cancelled": True}
        process.write(request("d", "cancel_async_message", message_uuid="u-2"), request("i", "interrupt"))
        assert (await process.response_to("d"))["response"] == {"cancelled": False}
        assert (await process.response_to("i"))["response"] == {"still_queued": ["u-3"]}
        assert (await process.until("result/success"))["user_message_uuids"] == ["u-3"]


# Tools and asks


TOOL = {"command": "touch a", "description": "make a file"}


async def ask_and_answer(cli: SimulatedCLI, answer: dict[str, Any]) -> list[dict[str, Any]]:
    async with started(cli) as process:
        process.write(user("go"))
        ask = await process.until("control_request")
        process.write({"type": "control_response", "response": answer | {"request_id": ask["request_id"]}})
        return await process.rest()


def tool_result(frames: list[dict[str, Any]]) -> dict[str, Any]:
    blocks = [block for frame in frames if frame["type"] == "user" for block in frame["message"]["content"]]
    return next(block for block in blocks if block["type"] == "tool_result")


async def test_an_allowed_tool_runs(make: Make) -> None:
    cli = make(sim.turn(sim.tool("Bash", TOOL, output="made"), "Done."))
    answer = {"subtype": "success", "response": {"behavior": "allow", "updatedInput": TOOL}}
    frames = await ask_and_answer(cli, answer)
    call, ask, result = frames[1], frames[2], frames[3]
    assert call["message"]["content"][0]["input"] == TOOL
    assert ask["request"] == {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "display_name": "Bash",
        "input": TOOL,
        "description": "make a file",
        "permission_suggestions": [
            {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "localSettings"}
        ],
        "tool_use_id": call["message"]["content"][0]["id"],
    }
    assert tool_result([result])["content"] == "made"
    assert frames[-1]["permission_denials"] == []


async def test_a_denied_tool_fails_and_the_turn_goes_on(make: Make) -> None:
    cli = make(sim.turn(sim.tool("Bash", TOOL), "Never mind."))
    frames = await ask_and_answer(cli, {"subtype": "success", "response": {"behavior": "deny", "message": "no"}})
    result = tool_result(frames)
    assert (result["content"], result["is_error"]) == ("no", True)
    assert frames[-1]["result"] == "Never mind."
    assert [denial["tool_name"] for denial in frames[-1]["permission_denials"]] == ["Bash"]


@pytest.mark.parametrize(("version", "is_error", "words"), [("2.1.62", False, "stop"), ("2.1.325", True, "STOP")])
async def test_a_denial_with_interrupt_ends_the_turn(make: Make, version: str, is_error: bool, words: str) -> None:
    cli = make(sim.turn(sim.tool("Bash", TOOL), "unreachable"), sim.turn("next"), version=version)
    denial = {"behavior": "deny", "message": "stop", "interrupt": True}
    async with started(cli) as process:
        process.write(user("go"))
        ask = await process.until("control_request")
        process.write(response(ask["request_id"], **denial))
        result = await process.until("result/error_during_execution")
        process.write(user("and now"))
        assert (await process.until("result/success"))["result"] == "next"
    assert result["is_error"] is is_error
    assert words in tool_result(process.frames)["content"]
    texts = [frame["message"]["content"][0].get("text") for frame in process.frames if frame["type"] == "user"]
    assert "[Request interrupted by user for tool use]" in texts


async def test_an_error_response_fails_the_tool(make: Make) -> None:
    frames = await ask_and_answer(make(sim.turn(sim.tool("Bash", TOOL))), {"subtype": "error", "error": "boom"})
    assert tool_result(frames)["content"] == "Tool permission request failed: Error: boom"


@pytest.mark.parametrize(("version", "is_error"), [("2.1.197", True), ("2.1.325", False)])
async def test_only_new_versions_accept_an_allow_without_input(make: Make, version: str, is_error: bool) -> None:
    cli = make(sim.turn(sim.tool("Bash", TOOL)), version=version)
    frames = await ask_and_answer(cli, {"subtype": "success", "response": {"behavior": "allow"}})
    assert tool_result(frames)["is_error"] is is_error


async def test_rules_and_modes_in_an_answer_are_obeyed(make: Make) -> None:
    cli = make(sim.turn(sim.tool("Bash", TOOL), sim.tool("Bash", TOOL), sim.tool("Edit", {"file_path": "a"})))
    updates = [
        {"type": "addRules", "behavior": "allow", "rules": [{"toolName": "Bash", "ruleContent": "touch a"}]},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
    ]
    async with started(cli) as process:
        process.write(user("go"))
        ask = await process.until("control_request")
        process.write(response(ask["request_id"], behavior="allow", updatedInput=TOOL, updatedPermissions=updates))
        status = await process.until("system/status")
        assert status["permissionMode"] == "acceptEdits"
        second = await process.until("control_request")
        assert second["request"]["tool_name"] == "Edit"


async def test_nothing_is_asked_in_bypass_mode_or_without_anyone_to_ask(make: Make) -> None:
    script = sim.turn(sim.tool("Bash", TOOL, output="made"))
    async with started(make(script), *STREAM_JSON, "--dangerously-skip-permissions") as process:
        process.write(user("go"))
        assert tool_result(await process.rest())["content"] == "made"
    async with started(make(script), *STREAM_JSON) as process:
        process.write(user("go"))
        assert "haven't granted it" in tool_result(await process.rest())["content"]


async def test_asks_can_be_parallel_and_cancelled(make: Make) -> None:
    cli = make(
        sim.expect("user"),
        sim.ask("Read", {"file_path": "a"}, request_id="a", wait=False),
        sim.ask("Read", {"file_path": "b"}, request_id="b", wait=False, agent_id="agent-1"),
        sim.cancel("a"),
        sim.expect("control_response", request_id="b"),
        sim.send({"type": "result", "subtype": "success", "session_id": "$session"}),
    )
    async with started(cli) as process:
        process.write(user("go"))
        first, second, cancelled = [await process.next() for _ in range(3)]
        assert (first["request_id"], second["request"]["agent_id"]) == ("a", "agent-1")
        assert cancelled == {"type": "control_cancel_request", "request_id": "a"}
        process.write(response("a", behavior="allow"))
        await cli.wait_for("control_response", request_id="a")
        process.write(response("b", behavior="deny", message="no"))
        await process.until("result/success")
    assert cli.find("control_response", behavior="deny") == response("b", behavior="deny", message="no")


async def test_end_of_input_with_an_ask_pending_fails_the_tool(make: Make) -> None:
    async with started(make(sim.turn(sim.tool("Bash", TOOL), "Then not."))) as process:
        process.write(user("go"))
        await process.until("control_request")
        frames = await process.rest()
        assert await process.exit_code() == 0
    assert tool_result(frames)["content"] == "Tool permission stream closed before response received"
    assert frames[-1]["result"] == "Then not."


async def test_hooks_mcp_and_other_requests(make: Make) -> None:
    cli = make(
        sim.expect("user"),
        sim.hook("PreToolUse", {"tool_name": "Bash", "tool_input": TOOL}, tool_use_id="t-1", request_id="h"),
        sim.mcp("mine", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, request_id="m"),
        sim.request({"subtype": "elicitation", "message": "Who?", "session": "$session"}, request_id="e"),
        sim.exit(7),
        session_id="s-1",
    )
    hooks = {"PreToolUse": [{"matcher": "Read", "hookCallbackIds": ["cb-1"]}, {"hookCallbackIds": ["cb-2"]}]}
    async with started(cli) as process:
        process.write(request("i", "initialize", hooks=hooks), user("go"))
        hook = (await process.until("control_request"))["request"]
        assert hook["callback_id"] == "cb-2"
        assert hook["input"]["hook_event_name"] == "PreToolUse"
        assert hook["input"]["tool_input"] == TOOL
        assert hook["tool_use_id"] == "t-1"
        process.write(response("h"))
        mcp = (await process.until("control_request"))["request"]
        assert (mcp["server_name"], mcp["message"]["method"]) == ("mine", "tools/list")
        process.write(response("m"))
        elicitation = (await process.until("control_request"))["request"]
        assert elicitation == {"subtype": "elicitation", "message": "Who?", "session": "s-1"}
        process.write(response("e"))
        assert await process.exit_code() == 7


async def test_a_hook_that_nobody_registered_is_a_fault_of_the_script(make: Make) -> None:
    async with started(make(sim.hook("Stop"))) as process:
        assert await process.exit_code() == 1
        assert "registered no hook for Stop" in await process.stderr()


# Interrupts


@pytest.mark.slow
async def test_an_interrupt_ends_a_turn_midway(make: Make) -> None:
    cli = make(sim.turn(sim.say("one two three four", pause=0.3)), sim.turn("next"))
    async with started(cli, *CONTROL, "--include-partial-messages") as process:
        process.write(user("go", "u-1"))
        await process.until(lambda frame: "text_delta" in json.dumps(frame))
        process.write(user("more", "u-2"), request("i", "interrupt"))
        assert (await process.response_to("i"))["response"] == {"still_queued": ["u-2"]}
        partial = await process.until("assistant")
        assert partial["aborted"] is True
        assert "one two three four".startswith(partial["message"]["content"][0]["text"])
        result = await process.until("result/error_during_execution")
        assert (result["terminal_reason"], result["is_error"]) == ("aborted_streaming", True)
        assert (await process.until("result/success"))["user_message_uuids"] == ["u-2"]


async def test_an_interrupt_cancels_a_pending_ask_first(make: Make) -> None:
    async with started(make(sim.turn(sim.tool("Bash", TOOL)))) as process:
        process.write(user("go"))
        ask = await process.until("control_request")
        seen = len(process.frames)
        process.write(request("i", "interrupt"))
        result = await process.until("result/error_during_execution")
        assert [kind(frame) for frame in process.frames[seen:]] == [
            "control_cancel_request",
            "control_response",
            "user",
            "user",
            "result/error_during_execution",
        ]
        assert process.frames[seen]["request_id"] == ask["request_id"]
        assert result["terminal_reason"] == "aborted_tools"
        # A late answer does no harm.
        process.write(response(ask["request_id"], behavior="allow"))
        await process.rest()
        assert await process.exit_code() == 0


async def test_an_interrupt_right_behind_a_message_hits_its_turn(make: Make) -> None:
    async with started(make(sim.turn(sim.sleep(60)))) as process:
        process.write(user("go"), request("i", "interrupt"))
        await process.until("result/error_during_execution")


async def test_an_idle_interrupt_is_answered(make: Make) -> None:
    for version, body in (("2.1.325", {"still_queued": []}), ("2.1.197", None)):
        async with started(make(version=version)) as process:
            process.write(request("i", "interrupt"))
            answer = await process.response_to("i")
            assert (answer["subtype"], answer.get("response")) == ("success", body)


@pytest.mark.parametrize(("version", "frames"), [("2.1.37", 1), ("2.1.325", 3)])
async def test_sigint_ends_the_turn_and_the_process(make: Make, version: str, frames: int) -> None:
    async with started(make(sim.turn(sim.sleep(60)), version=version)) as process:
        process.write(user("go"))
        await process.until("system/init")
        process.process.send_signal(signal.SIGINT)
        assert await process.exit_code() == 0
        assert len(await process.rest()) == frames


# Control requests


async def test_control_requests_work(make: Make) -> None:
    async with started(make(sim.turn("hi"))) as process:

        async def ask(subtype: str, **fields: Any) -> Any:
            process.write(request(subtype, subtype, **fields))
            answer = await process.response_to(subtype)
            return answer.get("response") if answer["subtype"] == "success" else answer["error"]

        assert await ask("set_permission_mode", mode="plan") == {"mode": "plan"}
        assert (await process.next())["permissionMode"] == "plan"
        assert "must be one of" in await ask("set_permission_mode", mode="bogus")
        assert "not launched" in await ask("set_permission_mode", mode="bypassPermissions")
        assert await ask("set_model", model="haiku") == {"model": "haiku"}
        servers = {"probe": {"type": "stdio", "command": "x", "args": []}}
        assert await ask("mcp_set_servers", servers=servers) == {"added": ["probe"], "removed": [], "errors": {}}
        assert [server["name"] for server in (await ask("mcp_status"))["mcpServers"]] == ["probe"]
        assert await ask("mcp_reconnect", serverName="probe") is None
        assert await ask("mcp_toggle", serverName="nope", enabled=True) == "Server not found: nope"
        assert (await ask("get_context_usage"))["model"] == "haiku"
        assert await ask("get_binary_version") == {"version": "2.1.325", "buildTime": "2026-01-01T00:00:00Z"}
        assert await ask("rename_session", title="New") is None
        assert process.frames[-2]["title"] == "New"
        assert "no shell" in await ask("get_task_output", task_id="x")
        process.write(user("hi"))
        init = await process.until("system/init")
        assert (init["model"], init["permissionMode"]) == ("haiku", "plan")
        assert init["mcp_servers"] == [{"name": "probe", "status": "connected"}]
        assert await ask("end_session") is None
        assert await process.exit_code() == 0


async def test_unknown_requests(make: Make) -> None:
    async with started(make()) as process:
        process.write(request("u", "bogus"))
        assert await process.response_to("u") == {
            "subtype": "error",
            "error": "Unsupported control request subtype: bogus",
            "error_code": "unsupported_request",
            "request_id": "u",
        }
    async with started(make(version="2.1.62")) as process:
        process.write(request("u", "get_settings"))
        assert "error_code" not in await process.response_to("u")
    async with started(make(version="2.1.37")) as process:
        process.write(request("u", "get_settings"), request("i", "interrupt"))
        await process.response_to("i")
        assert len(process.frames) == 1


async def test_2_1_37_confirms_a_mode_twice_and_dies_of_what_it_does_not_know(make: Make) -> None:
    async with started(make(version="2.1.37")) as process:
        process.write(request("m", "set_permission_mode", mode="plan"), {"type": "control_cancel_request"})
        assert [frame["type"] for frame in await process.rest()] == ["control_response", "control_response", "system"]
        assert await process.exit_code() == 1
        assert "Expected message type" in await process.stderr()


@pytest.mark.parametrize(("version", "subtype"), [("2.1.120", "error"), ("2.1.325", "success")])
async def test_a_second_initialize_tells_what_is_pending(make: Make, version: str, subtype: str) -> None:
    async with started(make(sim.turn(sim.tool("Bash", TOOL)), version=version)) as process:
        process.write(request("one", "initialize"), user("go"))
        ask = await process.until("control_request")
        process.write(request("two", "initialize"))
        answer = await process.response_to("two")
        assert answer["subtype"] == subtype
        assert answer["pending_permission_requests"] == [ask]


async def test_answers_can_be_scripted(make: Make) -> None:
    answers = {
        "set_model": Answer.twice(),
        "get_settings": Answer.refuse("not today", code="busy"),
        "mcp_status": Answer(body={"mcpServers": "$session"}),
        "invented": Answer(body={"a": 1}),
        "interrupt": [Answer.never(), Answer()],
    }
    async with started(make(answers=answers, session_id="s-1")) as process:
        process.write(
            request("i1", "interrupt"),
            request("a", "set_model", model="x"),
            request("b", "get_settings"),
            request("c", "mcp_status"),
            request("d", "invented"),
            request("i2", "interrupt"),
            request("i3", "interrupt"),
        )
        frames = [frame["response"] for frame in await process.rest()]
    assert [frame["request_id"] for frame in frames] == ["a", "a", "b", "c", "d", "i2", "i3"]
    assert (frames[2]["error"], frames[2]["error_code"]) == ("not today", "busy")
    assert frames[3]["response"] == {"mcpServers": "s-1"}
    assert frames[4]["response"] == {"a": 1}


async def test_nothing_at_all_may_be_answered(make: Make) -> None:
    cli = make(answers={"*": Answer.never(), "interrupt": Answer()})
    async with started(cli) as process:
        process.write(request("a", "initialize"), request("b", "bogus"), request("i", "interrupt"))
        assert [frame["response"]["request_id"] for frame in await process.rest()] == ["i"]


@pytest.mark.slow
async def test_answers_can_be_late(make: Make) -> None:
    answers = {
        "set_model": Answer.late(lines=2),
        "get_settings": Answer.late(frame="result"),
        "mcp_status": Answer.late(seconds=0.2),
    }
    async with started(make(sim.turn("hi"), answers=answers)) as process:
        began = time.monotonic()
        process.write(request("time", "mcp_status"))
        await process.response_to("time")
        assert time.monotonic() - began >= 0.2
        process.write(request("lines", "set_model"), request("frame", "get_settings"), request("now", "interrupt"))
        await process.response_to("now")
        process.write(user("go"))
        frames = await process.rest()
    order = [frame["response"]["request_id"] if "response" in frame else frame["type"] for frame in frames]
    assert order == ["time", "lines", "now", "system", "assistant", "result", "frame"]


# Bytes


async def test_placeholders_are_filled_in(make: Make) -> None:
    cli = make(
        sim.expect("user", content="second"),
        sim.send({"uuid": "$user_uuid", "text": "$text", "cwd": "$cwd", "new": ["$uuid", "$uuid"], "x": "$unknown"}),
        sim.expect("control_request", subtype="interrupt"),
        sim.send({"type": "echo", "request_id": "$request_id", "version": "$version", "pid": "$pid"}),
    )
    async with started(cli) as process:
        process.write(user("first", "u-1"), user("second", "u-2"))
        frame = await process.until(lambda frame: "new" in frame)
        assert (frame["uuid"], frame["text"], frame["cwd"], frame["x"]) == ("u-2", "second", os.getcwd(), "$unknown")
        assert len(set(frame["new"])) == 2
        process.write(request("other", "mcp_status"), request("i", "interrupt"))
        assert await process.until("echo") == {
            "type": "echo",
            "request_id": "i",
            "version": "2.1.325",
            "pid": process.process.pid,
        }


@pytest.mark.slow
async def test_raw_bytes_are_written_piece_by_piece(make: Make) -> None:
    pieces = [b'{"type":', b'"x"}\n', b"\xff\x00garbage\n", b"no newline"]
    for pause in (0.05, 0.2, 1.0, 5.0):  # on a busy machine pieces that are near each other arrive together
        async with started(make(sim.send_raw(*pieces, pause=pause), sim.exit())) as process:
            assert process.process.stdout is not None
            first = await process.process.stdout.read(1000)
            assert first + await process.process.stdout.read() == b"".join(pieces)
        if first == pieces[0]:
            return
    pytest.fail("the pieces always arrived together")


async def test_huge_lines_have_the_size_that_was_asked_for(make: Make) -> None:
    async with started(make(sim.huge(3_000_000))) as process:
        line = await process.read_line()
        assert len(line) == 3_000_000
        assert kind(json.loads(line)) == "assistant"


@pytest.mark.slow
async def test_a_flood_arrives_in_order_and_requests_are_answered_meanwhile(make: Make) -> None:
    cli = make(sim.flood(20_000, {"type": "stream_event", "index": "$index"}))
    async with started(cli) as process:
        await process.next()
        process.write(request("i", "interrupt"))
        await process.response_to("i")
        at = len(process.frames)
        frames = await process.rest()
    assert at < 20_000
    assert [frame["index"] for frame in frames if "index" in frame] == list(range(20_000))


@pytest.mark.slow
async def test_a_blast_is_fast(make: Make, tmp_path: Path) -> None:
    line = json.dumps({"type": "stream_event", "text": "x" * 300}).encode() + b"\n"
    (tmp_path / "data").write_bytes(line * 10_000)
    cli = make(sim.blast(line, times=3), sim.blast(tmp_path / "data", times=20, chunk=65536), sim.exit())
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    async with started(cli) as process:
        assert process.process.stdout is not None
        count = 0
        while chunk := await process.process.stdout.read(1 << 18):
            count += chunk.count(b"\n")
        assert count == 200_003
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Processor time: how long it waited for a busy machine says nothing.
    assert count / (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) > 100_000


@pytest.mark.slow
async def test_a_blast_can_be_paced(make: Make) -> None:
    async with started(make(sim.blast(b"{}\n" * 20, lines_per_second=100), sim.exit())) as process:
        await process.next()
        began = time.monotonic()
        while await process.read_line():
            pass
        assert time.monotonic() - began > 0.1


async def test_large_and_split_input_is_understood(make: Make) -> None:
    async with started(make(sim.turn("got it"))) as process:
        line = json.dumps(user("x" * 5_000_000)).encode()
        process.write_raw(b"\n  \n" + line[:1000])
        process.write_raw(line[1000:] + b"\n")
        await process.until("result/success")


# Life and death


async def test_a_line_that_is_not_json_ends_the_process(make: Make) -> None:
    cli = make()
    async with started(cli) as process:
        process.write_raw(b"not json\n")
        assert await process.exit_code() == 1
        assert await process.stderr() == ("Error parsing streaming input line (type=unknown, 8 chars): SyntaxError\n")
    assert cli.received() == ["not json"]


async def test_exit_and_stderr(make: Make) -> None:
    async with started(make(sim.stderr("on fire\n"), sim.exit(42))) as process:
        assert await process.exit_code() == 42
        assert await process.stderr() == "on fire\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
async def test_die(make: Make, number: int) -> None:
    async with started(make(sim.die(number))) as process:
        assert await process.exit_code() == -number


async def test_silence_neither_reads_nor_answers_and_sigterm_ends_it(make: Make) -> None:
    cli = make(sim.send({"type": "ready"}), sim.silence())
    async with started(cli) as process:
        await process.until("ready")
        process.write(request("i", "interrupt"))
        process.end_input()
        process.process.terminate()
        assert await process.exit_code() == 143
        assert await process.read_line() == b""
    assert cli.received() == []


async def test_silence_can_read_and_can_end(make: Make) -> None:
    cli = make(sim.send({"type": "ready"}), sim.silence(reading=True))
    async with started(cli) as process:
        await process.until("ready")
        process.write(request("i", "interrupt"))
        await cli.wait_for("control_request")
        process.process.terminate()
        assert [kind(frame) for frame in await process.rest()] == ["ready"]
    async with started(make(sim.silence(0.01))) as process:
        process.write(request("i", "interrupt"))
        await process.response_to("i")


@pytest.mark.slow
async def test_sigterm_and_end_of_input_can_be_ignored(make: Make) -> None:
    cli = make(
        sim.ignore_sigterm(), sim.ignore_eof(), sim.send({"type": "ready"}), sim.sleep(0.2), sim.send({"type": "on"})
    )
    async with started(cli) as process:
        await process.until("ready")
        process.process.terminate()
        process.end_input()
        await process.until("on")
        assert process.process.returncode is None
        process.process.kill()
        assert await process.exit_code() == -signal.SIGKILL


@contextlib.contextmanager
def orphaned(cli: SimulatedCLI) -> Iterator[tuple[int, int]]:
    """Run the CLI to its end; gives the grandchild it left behind and the reading end of its output."""
    # asyncio waits for the pipes as well as for the process, and here the pipes stay open.
    with subprocess.Popen(cli.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.wait(DEADLINE) == 0
        (grandchild,) = cli.grandchildren()
        try:
            yield grandchild, process.stdout.fileno()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(grandchild, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("detached", [True, False])
def test_a_grandchild_outlives_the_cli_and_holds_its_output(make: Make, detached: bool) -> None:
    with orphaned(make(sim.spawn_grandchild(detached=detached), sim.exit())) as (grandchild, output):
        assert (os.getsid(grandchild) == grandchild) is detached
        readable, _, _ = select.select([output], [], [], 0.1)
        assert readable == []


def test_a_grandchild_can_let_go_of_the_output(make: Make) -> None:
    with orphaned(make(sim.spawn_grandchild(holds_stdout=False), sim.exit())) as (_, output):
        readable, _, _ = select.select([output], [], [], DEADLINE)
        assert readable == [output]
        assert os.read(output, 1) == b""


@pytest.mark.slow
@pytest.mark.parametrize("ignores", [True, False])
def test_a_grandchild_may_ignore_sigterm(make: Make, ignores: bool) -> None:
    with orphaned(make(sim.spawn_grandchild(ignores_sigterm=ignores), sim.exit())) as (grandchild, output):
        os.kill(grandchild, signal.SIGTERM)
        readable, _, _ = select.select([output], [], [], 0.3 if ignores else DEADLINE)
        assert bool(readable) is not ignores


async def test_repeat(make: Make) -> None:
    async with started(make(sim.repeat(3, sim.send({"type": "a"}), sim.send({"type": "b"})))) as process:
        assert [frame["type"] for frame in await process.rest()] == ["a", "b"] * 3


async def test_waiting_in_vain_says_for_what(make: Make) -> None:
    with pytest.raises(TimeoutError, match=r"received no user \{'content': 'hi'\} within 0\.01 s"):
        await make().wait_for("user", content="hi", timeout=0.01)

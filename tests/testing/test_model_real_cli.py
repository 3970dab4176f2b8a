"""The scripted model under the real CLI, driven by hand over stdio, with nothing of Handrail's client in between.

`HANDRAIL_CLI_VERSION` chooses another version than the pinned one.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail.testing.cli_cache import PINNED_VERSION, ClaudeCLI, claude_cli
from handrail.testing.cli_sandbox import cli_slot, isolated_env
from handrail.testing.model import ScriptedModel
from handrail.testing.replies import Reply, Text, Thinking, ToolUse

pytestmark = [pytest.mark.real_cli, pytest.mark.slow]

Frame = dict[str, Any]

FLAGS = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
DEADLINE = 60


@pytest.fixture(scope="module")
def cli() -> ClaudeCLI:
    return claude_cli(os.environ.get("HANDRAIL_CLI_VERSION", PINNED_VERSION))


@pytest.fixture
def subagent_tool(cli: ClaudeCLI) -> str:
    return "Agent" if int(cli.version.split(".")[2]) >= 120 else "Task"


class Running:
    """A CLI process and the frames it writes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin = process.stdin
        self._stdout = process.stdout
        self.frames: list[Frame] = []

    def send(self, frame: Frame) -> None:
        self._stdin.write(json.dumps(frame).encode() + b"\n")

    def say(self, text: str) -> None:
        self.send({"type": "user", "message": {"role": "user", "content": text}})

    async def until(self, kind: str) -> Frame:
        """Read up to the next frame of this type; permissions asked on the way are granted."""
        async with asyncio.timeout(DEADLINE):
            while True:
                frame = json.loads(await self._stdout.readline())
                self.frames.append(frame)
                if frame["type"] == "control_request" and kind != "control_request":
                    self.allow(frame)
                if frame["type"] == kind:
                    return frame

    async def turn(self, text: str) -> Frame:
        self.say(text)
        return await self.until("result")

    def allow(self, frame: Frame) -> None:
        answer = {"behavior": "allow", "updatedInput": frame["request"]["input"]}
        response = {"subtype": "success", "request_id": frame["request_id"], "response": answer}
        self.send({"type": "control_response", "response": response})


@asynccontextmanager
async def running(cli: ClaudeCLI, model: ScriptedModel, home: Path, *flags: str, **env: str) -> AsyncIterator[Running]:
    work = home / "work"
    work.mkdir(exist_ok=True)
    async with cli_slot():
        process = await asyncio.create_subprocess_exec(
            *cli.argv,
            *FLAGS,
            *("--permission-mode", "default", "--permission-prompt-tool", "stdio"),
            *flags,
            cwd=work,
            env=isolated_env(home, model, env),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=1 << 24,
        )
        try:
            yield Running(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), timeout=20)
            except TimeoutError:
                process.kill()
                await process.wait()


async def test_the_cli_is_the_version_asked_for(cli: ClaudeCLI, tmp_path: Path):
    process = await asyncio.create_subprocess_exec(
        *cli.argv, "--version", env=isolated_env(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await asyncio.wait_for(process.communicate(), DEADLINE)
    assert output.decode().startswith(cli.version)


async def test_a_text_turn(cli: ClaudeCLI, tmp_path: Path):
    async with (
        ScriptedModel([Reply(Thinking("Hm."), Text("Hello, you."), deltas=5)]) as model,
        running(cli, model, tmp_path, "--include-partial-messages") as session,
    ):
        result = await session.turn("Say hello")
    assert result["result"] == "Hello, you."
    assert result["is_error"] is False
    streamed = [frame["event"] for frame in session.frames if frame["type"] == "stream_event"]
    deltas = [event["delta"] for event in streamed if event["type"] == "content_block_delta"]
    assert len([delta for delta in deltas if delta["type"] == "text_delta"]) == 5
    (request,) = model.requests_in("main")
    assert request.prompt == "Say hello"
    assert request.outcome == "answered"
    assert not model.exhausted


async def test_a_tool_call_after_permission(cli: ClaudeCLI, tmp_path: Path):
    call = ToolUse("Bash", {"command": "echo written > note.txt && cat note.txt", "description": "Write"})
    async with ScriptedModel([Reply("Writing.", call), "Done."]) as model, running(cli, model, tmp_path) as session:
        session.say("Write a note")
        ask = await session.until("control_request")
        assert ask["request"]["subtype"] == "can_use_tool"
        assert ask["request"]["input"]["command"] == call.input["command"]
        session.allow(ask)
        result = await session.until("result")
    assert result["result"] == "Done."
    (tool_result,) = model.requests_in("main")[1].tool_results.values()
    assert "written" in json.dumps(tool_result["content"])
    assert (tmp_path / "work" / "note.txt").read_text() == "written\n"


async def test_several_tools_in_one_message(cli: ClaudeCLI, tmp_path: Path):
    (tmp_path / "work").mkdir()
    files = [tmp_path / "work" / f"{name}.txt" for name in "abc"]
    for file in files:
        file.write_text(f"this is {file.stem}")
    calls = [ToolUse("Read", {"file_path": str(file)}, id=f"toolu_{file.stem}") for file in files]
    async with ScriptedModel([Reply(*calls), "All read."]) as model, running(cli, model, tmp_path) as session:
        assert (await session.turn("Read them"))["result"] == "All read."
    results = model.requests_in("main")[1].tool_results
    assert results.keys() == {"toolu_a", "toolu_b", "toolu_c"}
    assert all(f"this is {key[-1]}" in json.dumps(result["content"]) for key, result in results.items())


def call_subagent(tool: str, prompt: str) -> ToolUse:
    return ToolUse(tool, {"description": "Count", "prompt": prompt, "subagent_type": "general-purpose"})


def mentions(model: ScriptedModel, text: str) -> bool:
    return any(text in json.dumps(request.messages) for request in model.requests_in("main"))


async def test_a_subagent_has_a_conversation_of_its_own(cli: ClaudeCLI, subagent_tool: str, tmp_path: Path):
    script = [call_subagent(subagent_tool, "count the stars"), "Main goes on.", "Main has the answer."]
    stars = [ToolUse("Bash", {"command": "echo 42", "description": "Count"}), "There are fourty-two stars."]
    async with ScriptedModel(script, conversations={"count the stars": stars}) as model:
        async with running(cli, model, tmp_path) as session:
            await session.turn("How many stars are there?")
            # A background agent reports in a turn of its own.
            while not mentions(model, "fourty-two"):
                await session.until("result")
        assert model.remaining("count the stars") == 0
        assert len(model.requests_in("count the stars")) == 2
        assert not model.exhausted


async def test_a_subagent_without_a_script_spends_nothing(cli: ClaudeCLI, subagent_tool: str, tmp_path: Path):
    script = [call_subagent(subagent_tool, "count the stars"), "Main goes on.", "Main has the answer."]
    async with ScriptedModel(script, default="nothing to say") as model:
        async with running(cli, model, tmp_path) as session:
            await session.turn("How many stars are there?")
            while not mentions(model, "nothing to say"):
                await session.until("result")
        assert len(model.requests_in("subagent")) == 1
        assert not model.exhausted


async def test_an_overload_is_retried(cli: ClaudeCLI, tmp_path: Path):
    async with ScriptedModel([Reply.error(529), "Here I am."]) as model, running(cli, model, tmp_path) as session:
        result = await session.turn("Hello?")
    assert result["result"] == "Here I am."
    assert [request.outcome for request in model.requests_in("main")] == ["failed", "answered"]


async def test_a_refused_key_is_an_error_result(cli: ClaudeCLI, tmp_path: Path):
    async with (
        ScriptedModel([Reply.error(401, "no such key", times=20)]) as model,
        running(cli, model, tmp_path, CLAUDE_CODE_MAX_RETRIES="1") as session,
    ):
        result = await session.turn("Hello?")
    assert result["is_error"] is True
    assert "401" in result["result"] or "API key" in result["result"]
    assert {request.outcome for request in model.requests_in("main")} == {"failed"}


@pytest.mark.parametrize("fault", [Reply("A long story", deltas=6, drop_after=3), Reply.drop()], ids=["mid", "first"])
async def test_a_dropped_connection_is_retried(cli: ClaudeCLI, tmp_path: Path, fault: Reply):
    async with ScriptedModel([fault, "The whole story."]) as model, running(cli, model, tmp_path) as session:
        result = await session.turn("Tell me")
    assert result["result"].endswith("The whole story.")
    assert [request.outcome for request in model.requests_in("main")] == ["dropped", "answered"]


async def test_an_interrupt_is_a_client_that_leaves(cli: ClaudeCLI, tmp_path: Path):
    story = Reply("A long story. " * 100, deltas=1000, delta_delay=0.02)
    async with ScriptedModel([story, "Next."]) as model, running(cli, model, tmp_path) as session:
        session.say("Tell me")
        await model.wait_for_requests(1)
        session.send({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}})
        await session.until("result")
        await model.wait_for(lambda model: model.requests_in("main")[0].outcome == "disconnected")
        assert (await session.turn("And now?"))["result"] == "Next."


async def test_a_resumed_session_goes_on_in_the_script(cli: ClaudeCLI, tmp_path: Path):
    async with ScriptedModel(["First.", "Second.", "Third."]) as model:
        async with running(cli, model, tmp_path) as session:
            first = await session.turn("One")
        async with running(cli, model, tmp_path, "--resume", first["session_id"]) as session:
            assert (await session.turn("Two"))["result"] == "Second."
        async with running(cli, model, tmp_path, "--resume", first["session_id"], "--fork-session") as session:
            assert (await session.turn("Three"))["result"] == "Third."
        assert [request.prompt for request in model.requests_in("main")] == ["One", "One", "One"]


async def test_compacting_spends_nothing(cli: ClaudeCLI, tmp_path: Path):
    async with ScriptedModel(["First.", "Second.", "Third."]) as model:
        async with running(cli, model, tmp_path) as session:
            await session.turn("One")
            await session.turn("Two")
            await session.turn("/compact")
            assert (await session.turn("Three"))["result"] == "Third."
        assert model.requests_in("side")
        assert "A scripted conversation" in json.dumps(model.requests_in("main")[2].messages)


async def test_an_agent_without_tools_is_the_main_conversation(cli: ClaudeCLI, tmp_path: Path):
    async with ScriptedModel(["Hello."]) as model, running(cli, model, tmp_path, "--tools", "") as session:
        assert (await session.turn("Hi"))["result"] == "Hello."
        assert model.requests_in("main")[0].tools == []

"""Background work: agents and commands that go on after the turn that started them."""

from __future__ import annotations

import asyncio
import re

import pytest

from handrail.errors import ProcessExited
from handrail.protocol.asks import Allow
from handrail.protocol.frames import Result, System, TaskNotification
from handrail.protocol.launch import Options
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import ToolUse

from .support import HeldAsks, Live, Observe, World, answer_to, bash, by_version, eventually, subagent, write

JOB = bash("until [ -e go ]; do sleep 0.05; done; touch finished", run_in_background=True)
"""A command that runs until the test lets it go."""

BASH_ALLOWED = Options(allowed_tools=["Bash"])

LONG_ENOUGH = 8.0
"""Longer than the 5 seconds after which 2.1.197 gives up on background work."""

STARTS_A_TURN = {"2.1.37": False, "2.1.52": True}
"""Whether the end of background work starts a turn; if not, the model hears of it with the next message at best."""


def origin(result: Result) -> str:
    return f"origin {result.origin.kind}" if result.origin else "no origin"


def task_frames(live: Live) -> str:
    names = [frame.subtype for frame in live.all(System) if "task" in frame.subtype]
    return ", ".join(dict.fromkeys(names)) or "none"


async def test_a_background_agent_that_needs_permission(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    job = {"the long job": [bash("mkdir made"), "The job is done."]}
    script = [subagent(cli, "the long job", run_in_background=True), "It has started.", "It is done."]
    asks = HeldAsks()
    async with world.live(script, on_ask=asks, conversations=job) as live:
        first = await live.client.run("Do it in the background")
        is_asked = by_version(cli, {"2.1.37": False, "2.1.197": True})
        running = list(live.client.background_tasks.values())
        if is_asked:
            assert first.result == "It has started."
            (ask,) = await asks.wait(1)
            assert ask.agent_id is not None
            asks.answer(ask, Allow())
            assert (await live.nth(2, Result)).from_background
            observe("background: an agent's tool that needs permission", "is asked, with agent_id")
        else:
            await live.model.wait_for_requests(2, conversation="the long job")
            assert not asks.asked
            observe("background: an agent's tool that needs permission", "is denied without being asked")
        assert (world.cwd / "made").exists() is is_asked
        when = {"It has started.": "at once", "It is done.": "after the agent"}
        said = [f"{when[result.result or '']} ({origin(result)})" for result in live.results]
        observe("background: results of a turn that starts an agent in the background", ", then ".join(said))
        assert running == (["A job"] if is_asked else [])
        assert not live.client.background_tasks


async def test_a_background_command_that_ends(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    async with world.live([JOB, "It runs.", *["It has finished."] * 5], options=BASH_ALLOWED) as live:
        assert (await live.client.run("Start it")).result == "It runs."
        reported = task_frames(live) != "none"
        assert list(live.client.background_tasks.values()) == (["Run a command"] if reported else [])
        (world.cwd / "go").touch()
        await eventually((world.cwd / "finished").exists)
        if by_version(cli, STARTS_A_TURN):
            second = await live.nth(2, Result)
            assert second.result == "It has finished."
            observe("background: a command that ends", f"a turn of its own ({origin(second)})")
        else:
            assert (await live.client.run("And now?")).result == "It has finished."
            assert len(live.results) == 2
            observe("background: a command that ends", "nothing happens until the next message")
            for _ in range(4):  # it is told with the first message after the CLI has noticed
                if task_frames(live) == "none":
                    await live.client.run("And now?")
        observe("background: frames about a command", task_frames(live))
        assert not live.client.background_tasks


async def test_a_message_while_a_background_command_runs(world: World, cli: ClaudeCLI) -> None:
    async with world.live([JOB, "It runs.", "Four.", "It has finished."], options=BASH_ALLOWED) as live:
        assert (await live.client.run("Start it")).result == "It runs."
        assert (await live.client.run("What is 2 + 2?")).result == "Four."
        (world.cwd / "go").touch()
        if by_version(cli, STARTS_A_TURN):
            assert (await live.nth(3, Result)).result == "It has finished."


async def test_interrupt_does_not_stop_a_background_command(world: World, observe: Observe) -> None:
    script = [JOB, "It runs.", write(world.cwd / "a.txt", "a"), "It has finished."]
    asks = HeldAsks()
    async with world.live(script, options=BASH_ALLOWED, on_ask=asks) as live:
        assert (await live.client.run("Start it")).result == "It runs."
        async with live.client.turn("Write a file") as turn:
            await asks.wait(1)
            await live.client.interrupt()
            await turn.wait()
        (world.cwd / "go").touch()
        await eventually((world.cwd / "finished").exists)
        observe("background: interrupt of another turn", "leaves the command running")


async def test_end_of_input_while_a_background_command_runs(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    async with world.live([JOB, "It runs.", "It has finished."], options=BASH_ALLOWED) as live:
        assert (await live.client.run("Start it")).result == "It runs."
        live.transport.close_input()
        waits = by_version(cli, {"2.1.37": False, "2.1.52": True, "2.1.197": False, "2.1.325": True})
        assert await stays(live, LONG_ENOUGH) is waits
        (world.cwd / "go").touch()
        with pytest.raises(ProcessExited) as ended:
            await read_to_the_end(live)
        assert ended.value.exit_code == 0
        fate = "waits for it and runs its turn" if len(live.results) == 2 else "does not wait for it"
        assert (len(live.results) == 2) is waits
        observe("background: end of input while a command runs", f"{fate}, exit code {ended.value.exit_code}")


async def stays(live: Live, seconds: float) -> bool:
    """Whether the CLI is still there after so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await read_to_the_end(live)
    except TimeoutError:
        return True
    except ProcessExited:
        return False
    raise AssertionError("the frames ended without an error")


async def read_to_the_end(live: Live) -> None:
    async for _ in live.client.frames():
        pass


TASK_ID = r"with ID: (\w+)"


async def test_a_task_can_be_stopped(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    async with world.live([JOB, "It runs.", "It was stopped."], options=BASH_ALLOWED) as live:
        assert (await live.client.run("Start it")).result == "It runs."
        found = re.search(TASK_ID, await live.tool_result_text())
        assert found
        answer = await answer_to(live, cli, "stop_task", task_id=found[1])
        # Whatever the CLI has to say about the task comes before this turn's result.
        assert (await live.client.run("And now?")).ok
        told = [frame.status for frame in live.all(TaskNotification)]
        observe("background: stop_task", f"{answer}; task_notification: {', '.join(told) or 'none'}")


async def test_a_task_that_the_model_stops_is_no_longer_running(world: World, observe: Observe) -> None:
    def stop(request: ModelRequest) -> ToolUse:
        found = re.search(TASK_ID, str(request.messages))
        assert found
        return ToolUse("TaskStop", {"task_id": found[1]})

    options = Options(allowed_tools=["Bash", "TaskStop"])
    async with world.live([JOB, stop, "Stopped."], options=options) as live:
        assert (await live.client.run("Start it and stop it")).result == "Stopped."
        told = [frame.status for frame in live.all(TaskNotification)]
        observe("background: a command that the model stops", f"task_notification: {', '.join(told) or 'none'}")
        assert not live.client.background_tasks

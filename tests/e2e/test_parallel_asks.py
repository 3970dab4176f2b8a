"""Several asks at once: from one message, and from subagents."""

from __future__ import annotations

from handrail.protocol.asks import Allow, Deny
from handrail.protocol.frames import Assistant
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.replies import Reply, ToolUse

from .support import Asks, HeldAsks, Observe, World, bash, by_version, outcome_of, subagent


async def test_three_asks_of_one_message_answered_in_reverse(world: World, observe: Observe) -> None:
    files = [world.outside / "one.txt", world.outside / "two.txt"]
    for file in files:
        file.write_text(f"this is {file.stem}")
    calls = [
        ToolUse("WebFetch", {"url": "http://127.0.0.1:9/", "prompt": "What is there?"}, id="toolu_page"),
        *(ToolUse("Read", {"file_path": str(file)}, id=f"toolu_{file.stem}") for file in files),
    ]
    asks = HeldAsks()
    async with world.live([Reply(*calls), "Done."], on_ask=asks) as live:
        async with live.client.turn("Look at all of these") as turn:
            await asks.wait(3)
            assert len(live.client.asks) == 3
            assert sorted(asks.tools) == ["Read", "Read", "WebFetch"]
            for ask in reversed(asks.asked):
                asks.answer(ask, Allow() if ask.tool_name == "Read" else Deny("not that one"))
            result = await turn.wait()
        assert result.result == "Done."
        told = live.model.requests_in()[-1].tool_results
        assert "not that one" in str(told["toolu_page"])
        assert "this is one" in str(told["toolu_one"])
        assert "this is two" in str(told["toolu_two"])
        observe("parallel asks: WebFetch, Read, Read in one message", f"{len(asks.asked)} pending at once")


async def test_two_bash_calls_of_one_message(world: World, observe: Observe) -> None:
    asks = HeldAsks()
    async with world.live([Reply(bash("mkdir one"), bash("mkdir two")), "Done."], on_ask=asks) as live:
        async with live.client.turn("Make two") as turn:
            (first,) = await asks.wait(1)
            await live.client.control("mcp_status")
            pending = len(live.client.asks)
            asks.answer(first, Allow())
            asks.answer((await asks.wait(2))[1], Allow())
            assert (await turn.wait()).ok
        assert (world.cwd / "two").is_dir()
        observe("parallel asks: Bash, Bash in one message", f"{pending} pending at once")


async def test_two_subagents_ask_at_the_same_time(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    jobs = {"the first job": [bash("mkdir one"), "First."], "the second job": [bash("mkdir two"), "Second."]}
    calls = [subagent(cli, prompt, run_in_background=False) for prompt in jobs]
    asks = HeldAsks()
    async with world.live([Reply(*calls), "Both are done."], on_ask=asks, conversations=jobs) as live:
        async with live.client.turn("Do both") as turn:
            await asks.wait(2)
            assert len(live.client.asks) == 2
            for ask in reversed(asks.asked):
                asks.answer(ask, Allow())
            result = await turn.wait()
        assert result.result == "Both are done."
        assert (world.cwd / "one").is_dir()
        assert (world.cwd / "two").is_dir()
        agents = {ask.agent_id for ask in asks.asked}
        assert None not in agents
        assert len(agents) == 2
        parents = {frame.parent_tool_use_id for frame in live.all(Assistant)} - {None}
        observe("subagents: two at once", f"{len(asks.asked)} asks pending, frames under {len(parents)} parent calls")


async def test_deny_with_interrupt_in_a_subagent(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    job = {"the only job": [bash("mkdir made"), "I was stopped."]}
    script = [subagent(cli, "the only job", run_in_background=False), "The agent was stopped."]
    asks = Asks(Deny("stop", interrupt=True))
    async with world.live([*script, "Still here."], on_ask=asks, conversations=job) as live:
        result = await live.client.run("Do it")
        assert not (world.cwd / "made").exists()
        ends_all = by_version(cli, {"2.1.37": True, "2.1.197": False})
        assert result.ok is not ends_all
        what = "ends the whole turn" if ends_all else "ends the subagent only"
        observe("subagents: deny + interrupt", f"{what}: {outcome_of(result)}")
        assert (await live.client.run("Are you there?")).ok

"""Control requests of the host: what the CLI answers, and what it then does."""

from __future__ import annotations

from handrail.protocol import control
from handrail.protocol.asks import Allow
from handrail.protocol.frames import ControlResponse, Init, Status
from handrail.testing.cli_cache import ClaudeCLI

from .support import Asks, HeldAsks, Observe, World, answer_to, bash, by_version, write


async def test_the_model_can_be_changed(world: World, observe: Observe) -> None:
    async with world.live(["One.", "Two."]) as live:
        await live.client.run("Go")
        await live.client.set_model("claude-haiku-4-5")
        await live.client.run("Go on")
        first, second = live.model.requests_in()
        assert first.model != second.model
        assert second.model == "claude-haiku-4-5"
        observe("control: set_model", f"used by the next turn, init says {live.all(Init)[1].model}")


async def test_the_permission_mode_can_be_changed(world: World, observe: Observe) -> None:
    script = [write(world.cwd / "a.txt", "a"), "One.", write(world.cwd / "b.txt", "b"), "Two."]
    asks = Asks(Allow())
    async with world.live(script, on_ask=asks) as live:
        await live.client.run("Write a")
        await live.client.set_permission_mode("acceptEdits")
        await live.client.run("Write b")
        assert asks.tools == ["Write"]
        assert (world.cwd / "b.txt").exists()
        said = [frame.permission_mode for frame in live.all(Status) if frame.permission_mode]
        observe("control: set_permission_mode", f"holds from then on, status: {', '.join(said) or 'none'}")
        observe("control: answers to one set_permission_mode", str(len(live.all(ControlResponse)) - 1))


async def test_bypassing_permissions_needs_the_launch_flag(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    async with world.live(["One."]) as live:
        answer = await answer_to(live, cli, "set_permission_mode", mode="bypassPermissions")
        assert (answer == "success") is by_version(cli, {"2.1.37": True, "2.1.120": False})
        observe("control: set_permission_mode bypassPermissions without the launch flag", answer)


async def test_context_usage(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    async with world.live(["One."]) as live:
        await live.client.run("Go")
        answer = await answer_to(live, cli, "get_context_usage")
        if by_version(cli, {"2.1.37": False, "2.1.120": True}):
            usage = await live.client.request(control.GetContextUsage())
            assert usage.max_tokens > usage.total_tokens > 0
            assert usage.categories
        observe("control: get_context_usage", answer)


async def test_mcp_status_without_servers(world: World) -> None:
    async with world.live() as live:
        assert (await live.client.request(control.McpStatus())).mcp_servers == ()


async def test_an_unknown_request(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    async with world.live(["Still here."]) as live:
        answer = await answer_to(live, cli, "make_coffee")
        assert answer.startswith(by_version(cli, {"2.1.37": "no answer", "2.1.52": "error: Unsupported"}))
        observe("control: an unknown subtype", answer)
        assert (await live.client.run("Are you there?")).result == "Still here."


async def test_keep_alive_is_taken_in_silence(world: World, observe: Observe) -> None:
    async with world.live(["Still here."]) as live:
        before = len(live.transport.log.frames)
        live.client.keep_alive()
        assert (await live.client.run("Are you there?")).result == "Still here."
        kinds = {frame.type for frame in live.transport.log.frames[before:]}
        assert "control_response" not in kinds
        observe("control: keep_alive", "taken, no answer")


async def test_environment_variables_of_the_running_cli(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    async with world.live([bash("echo [$COLOUR]"), "Done."], on_ask=Asks(Allow())) as live:
        live.client.update_environment_variables({"COLOUR": "green"})
        await live.client.run("Which colour?")
        applied = "[green]" in await live.tool_result_text()
        assert applied is by_version(cli, {"2.1.37": True, "2.1.197": False})
        observe("control: update_environment_variables", "applied" if applied else "ignored")


async def test_initialize_again_tells_what_is_pending(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    asks = HeldAsks()
    async with world.live([bash("mkdir made"), "Done."], on_ask=asks) as live:
        async with live.client.turn("Make a directory") as turn:
            (ask,) = await asks.wait(1)
            answer = await answer_to(live, cli, "initialize")
            (response,) = [
                frame.data["response"] for frame in live.transport.log.frames[1:] if frame.type == "control_response"
            ]
            listed = [item["request_id"] for item in response.get("pending_permission_requests", [])]
            assert len(asks.asked) == 1
            asks.answer(ask, Allow())
            assert (await turn.wait()).ok
        lists = "lists the pending ask" if listed == [ask.id] else "lists nothing"
        observe("control: initialize again", f"{answer}, {lists}")


async def test_end_session(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    async with world.live(["One."]) as live:
        await live.client.run("Go")
        observe("control: end_session", await answer_to(live, cli, "end_session"))

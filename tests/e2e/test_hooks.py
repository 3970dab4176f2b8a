"""Hooks as Python functions: guards before a tool, a prompt and a stop."""

from __future__ import annotations

import asyncio

from handrail.protocol.asks import Allow
from handrail.protocol.control import (
    PermissionRequestInput,
    PostToolUseInput,
    PreToolUseInput,
    StopInput,
    UserPromptSubmitInput,
)
from handrail.sessions.hooks import (
    HookAnswer,
    HookContext,
    add_context,
    allow_tool,
    block,
    defer_tool,
    deny_tool,
    hook,
)
from handrail.testing.cli_cache import ClaudeCLI

from .support import Asks, HeldAsks, Observe, World, bash, by_version, write

MAKE = "mkdir made"


async def test_pre_tool_use_allow_leaves_nothing_to_ask(world: World, observe: Observe) -> None:
    seen: list[PreToolUseInput] = []

    @hook("PreToolUse", matcher="Bash")
    async def allow(event: PreToolUseInput, context: HookContext) -> HookAnswer:
        assert context.tool_use_id == event.tool_use_id
        seen.append(event)
        return allow_tool(reason="always fine")

    asks = Asks(Allow())
    async with world.live([bash(MAKE), "Done."], on_ask=asks, hooks=[allow]) as live:
        result = await live.client.run("Make a directory")
        assert result.ok
        assert (world.cwd / "made").is_dir()
        (event,) = seen
        assert (event.tool_name, event.tool_input["command"]) == ("Bash", MAKE)
        assert event.session_id == result.session_id
        assert event.cwd == str(world.cwd)
        observe("hooks: PreToolUse allow", "runs, not asked" if not asks.asked else "runs after an ask")


async def test_pre_tool_use_deny(world: World, observe: Observe) -> None:
    @hook("PreToolUse", matcher="Bash")
    async def deny(event: PreToolUseInput) -> HookAnswer:
        return deny_tool("no new directories")

    asks = Asks(Allow())
    async with world.live([bash(MAKE), "All right."], on_ask=asks, hooks=[deny]) as live:
        assert (await live.client.run("Make a directory")).result == "All right."
        assert not (world.cwd / "made").exists()
        assert not asks.asked
        told = await live.tool_result_text()
        assert "no new directories" in told
        observe("hooks: PreToolUse deny", f"not run, the model is told {told!r}")


async def test_pre_tool_use_with_changed_input(world: World, observe: Observe) -> None:
    @hook("PreToolUse", matcher="Bash")
    async def change(event: PreToolUseInput) -> HookAnswer:
        return allow_tool(updated_input={**event.tool_input, "command": "mkdir other"})

    asks = Asks(Allow())
    async with world.live([bash(MAKE), "Done."], on_ask=asks, hooks=[change]) as live:
        assert (await live.client.run("Make a directory")).ok
        assert (world.cwd / "other").is_dir()
        assert not (world.cwd / "made").exists()
        observe("hooks: PreToolUse allow with changed input", "the changed call runs, not asked")
        assert not asks.asked


async def test_pre_tool_use_with_changed_input_and_no_decision(world: World, observe: Observe) -> None:
    @hook("PreToolUse", matcher="Bash")
    async def change(event: PreToolUseInput) -> HookAnswer:
        return {"hookSpecificOutput": {"updatedInput": {**event.tool_input, "command": "mkdir other"}}}

    asks = Asks(Allow())
    async with world.live([bash(MAKE), "Done."], on_ask=asks, hooks=[change]) as live:
        assert (await live.client.run("Make a directory")).ok
        assert [ask.input["command"] for ask in asks.asked] == ["mkdir other"]
        assert (world.cwd / "other").is_dir()
        observe("hooks: PreToolUse with changed input alone", "asked with the changed input")


async def test_a_pre_tool_use_hook_that_raises_denies(world: World) -> None:
    @hook("PreToolUse", matcher="Bash")
    async def fail(event: PreToolUseInput) -> HookAnswer:
        raise LookupError("the rules are gone")

    asks = Asks(Allow())
    async with world.live([bash(MAKE), "Oh."], on_ask=asks, hooks=[fail]) as live:
        assert (await live.client.run("Make a directory")).result == "Oh."
        assert not (world.cwd / "made").exists()
        assert not asks.asked
        assert "a guard did not work" in await live.tool_result_text()


async def test_a_pre_tool_use_hook_that_takes_too_long_denies(world: World) -> None:
    @hook("PreToolUse", matcher="Bash", timeout=0.1)
    async def sleep(event: PreToolUseInput) -> HookAnswer:
        await asyncio.Event().wait()
        return None

    asks = Asks(Allow())
    async with world.live([bash(MAKE), "Oh."], on_ask=asks, hooks=[sleep]) as live:
        assert (await live.client.run("Make a directory")).result == "Oh."
        assert not (world.cwd / "made").exists()
        assert "took more than 0.1 s" in await live.tool_result_text()


async def test_a_matcher_chooses_the_tools(world: World) -> None:
    called: list[str] = []

    @hook("PreToolUse", "PostToolUse", matcher="Write|Edit")
    async def watch(event: PreToolUseInput | PostToolUseInput) -> HookAnswer:
        called.append(f"{type(event).__name__} {event.tool_name}")
        return None

    script = [bash(MAKE), write(world.cwd / "a.txt", "a"), "Done."]
    async with world.live(script, on_ask=Asks(Allow()), hooks=[watch]) as live:
        assert (await live.client.run("Make and write")).ok
    assert called == ["PreToolUseInput Write", "PostToolUseInput Write"]


async def test_user_prompt_submit_adds_context(world: World, observe: Observe) -> None:
    @hook("UserPromptSubmit")
    async def tell(event: UserPromptSubmitInput) -> HookAnswer:
        return add_context(f"They said {event.prompt} in a hurry.")

    async with world.live(["Quick!"], hooks=[tell]) as live:
        assert (await live.client.run("Go")).result == "Quick!"
        assert "They said Go in a hurry." in str(live.model.requests_in()[0].messages)
        observe("hooks: UserPromptSubmit with context", "the model is told")


async def test_user_prompt_submit_blocks(world: World, observe: Observe) -> None:
    @hook("UserPromptSubmit")
    async def refuse(event: UserPromptSubmitInput) -> HookAnswer:
        return block("not before noon") if "secret" in event.prompt else None

    async with world.live(["Hello."], hooks=[refuse]) as live:
        blocked = await live.client.run("Tell me the secret")
        assert not live.model.requests_in()
        shown = "the reason" if "not before noon" in (blocked.result or "") else repr(blocked.result)
        observe("hooks: UserPromptSubmit block", f"the model is not asked; result {blocked.subtype} with {shown}")
        assert (await live.client.run("Hello")).result == "Hello."


async def test_stop_blocked_once_goes_on(world: World, observe: Observe) -> None:
    seen: list[StopInput] = []

    @hook("Stop")
    async def once_more(event: StopInput) -> HookAnswer:
        seen.append(event)
        return None if event.stop_hook_active else block("check it again")

    async with world.live(["Done.", "Checked."], hooks=[once_more]) as live:
        result = await live.client.run("Do it")
        assert result.result == "Checked."
        assert [event.stop_hook_active for event in seen] == [False, True]
        assert "check it again" in live.model.requests_in()[1].last_text
        observe("hooks: Stop block", f"the model goes on, {len(live.results)} result(s)")


async def test_a_permission_request_hook_and_the_ask(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    asks = HeldAsks()
    together = by_version(cli, {"2.1.37": False, "2.1.52": True})

    @hook("PermissionRequest", matcher="Bash")
    async def allow(event: PermissionRequestInput) -> HookAnswer:
        if together:
            await asks.wait(1)
        return allow_tool()

    async with world.live([bash(MAKE), "Done."], on_ask=asks, hooks=[allow]) as live:
        assert (await live.client.run("Make a directory")).result == "Done."
        assert (world.cwd / "made").is_dir()
        assert not live.client.asks
        assert len(asks.asked) == (1 if together else 0)
        called = "at the same time as the ask" if together else "before the ask, which then never comes"
        observe("hooks: PermissionRequest allow", f"called {called}")


async def test_a_deferred_tool_call(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    @hook("PreToolUse", matcher="Bash")
    async def defer(event: PreToolUseInput) -> HookAnswer:
        return defer_tool()

    asks = Asks(Allow())
    async with world.live([bash(MAKE), "Done."], on_ask=asks, hooks=[defer]) as live:
        result = await live.client.run("Make a directory")
        if by_version(cli, {"2.1.37": False, "2.1.120": True}):
            assert not asks.asked
            assert result.deferred_tool_use is not None
            assert result.deferred_tool_use.name == "Bash"
            observe("hooks: PreToolUse defer", f"the turn ends: stop_reason {result.stop_reason}")
        else:
            assert result.result == "Done."
            observe("hooks: PreToolUse defer", "asked" if asks.asked else "runs, not asked")

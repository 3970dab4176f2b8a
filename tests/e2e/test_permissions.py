"""Permission asks: what the answers do to the call, to the turn and to what follows."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec
import pytest

from handrail.protocol.asks import Allow, Answer, Ask, Deny
from handrail.protocol.control import AddRules, Rule, SetMode
from handrail.protocol.frames import Status
from handrail.testing.cli_cache import ClaudeCLI

from .support import Asks, Observe, World, bash, by_version, outcome_of, write

MAKE = "mkdir made"
"""A command that is asked for in every version, and leaves something to look at."""


async def test_an_allowed_tool_runs(world: World, observe: Observe) -> None:
    asks = Asks(Allow())
    async with world.live([bash(MAKE), "Done."], on_ask=asks) as live:
        result = await live.client.run("Make a directory")
        assert result.ok
        assert result.result == "Done."
        assert (world.cwd / "made").is_dir()
        (ask,) = asks.asked
        assert (ask.kind, ask.tool_name, ask.input["command"]) == ("permission", "Bash", MAKE)
        (call,) = live.tool_calls()
        assert ask.tool_use_id == call.id
        observe("permissions: fields of a Bash ask", ", ".join(sorted(ask.request.keys() - {"subtype"})))


async def test_a_tool_runs_with_the_input_it_was_allowed_with(world: World, observe: Observe) -> None:
    asks = Asks(lambda ask: Allow({**ask.input, "command": "mkdir other"}))
    async with world.live([bash(MAKE), "Done."], on_ask=asks) as live:
        assert (await live.client.run("Make a directory")).ok
        assert (world.cwd / "other").is_dir()
        assert not (world.cwd / "made").exists()
        (call,) = live.tool_calls()
        shown = "the original" if call.input["command"] == MAKE else "the changed call"
        observe("permissions: allow with changed input", f"the changed call runs, the assistant frame shows {shown}")


async def test_a_denied_tool_does_not_run_and_the_model_is_told_why(world: World, observe: Observe) -> None:
    async with world.live([bash(MAKE), "All right."], on_ask=Asks(Deny("not on a Sunday"))) as live:
        result = await live.client.run("Make a directory")
        assert result.result == "All right."
        assert not (world.cwd / "made").exists()
        assert "not on a Sunday" in await live.tool_result_text()
        (told,) = live.tool_results()
        assert told.is_error
        assert [denial.tool_name for denial in result.permission_denials] == ["Bash"]
        observe("permissions: deny", f"{outcome_of(result)}, permission_denials lists it")


async def test_deny_with_interrupt_ends_the_turn_and_the_session_survives(
    world: World, cli: ClaudeCLI, observe: Observe
) -> None:
    async with world.live([bash(MAKE), "Still here."], on_ask=Asks(Deny("stop", interrupt=True))) as live:
        result = await live.client.run("Make a directory")
        assert result.subtype == "error_during_execution"
        assert not result.ok
        assert result.is_error is by_version(cli, {"2.1.37": False, "2.1.120": True})
        observe("permissions: deny + interrupt", f"{outcome_of(result)}, session survives")
        assert (await live.client.run("Are you there?")).result == "Still here."


async def test_an_added_rule_answers_the_second_call(world: World, observe: Observe) -> None:
    job = world.cwd / "job.sh"
    job.write_text("#!/bin/sh\nmkdir $1\n")
    job.chmod(0o755)
    rule = AddRules(rules=[Rule(tool_name="Bash", rule_content="./job.sh:*")], behavior="allow", destination="session")
    asks = Asks(Allow(updated_permissions=[msgspec.to_builtins(rule)]))
    async with world.live([bash("./job.sh one"), bash("./job.sh two"), "Done."], on_ask=asks) as live:
        assert (await live.client.run("Make two directories")).ok
        assert (world.cwd / "two").is_dir()
        assert len(asks.asked) == 1
        observe("permissions: addRules for the session", "the second call is not asked")


async def test_a_mode_set_with_the_answer_holds_for_the_next_call(world: World, observe: Observe) -> None:
    mode = SetMode(mode="acceptEdits", destination="session")
    asks = Asks(Allow(updated_permissions=[msgspec.to_builtins(mode)]))
    script = [write(world.cwd / "a.txt", "a"), write(world.cwd / "b.txt", "b"), "Done."]
    async with world.live(script, on_ask=asks) as live:
        assert (await live.client.run("Write two files")).ok
        assert (world.cwd / "b.txt").read_text() == "b"
        assert asks.tools == ["Write"]
        status = await live.first(Status, lambda frame: frame.permission_mode is not None)
        observe("permissions: setMode with the answer", f"not asked again, status says {status.permission_mode}")


async def test_the_suggestions_of_an_ask_can_be_given_back(world: World, observe: Observe) -> None:
    asks = Asks(lambda ask: Allow(updated_permissions=ask.suggestions))
    script = [write(world.cwd / "a.txt", "a"), write(world.cwd / "b.txt", "b"), "Done."]
    async with world.live(script, on_ask=asks) as live:
        assert (await live.client.run("Write two files")).ok
        assert (world.cwd / "b.txt").read_text() == "b"
        assert asks.tools == ["Write"]
        offered = [f"{item['type']} {item.get('mode', '')}".strip() for item in asks.asked[0].suggestions]
        observe("permissions: suggestions for a Write", ", ".join(offered))


async def test_a_callback_that_raises_is_an_error_to_the_model_and_no_denial(world: World, observe: Observe) -> None:
    def fail(ask: Ask) -> Answer:
        raise RuntimeError("the card could not be shown")

    async with world.live([bash(MAKE), "Oh."], on_ask=Asks(fail)) as live:
        result = await live.client.run("Make a directory")
        assert result.result == "Oh."
        assert not (world.cwd / "made").exists()
        told = await live.tool_result_text()
        assert "the card could not be shown" in told
        observe("permissions: error response", told.partition(": Error")[0])


async def test_without_a_callback_asks_are_denied_with_a_reason(world: World) -> None:
    async with world.live([bash(MAKE), "I see."]) as live:
        result = await live.client.run("Make a directory")
        assert result.result == "I see."
        assert "nobody is there to answer" in await live.tool_result_text()
        assert not (world.cwd / "made").exists()


FLAT_FORMS: dict[str, tuple[dict[str, Any], Answer]] = {
    "allow": ({"subtype": "allow", "updatedInput": {"command": "mkdir flat"}}, Deny("the nested form was taken")),
    "deny": ({"subtype": "deny", "message": "the flat form was taken"}, Allow()),
}


@pytest.mark.parametrize("word", FLAT_FORMS)
async def test_an_answer_whose_subtype_is_the_decision_itself(world: World, observe: Observe, word: str) -> None:
    """Sends `response.subtype: allow|deny` first and the proper opposite after it, to see which of them counts."""
    flat, proper = FLAT_FORMS[word]
    session: list[Any] = []

    async def answer_twice(ask: Ask) -> Answer:
        (live,) = session
        response = {**flat, "request_id": ask.id, "toolUseID": ask.tool_use_id}
        live.transport.write(msgspec.json.encode({"type": "control_response", "response": response}) + b"\n")
        return proper

    async with world.live([bash(MAKE), "Done."], on_ask=answer_twice) as live:
        session.append(live)
        result = await live.client.run("Make a directory")
        assert result.result == "Done."
        told = await live.tool_result_text()
        assert not list(world.cwd.iterdir()), "nothing runs on an answer that the CLI does not understand"
        reason = re.split(r"[.\[]", told)[0].strip(" :")
        observe(f"permissions: response.subtype {word!r} instead of success", f"refused: {reason}")


async def test_a_slow_answer_holds_up_only_its_own_ask(world: World) -> None:
    decided = asyncio.Event()

    async def think(ask: Ask) -> Answer:
        await decided.wait()
        return Allow()

    async with world.live([bash(MAKE), "Done."], on_ask=Asks(think)) as live:
        async with live.client.turn("Make a directory") as turn:
            await live.model.wait_for_requests(1)
            await live.client.control("mcp_status")
            decided.set()
            assert (await turn.wait()).ok
        assert (world.cwd / "made").is_dir()

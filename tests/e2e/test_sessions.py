"""Durable sessions with the real CLI: journal, resume, fork, /clear, fresh contexts, interruptions, death, adoption."""

from __future__ import annotations

import os
import signal
from contextlib import aclosing

from handrail.events.model import (
    Action,
    AskClosed,
    AskOpened,
    Completed,
    Delta,
    Event,
    ModeChanged,
    ProcessExited,
    SessionRekeyed,
    Started,
    Text,
)
from handrail.policy.answers.plan import ApproveInFreshContext
from handrail.policy.storage.loading import Asked
from handrail.protocol.asks import Allow
from handrail.sessions.asks import Actor
from handrail.testing import Reply
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.replies import Text as Said
from handrail.testing.replies import ToolUse

from .support import Managed, Observe, World, events_of, next_event, version_of
from .test_plans import EXIT, write_plan

ADA = Actor("Ada", "terminal")


def bash(command: str) -> ToolUse:
    return ToolUse("Bash", {"command": command})


async def running_pid(here: Managed, session_id: str) -> int:
    starts = [start for start in await here.manager.store.starts(session_id) if start.pid]
    assert starts[-1].pid is not None
    return starts[-1].pid


async def test_a_run_with_a_permission_is_in_the_journal(world: World) -> None:
    script = [Reply(Said("I make it."), bash("touch made")), "Made."]
    async with world.managed(script) as here:
        session = await here.start()
        uuid = await session.send("Make the file", actor=ADA)
        ask = await next_event(session, AskOpened)
        assert (ask.kind, ask.ask["input"]["command"]) == ("permission", "touch made")
        await session.decide(ask.ask_id, Allow(), actor=ADA, digest=ask.digest)
        done = await session.wait(uuid)
        assert (done.ok, done.answer, done.run) == (True, "Made.", 1)
        (started,) = await events_of(session, Started)
        assert started.resume == (await session.row()).cli_session_id
        assert started.meta is not None
        assert started.meta.cli_version == world.cli.version
        actions = [event for event in await events_of(session, Action) if event.kind == "command"]
        assert [(event.phase, event.title, event.ok) for event in actions if event.phase != "updated"] == [
            ("started", "touch made", None),
            ("completed", "touch made", True),
        ]
        assert [event.text for event in await events_of(session, Text)] == ["I make it.", "Made."]
        (closed,) = await events_of(session, AskClosed)
        assert (closed.outcome, closed.by) == ("decided", "Ada")
        numbers = [event.seq for event in await events_of(session, Event)]
        assert numbers == list(range(1, len(numbers) + 1))
        assert (world.cwd / "made").exists()


async def test_resume_goes_on_with_the_conversation(world: World) -> None:
    async with world.managed(["One.", "Two."]) as here:
        session = await here.start()
        await session.run("The word is hat")
        before = (await session.row()).cli_session_id
        await session.stop()
        assert (await session.run("And now?")).answer == "Two."
        assert (await session.row()).cli_session_id == before
        assert "The word is hat" in str(here.model.requests_in()[-1].messages)
        assert [event.run for event in await events_of(session, Completed)] == [1, 2]


async def test_a_fork_is_a_session_of_its_own(world: World) -> None:
    async with world.managed(["One.", "Forked.", "Two."]) as here:
        session = await here.start()
        await session.run("The word is hat")
        fork = await here.manager.fork(session.id)
        assert (await fork.run("Another way")).answer == "Forked."
        mine, other = await session.row(), await fork.row()
        assert other.forked_from == mine.id
        assert other.cli_session_id not in (None, mine.cli_session_id)
        assert "The word is hat" in str(here.model.requests_in()[-1].messages)
        assert (await session.run("Go on")).answer == "Two."
        assert "Another way" not in str(here.model.requests_in()[-1].messages)


async def test_clear_gives_the_session_another_token(world: World, cli: ClaudeCLI) -> None:
    async with world.managed(["One.", "Two."]) as here:
        session = await here.start()
        await session.run("The word is hat")
        before = (await session.row()).cli_session_id
        await session.run("/clear")
        done = await session.run("And now?")
        after = (await session.row()).cli_session_id
        assert done.resume == after
        rekeyed = await events_of(session, SessionRekeyed)
        if version_of(cli) >= (2, 1, 120):
            assert after != before
            assert rekeyed[-1].resume == after
            assert (await here.manager.get(str(before))).id == session.id
        await session.stop()
        assert (await session.run("Still there?")).ok


async def test_a_plan_in_a_fresh_context_stays_one_session(world: World) -> None:
    script = [write_plan, EXIT, "Cut."]
    async with world.managed(script) as here:
        session = await here.start(permission_mode="plan")
        await session.send("Make a plan in great detail", actor=ADA)
        ask = await next_event(session, AskOpened)
        assert ask.kind == "plan"
        before = (await session.row()).cli_session_id
        await session.decide(ask.ask_id, ApproveInFreshContext("acceptEdits"), actor=ADA, digest=ask.digest)
        rekeyed = await next_event(session, SessionRekeyed)
        assert (rekeyed.previous, rekeyed.reason) == (before, "fresh context")
        done = await next_event(session, Completed, after=rekeyed.seq)
        assert (done.ok, done.answer) == (True, "Cut.")
        assert (await session.row()).cli_session_id == rekeyed.resume
        assert "great detail" not in str(here.model.requests_in()[-1].messages)


async def test_what_was_said_before_an_interruption_is_kept(world: World, observe: Observe) -> None:
    slow = Reply(Said("This is said, and then goes on for a long time. " * 40), deltas=400, delta_delay=0.05)
    async with world.managed([slow, "Later."]) as here:
        session = await here.start()
        uuid = await session.send("Talk")
        async with aclosing(session.subscribe()) as items:
            async for item in items:
                if isinstance(item, Delta):
                    break
        await session.interrupt()
        done = await session.wait(uuid)
        assert not done.ok
        texts = await events_of(session, Text)
        assert texts[0].text.startswith("T")
        observe(
            "turns: what was said when a turn is interrupted", "partial" if texts[0].partial else "told as if whole"
        )
        assert (await session.run("Again")).answer == "Later."


async def test_a_cli_that_is_killed_ends_its_run(world: World) -> None:
    async with world.managed([bash("tail -f /dev/null # a sleep would be refused"), "Back."]) as here:
        session = await here.start(permission_mode="bypassPermissions", dangerously_skip_permissions=True)
        uuid = await session.send("Wait")
        await next_event(session, Action)
        os.kill(await running_pid(here, session.id), signal.SIGKILL)
        done = await session.wait(uuid)
        assert not done.ok
        exited = await next_event(session, ProcessExited)
        assert exited.exit_code == -signal.SIGKILL
        assert len(await events_of(session, Started)) == len(await events_of(session, Completed)) == 1
        assert [event.ok for event in await events_of(session, Action) if event.phase == "completed"] == [False]
        assert (await session.run("Are you back?")).answer == "Back."


async def test_a_lost_ask_is_answered_by_resuming_and_allows_that_call_once(world: World) -> None:
    script = [bash("touch once"), bash("touch once"), bash("touch once"), "Done."]
    async with world.managed(script) as here:
        session = await here.start()
        await session.send("Touch it")
        ask = await next_event(session, AskOpened)
        await session.stop()
        after = (await session.row()).last_seq
        await session.decide(ask.ask_id, Allow(), actor=ADA, digest=ask.digest, resume=True)
        granted = await next_event(session, AskOpened, after=after)
        closed = await next_event(session, AskClosed, after=granted.seq)
        assert (closed.ask_id, closed.by) == (granted.ask_id, "Ada")
        # The same call once more is asked about again: the answer was for one call.
        third = await next_event(session, AskOpened, after=closed.seq)
        assert (await session.row()).status == "needs_you"
        await session.decide(third.ask_id, Allow(), actor=ADA, digest=third.digest)
        assert (await next_event(session, Completed, after=third.seq)).answer == "Done."


async def test_a_policy_holds_again_after_a_resume(world: World) -> None:
    async with world.managed([bash("touch kept"), "No.", bash("touch kept"), "Still no."]) as here:
        session = await here.manager.start(here.options, policy=Asked(deny=("Bash(touch:*)",)))
        await session.run("Touch it")
        await session.stop()
        await session.run("Touch it again")
        assert not (world.cwd / "kept").exists()


async def test_a_mode_that_is_changed_is_told(world: World) -> None:
    async with world.managed(["One."]) as here:
        session = await here.start()
        await session.set_permission_mode("acceptEdits")
        await session.run("hi")
        assert (await next_event(session, ModeChanged)).mode == "acceptEdits"


async def test_the_history_of_a_session_of_claude_code_itself(world: World) -> None:
    async with world.managed([Reply(Said("I look."), bash("true")), "Seen.", "Two."]) as here:
        session = await here.start(allowed_tools=["Bash(true)"])
        await session.run("Look at it")
        token = str((await session.row()).cli_session_id)
        await session.stop()
        await session.delete()
        (found,) = [each for each in await here.manager.adoptable() if each.session_id == token]
        assert found.cwd == str(world.cwd)
        adopted = await here.manager.get(token, adopt=True)
        assert [event.text for event in await events_of(adopted, Text)] == ["I look.", "Seen."]
        with_cli = await here.manager.resume(adopted.id, cli_path=str(world.cli.path), use_api_billing=True)
        assert (await with_cli.run("And now?")).answer == "Two."
        assert "Look at it" in str(here.model.requests_in()[-1].messages)

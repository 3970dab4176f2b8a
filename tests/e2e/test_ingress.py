"""A CLI that connects to us by itself (`--sdk-url`): the real one, through our servers, on good and on bad networks.

Some versions do that, the newer ones refuse: each test is for one kind of them.
"""

from __future__ import annotations

import asyncio
import stat
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from handrail.errors import DialRefused
from handrail.events.model import AskOpened, Text
from handrail.protocol import control
from handrail.protocol.asks import Allow, Deny
from handrail.protocol.frames import Init, StreamEvent
from handrail.protocol.options import Options
from handrail.sessions.asks import Actor
from handrail.testing.cli_cache import ClaudeCLI, CLIUnavailable, claude_cli
from handrail.testing.cli_sandbox import cli_slot, isolated_env
from handrail.testing.model import ScriptedModel
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import Reply, ReplyLike
from handrail.testing.replies import Text as Said
from handrail.transports.ingress import transport

from ..server.support import served_hub
from .dialling import Dialled, at_hub, dialled, dialling_in, frames_of, idle, new_line, seated, waiting
from .middle import Middle, as_bytes, as_it_is, in_pieces, joined_with_others
from .support import GUARD, Asks, HeldAsks, Observe, World, answer_to, bash, events_of, next_event, write

ADA = Actor("Ada")
WEBSOCKET = Options(transport="websocket", include_partial_messages=True)


@pytest.mark.usefixtures("dialling_cli")
async def test_a_conversation(world: World, cli: ClaudeCLI) -> None:
    slow = Reply(Said("This goes on for a long time. " * 40), deltas=400, delta_delay=0.05)
    tools = (bash("mkdir made"), "Two.", bash("mkdir other"), "Three.")
    script = ["One.", *tools, "Four.", "Five.", "Six.", slow, "Last."]
    asks = Asks(Allow(), Deny("not on a Sunday"))
    async with dialled(world, script, options=WEBSOCKET, on_ask=asks) as live:
        nothing_is_said_before_the_first_message(live)
        assert (await live.client.run("Go")).result == "One."
        assert (await live.client.run("Make a directory")).result == "Two."
        assert (world.cwd / "made").is_dir()
        assert (await live.client.run("Make another")).result == "Three."
        assert "not on a Sunday" in await live.tool_result_text(2)
        for framing, answer in ((in_pieces, "Four."), (joined_with_others, "Five."), (as_bytes, "Six.")):
            live.middle.framing = framing
            assert (await live.client.run("Go on, über alles")).result == answer
        live.middle.framing = as_it_is
        await requests_are_answered(live, cli)
        async with live.client.turn("Talk") as turn:
            await live.nth(len(live.all(StreamEvent)) + 1, StreamEvent)
            await live.client.interrupt()
            assert not (await turn.wait()).ok
        live.client.keep_alive()
        assert (await live.client.run("Still there?")).result == "Last."
        assert live.middle.connections == 1
        assert live.notices == []


def nothing_is_said_before_the_first_message(live: Dialled) -> None:
    assert [frame["type"] for frame in live.middle.from_cli] == ["control_response"]
    assert frames_of(live.middle.to_cli, "control_request")[0]["request"]["subtype"] == "initialize"
    assert live.all(Init) == []


async def requests_are_answered(live: Dialled, cli: ClaudeCLI) -> None:
    """One of each common kind."""
    await live.client.set_model("claude-haiku-4-5")
    await live.client.set_permission_mode("acceptEdits")
    await live.client.set_permission_mode("default")
    assert (await live.client.request(control.McpStatus())).mcp_servers == ()
    assert await answer_to(live, cli, "set_max_thinking_tokens", max_thinking_tokens=None) == "success"
    assert (await answer_to(live, cli, "rewind_files", user_message_id="nothing")).startswith("error")
    assert (await answer_to(live, cli, "make_coffee")).startswith("no answer" if cli.version == "2.1.37" else "error")


# ---------------------------------------------------------------- closed

CODES = (1000, 1001, 1006, 1011, 4000, 4999, 1002, 4001, 4003)
COMES_BACK = "connects again, and takes the answer to what it asked before"


@pytest.mark.usefixtures("dialling_cli")
async def test_closed_with_each_code_while_a_permission_is_pending(world: World, observe: Observe) -> None:
    left = list(CODES)
    while left:
        asks = HeldAsks()
        script = [*(bash(f"mkdir made-{code}") for code in left), "Done."]
        async with dialled(world, script, options=WEBSOCKET, on_ask=asks) as live, live.client.turn("Make all") as turn:
            for number, code in enumerate(tuple(left), 1):
                ask = (await asks.wait(number))[-1]
                left.remove(code)
                outcome = await after_closing(live, code)
                observe(f"websocket: closed with {code}", outcome)
                if outcome != COMES_BACK:
                    live.transport.end(live.process.returncode)
                    break
                asks.answer(ask, Allow())
            else:
                assert (await turn.wait()).result == "Done."
            assert live.notices == []


async def after_closing(live: Dialled, code: int) -> str:
    """What the CLI does with a connection that is closed."""
    back = asyncio.create_task(live.middle.connected(live.middle.connections + 1))
    end = asyncio.create_task(live.process.wait())
    try:
        await live.middle.close(code)
        await asyncio.wait((back, end), return_when=asyncio.FIRST_COMPLETED)
        return f"ends with exit code {end.result()}" if end.done() else COMES_BACK
    finally:
        back.cancel()
        end.cancel()


# ---------------------------------------------------------------- away


class Held:
    """A reply of the model that comes when it is let go."""

    def __init__(self, reply: ReplyLike) -> None:
        self._reply = reply
        self._asked = asyncio.Event()
        self._let_go = asyncio.Event()

    async def __call__(self, request: ModelRequest) -> ReplyLike:
        self._asked.set()
        await self._let_go.wait()
        return self._reply

    async def asked(self) -> None:
        await self._asked.wait()

    def let_go(self) -> None:
        self._let_go.set()


async def away(middle: Middle, held: Held, seconds: float) -> None:
    """Let the server be away for a while, in which the model says what it held back."""
    await held.asked()
    await middle.go_away()
    held.let_go()
    await asyncio.sleep(seconds)  # what is measured: a server that is not there for so long
    await middle.come_back()
    await middle.connected(2)


@pytest.mark.usefixtures("dialling_cli")
async def test_the_server_is_away_for_five_seconds(world: World, tmp_path: Path, observe: Observe) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(a_turn_ends_meanwhile(world, observe))
        tasks.create_task(a_permission_is_asked_for_meanwhile(another(world, tmp_path / "asked"), observe))
        tasks.create_task(a_hook_is_called_meanwhile(another(world, tmp_path / "called")))


def another(world: World, directory: Path) -> World:
    directory.mkdir()
    return World(world.cli, directory)


async def a_turn_ends_meanwhile(world: World, observe: Observe) -> None:
    held = Held("Said in the gap.")
    async with at_hub(world, [held, "Later."]) as here:
        first = await here.session.send("Go")
        await away(here.middle, held, 5.0)
        # By the time it answers on the new connection, it has sent what it sends again.
        await here.middle.until(lambda: len(frames_of(here.middle.from_cli, "control_response")) == 2)
        sent_again = bool(frames_of(here.middle.from_cli, "result"))
        observe("websocket: what it said while the server was away", "is sent again" if sent_again else "is lost")
        if sent_again:
            assert (await here.session.wait(first)).answer == "Said in the gap."
        else:
            await here.noted("never arrived")
        assert (await here.session.run("Go on")).answer == "Later."
        said = [event.text for event in await events_of(here.session, Text)]
        assert said == (["Said in the gap.", "Later."] if sent_again else ["Later."])
        assert len(await here.notes()) == (0 if sent_again else 1)


async def a_permission_is_asked_for_meanwhile(world: World, observe: Observe) -> None:
    held, asks = Held(bash("mkdir made")), HeldAsks()
    async with dialled(world, [held, "Done."], on_ask=asks) as live, live.client.turn("Make a directory") as turn:
        await away(live.middle, held, 5.0)
        (ask,) = await asks.wait(1)
        asks.answer(ask, Allow())
        assert (await turn.wait()).result == "Done."
        assert (world.cwd / "made").is_dir()
        assert len(asks.asked) == 1
        sent_again = bool(frames_of(live.middle.from_cli, "control_request"))
        outcome = "is sent again" if sent_again else "is told when it is asked what is pending"
        observe("websocket: what it asked for while the server was away", outcome)


async def a_hook_is_called_meanwhile(world: World) -> None:
    """That of a policy, as a rule. The CLI neither calls it again nor tells that it waits for it."""
    held = Held(bash("mkdir made"))
    async with at_hub(world, [held, "Later."]) as here:
        uuid = await here.session.send("Make a directory")
        await away(here.middle, held, 1.5)
        await here.noted("never arrived")
        await here.session.interrupt()
        assert not (await here.session.wait(uuid)).ok
        assert (await here.session.run("Go on")).answer == "Later."


@pytest.mark.usefixtures("dialling_cli")
async def test_away_for_longer_than_it_is_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WINDOW", "SHORT_WINDOW"):
        monkeypatch.setattr(transport, name, 0.2)
    async with at_hub(world, [bash("mkdir made"), "Done.", "Later."]) as here:
        await here.session.send("Make a directory")
        ask = await next_event(here.session, AskOpened)
        await here.middle.close(1006)
        await waiting(here.session)
        assert await here.session.asks() == []
        await here.middle.connected(2)
        again = await next_event(here.session, AskOpened, after=ask.seq)
        await here.session.decide(again.ask_id, Allow(), actor=ADA, digest=again.digest)
        await idle(here.session)
        assert (world.cwd / "made").is_dir()
        assert (await here.session.run("Go on")).answer == "Later."


@pytest.mark.usefixtures("dialling_cli")
async def test_a_hub_that_is_restarted(world: World) -> None:
    script: list[ReplyLike] = [bash("mkdir made"), "Done.", "Later."]
    async with ScriptedModel(script) as model, cli_slot(), asyncio.timeout(GUARD), AsyncExitStack() as lasting:
        async with served_hub(world.home.parent) as hub:
            line = await new_line(hub, cwd=str(world.cwd))
            middle = await lasting.enter_async_context(Middle(line["url"]))
            await lasting.enter_async_context(dialling_in(world, model, line, middle.url))
            session = hub.manager.session(line["id"])
            await seated(session)
            await session.send("Make a directory")
            ask = await next_event(session, AskOpened)
        async with served_hub(world.home.parent) as hub:
            middle.leads_to(hub.url)
            session = hub.manager.session(line["id"])
            again = await next_event(session, AskOpened, after=ask.seq)
            await session.decide(again.ask_id, Allow(), actor=ADA, digest=again.digest)
            await idle(session)
            assert (world.cwd / "made").is_dir()
            assert (await session.run("Go on")).answer == "Later."


# ---------------------------------------------------------------- sends by POST


@pytest.mark.usefixtures("dialling_cli")
async def test_hybrid(world: World, observe: Observe) -> None:
    script = [Reply(Said("I write."), write(world.cwd / "a.txt", "a")), bash("mkdir made"), "Done.", "Later."]
    async with at_hub(world, script, transport="hybrid") as here:
        uuid = await here.session.send("Write it")
        ask = await next_event(here.session, AskOpened)
        assert "no diff can be shown" in str((await here.session.asks())[0].body)
        await here.session.decide(ask.ask_id, Allow(), actor=ADA, digest=ask.digest)
        ask = await next_event(here.session, AskOpened, after=ask.seq)
        await here.session.decide(ask.ask_id, Deny("no"), actor=ADA, digest=ask.digest)
        assert (await here.session.wait(uuid)).answer == "Done."
        assert (await here.session.run("Go on")).answer == "Later."
        assert [event.text for event in await events_of(here.session, Text)] == ["I write.", "Done.", "Later."]
        assert here.middle.from_cli == []
        every_answer_followed_its_acknowledgement(here.middle)
        most = max(len(post["events"]) for post in here.middle.posts)
        observe("websocket: events in a POST of the hybrid transport", "one" if most == 1 else "several")


def every_answer_followed_its_acknowledgement(middle: Middle) -> None:
    events = [event for post in middle.posts for event in post["events"]]
    asked = [event["request_id"] for event in frames_of(events, "control_request")]
    assert len(asked) >= 2
    for request in asked:
        assert middle.trail.index(("acknowledged", request)) < middle.trail.index(("answered", request))


# ---------------------------------------------------------------- started by us


@pytest.mark.usefixtures("dialling_cli")
async def test_a_session_that_connects_is_stopped_resumed_and_forked(world: World) -> None:
    look = bash("echo token=$CLAUDE_CODE_SESSION_ACCESS_TOKEN.")
    async with world.managed(["One.", look, "Two.", "Three.", "Four."]) as here:
        session = await here.start(transport="websocket", dangerously_skip_permissions=True)
        assert (await session.run("The word is hat")).answer == "One."
        assert (await session.run("Look for the token")).answer == "Two."
        assert "token=." in str(here.model.requests_in()[-1].messages)
        await session.stop()
        assert (await session.run("Go on")).answer == "Three."
        assert "The word is hat" in str(here.model.requests_in()[-1].messages)
        fork = await here.manager.fork(session.id, transport="hybrid")
        assert (await fork.run("Another way")).answer == "Four."
        assert "The word is hat" in str(here.model.requests_in()[-1].messages)
        assert (await fork.row()).cli_session_id != (await session.row()).cli_session_id


@pytest.mark.usefixtures("dialling_cli")
async def test_handrail_run_with_a_transport(world: World) -> None:
    async with ScriptedModel(["Hello."]) as model, cli_slot(), asyncio.timeout(GUARD):
        code, printed = await handrail_run(world, model, "--transport", "websocket", "Go")
        assert (code, "Hello." in printed) == (0, True), printed


async def handrail_run(world: World, model: ScriptedModel | None, *words: str) -> tuple[int | None, str]:
    places = {f"HANDRAIL_{name}_DIR": str(world.home / name) for name in ("CONFIG", "STATE", "CACHE", "RUNTIME")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "handrail", "run", "--cli", str(world.cli.path), "--use-api-billing", *words),
        env={**isolated_env(world.home, model), **places},
        cwd=world.cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    return process.returncode, printed.decode()


@pytest.mark.usefixtures("dialling_cli")
async def test_a_token_that_is_revoked(world: World, observe: Observe) -> None:
    async with at_hub(world, ["One."]) as here:
        assert (await here.session.run("Go")).answer == "One."
        async with here.hub.client() as client:
            assert (await client.delete(f"/api/ingress/{here.session.id}")).status_code == 204
        try:
            async with asyncio.timeout(20):
                outcome = f"ends with exit code {await here.process.wait()}"
        except TimeoutError:
            outcome = "does not end"
        observe("websocket: its token is revoked", outcome)
        assert (await here.session.row()).status in ("stopped", "waiting")


# ---------------------------------------------------------------- versions that refuse

REFUSES = "refuses --sdk-url"


async def test_a_version_that_refuses_is_recognised(world: World, refusing_cli: ClaudeCLI, observe: Observe) -> None:
    async with world.managed() as here:
        with pytest.raises(DialRefused, match=rf"{refusing_cli.version} connects to no server .*handrail host"):
            await here.start(transport="websocket")
        assert here.model.requests == []  # nothing was started that could have asked it anything
        with pytest.raises(DialRefused, match=r"not an approved Anthropic endpoint.* stdio transport"):
            await here.start(transport="hybrid", cli_path=str(without_version(world)))
    for name in dialling_behaviours():
        observe(f"websocket: {name}", REFUSES)


def dialling_behaviours() -> Iterator[str]:
    """What is observed of the others."""
    yield from (f"closed with {code}" for code in CODES)
    yield "what it said while the server was away"
    yield "what it asked for while the server was away"
    yield "events in a POST of the hybrid transport"
    yield "its token is revoked"


def without_version(world: World) -> Path:
    """The CLI, except that it does not tell its version: its own words are all there is."""
    path = world.outside / "claude"
    quoted = " ".join(f"'{word}'" for word in world.cli.argv)
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit 1\nexec {quoted} "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


async def test_handrail_run_says_what_to_use_instead(world: World, refusing_cli: ClaudeCLI) -> None:
    code, printed = await handrail_run(world, None, "--transport", "websocket", "Go")
    assert code == 2
    assert refusing_cli.version in printed
    assert "handrail host" in printed
    assert "Traceback" not in printed


@pytest.mark.real_cli
@pytest.mark.slow
async def test_the_first_version_that_refuses(tmp_path: Path) -> None:
    try:
        cli = claude_cli("2.1.121")
    except CLIUnavailable as error:
        pytest.skip(str(error))
    world = World(cli, tmp_path)
    async with world.managed() as here:
        with pytest.raises(DialRefused, match="not an approved Anthropic endpoint"):
            await here.start(transport="websocket", cli_path=str(without_version(world)))

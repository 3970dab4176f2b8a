"""The start: the CLI takes Handrail's flags, says what it is, and does what the control channel asks of it."""

from __future__ import annotations

from handrail.protocol.asks import Allow
from handrail.protocol.frames import ControlResponse, Init, Status
from handrail.protocol.options import Options
from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.stage import Asks, Live, Replies, Stage, listed_names, write

__all__ = ["START"]

INITIALIZE = Behaviour(
    name="start: initialize",
    need="breaks",
    otherwise="no session can be started",
)
ANNOUNCED = Behaviour(
    name="start: what the answer to initialize has",
    need="degrades",
    otherwise="slash commands and models cannot be offered before the first turn",
    copes="what is missing is taken from the first turn's init frame, or not offered",
    is_list=True,
)
INIT_FRAME = Behaviour(
    name="start: what the init frame has",
    need="breaks",
    otherwise="a session's id, model and mode are not known, so it cannot be resumed",
    is_list=True,
)
SET_MODEL = Behaviour(
    name="control: set_model",
    need="degrades",
    otherwise="the model of a session that runs cannot be changed",
)
SET_MODE = Behaviour(
    name="control: set_permission_mode",
    need="breaks",
    otherwise="a change of the permission mode is shown but does not hold",
    copes="where no status frame follows, the mode is taken to be the one that was set",
)
MCP_STATUS = Behaviour(
    name="control: mcp_status",
    need="degrades",
    otherwise="the MCP servers of a session cannot be shown",
)
CONTEXT_USAGE = Behaviour(
    name="control: get_context_usage",
    need="degrades",
    otherwise="how full the context is cannot be shown",
    copes="who asks for it is told what the CLI says",
)
UNKNOWN_REQUEST = Behaviour(
    name="control: an unknown request",
    need="degrades",
    otherwise="what a version does not know fails only at its deadline",
    copes="every request has a deadline",
)
END_OF_INPUT = Behaviour(
    name="process: end of input",
    need="degrades",
    otherwise="stopping a session takes until the process is killed",
    copes="a process that stays is sent SIGTERM, then SIGKILL",
)

NEEDED_OF_INITIALIZE = {"commands", "models"}
NEEDED_OF_INIT = {"cwd", "model", "permissionMode", "session_id", "tools", "claude_code_version"}
MODEL = "claude-haiku-4-5"
AS_SESSIONS_START = Options(include_partial_messages=True)


async def play(stage: Stage) -> None:
    replies: Replies = {
        "Say hello": ["Hello."],
        "Say more": ["More."],
        "Write one": [write(stage.cwd / "one.txt", "1"), "One."],
        "Write two": [write(stage.cwd / "two.txt", "2"), "Two."],
    }
    asks = Asks(Allow())
    async with stage.live(replies, options=AS_SESSIONS_START, on_ask=asks) as live:
        stage.see(INITIALIZE, True, "answered")
        _look_at_the_announcement(stage, live)
        await live.run("Say hello")
        fields = live.all(Init)[0].data.keys() - {"type", "subtype"} if live.all(Init) else set()
        stage.see(INIT_FRAME, fields >= NEEDED_OF_INIT, listed_names(fields))
        await _change_the_model(stage, live)
        await _change_the_mode(stage, live, asks)
        for behaviour, subtype in ((MCP_STATUS, "mcp_status"), (CONTEXT_USAGE, "get_context_usage")):
            answer = await live.answer_to(subtype)
            stage.see(behaviour, answer == "answered", answer)
        answer = await live.answer_to("make_coffee")
        stage.see(UNKNOWN_REQUEST, answer.startswith("an error"), answer)
        live.transport.close_input()
        code = await live.ended()
        stage.see(END_OF_INPUT, code == 0, f"exit code {code}")


def _look_at_the_announcement(stage: Stage, live: Live) -> None:
    body = live.all(ControlResponse)[0].data.get("response", {}).get("response")
    fields = set(body) if isinstance(body, dict) else set()
    stage.see(ANNOUNCED, fields >= NEEDED_OF_INITIALIZE, listed_names(fields))


async def _change_the_model(stage: Stage, live: Live) -> None:
    await live.client.set_model(MODEL)
    await live.run("Say more")
    used = live.model.requests_in()[-1].model
    stage.see(SET_MODEL, used == MODEL, "used by the next turn" if used == MODEL else "not used by the next turn")


async def _change_the_mode(stage: Stage, live: Live, asks: Asks) -> None:
    await live.run("Write one")
    asked_before = len(asks.asked)
    await live.client.set_permission_mode("acceptEdits")
    await live.run("Write two")
    holds = asked_before == len(asks.asked) == 1 and stage.has("two.txt")
    announced = any(frame.permission_mode == "acceptEdits" for frame in live.all(Status))
    stage.see(
        SET_MODE,
        holds,
        f"{'holds from then on' if holds else 'does not hold'}, {'a' if announced else 'no'} status frame says so",
    )


START = Scenario(
    "start",
    (
        INITIALIZE,
        ANNOUNCED,
        INIT_FRAME,
        SET_MODEL,
        SET_MODE,
        MCP_STATUS,
        CONTEXT_USAGE,
        UNKNOWN_REQUEST,
        END_OF_INPUT,
    ),
    play,
)

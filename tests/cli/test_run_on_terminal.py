"""`handrail run` on a terminal: asks answered with keys, Ctrl-C, and a terminal that is left as it was found."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from .support import DEADLINE, OnTerminal

pytestmark = pytest.mark.slow

CONTROL_C = b"\x03"
CONTROL_D = b"\x04"
PROMPT = "› "


class Session:
    """A simulated CLI, and `handrail run` on it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._pipe = directory / "gate"

    def start(self, *steps: sim.Step, arguments: tuple[str, ...] = (), **settings: Any) -> OnTerminal:
        self.cli = SimulatedCLI(steps, directory=self._directory)
        options = ["--cli", str(self.cli.path), "--cwd", str(self._directory)]
        return OnTerminal("run", *options, *arguments, "do it", **settings)

    def gate(self) -> sim.Step:
        """A step that goes on when the test opens the gate: reading a pipe waits until somebody writes to it."""
        os.mkfifo(self._pipe)
        return sim.blast(self._pipe)

    def open_gate(self) -> None:
        self._pipe.write_bytes(b'{"type":"keep_alive"}\n')

    def answers(self) -> list[dict[str, Any]]:
        lines = [line["response"] for line in self.cli.received() if line["type"] == "control_response"]
        return [line["response"] for line in lines]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


BASH = sim.tool("Bash", {"command": "touch a.txt", "description": "Make a file"}, output="made")


def test_allow(session: Session) -> None:
    with session.start(sim.turn("Now:", BASH, "Good.")) as terminal:
        terminal.wait_for(PROMPT)
        assert "touch a.txt" in terminal.text
        terminal.type("y")
        assert terminal.exit_code() == 0
    assert [answer["behavior"] for answer in session.answers()] == ["allow"]
    assert "✓ allowed once" in terminal.text
    assert "✓ made" in terminal.text
    assert "Good." in terminal.text


def test_deny(session: Session) -> None:
    with session.start(sim.turn(BASH, "As you like.")) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("n")
        assert terminal.exit_code() == 0
    assert [answer["behavior"] for answer in session.answers()] == ["deny"]
    assert "✗ denied" in terminal.text


def test_always_is_asked_only_once(session: Session) -> None:
    with session.start(sim.turn(BASH, BASH, "Twice.")) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("a")
        assert terminal.exit_code() == 0
    assert len(session.answers()) == 1
    assert terminal.text.count("✓ made") == 2


def test_a_question(session: Session) -> None:
    question = {"question": "Which?", "header": "H", "options": [{"label": "This"}, {"label": "That"}]}
    with session.start(sim.turn(sim.tool("AskUserQuestion", {"questions": [question]}, suggestions=[]))) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("2")
        assert terminal.exit_code() == 0
    (answer,) = session.answers()
    assert answer["updatedInput"]["answers"] == {"Which?": "That"}


def test_a_plan_approved_with_edits_accepted(session: Session) -> None:
    plan = sim.tool("ExitPlanMode", {"plan": "# Plan\n\n1. Write it"}, suggestions=[])
    with session.start(sim.turn(plan)) as terminal:
        terminal.wait_for(PROMPT)
        assert "Write it" in terminal.text
        terminal.type("a")
        assert terminal.exit_code() == 0
    (answer,) = session.answers()
    assert answer["updatedPermissions"] == [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]


def test_an_elicitation(session: Session) -> None:
    schema = {"properties": {"name": {"type": "string"}}, "required": ["name"]}
    request = {"subtype": "elicitation", "mcp_server_name": "probe", "message": "Who?", "requested_schema": schema}
    with session.start(sim.turn(sim.request(request))) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("y")
        terminal.wait_for(PROMPT, times=2)
        terminal.type("Ada")
        assert terminal.exit_code() == 0
    assert session.answers() == [{"action": "accept", "content": {"name": "Ada"}}]


def test_the_input_is_edited_in_the_editor(session: Session) -> None:
    with session.start(sim.turn(BASH), EDITOR="sed -i.bak s/a.txt/b.txt/") as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("e")
        terminal.wait_for("edited by you")
        terminal.wait_for(PROMPT, times=2)
        terminal.type("y")
        assert terminal.exit_code() == 0
    (answer,) = session.answers()
    assert answer["updatedInput"] == {"command": "touch b.txt", "description": "Make a file"}


def test_several_asks_come_one_after_another(session: Session) -> None:
    asks = [sim.ask("Bash", {"command": f"run {number}"}, request_id=f"r{number}", wait=False) for number in "123"]
    done = [sim.expect("control_response", request_id=f"r{number}") for number in "123"]
    with session.start(sim.turn(*asks, *done)) as terminal:
        for number, key in enumerate("yny", start=1):
            terminal.wait_for(PROMPT, times=number)
            assert terminal.text.count("Needs you") == number
            terminal.type(key)
        assert terminal.exit_code() == 0
    assert [answer["behavior"] for answer in session.answers()] == ["allow", "deny", "allow"]
    assert terminal.text.index("run 1") < terminal.text.index("run 2") < terminal.text.index("run 3")


def test_a_cancelled_ask_goes_away(session: Session) -> None:
    steps = [sim.ask("Bash", {"command": "slow"}, request_id="r1", wait=False), session.gate(), sim.cancel("r1")]
    with session.start(sim.turn(*steps, "Never mind.")) as terminal:
        terminal.wait_for(PROMPT)
        session.open_gate()
        terminal.wait_for("was withdrawn")
        assert terminal.exit_code() == 0
    assert session.answers() == []
    assert "Never mind." in terminal.text


def test_what_was_typed_before_the_ask_does_not_answer_it(session: Session) -> None:
    with session.start(sim.turn("Wait.", session.gate(), BASH)) as terminal:
        terminal.wait_for("Wait.")
        terminal.type("y")
        session.open_gate()
        terminal.wait_for(PROMPT)
        terminal.type("n")
        assert terminal.exit_code() == 0
    assert [answer["behavior"] for answer in session.answers()] == ["deny"]


def test_the_frames_behind_an_ask_wait_for_it(session: Session) -> None:
    ask = sim.ask("Bash", {"command": "x"}, request_id="r1", wait=False)
    with session.start(sim.turn(ask, "Meanwhile.", sim.expect("control_response", request_id="r1"))) as terminal:
        terminal.wait_for(PROMPT)
        session_has(session, "user")
        terminal.type("y")
        assert terminal.exit_code() == 0
    assert terminal.text.index("allowed once") < terminal.text.index("Meanwhile.")


def session_has(session: Session, kind: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while session.cli.find(kind) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


# ---------------------------------------------------------------- Ctrl-C and the end of input


def test_control_c_interrupts_the_turn(session: Session) -> None:
    with session.start(sim.turn(sim.say("One. " * 200, pause=0.05))) as terminal:
        terminal.wait_for("One.")
        terminal.press(CONTROL_C)
        assert terminal.exit_code() == 130
    assert session.cli.find("control_request", subtype="interrupt")
    assert "stopped by you" in terminal.text


def test_control_c_twice_leaves_at_once(session: Session) -> None:
    with session.start(sim.turn("Stuck.", sim.silence(60, reading=True))) as terminal:
        terminal.wait_for("Stuck.")
        terminal.press(CONTROL_C)
        terminal.wait_for("Ctrl-C again")
        terminal.press(CONTROL_C)
        assert terminal.exit_code() == 130


def test_control_c_at_an_ask_denies_and_interrupts(session: Session) -> None:
    with session.start(sim.turn(BASH, "Never said.")) as terminal:
        terminal.wait_for(PROMPT)
        terminal.press(CONTROL_C)
        assert terminal.exit_code() == 130
    (answer,) = session.answers()
    assert (answer["behavior"], answer["interrupt"]) == ("deny", True)
    assert "Never said." not in terminal.text


def test_deny_and_stop(session: Session) -> None:
    with session.start(sim.turn(BASH, "Never said.")) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("i")
        assert terminal.exit_code() == 130
    assert "stopped by you" in terminal.text


def test_control_c_while_it_starts(session: Session) -> None:
    with session.start(sim.silence(60)) as terminal:
        terminal.wait_for("starting")
        terminal.press(CONTROL_C)
        assert terminal.exit_code() == 130


def test_the_end_of_input_denies(session: Session) -> None:
    with session.start(sim.turn(BASH, "All right.")) as terminal:
        terminal.wait_for(PROMPT)
        terminal.press(CONTROL_D)
        assert terminal.exit_code() == 0
    assert [answer["behavior"] for answer in session.answers()] == ["deny"]


# ---------------------------------------------------------------- the terminal


def test_the_terminal_is_left_as_it_was(session: Session) -> None:
    with session.start(sim.turn("Wait.", BASH)) as terminal:
        assert terminal.echoes()
        terminal.wait_for(PROMPT)
        assert terminal.echoes()
        terminal.type("y")
        assert terminal.exit_code() == 0
        assert terminal.echoes()
    assert terminal.raw.rindex(b"\x1b[?25h") > terminal.raw.rindex(b"\x1b[?25l"), "the cursor is shown again"


def test_a_kill_leaves_the_terminal_as_it_was(session: Session) -> None:
    with session.start(sim.turn("Busy.", sim.sleep(60))) as terminal:
        terminal.wait_for("Busy.")
        terminal.kill(signal.SIGTERM)
        assert terminal.exit_code() == 128 + signal.SIGTERM
        assert terminal.echoes()


def test_a_terminal_that_goes_away_ends_it(session: Session) -> None:
    with session.start(sim.turn(BASH, sim.sleep(60))) as terminal:
        terminal.wait_for(PROMPT)
        terminal.hang_up()
        assert terminal.exit_code_after_hanging_up() != 0
    (launch,) = session.cli.launches()
    with pytest.raises(ProcessLookupError):
        os.kill(launch.pid, 0)


def test_nothing_hostile_reaches_the_terminal(session: Session) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\u202e"
    steps = [hostile, sim.tool("Bash", {"command": f"ls {hostile}"}, output=hostile), hostile]
    with session.start(sim.turn(*steps, result={"errors": [hostile], "is_error": True})) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("y")
        assert terminal.exit_code() == 1
    assert b"\x1b]" not in terminal.raw
    assert b"\x07" not in terminal.raw
    assert b"\x1b[2J" not in terminal.raw
    assert "\u202e" not in terminal.text
    assert "ls <U+001B>]0;owned<U+0007>" in terminal.text


@pytest.mark.parametrize("columns", [40, 80])
def test_nothing_is_wider_than_the_terminal(session: Session, columns: int) -> None:
    with session.start(sim.turn("word " * 60, BASH), columns=columns) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("y")
        assert terminal.exit_code() == 0
    shown = [piece.strip() for piece in terminal.pieces() if "go on with" not in piece]
    assert max(len(line) for line in shown) <= columns


def test_json_with_a_person_asks_on_the_terminal_too(session: Session, tmp_path: Path) -> None:
    with session.start(sim.turn(BASH), arguments=("--json",)) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("y")
        assert terminal.exit_code() == 0
    frames = [json.loads(line) for line in terminal.text.split("\n") if line.startswith("{")]
    assert frames[-1]["type"] == "result"


def test_no_color_is_respected(session: Session) -> None:
    with session.start(sim.turn("`code`", BASH), NO_COLOR="1") as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("y")
        assert terminal.exit_code() == 0
    assert b"\x1b[3" not in terminal.raw
    assert b"\x1b[9" not in terminal.raw

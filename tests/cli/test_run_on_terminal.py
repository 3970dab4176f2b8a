"""`handrail run` on a terminal: asks answered with keys, steering, Ctrl-C, and a terminal left as it was found."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

from handrail.protocol.asks import Allow
from handrail.sessions.asks import Actor
from handrail.sessions.manager import Manager
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from .support import OnTerminal

pytestmark = pytest.mark.slow

CONTROL_C = b"\x03"
CONTROL_D = b"\x04"
CONTROL_G = b"\x07"
ESCAPE = b"\x1b"
SHIFT_TAB = b"\x1b[Z"
DOWN = b"\x1b[B"

MENU = "? help"
"""Is below an ask once keys count."""
QUESTION_MENU = "own words"


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

    def messages(self) -> list[str]:
        return [line["message"]["content"] for line in self.cli.received() if line["type"] == "user"]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


BASH = sim.tool("Bash", {"command": "touch a.txt", "description": "Make a file"}, output="made")


# ---------------------------------------------------------------- asks


def test_allow(session: Session) -> None:
    with session.start(sim.turn("Now:", BASH, "Good.")) as terminal:
        terminal.wait_to_see(MENU)
        assert "touch a.txt" in terminal.screen
        assert "Needs you" in terminal.screen
        terminal.press("y")
        assert terminal.exit_code() == 0
    assert [answer["behavior"] for answer in session.answers()] == ["allow"]
    assert "✓ allowed once: Bash touch a.txt" in terminal.screen
    assert "✓ made" in terminal.screen
    assert "Good." in terminal.screen
    assert "Needs you" not in terminal.screen, "an ask that is answered is off the screen"


def test_deny_with_a_reason(session: Session) -> None:
    with session.start(sim.turn(BASH, "As you like.")) as terminal:
        terminal.wait_to_see(MENU)
        terminal.press("d")
        terminal.wait_to_see("Tell Claude why")
        terminal.type("not on a Friday")
        assert terminal.exit_code() == 0
    (answer,) = session.answers()
    assert answer["behavior"] == "deny"
    assert "not on a Friday" in answer["message"]
    assert "✗ denied: Bash touch a.txt · not on a Friday" in terminal.screen


def test_always_is_asked_only_once(session: Session) -> None:
    with session.start(sim.turn(BASH, BASH, "Twice.")) as terminal:
        terminal.wait_to_see(MENU)
        terminal.press("a")
        assert terminal.exit_code() == 0
    assert len(session.answers()) == 1
    assert terminal.screen.count("✓ made") == 2


def test_a_question_with_the_arrows(session: Session) -> None:
    question = {"question": "Which?", "header": "H", "options": [{"label": "This"}, {"label": "That"}]}
    with session.start(sim.turn(sim.tool("AskUserQuestion", {"questions": [question]}, suggestions=[]))) as terminal:
        terminal.wait_to_see(QUESTION_MENU)
        assert "❯ 1  This" in terminal.screen
        terminal.press(DOWN)
        terminal.wait_to_see("❯ 2  That")
        terminal.press("\r")
        assert terminal.exit_code() == 0
    (answer,) = session.answers()
    assert answer["updatedInput"]["answers"] == {"Which?": "That"}
    assert "✓ Which? → That" in terminal.screen


def test_a_question_with_several_answers_and_own_words(session: Session) -> None:
    options = [{"label": "S"}, {"label": "M"}, {"label": "L"}]
    question = {"question": "Sizes?", "header": "H", "options": options, "multiSelect": True}
    with session.start(sim.turn(sim.tool("AskUserQuestion", {"questions": [question]}, suggestions=[]))) as terminal:
        terminal.wait_to_see(QUESTION_MENU)
        terminal.press("1")
        terminal.press("3")
        terminal.wait_to_see("[x] 3  L")
        terminal.press("o")
        terminal.wait_to_see("Your answer:")
        terminal.type("and socks")
        assert terminal.exit_code() == 0
    (answer,) = session.answers()
    assert answer["updatedInput"]["answers"] == {"Sizes?": ["S", "L", "and socks"]}


PLAN = sim.tool("ExitPlanMode", {"plan": "# Plan\n\n1. Write it"}, suggestions=[])


def test_a_plan_approved_with_edits_accepted(session: Session) -> None:
    with session.start(sim.turn(PLAN)) as terminal:
        terminal.wait_to_see(MENU)
        assert "Write it" in terminal.screen
        terminal.press("a")
        assert terminal.exit_code() == 0
    (answer,) = session.answers()
    assert answer["updatedPermissions"] == [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]
    assert "Write it" in terminal.screen, "an approved plan can be read again"


def test_control_g_opens_the_plan_in_the_editor(session: Session) -> None:
    with session.start(sim.turn(PLAN), EDITOR="sed -i.bak s/Write/Rewrite/") as terminal:
        terminal.wait_to_see(MENU)
        terminal.press(CONTROL_G)
        terminal.wait_to_see("edited by you")
        terminal.wait_to_see("approve this")
        terminal.press("y")
        assert terminal.exit_code() == 0
    (answer,) = session.answers()
    assert answer["updatedInput"]["plan"] == "# Plan\n\n1. Rewrite it"


def test_shift_tab_takes_the_first_answer_and_the_plan_goes_on_in_the_same_session(session: Session) -> None:
    with session.start(sim.turn(PLAN, "Carried out.")) as terminal:
        terminal.wait_to_see(MENU)
        assert "f Yes, clear context" in terminal.screen
        terminal.press(SHIFT_TAB)
        terminal.wait_to_see("knows nothing else")
        terminal.wait_to_see(MENU)  # the simulated CLI plays the same again
        terminal.press("a")
        assert terminal.exit_code() == 0
    denied, allowed = session.answers()
    assert (denied["behavior"], denied["interrupt"], allowed["behavior"]) == ("deny", True, "allow")
    assert len(session.cli.launches()) == 2
    assert "Carried out." in terminal.screen


def test_an_elicitation(session: Session) -> None:
    schema = {"properties": {"name": {"type": "string"}}, "required": ["name"]}
    request = {"subtype": "elicitation", "mcp_server_name": "probe", "message": "Who?", "requested_schema": schema}
    with session.start(sim.turn(sim.request(request))) as terminal:
        terminal.wait_to_see(MENU)
        terminal.press("y")
        terminal.wait_to_see("Enter sends it")
        terminal.type("Ada")
        assert terminal.exit_code() == 0
    assert session.answers() == [{"action": "accept", "content": {"name": "Ada"}}]


def test_the_input_is_edited_in_the_editor(session: Session) -> None:
    with session.start(sim.turn(BASH), EDITOR="sed -i.bak s/a.txt/b.txt/") as terminal:
        terminal.wait_to_see(MENU)
        terminal.press("e")
        terminal.wait_to_see("edited by you")
        terminal.wait_to_see(MENU)
        terminal.press("y")
        assert terminal.exit_code() == 0
    (answer,) = session.answers()
    assert answer["updatedInput"] == {"command": "touch b.txt", "description": "Make a file"}


def test_several_asks_come_one_after_another(session: Session) -> None:
    asks = [sim.ask("Bash", {"command": f"run {number}"}, request_id=f"r{number}", wait=False) for number in "123"]
    done = [sim.expect("control_response", request_id=f"r{number}") for number in "123"]
    with session.start(sim.turn(*asks, *done)) as terminal:
        for number, key in zip("123", "yny", strict=True):
            terminal.wait_to_see(f"│ run {number} ")
            terminal.wait_to_see(MENU)
            assert terminal.screen.count("Needs you") == 1
            terminal.press(key)
            terminal.wait_until_gone(f"│ run {number} ")
        assert terminal.exit_code() == 0
    assert [answer["behavior"] for answer in session.answers()] == ["allow", "deny", "allow"]
    assert "waits for 2 answers" in terminal.text


def test_a_cancelled_ask_vanishes(session: Session) -> None:
    steps = [sim.ask("Bash", {"command": "slow"}, request_id="r1", wait=False), session.gate(), sim.cancel("r1")]
    with session.start(sim.turn(*steps, "Never mind.")) as terminal:
        terminal.wait_to_see(MENU)
        session.open_gate()
        terminal.wait_until_gone("Needs you")
        assert terminal.exit_code() == 0
    assert session.answers() == []
    assert "withdrawn by Claude Code" in terminal.screen
    assert "Never mind." in terminal.screen


async def answer_elsewhere(directory: Path) -> None:
    """What `handrail answer` does, in another process."""
    async with Manager.local() as manager:
        (found,) = [
            (session, ask)
            for ask in await manager.asks()
            if (await (session := await manager.get(ask.session_id)).row()).cwd == str(directory)
        ]
        session, ask = found
        await session.decide(ask.id, Allow(), actor=Actor("ann", "attach", os.getpid()), digest=ask.digest)


def test_an_ask_that_is_answered_elsewhere_vanishes(session: Session, tmp_path: Path) -> None:
    with session.start(sim.turn(BASH, "Good.")) as terminal:
        terminal.wait_to_see(MENU)
        asyncio.run(answer_elsewhere(tmp_path))
        terminal.wait_until_gone("Needs you")
        assert terminal.exit_code() == 0
    assert "✓ allowed by ann (attach): Bash touch a.txt" in terminal.screen
    assert [answer["behavior"] for answer in session.answers()] == ["allow"]


def test_an_ask_that_is_taller_than_the_screen_is_written_whole(session: Session) -> None:
    write = {"file_path": "long.txt", "content": "\n".join(f"line number {number}" for number in range(100))}
    with session.start(sim.turn(sim.tool("Write", write, output="written")), rows=24) as terminal:
        terminal.wait_to_see(MENU)
        assert all(f"line number {number}" in terminal.screen for number in range(100))
        assert "all shown: scroll up" in terminal.screen
        terminal.press("n")
        assert terminal.exit_code() == 0
    assert [answer["behavior"] for answer in session.answers()] == ["deny"]


def test_an_ask_whose_answers_leave_it_no_room_is_written_whole_too(session: Session) -> None:
    with session.start(sim.turn(BASH), columns=44, rows=14) as terminal:
        terminal.wait_to_see(MENU)
        shown = terminal.screen
        assert shown.count("Needs you") == 1
        assert shown.index("Needs you") < shown.index("touch a.txt") < shown.index("Runs in") < shown.index(MENU)
        terminal.press("?")
        terminal.wait_to_see("y allow once: it runs")
        terminal.press("y")
        assert terminal.exit_code() == 0


def test_what_was_pressed_before_the_ask_does_not_answer_it(session: Session) -> None:
    with session.start(sim.turn("Wait.", session.gate(), BASH)) as terminal:
        terminal.wait_to_see("Wait.")
        terminal.press("y")
        terminal.wait_to_see("› y")
        session.open_gate()
        terminal.wait_to_see("Needs you")
        terminal.wait_to_see("Enter sends, Esc drops it")
        assert MENU not in terminal.screen
        terminal.press("y")
        terminal.wait_to_see("› yy")
        terminal.press(ESCAPE)
        terminal.wait_to_see(MENU)
        terminal.press("n")
        assert terminal.exit_code() == 0
    assert [answer["behavior"] for answer in session.answers()] == ["deny"]


def test_what_happens_meanwhile_is_shown_above_the_ask(session: Session) -> None:
    ask = sim.ask("Bash", {"command": "x"}, request_id="r1", wait=False)
    with session.start(sim.turn(ask, "Meanwhile.", sim.expect("control_response", request_id="r1"))) as terminal:
        terminal.wait_to_see("Meanwhile.")
        terminal.wait_to_see(MENU)
        assert terminal.screen.index("Meanwhile.") < terminal.screen.index("Needs you")
        terminal.press("y")
        assert terminal.exit_code() == 0


# ---------------------------------------------------------------- steering


def test_a_typed_line_steers(session: Session) -> None:
    steps = [sim.turn("First.", session.gate(), "Second."), sim.turn("You said: $text")]
    with session.start(*steps) as terminal:
        terminal.wait_to_see("First.")
        terminal.type("also lint")
        terminal.wait_to_see("› also lint  (waits for its turn)")
        session.open_gate()
        assert terminal.exit_code() == 0
    assert session.messages() == ["do it", "also lint"]
    assert "You said: also lint" in terminal.screen
    assert terminal.screen.index("Second.") < terminal.screen.index("You said: also lint")


def test_what_is_pasted_is_sent_whole_when_enter_is_pressed(session: Session) -> None:
    steps = [sim.turn("First.", session.gate(), "Second."), sim.turn("Good.")]
    with session.start(*steps) as terminal:
        terminal.wait_to_see("First.")
        terminal.press("\x1b[200~one\ntwo\x1b[201~")
        terminal.wait_to_see("one⏎two")
        terminal.press("\r")
        terminal.wait_to_see("(waits for its turn)")
        session.open_gate()
        assert terminal.exit_code() == 0
    assert session.messages() == ["do it", "one\ntwo"]


# ---------------------------------------------------------------- Ctrl-C and the end of input


def test_control_c_interrupts_the_turn(session: Session) -> None:
    with session.start(sim.turn(sim.say("One. " * 200, pause=0.05))) as terminal:
        terminal.wait_to_see("One.")
        terminal.press(CONTROL_C)
        assert terminal.exit_code() == 130
    assert session.cli.find("control_request", subtype="interrupt")
    assert "stopped by you" in terminal.screen
    assert "go on with: handrail resume" in terminal.screen


def test_control_c_twice_leaves_at_once(session: Session) -> None:
    with session.start(sim.turn("Stuck.", sim.silence(60, reading=True))) as terminal:
        terminal.wait_to_see("Stuck.")
        terminal.press(CONTROL_C)
        terminal.wait_to_see("Ctrl-C again")
        terminal.press(CONTROL_C)
        assert terminal.exit_code() == 130


def test_control_c_at_an_ask_denies_and_interrupts(session: Session) -> None:
    with session.start(sim.turn(BASH, "Never said.")) as terminal:
        terminal.wait_to_see(MENU)
        terminal.press(CONTROL_C)
        assert terminal.exit_code() == 130
    (answer,) = session.answers()
    assert (answer["behavior"], answer["interrupt"]) == ("deny", True)
    assert "Never said." not in terminal.text


def test_deny_and_stop(session: Session) -> None:
    with session.start(sim.turn(BASH, "Never said.")) as terminal:
        terminal.wait_to_see(MENU)
        terminal.press("i")
        assert terminal.exit_code() == 130
    assert "stopped by you" in terminal.screen


def test_control_c_while_it_starts(session: Session) -> None:
    with session.start(sim.silence(60)) as terminal:
        terminal.wait_to_see("starting")
        terminal.press(CONTROL_C)
        assert terminal.exit_code() == 130


def test_control_d_says_that_there_is_nothing_to_leave(session: Session) -> None:
    with session.start(sim.turn("Wait.", session.gate(), "Done.")) as terminal:
        terminal.wait_to_see("Wait.")
        terminal.press(CONTROL_D)
        terminal.wait_to_see("runs in this process")
        session.open_gate()
        assert terminal.exit_code() == 0


# ---------------------------------------------------------------- the terminal


def test_the_terminal_is_left_as_it_was(session: Session) -> None:
    with session.start(sim.turn("Wait.", BASH)) as terminal:
        assert terminal.echoes()
        terminal.wait_to_see(MENU)
        assert not terminal.echoes()
        terminal.press("y")
        assert terminal.exit_code() == 0
        assert terminal.echoes()
    assert terminal.raw.rindex(b"\x1b[?25h") > terminal.raw.rindex(b"\x1b[?25l"), "the cursor is shown again"
    assert terminal.raw.rindex(b"\x1b[?2004l") > terminal.raw.rindex(b"\x1b[?2004h"), "pasting is as it was"
    assert "working" not in terminal.screen
    assert "waits for" not in terminal.screen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_kill_leaves_the_terminal_as_it_was(session: Session, number: int) -> None:
    with session.start(sim.turn("Busy.", sim.sleep(60))) as terminal:
        terminal.wait_to_see("Busy.")
        terminal.kill(number)
        assert terminal.exit_code() == 128 + number
        assert terminal.echoes()


def test_it_can_be_paused_and_goes_on(session: Session) -> None:
    with session.start(sim.turn("Wait.", session.gate(), "Done.")) as terminal:
        terminal.wait_to_see("Wait.")
        terminal.press(b"\x1a")
        terminal.wait_until(terminal.echoes)
        terminal.kill(signal.SIGCONT)
        terminal.wait_until(lambda: not terminal.echoes())
        session.open_gate()
        assert terminal.exit_code() == 0


def test_a_terminal_that_goes_away_ends_it(session: Session) -> None:
    with session.start(sim.turn(BASH, sim.sleep(60))) as terminal:
        terminal.wait_to_see(MENU)
        terminal.hang_up()
        assert terminal.exit_code_after_hanging_up() != 0
    (launch,) = session.cli.launches()
    with pytest.raises(ProcessLookupError):
        os.kill(launch.pid, 0)


def test_nothing_hostile_reaches_the_terminal(session: Session) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\u202e"
    steps = [hostile, sim.tool("Bash", {"command": f"ls {hostile}"}, output=hostile), hostile]
    with session.start(sim.turn(*steps, result={"errors": [hostile], "is_error": True})) as terminal:
        terminal.wait_to_see(MENU)
        terminal.press("y")
        assert terminal.exit_code() == 1
    assert b"\x1b]" not in terminal.raw
    assert b"\x07" not in terminal.raw
    assert b"\x1b[2J" not in terminal.raw
    assert "\u202e" not in terminal.text
    assert "ls <U+001B>]0;owned<U+0007>" in terminal.text


@pytest.mark.parametrize("columns", [30, 40, 80])
def test_nothing_is_wider_than_the_terminal(session: Session, columns: int) -> None:
    with session.start(sim.turn("word " * 60, BASH), columns=columns) as terminal:
        terminal.wait_to_see(MENU)
        terminal.press("y")
        assert terminal.exit_code() == 0
    copied = ("go on with", "or: ")
    shown = [piece.strip() for piece in terminal.pieces() if not any(words in piece for words in copied)]
    assert max(len(line) for line in shown) <= columns


def test_a_window_that_changes_its_size(session: Session) -> None:
    with session.start(sim.turn("Wait.", session.gate(), BASH)) as terminal:
        terminal.wait_to_see("Wait.")
        terminal.resize(50)
        session.open_gate()
        terminal.wait_to_see(MENU)
        terminal.press("y")
        assert terminal.exit_code() == 0


def test_json_with_a_person_asks_on_the_terminal_too(session: Session) -> None:
    with session.start(sim.turn(BASH), arguments=("--json",)) as terminal:
        terminal.wait_to_see(MENU)
        terminal.press("y")
        assert terminal.exit_code() == 0
    events = [json.loads(line) for line in terminal.text.split("\n") if line.startswith("{")]
    assert "completed" in {event["type"] for event in events}


@pytest.mark.parametrize(("piped", "is_asked"), [(True, True), (False, False)])
def test_a_person_is_asked_although_something_is_piped_in(session: Session, piped: bool, is_asked: bool) -> None:
    with tempfile.TemporaryFile() as text, open(os.devnull) as nothing:
        text.write(b"from a pipe")
        text.seek(0)
        stdin = text.fileno() if piped else nothing.fileno()
        with session.start(sim.turn(BASH), stdin=stdin) as terminal:
            if is_asked:
                terminal.wait_to_see(MENU)
                terminal.press("y")
            assert terminal.exit_code() == (0 if is_asked else 3)
    assert session.messages() == ["do it\n\nfrom a pipe" if piped else "do it"]


def test_no_color_is_respected(session: Session) -> None:
    with session.start(sim.turn("`code`", BASH), NO_COLOR="1") as terminal:
        terminal.wait_to_see(MENU)
        terminal.press("y")
        assert terminal.exit_code() == 0
    assert b"\x1b[3" not in terminal.raw
    assert b"\x1b[9" not in terminal.raw


def test_a_terminal_that_can_only_write_lines(session: Session) -> None:
    with session.start(sim.turn("Now:", BASH, "Good."), TERM="dumb") as terminal:
        terminal.wait_for(MENU)
        terminal.press("y")
        assert terminal.exit_code() == 0
    assert b"\x1b" not in terminal.raw
    assert [answer["behavior"] for answer in session.answers()] == ["allow"]

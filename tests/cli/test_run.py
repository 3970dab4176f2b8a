"""`handrail run` without a terminal: output, exit codes, and messages for what goes wrong."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from .support import handrail, handrail_process

pytestmark = pytest.mark.slow

FAILED = {"subtype": "error_max_turns", "is_error": True, "errors": ["Reached maximum number of turns (1)"]}


@pytest.fixture
def simulated(tmp_path: Path) -> Any:
    """Make a simulated CLI; returns it and the arguments that make `handrail run` use it."""

    def make(*steps: sim.Step, **settings: Any) -> tuple[SimulatedCLI, list[str]]:
        cli = SimulatedCLI(steps or None, directory=tmp_path, **settings)
        return cli, ["run", "--cli", str(cli.path), "--cwd", str(tmp_path)]

    return make


# ---------------------------------------------------------------- a turn


def test_a_turn_is_printed(simulated: Any) -> None:
    cli, run = simulated(
        sim.turn("I'll look.", sim.tool("Bash", {"command": "ls"}, output="a\nb", ask=False), "You said: $text"),
        session_id="6ca440c5-8391-4eb6-a834-4e5b6c95b955",
    )
    done = handrail(*run, "hello there")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    for expected in ("I'll look.", "⏺ Bash  ls\n  ✓ a\n    b", "You said: hello there", "✓ done · "):
        assert expected in done.stdout
    assert "--resume 6ca440c5-8391-4eb6-a834-4e5b6c95b955" in done.stdout
    assert cli.launches()[0].cwd == str(cli.path.parent)


@pytest.mark.parametrize("arguments", [["-"], []])
def test_the_prompt_may_come_from_standard_input(simulated: Any, arguments: list[str]) -> None:
    cli, run = simulated()
    assert handrail(*run, *arguments, stdin="from a pipe\n").returncode == 0
    assert cli.find("user")["message"]["content"] == "from a pipe\n"


def test_options_reach_the_cli(simulated: Any, tmp_path: Path) -> None:
    cli, run = simulated()
    options = ["--model", "haiku", "--permission-mode", "plan", "--allowed-tools", "Read", "--max-turns", "3"]
    recording = tmp_path / "recording.jsonl"
    done = handrail(*run, *options, "--resume", "abc", "--record", str(recording), "hi")
    assert done.returncode == 0, done.stderr
    argv = " ".join(cli.launches()[0].argv)
    for expected in ("haiku", "--permission-mode plan", "Read", "--max-turns", "abc", "--include-partial-messages"):
        assert expected in argv
    assert {json.loads(line)["dir"] for line in recording.read_text().splitlines()} == {"in", "out", "meta"}


def test_continuing_the_latest_session(simulated: Any) -> None:
    cli, run = simulated()
    assert handrail(*run, "--continue", "hi").returncode == 0
    assert any(argument.startswith("--continue") for argument in cli.launches()[0].argv)


def test_api_billing_is_a_choice(simulated: Any) -> None:
    cli, run = simulated()
    handrail(*run, "hi", ANTHROPIC_API_KEY="a-key")
    handrail(*run, "--use-api-billing", "hi", ANTHROPIC_API_KEY="a-key")
    assert [launch.env.get("ANTHROPIC_API_KEY") for launch in cli.launches()] == [None, "a-key"]


def test_an_error_result_exits_with_1(simulated: Any) -> None:
    _, run = simulated(sim.turn("Half.", result=FAILED))
    done = handrail(*run, "hi")
    assert done.returncode == 1
    assert "✗ Reached maximum number of turns (1)" in done.stdout


def test_a_missing_login_says_what_to_do(simulated: Any) -> None:
    text = "Not logged in · Please run /login"
    _, run = simulated(sim.turn(text, result={"is_error": True, "result": text}))
    done = handrail(*run, "hi")
    assert done.returncode == 1
    assert done.stdout.count(text) == 1
    assert "--use-api-billing" in done.stdout


def test_a_bad_line_is_a_warning(simulated: Any) -> None:
    _, run = simulated(sim.turn(sim.send_raw(b"this is no JSON\n"), "And on it goes."))
    done = handrail(*run, "hi")
    assert done.returncode == 0
    assert "⚠ a line from the CLI could not be read" in done.stdout
    assert "And on it goes." in done.stdout


def test_background_tasks_are_waited_for(simulated: Any) -> None:
    def tasks(*names: str) -> dict[str, Any]:
        listed = [{"task_id": name, "task_type": "local_bash", "description": name} for name in names]
        return {"type": "system", "subtype": "background_tasks_changed", "tasks": listed}

    _, run = simulated(
        sim.turn(sim.send(tasks("the build")), "Started."),
        sim.send(tasks()),
        sim.turn("The build is done.", result={"origin": {"kind": "task-notification"}}, prompted=False),
    )
    done = handrail(*run, "hi")
    assert done.returncode == 0
    assert "waiting for what runs in the background: the build" in done.stdout
    assert "The build is done." in done.stdout


def test_a_turn_that_ends_later_than_its_result(simulated: Any) -> None:
    def lifecycle(state: str) -> dict[str, Any]:
        return {"type": "command_lifecycle", "command_uuid": "$user_uuid", "state": state}

    result = {"type": "result", "subtype": "success", "result": "There you are.", "uuid": "$uuid"}
    _, run = simulated(sim.expect("user"), sim.send(lifecycle("queued"), result, lifecycle("completed")))
    done = handrail(*run, "hi")
    assert done.returncode == 0
    assert "There you are." in done.stdout


def test_a_message_that_the_cli_drops(simulated: Any) -> None:
    dropped = {"type": "command_lifecycle", "command_uuid": "$user_uuid", "state": "discarded"}
    _, run = simulated(sim.expect("user"), sim.send(dropped))
    done = handrail(*run, "hi")
    assert done.returncode == 1
    assert "the CLI discarded the message" in done.stderr


def test_as_a_process(simulated: Any) -> None:
    _, run = simulated(sim.turn("Hello from afar."))
    done = handrail_process(*run, "hi")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Hello from afar." in done.stdout
    assert handrail_process("--version").stdout.startswith("handrail ")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_it_ends_when_nobody_reads_its_output(simulated: Any, form: list[str]) -> None:
    _, run = simulated(sim.turn(*["Hello.\n\n" * 100] * 200))
    done = handrail_process(*run, *form, "hi", reader="head -n 1")
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def test_no_color_and_no_terminal_mean_no_escape_sequences(simulated: Any) -> None:
    _, run = simulated(sim.turn("**bold** and `code`"))
    done = handrail(*run, "hi", NO_COLOR="1", TERM="xterm-256color")
    assert "\x1b" not in done.stdout
    assert "bold and code" in done.stdout


# ---------------------------------------------------------------- asks with nobody there


def test_asks_are_denied_and_it_says_how_to_allow(simulated: Any) -> None:
    cli, run = simulated(sim.turn(sim.tool("Bash", {"command": "rm x"}), sim.tool("Bash", {"command": "rm y"}), "Hm."))
    done = handrail(*run, "hi")
    assert done.returncode == 0
    assert "nobody is at a terminal to be asked: Bash rm x" in done.stdout
    assert done.stdout.count("--allowed-tools") == 1
    answers = [line["response"]["response"] for line in cli.received() if line["type"] == "control_response"]
    assert [answer["behavior"] for answer in answers] == ["deny", "deny"]
    assert "nobody could be asked" in answers[0]["message"]


# ---------------------------------------------------------------- for programs


def test_json_is_one_frame_per_line(simulated: Any) -> None:
    _, run = simulated(sim.turn("Hello.", sim.tool("Bash", {"command": "make"}), sim.send_raw(b"junk\n")))
    done = handrail(*run, "--json", "hi")
    assert done.returncode == 0
    frames = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"system", "assistant", "control_request", "malformed", "result"} <= {frame["type"] for frame in frames}
    assert frames[-1]["type"] == "result"
    assert "denied" in done.stderr
    assert "junk" not in done.stderr


# ---------------------------------------------------------------- what goes wrong


def assert_message(done: Any, code: int, *expected: str) -> None:
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    for words in expected:
        assert words in " ".join(done.stderr.split())


def test_no_cli_names_both_ways_to_install_it(tmp_path: Path) -> None:
    done = handrail("run", "--cli", str(tmp_path / "nothing"), "hi")
    assert_message(done, 2, "npm install -g @anthropic-ai/claude-code", "pip install claude-agent-sdk", "--cli PATH")


def test_a_directory_that_is_not_there(simulated: Any, tmp_path: Path) -> None:
    _, run = simulated()
    assert_message(handrail(*run, "--cwd", str(tmp_path / "gone"), "hi"), 2, "does not exist")


def test_a_cli_that_exits_at_once(simulated: Any) -> None:
    _, run = simulated(sim.stderr("Error: no such session\n"), sim.exit(1))
    assert_message(handrail(*run, "hi"), 2, "exited with code 1", "no such session")


def test_a_cli_that_dies_in_the_middle(simulated: Any) -> None:
    _, run = simulated(sim.turn("Half.", sim.stderr("out of memory\n"), sim.exit(9)))
    done = handrail(*run, "hi")
    assert_message(done, 1, "exited with code 9", "out of memory")
    assert "Half." in done.stdout


def test_a_recording_that_cannot_be_written(simulated: Any, tmp_path: Path) -> None:
    _, run = simulated()
    assert_message(handrail(*run, "--record", str(tmp_path / "no" / "such" / "file"), "hi"), 2, "file")


def test_options_that_contradict_each_other(simulated: Any) -> None:
    _, run = simulated()
    assert_message(handrail(*run, "--resume", "abc", "--continue", "hi"), 2, "two conversations")
    assert_message(handrail(*run, "--permission-mode", "yolo", "hi"), 2, "permission_mode must be one of")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run"], "say what Claude should do"),
        (["run", "   "], "say what Claude should do"),
        (["run", "--demo", "hi"], "of its own"),
        (["run", "--demo", "--model", "haiku"], "of its own"),
        (["run", "--yes", "hi"], "for --demo only"),
        (["run", "--max-turns", "many", "hi"], "max-turns"),
        (["fly"], "fly"),
    ],
)
def test_wrong_usage(arguments: list[str], expected: str) -> None:
    assert_message(handrail(*arguments), 2, expected)


def test_version_and_help() -> None:
    assert handrail("--version").stdout.startswith("handrail ")
    assert "run" in handrail("--help").stdout
    shown = handrail("run", "--help").stdout
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "terminal.md").read_text()
    for option in set(re.findall(r"--[a-z][a-z-]+", shown)) - {"--help"}:
        assert f"`{option}" in guide, f"{option} is not in the guide"

"""`handrail run` without a terminal: output, exit codes, and messages for what goes wrong."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from handrail.events.model import AskOpened, Prompt
from handrail.protocol.asks import Allow
from handrail.protocol.options import Options
from handrail.sessions.asks import Actor
from handrail.sessions.manager import Manager
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from .support import DEADLINE, child_env, handrail, handrail_process

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
    for expected in ("I'll look.", "⏺ Bash  ls\n  ✓ a\n    b", "You said: hello there", "✓ done · ", "🏷 "):
        assert expected in done.stdout
    assert "claude --resume 6ca440c5-8391-4eb6-a834-4e5b6c95b955" in done.stdout
    assert re.search(r"go on with: handrail resume [0-9a-f]{8} ", done.stdout)
    assert cli.launches()[0].cwd == str(cli.path.parent)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [(["-"], "from a pipe\n"), ([], "from a pipe\n"), (["Explain this:"], "Explain this:\n\nfrom a pipe\n")],
)
def test_what_is_piped_in_is_the_prompt_or_part_of_it(simulated: Any, arguments: list[str], expected: str) -> None:
    cli, run = simulated()
    assert handrail(*run, *arguments, stdin="from a pipe\n").returncode == 0
    assert cli.find("user")["message"]["content"] == expected


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(simulated: Any, tmp_path: Path) -> None:
    _, run = simulated(sim.turn("Hello."))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading, writing = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), os.open(pipe, os.O_WRONLY)
    try:
        command = [sys.executable, "-m", "handrail", *run, "hi"]
        done = subprocess.run(
            command, stdin=reading, capture_output=True, text=True, timeout=DEADLINE, env=child_env(), check=False
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert done.returncode == 0
    assert "Hello." in done.stdout
    assert "going on without it" in done.stderr


def test_options_reach_the_cli(simulated: Any, tmp_path: Path) -> None:
    cli, run = simulated()
    options = ["--model", "haiku", "--mode", "plan", "--allowed-tools", "Read", "--max-turns", "3"]
    recording = tmp_path / "recording.jsonl"
    done = handrail(*run, *options, "--record", str(recording), "--title", "A title", "hi")
    assert done.returncode == 0, done.stderr
    argv = " ".join(cli.launches()[0].argv)
    for expected in ("haiku", "--permission-mode plan", "Read", "--max-turns", "--include-partial-messages"):
        assert expected in argv
    assert {json.loads(line)["dir"] for line in recording.read_text().splitlines()} == {"in", "out", "meta"}


def test_the_configuration_holds_where_the_command_line_says_nothing(simulated: Any, tmp_path: Path) -> None:
    cli, run = simulated()
    config = tmp_path / "config"
    config.mkdir()
    (config / "config.toml").write_text('[claude]\nmodel = "sonnet"\npermission_mode = "plan"\n')
    own = {"HANDRAIL_CONFIG_DIR": str(config)}
    assert handrail(*run, "hi", **own).returncode == 0
    assert handrail(*run, "--model", "haiku", "hi", **own).returncode == 0
    first, second = (" ".join(launch.argv) for launch in cli.launches())
    assert "sonnet" in first
    assert "--permission-mode plan" in first
    assert "haiku" in second
    assert "sonnet" not in second


def test_a_wrong_configuration_says_where(simulated: Any, tmp_path: Path) -> None:
    _, run = simulated()
    (tmp_path / "config.toml").write_text("[claude]\nmodel = 7\n")
    assert_message(handrail(*run, "hi", HANDRAIL_CONFIG_DIR=str(tmp_path)), 2, "config.toml", "model")


# ---------------------------------------------------------------- sessions that go on


def session_of(done: Any) -> str:
    found = re.search(r"handrail resume ([0-9a-f]{8})", done.stdout)
    assert found is not None, done.stdout
    return found[1]


def test_going_on_with_a_session(simulated: Any) -> None:
    cli, run = simulated()
    first = handrail(*run, "remember this")
    again = handrail("run", "--resume", session_of(first), "--model", "haiku", "and now?")
    assert again.returncode == 0, again.stderr
    assert session_of(again) == session_of(first)
    assert "remember this" not in again.stdout
    resumed = " ".join(cli.launches()[1].argv)
    assert f"--resume={resume_token(first)}" in resumed.replace("--resume ", "--resume=")
    assert "haiku" in resumed


def resume_token(done: Any) -> str:
    found = re.search(r"claude --resume (\S+)", done.stdout)
    assert found is not None
    return found[1]


def test_continuing_the_latest_session(simulated: Any) -> None:
    cli, run = simulated()
    first = handrail(*run, "one")
    again = handrail(*run, "--continue", "two")
    assert again.returncode == 0, again.stderr
    assert session_of(again) == session_of(first)
    assert resume_token(first) in " ".join(cli.launches()[1].argv)


def test_forking_a_session(simulated: Any) -> None:
    cli, run = simulated()
    first = handrail(*run, "one")
    forked = handrail(*run, "--continue", "--fork", "two")
    assert forked.returncode == 0, forked.stderr
    assert session_of(forked) != session_of(first)
    argv = " ".join(cli.launches()[1].argv)
    assert "--fork-session" in argv
    assert resume_token(first) in argv


async def test_a_session_that_lives_in_another_process_is_joined(simulated: Any, tmp_path: Path) -> None:
    cli, _ = simulated(sim.turn(sim.tool("Bash", {"command": "ls"}, output="made")), sim.turn("You said: $text"))
    async with Manager.local() as manager:
        session = await manager.start(Options(cwd=str(tmp_path), cli_path=str(cli.path)))
        await session.send("first", actor=Actor("ann"))
        joined: asyncio.Task[Any] | None = None
        async with aclosing(session.subscribe()) as items:
            async for item in items:
                if isinstance(item, AskOpened):
                    ask = item
                    arguments = ("run", "--resume", session.id, "second")
                    joined = asyncio.create_task(asyncio.to_thread(handrail_process, *arguments))
                elif isinstance(item, Prompt) and item.content == "second":
                    await session.decide(ask.ask_id, Allow(), actor=Actor("ann"), digest=ask.digest)
                    break
        assert joined is not None
        done = await joined
        assert await session.is_live(), "it goes on where it lives"
    assert done.returncode == 0, done.stderr
    assert "lives in another process" in done.stdout
    assert "waits for an answer: Bash ls" in done.stdout, "it is not this terminal's to deny"
    assert "You said: second" in done.stdout


def test_a_session_that_is_not_there(simulated: Any, tmp_path: Path) -> None:
    _, run = simulated()
    assert_message(handrail(*run, "--resume", "abcdef", "hi"), 2, "abcdef")
    assert_message(handrail(*run, "--cwd", str(tmp_path), "--continue", "hi"), 2, "no session", "--continue")


def test_a_worktree(simulated: Any, tmp_path: Path) -> None:
    cli, run = simulated()
    for command in (
        ["init", "-q"],
        ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    done = handrail(*run, "--worktree", "login-fix", "hi")
    assert done.returncode == 0, done.stderr
    cwd = cli.launches()[0].cwd
    assert cwd != str(tmp_path)
    assert "login-fix" in cwd


# ---------------------------------------------------------------- pictures

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 20


def test_pictures_go_with_the_prompt(simulated: Any, tmp_path: Path) -> None:
    cli, run = simulated()
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.png").write_bytes(b"\xff\xd8\xff\xe0")
    done = handrail(*run, "--image", str(tmp_path / "a.png"), "-i", str(tmp_path / "b.png"), "what is this?")
    assert done.returncode == 0, done.stderr
    content = cli.find("user")["message"]["content"]
    assert [block["type"] for block in content] == ["image", "image", "text"]
    assert [block["source"]["media_type"] for block in content[:2]] == ["image/png", "image/jpeg"]
    assert base64.b64decode(content[0]["source"]["data"]) == PNG


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"BM not one of them", "no png, jpeg, gif or webp"),
        (PNG + b"x" * 5 * 1024 * 1024, "larger than 5 MB"),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_picture_is_refused(simulated: Any, tmp_path: Path, data: bytes | None, expected: str) -> None:
    cli, run = simulated()
    path = tmp_path / "x.png"
    if data is not None:
        path.write_bytes(data)
    assert_message(handrail(*run, "--image", str(path), "hi"), 2, "x.png", expected)
    assert cli.launches() == []


# ---------------------------------------------------------------- how it ends


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
    assert "dropped the message" in done.stderr


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
    assert done.returncode == 3
    assert "nobody is at a terminal to be asked: Bash rm x" in done.stdout
    assert "⚠ 2 things were denied, because nobody could be asked" in done.stdout
    assert done.stdout.count("--allowed-tools") == 1
    answers = [line["response"]["response"] for line in cli.received() if line["type"] == "control_response"]
    assert [answer["behavior"] for answer in answers] == ["deny", "deny"]
    assert "nobody could be asked" in answers[0]["message"]


def test_what_a_rule_allows_is_not_called_denied(simulated: Any) -> None:
    _, run = simulated(sim.turn(sim.tool("Bash", {"command": "rm x"}), "Done."))
    done = handrail(*run, "--allowed-tools", "Bash(rm *)", "hi")
    assert done.returncode == 0, done.stdout
    assert "denied" not in done.stdout
    assert "not taken" not in done.stdout


# ---------------------------------------------------------------- for programs


def test_json_is_one_event_per_line(simulated: Any) -> None:
    _, run = simulated(sim.turn("Hello.", sim.tool("Bash", {"command": "make"}), sim.send_raw(b"junk\n")))
    done = handrail(*run, "--json", "hi")
    assert done.returncode == 3
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {"prompt", "started", "text", "action", "ask_opened", "ask_closed", "completed"} <= {
        event["type"] for event in events
    }
    assert "denied" in done.stderr
    assert "junk" not in done.stderr


def test_deltas_are_written_if_they_are_wanted(simulated: Any) -> None:
    _, run = simulated(sim.turn("Hello there."))
    assert '"delta"' not in handrail(*run, "--json", "hi").stdout
    done = handrail(*run, "--json", "--deltas", "hi")
    deltas = [event for line in done.stdout.splitlines() if (event := json.loads(line))["type"] == "delta"]
    assert "".join(delta["text"] for delta in deltas) == "Hello there."


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
    assert_message(handrail(*run, "--cwd", str(tmp_path / "gone"), "hi"), 2, "there is no directory")


def test_what_cannot_start_leaves_no_session_behind(simulated: Any, tmp_path: Path) -> None:
    _, run = simulated()
    assert handrail(*run, "--cwd", str(tmp_path / "gone"), "hi").returncode == 2
    assert handrail(*run, "--cli", str(tmp_path / "nothing"), "hi").returncode == 2
    directories = {row["cwd"] for row in json.loads(handrail("ls", "--json").stdout)}
    assert directories.isdisjoint({str(tmp_path), str(tmp_path / "gone")})


def test_a_cli_that_exits_at_once(simulated: Any) -> None:
    _, run = simulated(sim.stderr("Error: no such session\n"), sim.exit(1))
    assert_message(handrail(*run, "hi"), 2, "exited with code 1", "no such session")


def test_a_cli_that_dies_in_the_middle(simulated: Any) -> None:
    _, run = simulated(sim.turn("Half.", sim.stderr("out of memory\n"), sim.exit(9)))
    done = handrail(*run, "hi")
    assert done.returncode == 1
    assert "Half." in done.stdout
    assert done.stdout.count("exited with code 9") == 1
    assert "out of memory" in done.stdout


def test_a_recording_that_cannot_be_written(simulated: Any, tmp_path: Path) -> None:
    _, run = simulated()
    assert_message(handrail(*run, "--record", str(tmp_path / "no" / "such" / "file"), "hi"), 2, "file")


def test_options_that_contradict_each_other(simulated: Any) -> None:
    _, run = simulated()
    assert_message(handrail(*run, "--resume", "abc", "--continue", "hi"), 2, "two conversations")
    assert_message(handrail(*run, "--mode", "yolo", "hi"), 2, "there is no mode 'yolo'", "acceptEdits")
    assert_message(handrail(*run, "--mode", "paln", "hi"), 2, "did you mean 'plan'?")
    assert_message(handrail(*run, "--max-budget", "0", "hi"), 2, "above 0")
    assert_message(handrail(*run, "--fork", "hi"), 2, "--resume ID")
    assert_message(handrail(*run, "--deltas", "hi"), 2, "--json")
    assert_message(handrail(*run, "--continue", "--worktree", "x", "hi"), 2, "new sessions")


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
    for code in ("0", "1", "2", "3", "130", "128 + n"):
        assert f"| {code} |" in guide

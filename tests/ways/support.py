"""A Claude Code that calls the hook about two commands in each turn, and what it was told of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, TypeAlias

from handrail.policy.storage.loading import Asked
from handrail.testing import simulated as sim
from handrail.testing.simulated import Launch, SimulatedCLI

__all__ = ["CALLS", "RULE", "STANDING", "Ruling", "asking_cli", "calls", "check_held", "kept_by_claude"]

RULE = "Bash(rm:*)"
STANDING = Asked(profile="readonly", deny=(RULE,))
"""What the configuration asks of every session: nothing is removed, and what is no read is denied."""
Ruling: TypeAlias = Literal["deny", "ask"]

CLAUDES_OWN = "6ca440c5-8391-4eb6-a834-4e5b6c95b955"


def calls(*further: Any) -> sim.Step:
    """Turns in each of which Claude wants to remove something, and to make something."""
    return sim.loop_turns(_hook("rm", "rm -rf build"), _hook("touch", "touch made"), *further, "Done.")


def _hook(name: str, command: str) -> sim.Step:
    call = {"tool_name": "Bash", "tool_input": {"command": command}}
    return sim.hook("PreToolUse", call, request_id=name, tool_use_id=f"call-{name}")


CALLS = (calls(),)


def asking_cli(directory: Path) -> SimulatedCLI:
    directory.mkdir(parents=True, exist_ok=True)
    return SimulatedCLI(CALLS, directory=directory)


def check_held(cli: SimulatedCLI, *, launches: int | None = None, touch: Ruling = "deny") -> None:
    """The CLI that was started last was held to the rule, by the hook and by its own settings, and to the profile."""
    started = cli.launches()
    if launches is not None:
        assert len(started) == launches, [launch.argv for launch in started]
    rulings = _rulings(started[-1])
    assert rulings == {"rm": "deny", "touch": touch}
    settings = _settings(started[-1])
    assert RULE in settings["permissions"]["deny"]
    assert (settings["disableAllHooks"], settings["env"]) == (False, {"CLAUDE_CODE_SIMPLE": "0"})


def _rulings(launch: Launch) -> dict[str, str]:
    answers = [line["response"] for line in launch.received if line["type"] == "control_response"]
    return {each["request_id"]: _decision(each["response"]) for each in answers}


def _decision(body: dict[str, Any]) -> str:
    return str(body.get("hookSpecificOutput", {}).get("permissionDecision", "none"))


def _settings(launch: Launch) -> dict[str, Any]:
    (given,) = [each for each in launch.argv if each.startswith("--settings=")]
    settings: dict[str, Any] = json.loads(given.removeprefix("--settings="))
    return settings


def kept_by_claude(home: Path, cwd: Path) -> str:
    """The id of a session that Claude Code keeps by itself."""
    directory = home / ".claude" / "projects" / str(cwd).replace("/", "-").replace("_", "-")
    directory.mkdir(parents=True)
    common = {"sessionId": CLAUDES_OWN, "cwd": str(cwd), "version": "2.1.325", "timestamp": "2026-11-16T03:00:00.000Z"}
    line = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Where is the bug?"}, **common}
    (directory / f"{CLAUDES_OWN}.jsonl").write_text(json.dumps(line) + "\n")
    return CLAUDES_OWN

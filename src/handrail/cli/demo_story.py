"""What happens in the demo: a small script is made friendlier, with a question, an edit and a command to answer.

The same story is told to the real CLI, by a scripted model, and by the simulated one; in the hub with a plan, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handrail.testing import simulated as sim
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import Reply, ReplyLike, ScriptEntry, Text, Thinking, ToolUse

__all__ = ["PROMPT", "DemoStory", "prepare"]

PROMPT = "Make greet.sh friendlier, and show me that it works."

SCRIPT_NAME = "greet.sh"
SCRIPT = '#!/bin/sh\n# Greets whoever is named.\necho "Hello, $1."\n'
OLD_LINE = 'echo "Hello, $1."'
WARM_LINE = 'echo "Hello, $1! Good to see you."'
BRIEF_LINE = 'echo "Hi, $1!"'
TRY_IT = {"command": f"sh {SCRIPT_NAME} World", "description": "Try the new greeting"}

THOUGHT = "A greeting can be friendly in more than one way. I should look at the script, then ask which."
FIRST = "I'll look at the script first."
THEN = "It is short and rather formal. Which way shall I take it?"
NOW_EDIT = "Good. One line changes:"
SIMULATED_EDIT = "Good. One line changes (a simulation takes the warm one, whatever you chose):"
NOW_TRY = "Now let me run it."
DECLINED = "All right, I leave it there. Nothing was changed that you did not allow."
QUESTION: dict[str, Any] = {
    "questions": [
        {
            "question": "How should it greet?",
            "header": "Tone",
            "options": [
                {"label": "Warmly", "description": "Hello, World! Good to see you."},
                {"label": "Briefly", "description": "Hi, World!"},
            ],
            "multiSelect": False,
        }
    ]
}
PLANNED = "Good. This is what I would do:"
PLAN = """# A friendlier greeting

1. Change the one line of `greet.sh` that greets.
2. Run it once, to see that it works.

| file | what changes |
|---|---|
| `greet.sh` | one line |

Nothing else is touched.
"""
DONE = "`greet.sh` has its new greeting, and it runs."
SIMULATED_DONE = "`greet.sh` has its new greeting, in this simulation."


def prepare(name: str) -> tuple[Path, Path]:
    """The demo's directory, and the project inside it."""
    directory = Path(name).resolve()
    project = directory / "project"
    project.mkdir()
    (project / SCRIPT_NAME).write_text(SCRIPT)
    return directory, project


@dataclass(frozen=True, kw_only=True)
class DemoStory:
    """How the story is told: `lesson` is what it ends with, `pace` the seconds between pieces of text."""

    lesson: str
    pace: float = 0.0
    with_plan: bool = False

    def script(self, project: Path) -> list[ScriptEntry]:
        """What the model says. It sees what became of each call, and stops where something was denied."""
        path = str(project / SCRIPT_NAME)
        review = ToolUse("ExitPlanMode", {"plan": PLAN})
        plan = [self._unless_denied(lambda request: self._reply(Text(PLANNED), review))]
        return [
            self._reply(Thinking(THOUGHT), Text(FIRST), ToolUse("Read", {"file_path": path})),
            self._reply(Text(THEN), ToolUse("AskUserQuestion", QUESTION)),
            *(plan if self.with_plan else []),
            self._unless_denied(
                lambda request: self._reply(Text(NOW_EDIT), ToolUse("Edit", _change(path, _chosen_line(request))))
            ),
            self._unless_denied(lambda request: self._reply(Text(NOW_TRY), ToolUse("Bash", TRY_IT))),
            self._unless_denied(lambda request: self._reply(Text(f"{DONE}\n\n{self.lesson}"))),
        ]

    def simulation(self, project: Path) -> list[sim.Step]:
        """The same for the simulated CLI. It runs nothing, so it cannot take notice of the answers."""
        path = str(project / SCRIPT_NAME)
        numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(SCRIPT.splitlines(), start=1))
        approved = sim.tool("ExitPlanMode", {"plan": PLAN}, output="The plan was approved.", suggestions=[])
        return [
            sim.turn(
                self._say(FIRST),
                sim.tool("Read", {"file_path": path}, output=numbered, ask=False),
                self._say(THEN),
                sim.tool("AskUserQuestion", QUESTION, output="The questions were answered.", suggestions=[]),
                *([self._say(PLANNED), approved] if self.with_plan else []),
                self._say(SIMULATED_EDIT),
                sim.tool(
                    "Edit", _change(path, WARM_LINE), output=f"{path} was changed.", suggestions=[_accept_edits()]
                ),
                self._say(NOW_TRY),
                sim.tool("Bash", TRY_IT, output="Hello, World! Good to see you.", suggestions=[_allow_command()]),
                self._say(f"{SIMULATED_DONE}\n\n{self.lesson}"),
            )
        ]

    def _reply(self, *blocks: Text | Thinking | ToolUse) -> Reply:
        return Reply(*blocks, deltas=30, delta_delay=self.pace) if self.pace else Reply(*blocks)

    def _unless_denied(self, make: Callable[[ModelRequest], Reply]) -> Callable[[ModelRequest], ReplyLike]:
        return lambda request: self._reply(Text(DECLINED)) if _denied(request) else make(request)

    def _say(self, text: str) -> sim.Step:
        return sim.say(text, pause=self.pace)


def _denied(request: ModelRequest) -> bool:
    return any(result.get("is_error") for result in request.tool_results.values())


def _chosen_line(request: ModelRequest) -> str:
    """The line that the person chose. Only answers tell: the question itself names every choice."""
    contents = [content for message in request.messages if isinstance(content := message.get("content"), list)]
    answers = [block for content in contents for block in content if block.get("type") == "tool_result"]
    return BRIEF_LINE if "Briefly" in str(answers) else WARM_LINE


def _change(path: str, line: str) -> dict[str, str]:
    return {"file_path": path, "old_string": OLD_LINE, "new_string": line}


def _accept_edits() -> dict[str, Any]:
    return {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


def _allow_command() -> dict[str, Any]:
    rule = {"toolName": "Bash", "ruleContent": TRY_IT["command"]}
    return {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"}

"""What a real CLI decides on tool calls under given permission rules, without running any command."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from handrail.policy import Rules
from handrail.policy.verdict import Behavior
from handrail.protocol.asks import Allow, Answer, Ask, Deny
from handrail.protocol.blocks import ToolResult
from handrail.protocol.launch import Options, PermissionMode
from handrail.sessions.mcp import ToolServer
from handrail.sessions.tools import Tool, tool
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import ReplyLike, ToolUse

from .support import Live, World

LAYOUT = Path(__file__).parents[1] / "fixtures" / "rules" / "layout.json"

EDITABLE = {"Edit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}
"""Tools that refuse an existing file which was not read before, and the field that names it."""

TOOLS = ("Bash", "Read", "Edit", "Write", "NotebookEdit", "Glob", "Grep", "WebFetch", "WebSearch", "Agent", "Skill")

SKILLS = {
    "demo": "---\nname: demo\ndescription: Harmless\n---\nDo nothing.\n",
    "priv": "---\nname: priv\ndescription: Wants tools\nallowed-tools: Bash(foo:*)\n---\nDo nothing.\n",
}
"""A skill that runs unasked, and one that is asked for because it brings permissions of its own."""

REFUSALS = (
    "has been denied",
    "denied by your permission settings",
    "covered by a Read deny rule",
    "No such tool available",
    "is a symbolic link",
    "denied access to",
    "blocked by permission rules",
    "was blocked by a deny rule",
    "contains control characters",
)
"""What the model is told when the CLI refuses a call without asking anybody."""

NO_NETWORK = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
"""Nobody listens there. The scripted model is spoken to directly."""

INERT_SHELL = """\
#!/bin/sh
# Before it trusts an assignment in a command, the CLI wants to know its shell's environment, and a snapshot of the
# shell's functions and aliases in a file. Both are given to it; nothing else runs.
case "$*" in
"-c env") exec env ;;
"-c -l SNAPSHOT_FILE="*)
    file=${3#SNAPSHOT_FILE=}
    : >"${file%%[[:space:]]*}"
    ;;
esac
exit 0
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """The rules of a session and how it was started. Paths may begin with ${CWD}, ${HOME} and ${OUTSIDE}."""

    allow: Sequence[str] = ()
    ask: Sequence[str] = ()
    deny: Sequence[str] = ()
    mode: PermissionMode = "default"
    source: Literal["settings", "allowedTools"] = "settings"
    add_dirs: Sequence[str] = ()

    @property
    def lists(self) -> dict[str, list[str]]:
        return {"allow": list(self.allow), "ask": list(self.ask), "deny": list(self.deny)}


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; the strings in its input may contain ${CWD}, ${HOME} and ${OUTSIDE}."""

    tool: str
    input: Mapping[str, Any] = field(hash=False)

    def __str__(self) -> str:
        return f"{self.tool} {json.dumps(self.input, ensure_ascii=False)}"


class Unclear(AssertionError):
    """A call that neither ran nor was refused because of a rule: it says nothing about rules."""


class Ground:
    """The files that rules and calls talk about, laid out in the directories of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._names = {"${CWD}": world.cwd, "${HOME}": world.home, "${OUTSIDE}": world.outside}
        self.shell = world.home / "inert" / "bash"
        self._lay_out()

    def fill(self, value: Any) -> Any:
        """`value` with the real directories in place of their names, at any depth."""
        if isinstance(value, str):
            for name, path in self._names.items():
                value = value.replace(name, str(path))
            return value
        if isinstance(value, Mapping):
            return {key: self.fill(item) for key, item in value.items()}
        return [self.fill(item) for item in value] if isinstance(value, list | tuple) else value

    def rules(self, setting: Setting) -> Rules:
        return Rules(**self.fill(setting.lists))

    def options(self, setting: Setting) -> Options:
        """How to start a CLI under these rules: with a shell that runs nothing."""
        lists = self.fill(setting.lists)
        flags = setting.source == "allowedTools"
        # In plan mode the newest CLIs leave the decision to a classifier unless they are told not to.
        settings: dict[str, Any] = {"skipWebFetchPreflight": True, "useAutoModeDuringPlan": False}
        return Options(
            settings=settings | {"permissions": {"ask": lists["ask"]} if flags else lists},
            allowed_tools=lists["allow"] if flags else (),
            disallowed_tools=lists["deny"] if flags else (),
            permission_mode=setting.mode,
            allow_dangerously_skip_permissions=setting.mode == "bypassPermissions",
            add_dirs=self.fill(setting.add_dirs),
            tools=TOOLS,
            env={"SHELL": str(self.shell), "CLAUDE_CODE_SHELL": str(self.shell), **NO_NETWORK},
        )

    def _lay_out(self) -> None:
        for entry in json.loads(LAYOUT.read_text()):
            path = Path(self.fill(entry["path"]))
            if entry.get("dir"):
                path.mkdir(parents=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if "link" in entry:
                path.symlink_to(self.fill(entry["link"]))
            else:
                path.write_text(entry["text"])
        for name, text in SKILLS.items():
            (self.world.cwd / ".claude" / "skills" / name / "SKILL.md").write_text(text)
        self.shell.parent.mkdir()
        self.shell.write_text(INERT_SHELL)
        self.shell.chmod(0o755)


async def measure(ground: Ground, setting: Setting, calls: Sequence[Call]) -> list[Behavior]:
    """What the CLI does with each call: runs it (allow), asks, or refuses by itself (deny). One process for all."""
    gate = Gate()
    model = Caller()
    options = ground.options(setting)
    servers = [_server("srv")] if any(call.tool.startswith("mcp__srv__") for call in calls) else []
    async with ground.world.live(model.script(calls), options=options, on_ask=gate, tools=servers) as live:
        session = Session(live, model, gate)
        if any(call.tool == "Bash" for call in calls):
            await session.prepare(Call("Bash", {"command": "foo"}))
        return [await session.judge(Call(call.tool, ground.fill(call.input)), ground.world.cwd) for call in calls]


class Gate:
    """An `on_ask` that notes which calls were asked for, and refuses them unless they are only preparation."""

    def __init__(self) -> None:
        self.asked: set[str | None] = set()
        self.open = False

    async def __call__(self, ask: Ask) -> Answer:
        self.asked.add(ask.tool_use_id)
        return Allow() if self.open else Deny("measured")


class Caller:
    """A model that makes the call it was told to make, and has nothing to say to anything else."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolUse] = {}
        self._made: set[str] = set()

    def expect(self, call: Call) -> str:
        """The id of a call that will be made when a prompt names it."""
        id = f"toolu_{len(self._calls):04}"
        self._calls[id] = ToolUse(call.tool, call.input, id=id)
        return id

    def script(self, calls: Sequence[Call]) -> Iterator[Any]:
        """Enough replies for all calls, what prepares them, and what background agents report."""
        return iter([self._reply] * (10 + 8 * len(calls)))

    def _reply(self, request: ModelRequest) -> ReplyLike:
        # Not only in the last message: what a background agent reports may come after the prompt.
        said = str(request.messages)
        for id in self._calls.keys() - self._made:
            if id in said:
                self._made.add(id)
                return self._calls[id]
        return "Done."


class Session:
    """A CLI that is given one call after the other, each in a turn of its own."""

    def __init__(self, live: Live, model: Caller, gate: Gate) -> None:
        self._live = live
        self._model = model
        self._gate = gate

    async def judge(self, call: Call, cwd: Path) -> Behavior:
        if (edited := _edited_file(call, cwd)) is not None:
            await self.prepare(Call("Read", {"file_path": str(edited)}))
        id, result = await self._make(call)
        if id in self._gate.asked:
            return "ask"
        return "deny" if _refused(call, result) else "allow"

    async def prepare(self, call: Call) -> None:
        """Make a call that is allowed whenever the CLI asks."""
        self._gate.open = True
        await self._make(call)
        self._gate.open = False

    async def _make(self, call: Call) -> tuple[str, ToolResult]:
        id = self._model.expect(call)
        await self._live.client.run(f"Make the call {id}")
        return id, await self._live.transport.log.until(lambda: self._result_of(id), f"result of {call}")

    def _result_of(self, id: str) -> ToolResult | None:
        return next((result for result in self._live.tool_results() if result.tool_use_id == id), None)


def _edited_file(call: Call, cwd: Path) -> Path | None:
    """The file that must have been read before the call, or the CLI would refuse it whatever the rules say."""
    path = cwd / call.input[EDITABLE[call.tool]] if call.tool in EDITABLE else None
    return path if path is not None and path.is_file() else None


def _refused(call: Call, result: ToolResult) -> bool:
    if not result.is_error:
        return False
    told = str(result.content)
    if any(words in told for words in REFUSALS):
        return True
    if call.tool != "WebFetch":  # which may run, and then fails for want of a network
        raise Unclear(f"{call}: {told}")
    return False


def _server(name: str) -> ToolServer:
    return ToolServer(name, [_tool(each) for each in ("read_x", "read_y", "write_x")])


def _tool(name: str) -> Tool[..., Any]:
    def function(a: str = "") -> str:
        """Does nothing."""
        return "done"

    function.__name__ = name
    return tool(function)

"""The script's steps, and the life of the process that plays them."""

from __future__ import annotations

import json
import os
import signal
import time

from .control import ControlServer
from .conversation import Conversation
from .core import Core, EndOfInput, Flags, Requests
from .wire import Stopped, Wire, encode, message_matches, new_tool_use_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    StepData = dict[str, Any]

FLOOD_BATCH = 256
SIGTERM_EXIT_CODE = 143


def main(script_path: str, argv: list[str]) -> NoReturn:
    with open(script_path, encoding="utf-8") as file:
        script = json.load(file)
    if argv and argv[0] in ("--version", "-v"):
        os.write(1, f"{script['profile']['version']} (Claude Code)\n".encode())
        os._exit(0)
    run = os.path.join(script["runs"], f"{time.time_ns()}-{os.getpid()}")
    wire = Wire(os.open(run + ".received", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    signal.signal(signal.SIGTERM, lambda signum, frame: os._exit(SIGTERM_EXIT_CODE))
    signal.signal(signal.SIGINT, wire.stop)
    _note_launch(run, argv)
    player = Player(script, Core(script, Flags(argv), wire), run + ".grandchildren")
    os._exit(player.run(script["steps"]))


def _note_launch(run: str, argv: list[str]) -> None:
    """Leave a note of how this run was started: complete or not at all, and for its owner only."""
    launch = {"argv": argv, "env": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid()}
    descriptor = os.open(run + ".partial", os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(descriptor, json.dumps(launch).encode("ascii"))
    os.close(descriptor)
    os.rename(run + ".partial", run + ".launch")


class Player:
    """Plays steps: the method `_do_X` is the step `X`.

    A step that writes handles the lines that came in before it writes, and none after: so the host, which can only
    react to what was written, meets the step that follows.
    """

    def __init__(self, script: dict[str, Any], core: Core, grandchildren: str) -> None:
        self._core = core
        self._requests = Requests(core)
        self._conversation = Conversation(core, self._requests)
        self._control = ControlServer(script, core, self._requests, self._conversation)
        self._grandchildren = grandchildren

    def run(self, steps: list[StepData]) -> int:
        """Play the script, then serve control requests until input ends. Returns the exit code."""
        prompt = self._core.flags.prompt()
        if prompt is not None:
            self._conversation.receive({"type": "user", "message": {"role": "user", "content": prompt}})
            self._core.wire.end()
        try:
            self._play(steps)
            self._core.wait_for_input(lambda: False)
        except (EndOfInput, Stopped):
            pass
        return 0

    def _play(self, steps: list[StepData]) -> None:
        for step in steps:
            action: Callable[[StepData], None] = getattr(self, "_do_" + step["op"])
            action(step)

    # The conversation

    def _do_turn(self, step: StepData) -> None:
        parts = step["parts"]
        self._conversation.run_turn(lambda: self._play(parts), prompted=step["prompted"], overrides=step["result"])

    def _do_say(self, step: StepData) -> None:
        self._conversation.say(step["text"], step["pause"])

    def _do_tool(self, step: StepData) -> None:
        self._conversation.use_tool(step)

    def _do_huge(self, step: StepData) -> None:
        self._conversation.say_huge(step["size"])

    # Lines

    def _do_expect(self, step: StepData) -> None:
        def matches(message: dict[str, Any]) -> bool:
            return message_matches(message, step["type"], step["fields"])

        if step["type"] == "user":
            self._conversation.take(matches)
            return
        inbox = self._core.inbox
        self._core.wait_for_input(lambda: any(matches(message) for message in inbox))
        message = next(message for message in inbox if matches(message))
        inbox.remove(message)
        self._core.remember(message)

    def _do_send(self, step: StepData) -> None:
        self._core.catch_up()
        for frame in step["frames"]:
            self._core.send(self._core.render(frame))

    def _do_send_raw(self, step: StepData) -> None:
        self._core.catch_up()
        first, *rest = (piece.encode("latin-1") for piece in step["pieces"])
        self._core.wire.write(first)
        for piece in rest:
            self._core.sleep(step["pause"])
            self._core.wire.write(piece)

    def _do_flood(self, step: StepData) -> None:
        for start in range(0, step["count"], FLOOD_BATCH):
            numbers = range(start, min(start + FLOOD_BATCH, step["count"]))
            frames = [encode(self._core.render(step["frame"], {"index": number})) for number in numbers]
            self._core.catch_up()
            self._core.wire.write(b"".join(frames))

    def _do_blast(self, step: StepData) -> None:
        with open(step["path"], "rb") as file:
            data = file.read()
        for _ in range(step["times"]):
            if step["lines_per_second"] is None:
                self._write_chunks(memoryview(data), step["chunk"])
            else:
                self._write_paced(data.splitlines(keepends=True), 1 / step["lines_per_second"])

    def _write_chunks(self, data: memoryview, chunk: int) -> None:
        for start in range(0, len(data), chunk):
            self._core.catch_up()
            self._core.wire.write(data[start : start + chunk])

    def _write_paced(self, lines: list[bytes], interval: float) -> None:
        due = time.monotonic()
        for line in lines:
            self._core.sleep(due - time.monotonic())
            self._core.catch_up()
            self._core.wire.write(line)
            due += interval

    def _do_stderr(self, step: StepData) -> None:
        os.write(2, step["text"].encode())

    # Control requests to the host

    def _do_ask(self, step: StepData) -> None:
        tool_use_id = step["fields"].get("tool_use_id") or new_tool_use_id()
        self._wait_if(step, self._conversation.ask(step, tool_use_id))

    def _do_hook(self, step: StepData) -> None:
        event, values = step["event"], self._core.values
        callback_id = step["callback_id"] or self._control.callback_id(event, step["input"].get("tool_name"))
        if callback_id is None:
            self._core.exit_with(f"simulated CLI: the host registered no hook for {event}")
        common = {
            "session_id": values["$session"],
            "transcript_path": os.path.join(values["$cwd"], values["$session"] + ".jsonl"),
            "cwd": values["$cwd"],
            "permission_mode": values["$mode"],
            "hook_event_name": event,
        }
        request = {"subtype": "hook_callback", "callback_id": callback_id, "input": common | step["input"]}
        if step["tool_use_id"] is not None:
            request["tool_use_id"] = step["tool_use_id"]
        self._send_request(step, request)

    def _do_mcp(self, step: StepData) -> None:
        request = {"subtype": "mcp_message", "server_name": step["server"], "message": step["message"]}
        self._send_request(step, request)

    def _do_request(self, step: StepData) -> None:
        self._send_request(step, step["request"])

    def _send_request(self, step: StepData, request: dict[str, Any]) -> None:
        self._wait_if(step, self._requests.send(self._core.render(request), step["request_id"]))

    def _wait_if(self, step: StepData, request_id: str) -> None:
        if step["wait"]:
            self._requests.response_to(request_id)

    def _do_cancel(self, step: StepData) -> None:
        self._requests.cancel(step["request_id"])

    # Time, life and death

    def _do_repeat(self, step: StepData) -> None:
        done = 0
        while step["times"] is None or done < step["times"]:
            self._play(step["steps"])
            done += 1

    def _do_sleep(self, step: StepData) -> None:
        self._core.sleep(step["seconds"])

    def _do_silence(self, step: StepData) -> None:
        wait = self._core.wire.read_line if step["reading"] else self._core.wire.idle
        deadline = None if step["seconds"] is None else time.monotonic() + step["seconds"]
        while deadline is None or time.monotonic() < deadline:
            wait(None if deadline is None else max(0.0, deadline - time.monotonic()))

    def _do_exit(self, step: StepData) -> None:
        os._exit(step["code"])

    def _do_die(self, step: StepData) -> None:
        if step["signal"] not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(step["signal"], signal.SIG_DFL)
        os.kill(os.getpid(), step["signal"])

    def _do_ignore_sigterm(self, step: StepData) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def _do_ignore_eof(self, step: StepData) -> None:
        self._core.ignores_end = True

    def _do_spawn_grandchild(self, step: StepData) -> None:
        ready, when_ready = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(ready)
            _be_grandchild(step, when_ready)
        os.close(when_ready)
        os.read(ready, 1)  # returns when the grandchild closes its end
        os.close(ready)
        with open(self._grandchildren, "a", encoding="ascii") as file:
            file.write(f"{pid}\n")


def _be_grandchild(step: StepData, when_ready: int) -> NoReturn:
    """Live on like an MCP server or a background shell that the CLI started."""
    if step["detached"]:
        os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0,) if step["holds_stdout"] else (0, 1, 2):
        os.dup2(nowhere, descriptor)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if step["ignores_sigterm"] else signal.SIG_DFL)
    os.close(when_ready)
    time.sleep(step["seconds"])
    os._exit(0)

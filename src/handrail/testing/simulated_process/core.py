"""What every part of the simulation builds on: reading, waiting, filling in frames, asking the host."""

from __future__ import annotations

import json
import os
import time

from .wire import encode, fill, new_uuid, text_of, timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from .wire import Wire


class EndOfInput(Exception):
    """Standard input ended while the script was waiting for more."""


class Flags:
    """The command line, read as leniently as possible."""

    def __init__(self, argv: list[str]) -> None:
        self._argv = argv

    def has(self, *names: str) -> bool:
        return any(argument.split("=", 1)[0] in names for argument in self._argv)

    def value(self, name: str) -> str | None:
        for position, argument in enumerate(self._argv):
            if argument.startswith(name + "="):
                return argument[len(name) + 1 :]
            if argument == name and position + 1 < len(self._argv):
                return self._argv[position + 1]
        return None

    def prompt(self) -> str | None:
        """The prompt of a one-shot run: what follows `--`, or `-p`."""
        if self.value("--input-format") == "stream-json":
            return None
        if "--" in self._argv:
            return " ".join(self._argv[self._argv.index("--") + 1 :])
        prompt = self.value("-p") or self.value("--print")
        return None if prompt is None or prompt.startswith("-") else prompt

    def session_id(self) -> str:
        resumed = None if self.has("--fork-session") else self.value("--resume") or self.value("-r")
        return self.value("--session-id") or resumed or new_uuid()

    def permission_mode(self) -> str:
        if self.has("--dangerously-skip-permissions"):
            return "bypassPermissions"
        return self.value("--permission-mode") or "default"

    def allow_bypass(self) -> bool:
        return self.has("--dangerously-skip-permissions", "--allow-dangerously-skip-permissions")


class Core:
    """Lines in, frames out, and the values that placeholders stand for.

    The other parts register what they do: with a line of some type (`receivers`), after each wait (`after_wait`),
    after each frame (`after_send`). `next_due` says when something has to be done even if no line comes.
    """

    def __init__(self, script: dict[str, Any], flags: Flags, wire: Wire) -> None:
        profile = script["profile"]
        self.flags = flags
        self.wire = wire
        self.habits: dict[str, bool] = profile["habits"]
        self.frames: dict[str, Any] = profile["frames"]
        self.receivers: dict[str, Callable[[dict[str, Any]], None]] = {}
        self.after_wait: list[Callable[[], None]] = []
        self.after_send: list[Callable[[str | None], None]] = []
        self.next_due: Callable[[], float | None] = lambda: None
        self.inbox: list[dict[str, Any]] = []  # everything but user messages, until an `expect` takes it
        self.lines_received = 0
        self.ignores_end = False
        self.mcp_servers: dict[str, Any] = {}
        self.values: dict[str, Any] = {
            "$session": script["session_id"] or flags.session_id(),
            "$cwd": os.getcwd(),
            "$model": flags.value("--model") or profile["model"],
            "$mode": flags.permission_mode(),
            "$version": profile["version"],
            "$pid": os.getpid(),
            "$result_index": -1,
            "$request_id": None,
            "$user_uuid": None,
            "$text": "",
        }

    # Waiting

    def pump(self, timeout: float | None) -> bool:
        """Handle the next line if it arrives in time; whether there was one."""
        line = self.wire.read_line(self._shortened(timeout))
        if line is not None:
            self._receive(line)
        for action in self.after_wait:
            action()
        return line is not None

    def catch_up(self) -> None:
        """Handle all lines that are already there."""
        while self.pump(0):
            pass

    def wait_for_input(self, satisfied: Callable[[], bool]) -> None:
        """Handle input until `satisfied()`. Raises EndOfInput when input ends first."""
        while not satisfied():
            if self.wire.ended and not self.ignores_end:
                raise EndOfInput
            self.pump(None)

    def sleep(self, seconds: float) -> None:
        """Handle input for so long."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.pump(left)

    def _shortened(self, timeout: float | None) -> float | None:
        due = self.next_due()
        if due is None:
            return timeout
        left = max(0.0, due - time.monotonic())
        return left if timeout is None else min(timeout, left)

    # Sending

    def send(self, frame: dict[str, Any]) -> None:
        self.wire.write(encode(frame))
        for action in self.after_send:
            action(frame.get("type"))

    def emit(self, template: str, **values: Any) -> None:
        """Send one of the version's own frames."""
        self.send(self.frame(template, **values))

    def frame(self, template: str, **values: Any) -> dict[str, Any]:
        """One of the version's own frames, with these values for its own placeholders."""
        frame: dict[str, Any] = self.render(self.frames[template], values)
        return frame

    def render(self, template: Any, values: dict[str, Any] | None = None) -> Any:
        own = values or {}
        return fill(template, lambda name: own[name[1:]] if name[1:] in own else self._value(name))

    def _value(self, name: str) -> Any:
        if name == "$uuid":
            return new_uuid()
        if name == "$now":
            return timestamp()
        if name == "$mcp_servers":
            return [{"name": server, "status": "connected"} for server in self.mcp_servers]
        if name == "$model_usage":
            return {self.values["$model"]: {"inputTokens": 10, "outputTokens": 20, "costUSD": 0.00044}}
        return self.values.get(name, name)

    def set_mode(self, mode: str) -> None:
        if mode != self.values["$mode"]:
            self.values["$mode"] = mode
            self.emit("status")

    # Receiving

    def _receive(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except ValueError:
            self._die_of_bad_line(line)
        self.lines_received += 1
        kind = message.get("type") if isinstance(message, dict) else None
        if kind in self.receivers:
            self.receivers[kind](message)
        else:
            self._receive_other(message, kind)

    def _receive_other(self, message: Any, kind: str | None) -> None:
        harmless = ("keep_alive", "update_environment_variables")
        if self.habits["dies_of_unknown_types"] and kind not in harmless:
            self.exit_with(f"Error: Expected message type 'user' or 'control', got '{kind}'")
        if isinstance(message, dict):
            self.inbox.append(message)

    def remember(self, message: dict[str, Any]) -> None:
        """Keep what the placeholders of a later frame may stand for."""
        if message.get("type") == "user":
            self.values["$user_uuid"] = message.get("uuid")
            self.values["$text"] = text_of(message)
        elif message.get("type") == "control_request":
            self.values["$request_id"] = message.get("request_id")

    def _die_of_bad_line(self, line: bytes) -> NoReturn:
        text = line.decode("utf-8", "replace")
        if self.habits["keeps_bad_lines_private"]:
            self.exit_with(f"Error parsing streaming input line (type=unknown, {len(text)} chars): SyntaxError")
        self.exit_with(f"Error parsing streaming input line: {text}: SyntaxError: JSON Parse error")

    def exit_with(self, complaint: str) -> NoReturn:
        os.write(2, complaint.encode() + b"\n")
        os._exit(1)


class Requests:
    """Control requests to the host, and its answers."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._pending: dict[str, dict[str, Any]] = {}
        self._responses: dict[str, dict[str, Any]] = {}
        core.receivers["control_response"] = self._receive

    def send(self, request: dict[str, Any], request_id: str | None) -> str:
        """Send a request; its id is new unless the script chose one."""
        request_id = request_id or new_uuid()
        message = {"type": "control_request", "request_id": request_id, "request": request}
        self._pending[request_id] = message
        self._core.send(message)
        return request_id

    def response_to(self, request_id: str) -> dict[str, Any] | None:
        """Wait for the host's answer; None when input ended before there was one."""
        try:
            self._core.wait_for_input(lambda: request_id in self._responses)
        except EndOfInput:
            return None
        return self._responses[request_id]

    def cancel(self, request_id: str) -> None:
        self._pending.pop(request_id, None)
        self._core.send({"type": "control_cancel_request", "request_id": request_id})

    def cancel_all(self) -> None:
        for request_id in list(self._pending):
            self.cancel(request_id)

    def pending_asks(self) -> list[dict[str, Any]]:
        return [each for each in self._pending.values() if each["request"]["subtype"] == "can_use_tool"]

    def _receive(self, message: dict[str, Any]) -> None:
        response = message.get("response") or {}
        request_id = str(response.get("request_id"))
        if self._pending.pop(request_id, None) is not None:
            self._responses[request_id] = response
        self._core.inbox.append(message)

"""Control requests of the host, answered as the emulated version would, or as the script says."""

from __future__ import annotations

import os
import time

from .wire import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from .conversation import Conversation
    from .core import Core, Requests

    Json = dict[str, Any]
    Body = dict[str, Any] | None

MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")
BYPASS_REFUSED = (
    "Cannot set permission mode to bypassPermissions because the session was not launched with "
    "--dangerously-skip-permissions"
)


class Refusal(Exception):
    """The request is answered with an error."""

    def __init__(self, error: str, code: str | None = None) -> None:
        super().__init__(error)
        self.error = error
        self.code = code


class Unanswered(Exception):
    """The request is not answered at all."""


class LateAnswer:
    """A response, held back until its moment comes (which may be at once)."""

    def __init__(self, data: bytes, answer: Json, lines_received: int) -> None:
        self.data = data
        self.after_line: int = lines_received + answer.get("after_lines", 0)
        self.due: float = time.monotonic() + answer.get("after_seconds", 0.0)
        self.after_frame: str | None = answer.get("after_frame")

    def waits_for_time_only(self, lines_received: int) -> bool:
        return self.after_frame is None and lines_received >= self.after_line


class ControlServer:
    """Answers each control request, by subtype."""

    def __init__(self, script: Json, core: Core, requests: Requests, conversation: Conversation) -> None:
        self.hooks: Json = {}
        self._core = core
        self._requests = requests
        self._conversation = conversation
        self._answers: dict[str, list[Json]] = script["answers"]
        self._bodies: Json = script["profile"]["control"]
        self._errors: dict[str, str] = script["profile"]["errors"]
        self._late: list[LateAnswer] = []
        self._afterwards: list[Callable[[], None]] = []
        self._initialized = False
        self._handlers: dict[str, Callable[[Json], Body]] = {
            "initialize": self._initialize,
            "interrupt": self._interrupt,
            "set_permission_mode": self._set_permission_mode,
            "set_model": self._set_model,
            "end_session": self._end_session,
            "cancel_async_message": self._cancel_async_message,
            "mcp_status": self._mcp_status,
            "mcp_set_servers": self._mcp_set_servers,
            "mcp_toggle": self._find_mcp_server,
            "mcp_reconnect": self._find_mcp_server,
            "rename_session": self._rename_session,
        }
        core.receivers["control_request"] = self._receive
        core.after_send.append(self._note_frame)
        # First of all, so that an interrupt is answered before it takes effect.
        core.after_wait.insert(0, self._release)
        core.next_due = self._next_due

    def callback_id(self, event: str, tool: str | None) -> str | None:
        """The first hook that the host registered for this event (and tool)."""
        for matcher in self.hooks.get(event, []):
            if matcher.get("matcher") in (None, "", "*", tool) and matcher.get("hookCallbackIds"):
                return str(matcher["hookCallbackIds"][0])
        return None

    # When to answer

    def _receive(self, message: Json) -> None:
        self._core.remember(message)
        self._core.inbox.append(message)
        request = message.get("request") or {}
        answer = self._next_answer(request.get("subtype"))
        if answer.get("times") == 0:
            return
        try:
            envelope = self._envelope(request, answer)
        except Unanswered:
            return
        data = encode({"type": "control_response", "response": envelope | {"request_id": message.get("request_id")}})
        late = LateAnswer(data, answer, self._core.lines_received)
        self._late += [late] * answer.get("times", 1)
        self._release()
        afterwards, self._afterwards = self._afterwards, []
        for action in afterwards:
            action()

    def _next_answer(self, subtype: str | None) -> Json:
        """What the script says about this request: each time the next one, then the last for ever."""
        answers = self._answers.get(subtype or "") or self._answers.get("*") or [{}]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def _next_due(self) -> float | None:
        received = self._core.lines_received
        return min((late.due for late in self._late if late.waits_for_time_only(received)), default=None)

    def _note_frame(self, kind: str | None) -> None:
        for late in self._late:
            if late.after_frame == kind:
                late.after_frame = None
        self._release()

    def _release(self) -> None:
        received, now = self._core.lines_received, time.monotonic()
        ready = [late for late in self._late if late.waits_for_time_only(received) and late.due <= now]
        self._late = [late for late in self._late if late not in ready]
        for late in ready:
            self._core.wire.write(late.data)

    # What to answer

    def _envelope(self, request: Json, answer: Json) -> Json:
        try:
            if "error" in answer:
                raise Refusal(answer["error"], answer.get("code"))
            body = self._body(request, answer.get("body"))
        except Refusal as refusal:
            envelope: Json = {"subtype": "error", "error": refusal.error}
            if refusal.code is not None:
                envelope["error_code"] = refusal.code
        else:
            envelope = {"subtype": "success"} if body is None else {"subtype": "success", "response": body}
        if request.get("subtype") == "initialize":
            envelope["pending_permission_requests"] = self._requests.pending_asks()
        return envelope

    def _body(self, request: Json, scripted: Body) -> Body:
        """The body of the answer. What a request does is done even if the script words the answer."""
        subtype = request.get("subtype")
        if subtype in self._bodies and subtype in self._handlers:
            usual = self._handlers[subtype](request)
        else:
            usual = self._usual_body(subtype) if scripted is None else None
        if scripted is None:
            return usual
        body: Json = self._core.render(scripted)
        return body

    def _usual_body(self, subtype: str | None) -> Body:
        if subtype in self._errors:
            raise Refusal(self._errors[subtype])
        if subtype not in self._bodies:
            self._refuse_unknown(subtype)
        body: Body = self._core.render(self._bodies[subtype])
        return body

    def _refuse_unknown(self, subtype: str | None) -> NoReturn:
        if not self._core.habits["answers_unknown_requests"]:
            raise Unanswered
        name = "undefined" if subtype is None else subtype
        self._refuse(f"Unsupported control request subtype: {name}", "unsupported_request")

    def _refuse(self, error: str, code: str) -> NoReturn:
        raise Refusal(error, code if self._core.habits["codes_errors"] else None)

    # Requests that do something

    def _initialize(self, request: Json) -> Body:
        if self._initialized and not self._core.habits["initializes_again"]:
            raise Refusal("Already initialized")
        self._initialized = True
        self.hooks = request.get("hooks") or self.hooks
        return self._usual_body("initialize")

    def _interrupt(self, request: Json) -> Body:
        if request.get("cancel_queued"):
            self._conversation.drop_queued()
        self._conversation.interrupt()
        if not self._core.habits["lists_still_queued"]:
            return None
        return {"still_queued": self._conversation.queued_uuids()}

    def _set_permission_mode(self, request: Json) -> Body:
        mode, habits = str(request.get("mode")), self._core.habits
        if mode not in MODES and habits["checks_mode"]:
            self._refuse("Cannot set permission mode: must be one of " + ", ".join(MODES), "invalid_mode")
        if mode == "bypassPermissions" and habits["refuses_bypass"] and not self._core.flags.allow_bypass():
            self._refuse(BYPASS_REFUSED, "bypass_not_launched")
        if habits["confirms_mode_twice"]:
            again = {"subtype": "success", "request_id": self._core.values["$request_id"]}
            self._afterwards.append(lambda: self._core.send({"type": "control_response", "response": again}))
        self._afterwards.append(lambda: self._core.set_mode(mode))
        return {"mode": mode}

    def _set_model(self, request: Json) -> Body:
        values = self._core.values
        values["$model"] = request.get("model") or values["$model"]
        return {"model": values["$model"]} if self._core.habits["returns_model"] else None

    def _end_session(self, request: Json) -> Body:
        self._afterwards.append(lambda: os._exit(0))
        return None

    def _cancel_async_message(self, request: Json) -> Body:
        return {"cancelled": self._conversation.drop_queued(request.get("message_uuid", ""))}

    def _mcp_status(self, request: Json) -> Body:
        servers = self._core.mcp_servers.items()
        status = {"status": "connected", "scope": "dynamic"}
        return {"mcpServers": [{"name": name, "config": config} | status for name, config in servers]}

    def _mcp_set_servers(self, request: Json) -> Body:
        before = self._core.mcp_servers
        self._core.mcp_servers = after = request.get("servers") or {}
        return {
            "added": [name for name in after if name not in before],
            "removed": [name for name in before if name not in after],
            "errors": {},
        }

    def _find_mcp_server(self, request: Json) -> Body:
        name = request.get("serverName")
        if name not in self._core.mcp_servers:
            raise Refusal(f"Server not found: {name}")
        return None

    def _rename_session(self, request: Json) -> Body:
        self._core.emit("title", title=request.get("title"))
        return None

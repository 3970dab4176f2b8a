"""The conversation: user messages in, turns out, with text, tool calls and interrupts as the CLI shows them."""

from __future__ import annotations

import time

from .wire import Stopped, encode, new_message_id, new_tool_use_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .core import Core, Requests

INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_IN_TOOL = "[Request interrupted by user for tool use]"
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, "
    "the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how "
    "to proceed."
)
STREAM_CLOSED = "Tool permission stream closed before response received"
NOT_GRANTED = "Claude requested permissions to use {tool}, but you haven't granted it yet."


class TurnInterrupted(Exception):
    """The host interrupted the turn, or denied a tool and asked for an interrupt."""


class Turn:
    """What is known about a running turn."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.uuids = [message["uuid"] for message in messages if message.get("uuid")]
        self.message_id = new_message_id()
        self.started = time.monotonic()
        self.said = ""
        self.streaming = ""  # the text so far of a block that has not ended
        self.rounds = 1
        self.denials: list[dict[str, Any]] = []
        self.open_tool: dict[str, Any] | None = None
        self.stopped_in_tool = False

    def values(self) -> dict[str, Any]:
        return {
            "elapsed_ms": int((time.monotonic() - self.started) * 1000),
            "rounds": self.rounds,
            "said": self.said,
            "denials": self.denials,
        }


class Conversation:
    """The queue of user messages and the turn that is running, if one is."""

    def __init__(self, core: Core, requests: Requests) -> None:
        self._core = core
        self._requests = requests
        self._habits = core.habits
        self._queue: list[dict[str, Any]] = []
        self._taken: list[dict[str, Any]] = []  # by the script, for the next turn
        self._behind: set[int] = set()  # ids of the messages that had to wait behind another
        self._seen: set[str] = set()
        self._turn: Turn | None = None
        self._interrupted = False
        self._allowed: set[tuple[str, str | None]] = set()
        core.receivers["user"] = self.receive
        core.after_wait.append(self._notice_interrupt)

    # User messages

    def receive(self, message: dict[str, Any]) -> None:
        self._core.remember(message)
        uuid = message.get("uuid")
        if uuid in self._seen:
            self._echo(message)
            return
        if uuid:
            self._seen.add(uuid)
        if self._turn is not None or self._queue or self._taken:
            self._behind.add(id(message))
        self._queue.append(message)
        self._report([message], "queued")

    def take(self, matches: Callable[[dict[str, Any]], bool]) -> None:
        """Wait for a message like this, and keep it for the next turn."""
        self._core.wait_for_input(lambda: any(matches(message) for message in self._queue))
        message = next(message for message in self._queue if matches(message))
        self._queue.remove(message)
        self._taken.append(message)
        self._core.remember(message)

    def queued_uuids(self) -> list[str]:
        return [message["uuid"] for message in self._queue if message.get("uuid")]

    def drop_queued(self, uuid: str | None = None) -> bool:
        """Forget the queued message with this uuid, or all; whether there was any."""
        dropped = [message for message in self._queue if uuid is None or message.get("uuid") == uuid]
        self._queue = [message for message in self._queue if message not in dropped]
        self._report(dropped, "cancelled")
        return bool(dropped)

    def _next_messages(self) -> list[dict[str, Any]]:
        """The messages of the next turn: one, or all that had to wait where this version merges those."""
        if not self._taken:
            self.take(lambda message: True)
        if self._habits["merges_queued_messages"] and id(self._taken[0]) in self._behind:
            self._taken += self._queue
            self._queue = []
        messages, self._taken = self._taken, []
        self._behind.difference_update([id(message) for message in messages])
        return messages

    def _report(self, messages: list[dict[str, Any]], state: str) -> None:
        if self._habits["reports_lifecycle"]:
            for message in messages:
                if message.get("uuid"):
                    self._core.emit("lifecycle", command_uuid=message["uuid"], state=state)

    def _echo(self, message: dict[str, Any]) -> None:
        if self._core.flags.has("--replay-user-messages"):
            frame = self._core.frame("user", content=message["message"]["content"], parent=None)
            self._core.send(frame | {"uuid": message.get("uuid") or frame["uuid"], "isReplay": True})

    # Turns

    def run_turn(self, play: Callable[[], None], *, prompted: bool, overrides: dict[str, Any]) -> None:
        """A turn: `play` does what happens between its first frame and its result."""
        messages = self._next_messages() if prompted else []
        self._turn = turn = Turn(messages)
        self._report(messages, "started")
        try:
            self._start(turn, messages)
            play()
            self._finish(turn, overrides)
        except TurnInterrupted:
            self._finish_interrupted(turn)
        except Stopped:
            if self._habits["reports_sigint"]:
                self._finish_interrupted(turn)
            raise
        finally:
            self._turn = None
            self._interrupted = False
        self._report(messages, "completed")

    def interrupt(self) -> None:
        """End the running turn, if there is one, at its next wait."""
        if self._turn is not None:
            self._interrupted = True
            self._requests.cancel_all()

    def _notice_interrupt(self) -> None:
        if self._interrupted:
            self._interrupted = False
            raise TurnInterrupted

    def _start(self, turn: Turn, messages: list[dict[str, Any]]) -> None:
        frame = self._core.frame("init")
        if turn.uuids and self._habits["names_user_messages"]:
            frame["user_message_uuids"] = turn.uuids
        self._core.send(frame)
        for message in messages:
            self._echo(message)

    def _finish(self, turn: Turn, overrides: dict[str, Any]) -> None:
        self._core.catch_up()
        self._core.values["$result_index"] += 1
        self._send(self._core.frame("success", **turn.values()) | self._core.render(overrides))

    def _finish_interrupted(self, turn: Turn) -> None:
        if turn.streaming and self._habits["keeps_partial_text"]:
            aborted = {"aborted": True} if self._habits["marks_aborted_text"] else {}
            self._emit_assistant({"type": "text", "text": turn.streaming}, aborted)
        if turn.open_tool is not None:
            stock = self._habits["rejects_in_stock_words"]
            self._refuse_tool(turn.open_tool, REJECTED if stock else "Tool permission request failed: AbortError")
            turn.stopped_in_tool = True
        text = INTERRUPTED_IN_TOOL if turn.stopped_in_tool else INTERRUPTED
        self._emit_user({"type": "text", "text": text}, {})
        self._core.values["$result_index"] += 1
        self._send(self._core.frame("interrupted", **turn.values(), **_abortion(turn.stopped_in_tool)))

    def _send(self, frame: dict[str, Any]) -> None:
        """Send a frame of the turn, with the messages it belongs to where this version names them."""
        turn = self._turn
        if turn is not None and turn.uuids and self._habits["names_user_messages"]:
            frame |= {"user_message_uuid": turn.uuids[-1], "user_message_uuids": turn.uuids}
        self._core.send(frame)

    def _emit_assistant(self, block: dict[str, Any], extra: dict[str, Any]) -> None:
        message_id = self._message_id()
        self._send(self._core.frame("assistant", content=[block], message_id=message_id, parent=None) | extra)

    def _emit_user(self, block: dict[str, Any], extra: dict[str, Any]) -> None:
        self._core.send(self._core.frame("user", content=[block], parent=None) | extra)

    def _message_id(self) -> str:
        return self._turn.message_id if self._turn else new_message_id()

    # Text

    def say(self, text: str, pause: float) -> None:
        self._core.catch_up()
        text = text.replace("$text", self._core.values["$text"])
        if self._core.flags.has("--include-partial-messages"):
            self._stream_text(text, pause)
        else:
            self._core.sleep(pause * len(text.split()))
            self._emit_assistant({"type": "text", "text": text}, {})
        if self._turn is not None:
            self._turn.said = text

    def say_huge(self, size: int) -> None:
        """An assistant frame whose line has this size."""
        self._core.catch_up()
        block = {"type": "text", "text": ""}
        frame = self._core.frame("assistant", content=[block], message_id=self._message_id(), parent=None)
        block["text"] = "x" * max(0, size - len(encode(frame)))
        self._core.send(frame)

    def _stream_text(self, text: str, pause: float) -> None:
        self._core.emit("requesting")
        start = self._core.frame("message_start", message_id=self._message_id())
        self._stream({"type": "message_start", "message": start})
        self._stream({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        *words, last = text.split(" ")
        for piece in [*(word + " " for word in words), last]:
            self._core.sleep(pause)
            self._stream_piece(piece)
        self._emit_assistant({"type": "text", "text": text}, {})
        if self._turn is not None:
            self._turn.streaming = ""
        self._stream({"type": "content_block_stop", "index": 0})
        delta = {"stop_reason": "end_turn", "stop_sequence": None}
        self._stream({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 20}})
        self._stream({"type": "message_stop"})

    def _stream_piece(self, piece: str) -> None:
        if self._turn is not None:
            self._turn.streaming += piece
        delta = {"type": "text_delta", "text": piece}
        self._stream({"type": "content_block_delta", "index": 0, "delta": delta})

    def _stream(self, event: dict[str, Any]) -> None:
        self._core.catch_up()
        self._send(self._core.frame("stream", event=event))

    # Tools

    def ask(self, step: dict[str, Any], tool_use_id: str) -> str:
        """Send a permission request; returns its id."""
        request: dict[str, Any] = {"subtype": "can_use_tool", "tool_name": step["tool"]}
        if self._habits["names_tools_in_asks"]:
            request["display_name"] = step["tool"]
        request["input"] = step["input"]
        if self._habits["describes_asks"]:
            request["description"] = step["input"].get("description", step["tool"])
        request["permission_suggestions"] = step["suggestions"]
        request["tool_use_id"] = tool_use_id
        return self._requests.send(request | step["fields"], step["request_id"])

    def use_tool(self, step: dict[str, Any]) -> None:
        """A tool call as the model makes it: shown, asked about if need be, then run or refused."""
        self._core.catch_up()
        call = {"type": "tool_use", "id": new_tool_use_id(), "name": step["tool"], "input": step["input"]}
        self._emit_assistant(call, {})
        if self._turn is not None:
            self._turn.open_tool = call
            self._turn.rounds += 1
        if not self._must_ask(step):
            self._run_tool(call, step, source="config")
        elif not self._core.flags.has("--permission-prompt-tool"):
            self._refuse_tool(call, NOT_GRANTED.format(tool=step["tool"]))
        else:
            self._settle(call, step, self._requests.response_to(self.ask(step, call["id"])))

    def _must_ask(self, step: dict[str, Any]) -> bool:
        if not step["ask"] or self._core.values["$mode"] == "bypassPermissions":
            return False
        rules = {(step["tool"], None), (step["tool"], step["input"].get("command"))}
        return not rules & self._allowed

    def _settle(self, call: dict[str, Any], step: dict[str, Any], response: dict[str, Any] | None) -> None:
        if response is None:
            self._refuse_tool(call, STREAM_CLOSED)
        elif response.get("subtype") == "error":
            self._refuse_tool(call, f"Tool permission request failed: Error: {response.get('error')}")
        else:
            self._obey(call, step, response.get("response") or {})

    def _obey(self, call: dict[str, Any], step: dict[str, Any], decision: dict[str, Any]) -> None:
        if decision.get("behavior") != "allow":
            self._deny(call, decision)
        elif "updatedInput" not in decision and self._habits["needs_updated_input"]:
            self._refuse_tool(call, "Tool permission request failed: ZodError: updatedInput is required")
        else:
            self._update_permissions(decision.get("updatedPermissions") or [])
            self._run_tool(call, step, source="user_temporary")

    def _update_permissions(self, updates: list[dict[str, Any]]) -> None:
        for update in updates:
            if update.get("type") == "setMode":
                self._core.set_mode(update["mode"])
            elif update.get("type") == "addRules" and update.get("behavior") == "allow":
                self._allowed |= {(rule["toolName"], rule.get("ruleContent")) for rule in update["rules"]}

    def _deny(self, call: dict[str, Any], decision: dict[str, Any]) -> None:
        interrupt = bool(decision.get("interrupt"))
        stock = interrupt and self._habits["rejects_in_stock_words"]
        self._refuse_tool(call, REJECTED if stock else decision.get("message", ""))
        if interrupt and self._turn is not None:
            self._turn.stopped_in_tool = True
            raise TurnInterrupted

    def _run_tool(self, call: dict[str, Any], step: dict[str, Any], *, source: str) -> None:
        output, is_error = step["output"], step["is_error"]
        result = f"Error: {output}" if is_error else {"stdout": output, "stderr": "", "interrupted": False}
        self._finish_tool(call, output, is_error, result, {"decision": "accept", "source": source})

    def _refuse_tool(self, call: dict[str, Any], reason: str) -> None:
        if self._turn is not None:
            denial = {"tool_name": call["name"], "tool_use_id": call["id"], "tool_input": call["input"]}
            self._turn.denials.append(denial)
        decision = {"decision": "reject", "source": "user_reject"}
        self._finish_tool(call, reason, True, f"Error: {reason}", decision)

    def _finish_tool(
        self, call: dict[str, Any], content: Any, is_error: bool, result: Any, decision: dict[str, Any]
    ) -> None:
        if self._turn is not None:
            self._turn.open_tool = None
        block = {"tool_use_id": call["id"], "type": "tool_result", "content": content, "is_error": is_error}
        extra: dict[str, Any] = {"tool_use_result": result}
        if self._habits["explains_tool_results"]:
            extra["tool_result_meta"] = [{"id": call["id"], "permission_decision": decision}]
        self._emit_user(block, extra)


def _abortion(in_tool: bool) -> dict[str, Any]:
    stop_reason = "tool_use" if in_tool else None
    diagnostic = f"result_type=user last_content_type=n/a stop_reason={stop_reason or 'null'}"
    return {
        "stop_reason": stop_reason,
        "terminal_reason": "aborted_tools" if in_tool else "aborted_streaming",
        "diagnostic": f"[ede_diagnostic] {diagnostic}",
    }

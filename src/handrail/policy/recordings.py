"""Recorded sessions: which tools were called, what was asked, what was answered; and what a policy would have said.

Pure: lines in, values out. A recording has one JSON object per line with `dir` (in, out, meta) and `raw`, as
`handrail run --record` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.policy.files import Files
from handrail.policy.grants import Grants
from handrail.policy.policy import Policy, Ruling
from handrail.policy.verdict import Behavior

__all__ = ["Difference", "Recorded", "RecordedCall", "Replayed", "Then", "read_recording", "replay"]

Then: TypeAlias = Literal["allowed", "denied", "cancelled", "unanswered", "ran", "refused", "unfinished"]
"""What became of a call: the first four if it was asked; if not, it ran, was refused by the CLI, or has no result."""

Difference: TypeAlias = Literal["same", "saved", "asks", "denied", "allowed"]
"""How a policy differs from what happened: an ask is saved; it would ask where nobody was asked; it would deny what
ran; it would allow what nobody had allowed."""


class RecordedCall(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call of a recording. `changed`: it was allowed with another input."""

    tool: str
    input: Mapping[str, Any]
    asked: bool
    then: Then
    cwd: str
    mode: str = "default"
    home: str | None = None
    subagent: bool = False
    changed: bool = False
    updated_permissions: tuple[Any, ...] = ()


class Recorded(msgspec.Struct, frozen=True):
    """What a recording holds; `unreadable` lines are counted, not dropped in silence."""

    calls: tuple[RecordedCall, ...]
    frames: int = 0
    unreadable: int = 0


class Replayed(msgspec.Struct, frozen=True):
    """A recorded call, and what a policy says about it."""

    call: RecordedCall
    ruling: Ruling
    difference: Difference


def read_recording(lines: Iterable[bytes]) -> Recorded:
    """The calls of a recording, in the order in which they were made."""
    reader = _Reader()
    frames = unreadable = 0
    for line in lines:
        if not line.strip():
            continue
        entry = _entry(line)
        if entry is None:
            unreadable += 1
            continue
        frames += 1
        reader.read(*entry)
    return Recorded(tuple(reader.calls()), frames, unreadable)


def replay(
    policy: Policy,
    calls: Iterable[RecordedCall],
    *,
    home: str,
    actor: str = "the recording",
    files: Files | None = None,
) -> tuple[Replayed, ...]:
    """What the policy would have said. What a person added with an answer counts from then on, as it did."""
    grants = Grants()
    replayed = []
    for call in calls:
        ruling = policy.judge(
            call.tool,
            call.input,
            cwd=call.cwd,
            home=call.home or home,
            mode=call.mode,
            grants=grants.holding_in(call.cwd),
            files=files,
        )
        replayed.append(Replayed(call, ruling, _DIFFERENCES[call.then][ruling.behavior]))
        if ruling.behavior == "ask" and call.then == "allowed":
            grants = grants.updated(call.updated_permissions, project=call.cwd, actor=actor, at=0.0)
    return tuple(replayed)


_ASKED_AND_NOT_ALLOWED: Mapping[Behavior, Difference] = {"allow": "allowed", "ask": "same", "deny": "saved"}
_DIFFERENCES: Mapping[Then, Mapping[Behavior, Difference]] = {
    "allowed": {"allow": "saved", "ask": "same", "deny": "denied"},
    "denied": _ASKED_AND_NOT_ALLOWED,
    "cancelled": _ASKED_AND_NOT_ALLOWED,
    "unanswered": _ASKED_AND_NOT_ALLOWED,
    "ran": {"allow": "same", "ask": "asks", "deny": "denied"},
    "refused": {"allow": "allowed", "ask": "asks", "deny": "same"},
    "unfinished": {"allow": "same", "ask": "asks", "deny": "denied"},
}


# ---------------------------------------------------------------- reading


class _Call:
    """A call while the recording is read."""

    def __init__(self, tool: str, given: Mapping[str, Any], reader: _Reader, *, subagent: bool) -> None:
        self.tool = tool
        self.input = given
        self.subagent = subagent
        self.cwd = reader.cwd
        self.mode = reader.mode
        self.home = reader.home
        self.asked = False
        self.answer: Mapping[str, Any] | None = None
        self.cancelled = False
        self.refused = False
        self.finished = False

    @property
    def then(self) -> Then:
        if not self.asked:
            return "refused" if self.refused else "ran" if self.finished else "unfinished"
        if self.answer is not None:
            return "allowed" if self.answer.get("behavior") == "allow" else "denied"
        return "cancelled" if self.cancelled else "unanswered"

    def recorded(self) -> RecordedCall:
        answer = self.answer or {}
        changed = answer.get("updatedInput")
        updates = answer.get("updatedPermissions")
        return RecordedCall(
            tool=self.tool,
            input=self.input,
            asked=self.asked,
            then=self.then,
            cwd=self.cwd,
            mode=self.mode,
            home=self.home,
            subagent=self.subagent,
            changed=isinstance(changed, Mapping) and changed != self.input,
            updated_permissions=tuple(updates) if isinstance(updates, list) else (),
        )


class _Reader:
    """Follows a recording frame by frame."""

    def __init__(self) -> None:
        self.cwd = "/"
        self.home: str | None = None
        self.mode = "default"
        self._calls: dict[str, _Call] = {}
        self._asks: dict[str, _Call] = {}

    def calls(self) -> Iterator[RecordedCall]:
        return (call.recorded() for call in self._calls.values())

    def read(self, direction: str, raw: Mapping[str, Any]) -> None:
        if direction == "meta":
            self._meta(raw)
        elif direction == "out":
            if raw.get("type") == "control_response":
                self._answered(_mapping(raw.get("response")))
        else:
            self._received(raw)

    def _meta(self, raw: Mapping[str, Any]) -> None:
        self.cwd = _text(raw.get("cwd")) or self.cwd
        self.home = _text(raw.get("home")) or self.home

    def _received(self, raw: Mapping[str, Any]) -> None:
        match raw.get("type"):
            case "system":
                self._system(raw)
            case "assistant":
                self._assistant(raw)
            case "user":
                for block in _blocks(raw, "tool_result"):
                    self._mark(block.get("tool_use_id"), "finished")
            case "control_request":
                self._asked(raw)
            case "control_cancel_request":
                if ask := self._asks.get(str(raw.get("request_id"))):
                    ask.cancelled = True
            case "result":
                for denial in _items(raw.get("permission_denials")):
                    self._mark(denial.get("tool_use_id"), "refused")

    def _system(self, raw: Mapping[str, Any]) -> None:
        if raw.get("subtype") == "init":
            self.cwd = _text(raw.get("cwd")) or self.cwd
        if raw.get("subtype") == "permission_denied":
            self._mark(raw.get("tool_use_id"), "refused")
        self.mode = _text(raw.get("permissionMode")) or self.mode

    def _assistant(self, raw: Mapping[str, Any]) -> None:
        for block in _blocks(raw, "tool_use"):
            key = str(block.get("id"))
            given = _mapping(block.get("input"))
            if key not in self._calls:
                subagent = raw.get("parent_tool_use_id") is not None
                self._calls[key] = _Call(_text(block.get("name")), given, self, subagent=subagent)

    def _asked(self, raw: Mapping[str, Any]) -> None:
        request = _mapping(raw.get("request"))
        if request.get("subtype") != "can_use_tool":
            return
        request_id = str(raw.get("request_id"))
        key = _text(request.get("tool_use_id")) or request_id
        known = self._calls.get(key)
        # The request has the input as it was asked about: a hook may have changed it since the model wrote it.
        call = _Call(
            _text(request.get("tool_name")),
            _mapping(request.get("input")),
            self,
            subagent=request.get("agent_id") is not None or (known is not None and known.subagent),
        )
        call.asked = True
        self._calls[key] = self._asks[request_id] = call

    def _answered(self, response: Mapping[str, Any]) -> None:
        ask = self._asks.get(str(response.get("request_id")))
        if ask is not None and response.get("subtype") == "success" and not ask.cancelled:
            ask.answer = _mapping(response.get("response"))

    def _mark(self, tool_use_id: Any, what: Literal["finished", "refused"]) -> None:
        if call := self._calls.get(str(tool_use_id)):
            setattr(call, what, True)


def _entry(line: bytes) -> tuple[str, Mapping[str, Any]] | None:
    try:
        entry = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(entry, dict) or entry.get("dir") not in ("in", "out", "meta") or "raw" not in entry:
        return None
    return entry["dir"], _mapping(entry["raw"])


def _blocks(raw: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    return [block for block in _items(_mapping(raw.get("message")).get("content")) if block.get("type") == kind]


def _items(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

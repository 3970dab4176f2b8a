"""What tests of events share: frames in short words, and what holds for every list of events."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from handrail.events.model import Completed, Delta, Event, Started
from handrail.events.recording import RecordedLine
from handrail.events.translate import Translator
from handrail.protocol.codec import decode_line
from handrail.protocol.frames import Frame

FIXTURES = Path(__file__).parents[1] / "fixtures" / "transcripts"
RECORDINGS = sorted(FIXTURES.rglob("*.jsonl"))

E = TypeVar("E", bound=Event)


def frame(**fields: Any) -> Frame:
    return decode_line(json.dumps(fields).encode())


def init(session_id: str = "s1", **fields: Any) -> Frame:
    told = {
        "cwd": "/home/dev/project",
        "model": "opus-9",
        "permissionMode": "default",
        "claude_code_version": "2.1.325",
    }
    return frame(type="system", subtype="init", session_id=session_id, **{**told, **fields})


def assistant(*blocks: dict[str, Any], id: str = "m1", parent: str | None = None, **fields: Any) -> Frame:
    message = {"role": "assistant", "id": id, "model": "opus-9", "content": list(blocks)}
    return frame(type="assistant", message=message, parent_tool_use_id=parent, **fields)


def user(*blocks: Any, parent: str | None = None, **fields: Any) -> Frame:
    content = blocks[0] if len(blocks) == 1 and isinstance(blocks[0], str) else list(blocks)
    return frame(type="user", message={"role": "user", "content": content}, parent_tool_use_id=parent, **fields)


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def thinking(thought: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": thought, "signature": "x"}


def tool_use(id: str = "t1", name: str = "Bash", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given or {"command": "ls"}}


def tool_result(id: str = "t1", content: Any = "done", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **fields}


def result(**fields: Any) -> Frame:
    told = {"subtype": "success", "is_error": False, "result": "", "total_cost_usd": 0.0, "session_id": "s1"}
    return frame(type="result", **{**told, **fields})


def streamed(event: dict[str, Any], parent: str | None = None) -> Frame:
    return frame(type="stream_event", event=event, parent_tool_use_id=parent)


def message_start(id: str = "m1", parent: str | None = None, **usage: int) -> Frame:
    message = {"id": id, "role": "assistant", "content": [], "model": "opus-9", "usage": usage}
    return streamed({"type": "message_start", "message": message}, parent)


def block_start(index: int, block: dict[str, Any], parent: str | None = None) -> Frame:
    return streamed({"type": "content_block_start", "index": index, "content_block": block}, parent)


def delta(index: int, said: str, parent: str | None = None, kind: str = "text") -> Frame:
    names = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking")}
    name, member = names.get(kind, ("input_json_delta", "partial_json"))
    return streamed({"type": "content_block_delta", "index": index, "delta": {"type": name, member: said}}, parent)


def block_stop(index: int, parent: str | None = None) -> Frame:
    return streamed({"type": "content_block_stop", "index": index}, parent)


def system(subtype: str, **fields: Any) -> Frame:
    return frame(type="system", subtype=subtype, **fields)


def translated(*frames: Frame, translator: Translator | None = None) -> list[Event | Delta]:
    """What some frames mean, one after the other."""
    translator = translator or Translator()
    return [item for each in frames for item in translator.receive(each)]


def events(*frames: Frame, translator: Translator | None = None) -> list[Event]:
    return [item for item in translated(*frames, translator=translator) if isinstance(item, Event)]


def of(kind: type[E], items: Iterable[Event | Delta]) -> list[E]:
    return [item for item in items if isinstance(item, kind)]


def names(items: Iterable[Event | Delta]) -> list[str]:
    """The types of some items, in order, without the counting of tokens."""
    told = [str(item.__struct_config__.tag) for item in items]
    return [name for name in told if name != "usage"]


def numbered(items: Iterable[Event]) -> list[Event]:
    """The events as a journal numbers them."""
    from msgspec.structs import replace

    return [replace(event, seq=seq, at=float(seq)) for seq, event in enumerate(items, start=1)]


def lines_of(path: Path) -> list[RecordedLine]:
    """A recording as `events_of_recording` takes it."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        ("meta" if row["dir"] == "meta" or row.get("meta") else row["dir"], json.dumps(row["raw"]).encode(), row["t"])
        for row in rows
    ]


def check_bracketed(items: Iterable[Event | Delta]) -> int:
    """Each run has one Started and one Completed, Completed last, and nothing of it outside. How many there were."""
    number, run = 0, None
    for event in items:
        if isinstance(event, Delta):
            continue
        if isinstance(event, Started):
            assert run is None, "a run begins within another"
            number += 1
            run = number
        assert event.run == run, f"{type(event).__name__} says run {event.run}, but {run} is open"
        if isinstance(event, Completed):
            assert run is not None, "a run ends that did not begin"
            run = None
    assert run is None, "a run did not end"
    return number

"""Sessions in the making, for what is shown of them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from handrail.events.model import Action, Completed, Delta, Event, Meta, Started, Text
from handrail.events.reduce import reduce
from handrail.events.view import SessionView

CWD = "/home/ann/shop"
RESUME = "0b7f3a52-1111-4222-8333-444455556666"


class Story:
    """Events one after the other, a second apart, and the view of them."""

    def __init__(self, *, mode: str = "default") -> None:
        self.view = SessionView()
        self.at = 1_000.0
        meta = Meta(cwd=CWD, model="claude-opus-9-20260101", permission_mode=mode)
        self.tell(Started(resume=RESUME, meta=meta))

    def tell(self, *events: Event | Delta) -> Story:
        for event in events:
            if isinstance(event, Event):
                self.at += 1
                run = len(self.view.runs) + isinstance(event, Started)
                event = replace(event, seq=self.view.seq + 1, at=self.at, run=event.run or run)
            reduce(self.view, event)
        return self

    def calls(self, id: str, tool: str, title: str, kind: Any = "tool", **detail: Any) -> Story:
        """A call begins."""
        parent = detail.pop("parent", None)
        told = {"tool_name": tool, "tool_input": {}, **detail}
        return self.tell(Action(id=id, kind=kind, title=title, phase="started", detail=told, parent=parent))

    def returns(self, id: str, content: Any = "ok", *, ok: bool = True, **detail: Any) -> Story:
        """A call is over."""
        item = self.view.actions[id]
        told = {"tool_use_id": id, "content": content, "tool_name": item.detail["tool_name"], **detail}
        done = Action(
            id=id, kind=item.kind, title=item.title, phase="completed", ok=ok, detail=told, parent=item.parent
        )
        return self.tell(done)

    def says(self, text: str) -> Story:
        return self.tell(Text(block=f"b{self.view.seq}", text=text))

    def streams(self, text: str, kind: Any = "text") -> Story:
        return self.tell(Delta(block=f"live{self.view.seq}", kind=kind, offset=0, text=text))

    def ends(self, answer: str = "", **fields: Any) -> Completed:
        told = {"ok": True, "resume": RESUME, "cost_usd": 0.42, "duration_ms": 134_000, "num_turns": 3, **fields}
        event = Completed(answer=answer, **told)
        self.tell(event)
        return replace(event, run=len(self.view.runs), seq=self.view.seq, at=self.at)

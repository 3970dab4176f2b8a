"""However long a session is, little of it is in memory."""

from __future__ import annotations

import msgspec

from handrail.events import model as events
from handrail.events.reduce import reduce
from handrail.events.view import ActionItem, SessionView
from handrail.telegram.news import News
from handrail.telegram.viewing import KEPT_ITEMS, MOST_ITEMS, WHOLE_ITEMS, trim, turn_the_page

LARGE = "x" * 1_000


def call(seq: int, *, changes: bool = False) -> list[events.Event]:
    detail = {"content": LARGE, **({"changes": [{"path": f"f{seq}", "kind": "update"}]} if changes else {})}
    begun = events.Action(seq=seq, run=1, id=f"t{seq}", kind="command", title="make", phase="started")
    done = msgspec.structs.replace(begun, seq=seq + 1, phase="completed", ok=True, detail=detail)
    return [begun, done]


def worked(view: SessionView, calls: int) -> None:
    for _ in range(calls):
        for event in call(view.seq + 1, changes=True):
            reduce(view, event)
            trim(view)


def test_a_long_run_keeps_its_end_whole_and_of_the_rest_what_it_changed() -> None:
    view = SessionView()
    reduce(view, events.Started(seq=1, run=1))
    worked(view, 500)
    actions = [item for item in view.items if isinstance(item, ActionItem)]
    assert len(actions) == 500
    assert sum("content" in action.detail for action in actions) <= WHOLE_ITEMS + 1
    assert all(action.changes for action in actions)


def test_an_endless_run_keeps_no_more_than_it_may() -> None:
    view = SessionView()
    reduce(view, events.Started(seq=1, run=1))
    worked(view, MOST_ITEMS + 10)
    assert KEPT_ITEMS <= len(view.items) <= MOST_ITEMS
    assert len(view.actions) <= MOST_ITEMS
    assert view.items[-1].seq == view.seq - 1


def test_what_goes_on_is_kept_however_old_it_is() -> None:
    view = SessionView()
    reduce(view, events.Started(seq=1, run=1))
    reduce(view, events.AskOpened(seq=2, run=1, ask_id="a", kind="permission", digest="d", title="May I?"))
    reduce(view, events.Action(seq=3, run=1, id="agent", kind="subagent", title="look", phase="started"))
    worked(view, MOST_ITEMS + 10)
    assert "agent" in view.actions
    assert any(isinstance(item, ActionItem) and item.id == "agent" for item in view.items)
    assert "a" in view.asks


def test_after_a_run_only_what_goes_on_is_kept() -> None:
    view = SessionView()
    reduce(view, events.Started(seq=1, run=1))
    worked(view, 20)
    reduce(view, events.Task(seq=view.seq + 1, id="bg", phase="started", title="server", background=True))
    reduce(view, events.Completed(seq=view.seq + 1, run=1, ok=True, answer="Done.", resume="c1"))
    turn_the_page(view)
    assert not view.items
    assert not view.actions
    assert list(view.tasks) == ["bg"]
    assert view.resume == "c1"
    assert view.runs[-1].answer == "Done."


def test_news_are_what_people_are_told_of() -> None:
    view, news = SessionView(), News()
    journal = [
        events.Prompt(seq=1, uuid="m1", content="do it", by="Ann"),
        events.Started(seq=2, run=1, messages=("m1",)),
        *call(3),
        events.Prompt(seq=5, uuid="m1", state="lost", reason="the process ended"),
        events.AskClosed(seq=6, ask_id="unknown", outcome="decided"),
        events.Completed(seq=7, run=1, ok=False, error="no"),
        events.ProcessExited(seq=8, exit_code=1),
    ]
    for event in journal:
        reduce(view, event)
        news.take(view, event)
    assert [seq for seq, _ in news.prompts] == [1]
    assert [seq for seq, _ in news.undone] == [5]
    assert news.strange_asks == [(6, "unknown")]
    assert [seq for seq, _ in news.runs] == [7]
    assert not news.exits, "that the run failed is told already"
    assert news
    assert not News()

"""Sessions of other machines in a manager: read from their copies here, acted on where they live."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import msgspec
import pytest

from handrail.errors import HostAway, HostNotFound, InvalidOptions, SessionNotFound, SessionNotLive
from handrail.events.codec import encode_event
from handrail.events.model import Delta, Event, Text
from handrail.places import Places
from handrail.policy.policy import Policy
from handrail.policy.profiles import PROFILES
from handrail.policy.storage.loading import Asked
from handrail.protocol.asks import Deny
from handrail.protocol.options import Options
from handrail.sessions.abroad import WantedSession
from handrail.sessions.asks import Actor, AnyAnswer
from handrail.sessions.feed import Item
from handrail.sessions.manager import Manager
from handrail.store.base import CopyPage, EventRow, FrameRow, RunRow, SessionFilter, SessionRow

HOST = "h1"


class Seat:
    """A seat on another machine that notes what is asked of it."""

    is_mine = False
    is_copied = True

    def __init__(self, done: list[tuple[Any, ...]]) -> None:
        self._done = done

    async def send(self, content: Any, *, actor: Actor, uuid: str | None) -> str:
        self._done.append(("send", content, actor.name))
        return uuid or "u1"

    async def decide(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        self._done.append(("decide", ask_id, digest))

    async def answer_lost(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        self._done.append(("answer_lost", ask_id))

    async def interrupt(self) -> None:
        self._done.append(("interrupt",))

    async def stop(self) -> None:
        self._done.append(("stop",))

    async def control(self, subtype: str, fields: dict[str, Any]) -> dict[str, Any]:
        return {"subtype": subtype, **fields}

    async def set_permission_mode(self, mode: str) -> None:
        self._done.append(("mode", mode))

    async def set_model(self, model: str | None) -> None:
        self._done.append(("model", model))

    async def rename(self, title: str, *, by: str) -> None:
        self._done.append(("rename", title, by))

    def subscribe(
        self, after: int, *, deltas: bool, follow: bool, until_given_up: bool = False
    ) -> AsyncGenerator[Item, None]:
        raise AssertionError("a copied session is read from the store here")


class OtherMachines:
    """Machines that do what they are asked, and note it."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.live = True

    async def seat(self, row: SessionRow) -> Seat | None:
        return Seat(self.done) if self.live else None

    async def start(self, host: str, wanted: WantedSession) -> str:
        self.done.append(("start", host, wanted))
        return "there"

    async def resume(self, row: SessionRow, changes: Mapping[str, Any], program: Any = None) -> None:
        self.done.append(("resume", row.id))
        self.live = True

    async def fork(self, row: SessionRow, *, title: str, changes: Mapping[str, Any]) -> str:
        self.done.append(("fork", row.id, title))
        return "forked"

    async def change(self, row: SessionRow, columns: Mapping[str, Any]) -> None:
        self.done.append(("change", row.id, dict(columns)))

    async def delete(self, row: SessionRow) -> None:
        self.done.append(("delete", row.id))

    async def adoptable(self, host: str, cwd: str | None) -> Sequence[Any]:
        return []

    async def adopt(self, host: str, cli_session_id: str) -> str:
        return "adopted"

    async def frames(self, row: SessionRow, *, after: int, limit: int) -> Sequence[FrameRow]:
        return [FrameRow(direction="in", at=1.0, line=b"{}", number=after + 1)]


@pytest.fixture
def machines() -> OtherMachines:
    return OtherMachines()


@pytest.fixture
async def hub(manager: Manager, machines: OtherMachines) -> Manager:
    manager.with_abroad(machines)
    return manager


def page(*events: Event, live: bool = True, title: str = "far away") -> CopyPage:
    last = events[-1].seq if events else 0
    row = SessionRow(
        id="faraway",
        cwd="/srv",
        created_at=1.0,
        updated_at=2.0,
        title=title,
        status="running" if live else "stopped",
        owner="{}" if live else None,
        fence=1,
        last_seq=last,
    )
    rows = [EventRow(seq=event.seq, at=1.0, type="text", body=encode_event(event)) for event in events]
    return CopyPage(session=row, events=rows, changed=last, after=events[0].seq - 1 if events else 0)


def text(seq: int) -> Text:
    return Text(seq=seq, at=1.0, block=f"b{seq}", text=f"text {seq}")


async def copy(hub: Manager, *events: Event, live: bool = True) -> None:
    """What whoever copies a session does: store, then publish."""
    feed = hub.copy_feed("faraway")
    if not feed.is_live:
        row = await hub.store.get_session("faraway")
        feed.begin(row.last_seq if row is not None else 0)
    await hub.store.take_copy(HOST, page(*events, live=live))
    feed.publish([(event, 100) for event in events])


async def test_acts_go_to_the_machine_that_runs_the_session(hub: Manager, machines: OtherMachines) -> None:
    await copy(hub, text(1))
    session = hub.session("faraway")
    assert await session.is_live()
    assert not await session.is_mine()
    assert await session.send("hello") == "u1"
    await session.decide("a1", Deny("no"), digest="d")
    await session.interrupt()
    await session.set_model("opus")
    await session.rename("nearer")
    await session.archive()
    await session.stop()
    assert await session.control("get_settings") == {"subtype": "get_settings"}
    assert [act[0] for act in machines.done] == ["send", "decide", "interrupt", "model", "rename", "change", "stop"]
    assert ("change", "faraway", {"archived": True}) in machines.done


async def test_readers_follow_the_copy_without_gap_or_duplicate(hub: Manager) -> None:
    await copy(hub, text(1), text(2))
    seen: list[str] = []

    async def read() -> None:
        async with aclosing(hub.session("faraway").subscribe(after=1)) as items:
            async for item in items:
                seen.append(item.text if isinstance(item, Delta | Text) else "")
                if len(seen) == 4:
                    return

    reading = asyncio.create_task(read())
    while not seen:
        await asyncio.sleep(0)
    hub.copy_feed("faraway").publish([(Delta(block="b3", kind="text", offset=0, text="te", after=2), 100)])
    while "te" not in seen:
        await asyncio.sleep(0)
    await copy(hub, text(3))
    await copy(hub, text(4))
    await asyncio.wait_for(reading, 20)
    assert seen == ["text 2", "te", "text 3", "text 4"]


async def test_a_message_resumes_the_session_where_it_lives(hub: Manager, machines: OtherMachines) -> None:
    await copy(hub, text(1), live=False)
    machines.live = False
    await hub.session("faraway").send("go on")
    assert [act[0] for act in machines.done] == ["resume", "send"]


async def test_what_cannot_travel_is_not_dropped_at_a_resume(hub: Manager, machines: OtherMachines) -> None:
    async def on_ask(ask: Any) -> None: ...

    await copy(hub, text(1), live=False)
    machines.live = False
    with pytest.raises(InvalidOptions, match=r"handrail\.Hub"):
        await hub.resume("faraway", on_ask=on_ask)
    assert machines.done == []


async def test_a_session_is_forked_and_deleted_there(hub: Manager, machines: OtherMachines) -> None:
    await copy(hub, text(1))
    assert (await hub.fork("faraway", title="other")).id == "forked"
    await hub.session("faraway").delete()
    assert machines.done == [("fork", "faraway", "other"), ("delete", "faraway")]


async def test_a_session_is_started_on_a_machine_as_plain_values(hub: Manager, machines: OtherMachines) -> None:
    options = Options(cwd="/srv/app", model="opus", env={"API_TOKEN": "t"})
    session = await hub.start(options, host="label:gpu", title="T", policy=Asked(profile="careful"), budget=2.0)
    assert session.id == "there"
    _, host, wanted = machines.done[0]
    assert host == "label:gpu"
    assert wanted.options == {"cwd": "/srv/app", "model": "opus", "env": {"API_TOKEN": "t"}}
    assert (wanted.title, wanted.budget, wanted.policy) == ("T", 2.0, Asked(profile="careful"))


async def test_the_same_start_there_is_the_same_request_and_another_one_is_not(
    hub: Manager, machines: OtherMachines
) -> None:
    chosen = "0b8e0f4e-58ab-4a6e-9c0c-3f1d6f1f7c11"
    for host, title in (("box", "T"), ("box", "T"), ("any", "T"), ("box", "U")):
        await hub.start(Options(cwd="/srv/app"), id=chosen, host=host, title=title)
    wanted: list[WantedSession] = [each[2] for each in machines.done]
    assert {each.id for each in wanted} == {chosen.replace("-", "")}
    first, again, *others = (each.request for each in wanted)
    assert first == again
    assert len({first, *others}) == 3


async def test_what_cannot_travel_is_refused_before_anything_is_started(hub: Manager, machines: OtherMachines) -> None:
    async def on_ask(ask: Any) -> None: ...

    with pytest.raises(InvalidOptions, match=r"handrail\.Hub"):
        await hub.start(host="build-box", on_ask=on_ask)
    with pytest.raises(InvalidOptions, match="policies there"):
        await hub.start(host="build-box", policy=Policy(profile=PROFILES["careful"]))
    assert machines.done == []


async def test_without_other_machines_a_host_is_not_found(manager: Manager) -> None:
    with pytest.raises(HostNotFound, match="handrail serve"):
        await manager.start(host="build-box")


async def test_a_copy_is_readable_by_a_process_that_cannot_reach_its_machine(
    hub: Manager, machines: OtherMachines, places: Places
) -> None:
    await copy(hub, text(1))
    async with Manager.local(places) as other:
        session = other.session("faraway")
        assert [event.seq for event in await session.events()] == [1]
        with pytest.raises(HostAway):
            await session.interrupt()


async def test_a_copy_is_never_recovered_or_owned_here(hub: Manager, places: Places) -> None:
    await copy(hub, text(1))
    async with Manager.local(places) as other:
        row = await other.session("faraway").row()
        assert row.owner is not None
        assert row.status == "running"
        assert [row.id for row in await other.list(SessionFilter(host=""))] == []


async def test_stopping_all_stops_what_runs_on_other_machines_too(hub: Manager, machines: OtherMachines) -> None:
    await copy(hub, text(1))
    assert await hub.stop_all() == 1
    assert machines.done == [("stop",)]


async def test_what_other_machines_spend_is_not_of_this_machines_budget(hub: Manager) -> None:
    await copy(hub, text(1))
    spent = RunRow(number=1, started_seq=1, started_at=1.0, completed_seq=1, completed_at=2.0, ok=True, cost_usd=5.0)
    await hub.store.take_copy(HOST, msgspec.structs.replace(page(text(1)), runs=[spent], revision=1))
    assert await hub.store.spent(since=0.0) == 0.0
    assert await hub.store.spent(since=0.0, session_id="faraway") == 5.0


async def test_the_latest_session_of_a_directory_is_one_of_this_machine(hub: Manager) -> None:
    await copy(hub, text(1))
    assert await hub.latest("/srv") is None


async def test_readers_end_when_the_copy_is_gone(hub: Manager) -> None:
    await copy(hub, text(1))
    async with aclosing(hub.session("faraway").subscribe()) as items:
        assert isinstance(await anext(items), Text)
        await hub.session("faraway").delete()
        async with asyncio.timeout(20):
            assert [item async for item in items] == []


async def test_an_unknown_session_is_not_found(hub: Manager) -> None:
    for act in (hub.session("nope").archive(), hub.session("nope").delete(), hub.session("nope").row()):
        with pytest.raises(SessionNotFound):
            await act
    with pytest.raises((SessionNotFound, SessionNotLive)):
        await hub.session("nope").interrupt()

"""A front end that acts for its people, and hears what changes in all sessions."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail import Allow, Asked, Hub
from handrail.events.model import Event
from handrail.remote.acting import acting_header
from handrail.remote.changes import HubChange, HubWatch
from handrail.remote.errors import HubError
from handrail.remote.keeper import RemoteKeeper
from handrail.server.auth.acting import acting
from handrail.server.calls import Caller

from ..server.auth.support import scope_of
from ..server.support import ASKS, served_hub
from .support import Wire, eventually

CAREFUL = Asked(profile="careful")


@pytest.mark.slow
async def test_what_somebody_does_is_theirs_and_needs_their_role(tmp_path: Path) -> None:
    async with served_hub(tmp_path) as served, Hub(served.url, served.tokens["owner"]) as hub:
        ann = hub.acting_for("Ann Lee ✓", role="approver")
        session = await served.session(*ASKS, policy=CAREFUL)
        uuid = await ann.session(session.id).send("Clean up.")
        ask = await served.asked(session)
        await ann.session(session.id).decide(ask.id, Allow(), digest=ask.digest)
        decided = await served.hub.store.get_ask(session.id, ask.id)
        (sent,) = await served.hub.store.messages(session.id)
        assert decided is not None
        assert (decided.decided_by, decided.surface) == ("Ann Lee ✓", "telegram")
        assert (sent.uuid, sent.by, sent.surface) == (uuid, "Ann Lee ✓", "telegram")
        with pytest.raises(HubError) as refused:
            await ann.session(session.id).stop()
        assert refused.value.code == "role_needed"
        await hub.session(session.id).stop()
        assert not await session.is_live()


@pytest.mark.slow
async def test_an_approver_s_message_resumes_a_session_that_has_ended(tmp_path: Path) -> None:
    async with served_hub(tmp_path) as served, Hub(served.url, served.tokens["owner"]) as hub:
        ann = hub.acting_for("Ann", role="approver")
        session = await served.session()
        await session.stop()
        await ann.session(session.id).send("Clean up.")
        assert await session.is_live()
        await session.stop()
        with pytest.raises(HubError) as refused:
            await ann.session(session.id).resume()
        assert refused.value.code == "role_needed"


@pytest.mark.slow
async def test_a_message_to_a_session_that_ends_in_that_moment_resumes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served_hub(tmp_path) as served, Hub(served.url, served.tokens["owner"]) as hub:
        session = await served.session()
        seat = RemoteKeeper.seat

        async def seat_that_goes(keeper: RemoteKeeper, session_id: str) -> Any:
            found = await seat(keeper, session_id)
            await session.stop()
            return found

        monkeypatch.setattr(RemoteKeeper, "seat", seat_that_goes)
        await hub.session(session.id).send("Clean up.", uuid=str(uuid4()))
        assert await session.is_live()


@pytest.mark.slow
async def test_it_shares_the_connection_and_does_not_end_it(tmp_path: Path) -> None:
    async with served_hub(tmp_path) as served, Hub(served.url, served.tokens["owner"]) as hub:
        session = await served.session()
        async with hub.acting_for("Ann", role="viewer") as ann:
            assert [row.id for row in await ann.list()] == [session.id]
        assert [row.id for row in await hub.list()] == [session.id]
        await session.send("Clean up.")
        async with aclosing(ann.session(session.id).subscribe()) as items:
            assert isinstance(await anext(items), Event)


async def test_who_is_no_owner_acts_for_nobody(tmp_path: Path) -> None:
    async with served_hub(tmp_path) as served, Hub(served.url, served.tokens["approver"]) as hub:
        with pytest.raises(HubError, match="acting for somebody else needs the role owner"):
            await hub.acting_for("Ann", role="viewer").list()


@pytest.mark.slow
@given(st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=100))
def test_every_name_arrives_as_it_is(name: str) -> None:
    owner = Caller(name="bridge", role="owner", surface="api")
    scope = scope_of(headers=[("handrail-acting-for", acting_header(name, "telegram", "viewer"))])
    assert acting(owner, scope).name == name


# ---------------------------------------------------------------- watching


@pytest.mark.slow
async def test_every_change_is_told_also_after_the_way_was_cut(tmp_path: Path) -> None:
    latest: dict[str, HubChange] = {}
    wire = Wire()
    async with wire.laid(), served_hub(tmp_path, settings=wire.settings) as served:
        wire.leads_to(served.url)
        async with Hub(wire.url, served.tokens["owner"]) as hub:
            stop = hub.watch(lambda change: latest.__setitem__(change.session_id, change))
            session = await served.session(*ASKS, policy=CAREFUL)
            await eventually(lambda: session.id in latest)
            await session.send("Clean up.")
            ask = await served.asked(session)
            waiting: Any = await eventually(lambda: latest[session.id].asks)
            assert [(each.id, each.digest, each.kind) for each in waiting] == [(ask.id, ask.digest, "permission")]
            assert (latest[session.id].status, latest[session.id].live) == ("needs_you", True)
            wire.cut()
            await session.decide(ask.id, Allow(), digest=ask.digest)
            wire.mend()
            await eventually(lambda: latest[session.id].asks == () and latest[session.id].status == "idle")
            stop()
            other = await served.session()
            await session.stop()
            await session.delete()
            assert other.id not in latest


def test_what_is_gone_and_what_was_closed_is_told() -> None:
    told: list[HubChange] = []
    watch = HubWatch(told.append)
    card = {"session": "s1", "ask_id": "a1", "digest": "d", "kind": "plan", "state": "pending", "what": {}}
    watch.take({"reset": True, "sessions": [{"id": "s1", "status": "needs_you"}], "asks": [card]})
    watch.take({"closed_asks": [{"session": "s1", "ask": "a1", "outcome": "decided"}]})
    watch.take({"removed_sessions": ["s1"]})
    assert [(each.status, len(each.asks)) for each in told] == [("needs_you", 1), ("needs_you", 0), ("", 0)]
    assert not told[-1].is_listed


def test_an_ask_that_was_closed_while_nobody_listened_is_told() -> None:
    told: list[HubChange] = []
    watch = HubWatch(told.append)
    watch.take({"reset": True, "asks": [{"session": "old", "ask_id": "a1", "digest": "d"}]})
    watch.take({"reset": True, "sessions": []})
    assert [(each.session_id, len(each.asks)) for each in told] == [("old", 1), ("old", 0)]


def test_a_listener_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def fails(change: HubChange) -> None:
        raise RuntimeError("no idea")

    HubWatch(fails).take({"reset": True, "sessions": [{"id": "s1", "status": "idle"}]})
    assert "a callback of a hub failed" in caplog.text

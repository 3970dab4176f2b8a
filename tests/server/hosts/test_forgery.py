"""A host that lies: what it says of sessions that are not its own reaches nobody, and changes nothing."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import msgspec

from handrail.events.model import Delta, Started, Text
from handrail.link import wire

from ..support import ServedHub
from .fake_host import FakeHost, Link, fake_host, until


async def watched(host: FakeHost, link: Link) -> str:
    """A live session of a host, of which one event is copied."""
    session_id = await host.session()
    await host.write(session_id, Started(run=1))
    await link.offer()
    await link.copy(session_id)
    return session_id


async def test_nobody_is_shown_what_another_host_says_of_a_session(
    served: ServedHub, host: FakeHost, tmp_path: Path
) -> None:
    async with fake_host(served, tmp_path, "liar") as liar, host.connected() as link, liar.connected() as forging:
        session_id = await watched(host, link)
        async with aclosing(served.manager.session(session_id).subscribe()) as items:
            assert isinstance(await anext(items), Started)
            await link.hear(wire.Watch, lambda watch: watch.on)
            await forging.deltas(session_id, Delta(block="f", kind="text", offset=0, text="forged", after=1))
            page = await host.store.copy_page(session_id, after=0)
            assert page is not None
            await forging.send_page(page)
            await forging.hear(wire.CopyRefused)
            await link.deltas(session_id, Delta(block="b", kind="text", offset=0, text="true", after=1))
            item = await anext(items)
            assert isinstance(item, Delta)
            assert item.text == "true"
        # It is still its own host that is told whether anybody watches.
        await link.hear(wire.Watch, lambda watch: watch.session == session_id and not watch.on)

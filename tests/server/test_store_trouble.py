"""A store that fails while the hub serves: what can be done is done, and nobody is told something else than that."""

from __future__ import annotations

from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from handrail.errors import StoreUnavailable

from .api.test_sessions import code
from .support import ServedHub


async def fails(*_: Any, **__: Any) -> Any:
    raise StoreUnavailable("the disk is full")


async def test_who_has_a_token_may_read_although_nothing_can_be_written(
    served: ServedHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.manager.store, "touch_token", fails)
    async with served.client("viewer") as client:
        assert (await client.get("/api/sessions")).status_code == 200


async def test_tokens_that_cannot_be_looked_up_are_not_called_wrong(
    served: ServedHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.manager.store, "token_by_hash", fails)
    async with served.client("viewer") as client:
        assert code(await client.get("/api/sessions")) == (503, "store_unavailable")
    headers = {"authorization": f"Bearer {served.tokens['viewer']}"}
    async with connect(f"{served.url.replace('http', 'ws')}/api/live", additional_headers=headers) as socket:
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1011

"""Checks of the hosts that a hub knows."""

from __future__ import annotations

from typing import Any

from handrail.errors import HostNotFound, StoreError
from handrail.store.base import HostRow
from handrail.testing._store_checks.support import NOW, Check, Handles, expect, expect_error

__all__ = ["CHECKS"]


def host(host_id: str, **fields: Any) -> HostRow:
    return HostRow(**{"id": host_id, "name": host_id, "key_hash": f"hash of {host_id}", "enrolled_at": NOW, **fields})


async def hosts_are_found_by_what_their_key_hashes_to(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    box = host("h2", name="box", enrolled_by="ann", facts=b'{"load":1}', draining=True)
    for row in (host("h1", name="zebra"), box):
        await store.add_host(row)
    expect(await other.hosts(), [box, host("h1", name="zebra")], "hosts, by name")
    expect(await other.host_by_key("hash of h2"), box, "the host with a key")
    expect(await other.host_by_key("hash of h9"), None, "the host with a key that none has")
    await expect_error(StoreError, store.add_host(host("h1", name="x", key_hash="x")), "a host of the same id")
    await expect_error(StoreError, store.add_host(host("h3", key_hash="hash of h1")), "a host of the same key")
    await expect_error(StoreError, store.add_host(host("h3", name="box")), "a host of the same name")


async def a_host_is_changed_and_revoked(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    await store.add_host(host("h1"))
    await store.add_host(host("h2"))
    await store.change_host("h1", last_seen_at=NOW + 1, facts=b"[]", draining=True, name="new \u00e4")
    changed = host("h1", last_seen_at=NOW + 1, facts=b"[]", draining=True, name="new \u00e4")
    expect(await other.host_by_key("hash of h1"), changed, "the changed host")
    await expect_error(StoreError, store.change_host("h1", name="h2"), "a name that is taken")
    await expect_error(StoreError, store.change_host("h1", key_hash="x"), "a change of its key")
    await expect_error(HostNotFound, store.change_host("h9", name="x"), "a change of no host")
    await store.change_host("h2", revoked_at=NOW + 2)
    await store.change_host("h1", name="h2")
    await store.change_host("h2", last_seen_at=NOW + 3)
    await expect_error(StoreError, store.change_host("h2", revoked_at=None), "to let it in again, its name being taken")
    found = await other.host_by_key("hash of h2")
    expect(found, host("h2", revoked_at=NOW + 2, last_seen_at=NOW + 3), "the revoked host")


CHECKS: tuple[Check, ...] = (
    hosts_are_found_by_what_their_key_hashes_to,
    a_host_is_changed_and_revoked,
)

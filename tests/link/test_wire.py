"""The wire: what was packed is unpacked the same, and nothing else is taken for a parcel."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import LocalProtocolError
from handrail.link import wire
from handrail.store.base import CopyHead, CopyPage, EventRow, SessionRow

SESSION = SessionRow(id="s1", cwd="/x", created_at=1.0, updated_at=2.0, settings=b'{"a": 1}')
HEAD = CopyHead(session_id="s1", fence=1, last_seq=2, changed=3)
EVENT = EventRow(seq=1, at=1.0, type="text", body=b"{}", text="hello")
FROM_HOST: list[wire.FromHost] = [
    wire.Hello(version=1, name="box", boot="b", facts=wire.HostFacts(labels=("gpu",), clock=1.5)),
    wire.Facts(facts=wire.HostFacts(clis=(wire.CliFacts(version="2.1.325"),))),
    wire.Offer(heads=[HEAD]),
    wire.Offer(done=True),
    wire.Page(number=1, page=CopyPage(session=SESSION, events=[EVENT]), size=10),
    wire.Deltas(session="s1", items=[b"{}"]),
    wire.Gone(session="s1"),
    wire.Reply(id="1", error=wire.ErrorRecord(kind="HostError", message="no", fields={"a": None})),
    wire.Callback(id="1", session="s1", program="p", kind="hook", name="h"),
]
FROM_HUB: list[wire.FromHub] = [
    wire.Welcome(version=1, hub="hub", host_id="h", name="box"),
    wire.Have(heads=[HEAD]),
    wire.Ack(session="s1", number=1, last_seq=1),
    wire.CopyRefused(session="s1", last_seq=0, reason="full"),
    wire.Command(id="1", method="send", session="s1", params=b'{"content": "hi"}'),
    wire.Cancel(id="1"),
    wire.Watch(session="s1", on=True),
    wire.CallbackReply(id="1"),
]


def test_what_was_packed_is_unpacked() -> None:
    from_host, from_hub = wire.pack(FROM_HOST), wire.pack(FROM_HUB)
    assert [type(each) for each in wire.decode_from_host(from_host)] == [type(each) for each in FROM_HOST]
    assert wire.pack(wire.decode_from_host(from_host)) == from_host
    assert wire.pack(wire.decode_from_hub(from_hub)) == from_hub


def test_the_two_directions_are_not_mixed_up() -> None:
    with pytest.raises(LocalProtocolError):
        wire.decode_from_hub(wire.pack(FROM_HOST))
    with pytest.raises(LocalProtocolError):
        wire.decode_from_host(wire.pack(FROM_HUB))


@given(st.binary(max_size=300))
def test_noise_is_refused_and_never_crashes(noise: bytes) -> None:
    for decode in (wire.decode_from_host, wire.decode_from_hub):
        with suppress(LocalProtocolError):
            decode(noise)


@given(st.integers(0, 2_000), st.integers(0, 255))
def test_a_parcel_with_a_wrong_byte_is_refused_or_read_as_something(position: int, byte: int) -> None:
    parcel = bytearray(wire.pack(FROM_HOST))
    parcel[position % len(parcel)] = byte
    with suppress(LocalProtocolError):
        wire.decode_from_host(bytes(parcel))

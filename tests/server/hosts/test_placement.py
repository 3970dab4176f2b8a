"""Where sessions are started: on the host that was named, or on the one with the least to do."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import HostAway, HostError, HostNotFound, HostRefused
from handrail.link.wire import HostFacts
from handrail.server.hosts.placement import chosen

NO_FACTS = HostFacts()


@dataclass(frozen=True)
class Machine:
    name: str
    facts: HostFacts = NO_FACTS
    connected: bool = True
    draining: bool = False
    live: int = 0

    @property
    def id(self) -> str:
        return f"id-{self.name}"

    def why_away(self) -> str:
        return f"{self.name} is not connected"


def test_a_host_is_chosen_by_name_or_id() -> None:
    hosts = [Machine("a"), Machine("b")]
    assert chosen("b", hosts).name == chosen("id-b", hosts).name == "b"
    assert chosen("id-z", [Machine("id-z"), Machine("z")]).name == "z"
    with pytest.raises(HostNotFound, match="did you mean 'b'"):
        chosen("B", hosts)


def test_what_was_named_and_takes_none_says_why() -> None:
    with pytest.raises(HostAway, match="a is not connected"):
        chosen("a", [Machine("a", connected=False)])
    with pytest.raises(HostRefused, match="being drained"):
        chosen("a", [Machine("a", draining=True)])
    with pytest.raises(HostRefused, match="2 live sessions"):
        chosen("a", [Machine("a", HostFacts(capacity=2), live=2)])


def test_the_one_with_the_least_to_do_is_chosen() -> None:
    busy = Machine("a", HostFacts(load=0.9, labels=("gpu",)))
    full = Machine("b", HostFacts(load=0.1, capacity=4, labels=("gpu",)), live=4)
    calm = Machine("c", HostFacts(load=0.2, capacity=10), live=3)
    assert chosen("any", [busy, full, calm]) is calm
    assert chosen("label:gpu", [busy, full, calm]) is busy
    with pytest.raises(HostNotFound, match="label 'tpu'"):
        chosen("label:tpu", [busy, full, calm])
    with pytest.raises(HostAway, match="4 live sessions"):
        chosen("label:gpu", [full])


machines = st.builds(
    Machine,
    name=st.sampled_from("abcdef"),
    facts=st.builds(
        HostFacts,
        labels=st.lists(st.sampled_from(["x", "y"]), max_size=2).map(tuple),
        capacity=st.none() | st.integers(0, 5),
        load=st.floats(0, 3),
    ),
    connected=st.booleans(),
    draining=st.booleans(),
    live=st.integers(0, 6),
)


@pytest.mark.slow
@given(st.lists(machines, max_size=6, unique_by=lambda each: each.name), st.sampled_from(["any", "label:x", "a"]))
def test_only_a_host_that_takes_sessions_is_ever_chosen(hosts: list[Machine], reference: str) -> None:
    def takes(host: Machine) -> bool:
        fits = reference == "any" or host.name == reference or reference.removeprefix("label:") in host.facts.labels
        room = host.facts.capacity is None or host.live < host.facts.capacity
        return fits and host.connected and not host.draining and room

    try:
        found = chosen(reference, hosts)
    except HostError:
        assert not any(map(takes, hosts))
    else:
        assert takes(found)

"""Two machines with a cable between them: network namespaces, and what happens to networks.

The namespaces carry the number of the process that made them in their names: those of a run that was killed are found
and removed by the next one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

import pytest

PREFIX = "handrail-test"
HUB_ADDRESS, HOST_ADDRESS = "10.77.0.1", "10.77.0.2"
HUB_PORT = 4280
CABLE = "cable0"
_numbers = count(1)


@dataclass(frozen=True)
class Network:
    """The names of the two namespaces."""

    hub: str
    host: str

    def within(self, namespace: str) -> tuple[str, ...]:
        """What a command begins with that is run there."""
        return "ip", "netns", "exec", namespace

    # ------------------------------------------------------------ what happens to it

    def unplug(self) -> None:
        _ip("-n", self.host, "link", "set", CABLE, "down")

    def plug_in(self) -> None:
        _ip("-n", self.host, "link", "set", CABLE, "up")

    def drop(self) -> None:
        """Everything vanishes without a word, both ways."""
        self._filter("output", f"ip daddr {HUB_ADDRESS} drop")
        self._filter("input", f"ip saddr {HUB_ADDRESS} drop")

    def reset(self) -> None:
        """The host is told that its connections are over as soon as it says something. To the hub they fall silent."""
        self._filter("output", f"ip daddr {HUB_ADDRESS} meta l4proto tcp reject with tcp reset")
        self._filter("input", f"ip saddr {HUB_ADDRESS} drop")

    def forget(self) -> None:
        """What is connected now vanishes for good, as if a firewall had forgotten it; new connections pass."""
        found = _run(*self.within(self.host), "ss", "-Htn", "state", "established", f"dport = :{HUB_PORT}")
        ports = ", ".join(sorted({line.split()[2].rpartition(":")[2] for line in found.splitlines()}))
        assert ports, "nothing is connected"
        self._filter("output", f"tcp sport {{ {ports} }} drop")
        self._filter("input", f"tcp dport {{ {ports} }} drop")

    def heal(self) -> None:
        """Let everything pass again."""
        _run(*self.within(self.host), "nft", "flush", "ruleset")

    def _filter(self, hook: str, rule: str) -> None:
        chain = f"inet handrail {hook}"
        rules = (
            "add table inet handrail",
            f"add chain {chain} {{ type filter hook {hook} priority 0; }}",
            f"add rule {chain} {rule}",
        )
        _run(*self.within(self.host), "nft", "; ".join(rules))


@contextmanager
def network() -> Iterator[Network]:
    """A cable between two namespaces. The test is left out where there can be none."""
    _check()
    remove_abandoned()
    name = f"{PREFIX}-{os.getpid()}-{next(_numbers)}"
    found = Network(f"{name}-hub", f"{name}-host")
    try:
        _make(found)
        yield found
    finally:
        for each in (found.hub, found.host):
            subprocess.run(["ip", "netns", "delete", each], capture_output=True, check=False)


def _make(network: Network) -> None:
    _ip("netns", "add", network.hub)
    _ip("netns", "add", network.host)
    _ip("link", "add", CABLE, "netns", network.hub, "type", "veth", "peer", "name", CABLE, "netns", network.host)
    for namespace, address in ((network.hub, HUB_ADDRESS), (network.host, HOST_ADDRESS)):
        _ip("-n", namespace, "address", "add", f"{address}/24", "dev", CABLE)
        for device in ("lo", CABLE):
            _ip("-n", namespace, "link", "set", device, "up")


def _check() -> None:
    for command, package in (("ip", "iproute2"), ("ss", "iproute2"), ("nft", "nftables"), ("openssl", "openssl")):
        if shutil.which(command) is None:
            pytest.skip(f"networks that are cut need {command!r}: install {package}, on Linux")
    tried = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    if os.geteuid() or tried.returncode:
        pytest.skip("networks that are cut need network namespaces: run the tests as root, outside of containers")


def remove_abandoned() -> None:
    """Remove the namespaces of test runs that are not there any more."""
    for line in _ip("netns", "list").splitlines():
        name = line.split()[0]
        if name.startswith(f"{PREFIX}-") and not os.path.exists(f"/proc/{name.split('-')[2]}"):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def _ip(*words: str) -> str:
    return _run("ip", *words)


def _run(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(argv)}: {done.stderr}"
    return done.stdout

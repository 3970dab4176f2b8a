"""Limits how often something may be tried: so often at once, and then again little by little."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

__all__ = ["Bucket", "RateLimit", "network_of"]

REMEMBERED = 4096
_PREFIX = {4: 32, 6: 64}


class Bucket:
    """Holds up to `capacity` tries, and gets them back evenly over `period` seconds."""

    __slots__ = ("_at", "_capacity", "_left", "_rate")

    def __init__(self, capacity: int, period: float, now: float) -> None:
        self._capacity = capacity
        self._rate = capacity / period
        self._left = float(capacity)
        self._at = now

    def wait(self, now: float) -> float:
        """For how many seconds there is no try left: 0 if there is one."""
        self._refill(now)
        return 0.0 if self._left >= 1 else (1 - self._left) / self._rate

    def take(self) -> None:
        self._left -= 1

    def _refill(self, now: float) -> None:
        elapsed = max(now - self._at, 0.0)
        self._left = min(self._left + elapsed * self._rate, self._capacity)
        self._at = now


class RateLimit:
    """Limits tries per address and in all. Remembers a bounded number of addresses: the total bounds the rest."""

    def __init__(
        self,
        *,
        each: int = 10,
        in_all: int = 100,
        period: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        remembered: int = REMEMBERED,
    ) -> None:
        self._each = each
        self._period = period
        self._clock = clock
        self._remembered = remembered
        self._total = Bucket(in_all, period, clock())
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    @property
    def addresses(self) -> int:
        """How many addresses are remembered."""
        return len(self._buckets)

    def take(self, address: str) -> float:
        """Take one try for `address`; if there is none, the seconds after which there is one again."""
        now = self._clock()
        bucket = self._bucket(network_of(address), now)
        wait = max(bucket.wait(now), self._total.wait(now))
        if wait == 0:
            bucket.take()
            self._total.take()
        return wait

    def _bucket(self, key: str, now: float) -> Bucket:
        bucket = self._buckets.pop(key, None) or Bucket(self._each, self._period, now)
        self._buckets[key] = bucket
        while len(self._buckets) > self._remembered:
            self._buckets.popitem(last=False)
        return bucket


def network_of(address: str) -> str:
    """What one person has: an IPv4 address, or a whole IPv6 network. What is no address stands for itself."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return str(ipaddress.ip_network((parsed, _PREFIX[parsed.version]), strict=False))

"""What the hub counts and measures, in the text format that Prometheus reads."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from handrail.store.base import SessionFilter
from handrail.store.place import SIDE_FILES, store_path

if TYPE_CHECKING:
    from handrail.sessions.manager import Manager

__all__ = ["MEDIA_TYPE", "STATUSES", "Figure", "Metrics"]

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
STATUSES: Final = ("needs_you", "running", "idle", "failed", "stopped")
HOST_STATES: Final = ("connected", "away", "draining")
PREFIX: Final = "handrail_"
SECONDS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Figure(NamedTuple):
    """What is measured, for people."""

    name: str
    kind: str
    words: str
    labels: tuple[str, ...]


class Metrics:
    """Every instrument of one hub. Several hubs in one process do not share them."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self.catalogue: list[Figure] = []
        self._requests = self._counter("http_requests", "Requests", "route", "status")
        self._latency = self._histogram("http_request_seconds", "How long requests took", "route")
        self._viewers = self._gauge("viewers", "Live streams that are open")
        self._sent = self._counter("live_messages", "Messages sent to viewers")
        self._dropped = self._counter("deltas_dropped", "Deltas that a slow or hidden viewer did not get")
        self._events = self._counter("events_appended", "Events appended to journals", "type")
        self._closed = self._counter("asks_closed", "Asks that are over, and how they ended", "surface", "outcome")
        self._answers = self._counter("answers", "Answers given through the hub", "surface", "type")
        self._starts = self._counter("cli_starts", "Starts of Claude Code: new, resume, recovery and others", "why")
        self._sessions = self._gauge("sessions", "Sessions that are not archived", "status")
        self._waiting = self._gauge("asks_waiting", "Asks that wait for a person")
        self._oldest = self._gauge("asks_oldest_seconds", "How long the oldest of them has been waiting")
        self._size = self._gauge("store_bytes", "What the database takes on disk")
        self._hosts = self._gauge("hosts", "Hosts that were let in, by what state they are in", "state")
        self._copied = self._counter("events_copied", "Events copied from hosts", "host")
        self._lag = self._gauge("copy_lag_seconds", "How old a host's last event was when it was copied", "host")
        self._refused = self._counter("copies_refused", "Pages of hosts that could not be stored yet", "host")

    def _counter(self, name: str, words: str, *labels: str) -> Counter:
        self.catalogue.append(Figure(f"{PREFIX}{name}_total", "counter", words, labels))
        return Counter(f"{PREFIX}{name}", words, labels, registry=self.registry)

    def _gauge(self, name: str, words: str, *labels: str) -> Gauge:
        self.catalogue.append(Figure(f"{PREFIX}{name}", "gauge", words, labels))
        return Gauge(f"{PREFIX}{name}", words, labels, registry=self.registry)

    def _histogram(self, name: str, words: str, *labels: str) -> Histogram:
        self.catalogue.append(Figure(f"{PREFIX}{name}", "histogram", words, labels))
        return Histogram(f"{PREFIX}{name}", words, labels, buckets=SECONDS, registry=self.registry)

    # ------------------------------------------------------------ what happens

    def request(self, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(route, str(status)).inc()
        self._latency.labels(route).observe(seconds)

    def viewer_came(self) -> None:
        """Somebody opened a live stream."""
        self._viewers.inc()

    def viewer_left(self) -> None:
        """A live stream is closed."""
        self._viewers.dec()

    def messages_sent(self, number: int = 1) -> None:
        """Viewers were told something."""
        self._sent.inc(number)

    def deltas_dropped(self, number: int = 1) -> None:
        """A viewer did not get these: it is slow, or nobody looks at it."""
        self._dropped.inc(number)

    def event_appended(self, kind: str) -> None:
        """A journal grew."""
        self._events.labels(kind).inc()

    def ask_closed(self, surface: str, outcome: str) -> None:
        """An ask is over."""
        self._closed.labels(surface, outcome).inc()

    def decision(self, surface: str, answer: str) -> None:
        """Somebody answered an ask through the hub."""
        self._answers.labels(surface, answer).inc()

    def cli_started(self, why: str) -> None:
        """Claude Code was started."""
        self._starts.labels(why).inc()

    def copied(self, host: str, events: int, lag: float | None) -> None:
        """Events of a host were stored; `lag` is how long ago the last one happened, unless it is of long ago."""
        self._copied.labels(host).inc(events)
        if lag is not None:
            self._lag.labels(host).set(lag)

    def copy_refused(self, host: str) -> None:
        """A page of a host could not be stored."""
        self._refused.labels(host).inc()

    def hosts(self, by_state: Mapping[str, int]) -> None:
        """So many hosts are in each state."""
        for state in HOST_STATES:
            self._hosts.labels(state).set(by_state.get(state, 0))

    # ------------------------------------------------------------ what is asked for

    async def text(self, manager: Manager) -> bytes:
        """Everything, with what is counted only when somebody asks for it."""
        await self._look(manager)
        return generate_latest(self.registry)

    async def _look(self, manager: Manager) -> None:
        by_status = await manager.store.count_sessions(SessionFilter(archived=False))
        for status in {*STATUSES, *by_status}:
            self._sessions.labels(status).set(by_status.get(status, 0))
        asks = await manager.store.asks(states=("pending",))
        self._waiting.set(len(asks))
        self._oldest.set(max((time.time() - ask.opened_at for ask in asks), default=0.0))
        self._size.set(_bytes_of(store_path(manager.places)))


def _bytes_of(path: str) -> int:
    sizes = (_size(path + suffix) for suffix in ("", *SIDE_FILES))
    return sum(sizes)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0

"""The gates, one file for each workload."""

from __future__ import annotations

from bench.common import Gate
from bench.gates.fan_out import FanOut
from bench.gates.group_commit import GroupCommit
from bench.gates.idle import Idle
from bench.gates.imports import Imports
from bench.gates.journal import RATE, Journalled, Viewers
from bench.gates.large_lines import LargeLines
from bench.gates.live import LiveStream
from bench.gates.paced import Paced
from bench.gates.permission import Permission
from bench.gates.relay import Relay
from bench.gates.relay_latency import RelayLatency
from bench.gates.relay_sessions import RelaySessions
from bench.gates.replay import Replay
from bench.gates.saturated import Saturated
from bench.gates.streaming import Deltas, Mix
from bench.gates.telegram_imports import TelegramImports
from bench.gates.telegram_latency import TelegramLatency
from bench.gates.telegram_markdown import TelegramMarkdown
from bench.gates.telegram_watching import TelegramWatching

__all__ = ["GATES", "find"]

GATES: tuple[Gate, ...] = (
    Mix(),
    Deltas(),
    Paced(),
    Permission(),
    LargeLines("large-10", 10, plain=True),
    LargeLines("large-10-text", 10, plain=False),
    LargeLines("large-50", 50, plain=True),
    Saturated(),
    Idle(),
    Imports(),
    Journalled("journal", 1, 10_000),
    Journalled("journal-paced", 10, 200, rate=RATE),
    Journalled("journal-50", 50, 600),
    Viewers(),
    FanOut(1, 2_000),
    FanOut(10, 2_000),
    FanOut(100, 1_000),
    LiveStream("live", 4_000),
    LiveStream("live-paced", 1_000, rate=4 * RATE),
    Replay(),
    GroupCommit(),
    Relay("relay", 1, 10_000),
    Relay("relay-paced", 10, 150, rate=RATE),
    Relay("relay-50", 50, 150, rate=RATE),
    RelayLatency(),
    RelaySessions(),
    TelegramLatency(),
    TelegramMarkdown(),
    TelegramWatching(),
    TelegramImports(),
)


def find(name: str) -> Gate:
    return next(gate for gate in GATES if gate.name == name)

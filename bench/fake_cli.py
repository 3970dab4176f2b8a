"""A CLI that answers the handshake and then plays bytes prepared before: the same for every contender.

Runs alone (`python -SI`), beside a file `plan` that says what to play, and imports as little as it can: it is there to
be fast and to be the same for everybody, not to be a good CLI.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

VERSION = "2.1.325 (Claude Code)\n"
BLOCK = 1 << 20
ID_PLACE = b"@REQUEST-ID@"
PLAYED_SESSION = b"9d7b1862-3418-44c0-bfe3-d3d696afa5dd"
SESSION_OPTION = "--session-id"
WARM_UP = 100
LINES_OF_A_MOMENT = 4


def main() -> None:
    if "-v" in sys.argv or "--version" in sys.argv:
        os.write(1, VERSION.encode())
        return
    place = os.path.dirname(os.path.abspath(sys.argv[0]))
    plan = read_plan(place)
    initialized = read(place, "initialized")
    play = PLAYS[plan["play"]](place, plan)
    lines = input_lines()
    for line in lines:
        if b'"control_request"' in line:
            write(initialized.replace(ID_PLACE, request_id(line)))
        elif b'"user"' in line:
            play.run(lines)


class Saturated:
    """Everything at once, as fast as it is read."""

    def __init__(self, place: str, plan: dict[str, str]) -> None:
        self.traffic = read_traffic(place)

    def run(self, lines: Iterator[bytes]) -> None:
        write(self.traffic)


class Paced:
    """`rate` lines a second, as a model streams; sessions are out of step with each other."""

    def __init__(self, place: str, plan: dict[str, str]) -> None:
        self.lines = read_traffic(place).splitlines(keepends=True)
        self.period = 1.0 / float(plan["rate"])

    def run(self, lines: Iterator[bytes]) -> None:
        due = time.monotonic() + self.period * (os.getpid() * 7 % 50) / 50
        for line in self.lines:
            time.sleep(max(0.0, due - time.monotonic()))
            write(line)
            due += self.period


class Asks:
    """`asks` permission requests, one after the other; notes how long each answer took, in nanoseconds."""

    def __init__(self, place: str, plan: dict[str, str]) -> None:
        ask = read(place, "ask")
        self.asks = [ask.replace(ID_PLACE, b"request-%d" % n) for n in range(int(plan["asks"]) + WARM_UP)]
        self.ending = read_traffic(place)
        self.notes = os.path.join(place, "latencies")

    def run(self, lines: Iterator[bytes]) -> None:
        times = [round_trip(ask, lines) for ask in self.asks][WARM_UP:]
        with open(self.notes, "w") as notes:
            notes.write("\n".join(map(str, times)))
        write(self.ending)


class Moments:
    """`moments` times a piece of a message, the whole message, and a question about it.

    Notes when each was written and when the question was answered, by a clock that all processes of a machine share.
    """

    def __init__(self, place: str, plan: dict[str, str]) -> None:
        self.pause = 1.0 / float(plan["rate"])
        lines = read_traffic(place).splitlines(keepends=True)
        self.opening, self.steps, self.ending = lines[0], lines[1:-1], lines[-1]
        self.ask = read(place, "ask")
        self.notes = os.path.join(place, "moments")

    def run(self, lines: Iterator[bytes]) -> None:
        write(self.opening)
        times = [self.moment(number, lines) for number in range(len(self.steps) // LINES_OF_A_MOMENT)]
        with open(self.notes, "w") as notes:
            notes.write("\n".join(" ".join(map(str, each)) for each in times))
        write(self.ending)

    def moment(self, number: int, lines: Iterator[bytes]) -> list[int]:
        *piece, whole = self.steps[LINES_OF_A_MOMENT * number :][:LINES_OF_A_MOMENT]
        ask = self.ask.replace(ID_PLACE, b"request-%d" % number)
        times = [self.written(each) for each in (b"".join(piece), whole, ask)]
        next(lines)
        return [*times, time.perf_counter_ns()]

    def written(self, line: bytes) -> int:
        time.sleep(self.pause)
        now = time.perf_counter_ns()
        write(line)
        return now


PLAYS: dict[str, type[Saturated | Paced | Asks | Moments]] = {
    "saturated": Saturated,
    "paced": Paced,
    "asks": Asks,
    "moments": Moments,
}


def round_trip(ask: bytes, lines: Iterator[bytes]) -> int:
    began = time.perf_counter_ns()
    os.write(1, ask)
    next(lines)
    return time.perf_counter_ns() - began


def read_plan(place: str) -> dict[str, str]:
    pairs = (line.split(" ", 1) for line in read(place, "plan").decode().splitlines())
    return {line[0]: line[1] for line in pairs}


def read_traffic(place: str) -> bytes:
    """What is played, as the session that was asked for: two sessions of one id would be taken for one."""
    played = read(place, "traffic")
    if SESSION_OPTION in sys.argv:
        played = played.replace(PLAYED_SESSION, sys.argv[sys.argv.index(SESSION_OPTION) + 1].encode())
    return played


def read(place: str, name: str) -> bytes:
    with open(os.path.join(place, name), "rb") as file:
        return file.read()


def input_lines() -> Iterator[bytes]:
    rest = b""
    while chunk := os.read(0, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def request_id(line: bytes) -> bytes:
    """Found without a JSON parser: a client writes the id as a plain string."""
    after = line.index(b'"request_id"') + len(b'"request_id"')
    start = line.index(b'"', after) + 1
    return line[start : line.index(b'"', start)]


def write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view[:BLOCK]) :]


if __name__ == "__main__":
    main()

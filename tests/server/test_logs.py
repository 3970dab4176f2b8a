"""The hub's logs: whom they are about, what they never say, and that nobody can forge a line."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from handrail.server.auth.secret_words import CODE_PREFIX, TOKEN_PREFIX, new_secret
from handrail.server.logs import about, access, set_up_logs

logger = logging.getLogger("handrail.tests")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextmanager
def logging_to(stream: io.StringIO, level: str = "debug") -> Iterator[None]:
    root = logging.getLogger()
    before = root.level
    handler = set_up_logs(level, stream)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def lines(work: Callable[[], object], level: str = "debug") -> list[dict[str, Any]]:
    stream = io.StringIO()
    with logging_to(stream, level):
        work()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def on_a_terminal(work: Callable[[], object]) -> str:
    stream = Terminal()
    with logging_to(stream):
        work()
    return stream.getvalue()


def test_a_line_is_json_with_the_ids_of_what_it_is_about() -> None:
    def work() -> None:
        with about(request="r1", caller="maria"), about(session="s1", ask="a1", nothing=""):
            logger.info("answered %s", "yes")
        logger.warning("alone")

    first, second = lines(work)
    assert first | {"at": ""} == {
        "at": "",
        "level": "info",
        "logger": "handrail.tests",
        "message": "answered yes",
        "request": "r1",
        "caller": "maria",
        "session": "s1",
        "ask": "a1",
    }
    assert second.keys() == {"at", "level", "logger", "message"}


async def test_tasks_do_not_mix_their_ids_up() -> None:
    stream = io.StringIO()
    ready = asyncio.Barrier(3)

    async def work(session: str) -> None:
        with about(session=session):
            await ready.wait()
            logger.info(session)

    with logging_to(stream):
        await asyncio.gather(*(work(f"s{number}") for number in range(3)))
    assert all(line["session"] == line["message"] for line in map(json.loads, stream.getvalue().splitlines()))


def test_a_request_is_logged_by_how_much_it_matters() -> None:
    def work() -> None:
        access("sessions.get", "GET", "/api/sessions/1", 200, 0.01)
        access("sessions.stop", "POST", "/api/sessions/1/stop", 204, 0.01)
        access("sessions.get", "GET", "/api/sessions/2", 404, 0.01)
        access("sessions.get", "GET", "/api/sessions/3", 500, 0.01)

    assert [line["status"] for line in lines(work, "info")] == [204, 404, 500]
    assert lines(work, "warning")[0] | {"at": ""} == {
        "at": "",
        "level": "warning",
        "logger": "handrail.access",
        "message": "GET /api/sessions/3 500",
        "route": "sessions.get",
        "method": "GET",
        "path": "/api/sessions/3",
        "status": 500,
        "ms": 10.0,
    }


@pytest.mark.parametrize("prefix", [TOKEN_PREFIX, CODE_PREFIX])
@pytest.mark.parametrize("shown", [lines, on_a_terminal])
def test_secrets_are_never_logged(prefix: str, shown: Callable[[Callable[[], object]], Any]) -> None:
    secret = new_secret(prefix)

    def work() -> None:
        logger.warning("a token: %s", secret)
        with about(caller=f"x{secret[:0]} {secret}"):
            logger.warning("in an id")
        access("x", "POST", f"/api/x/{secret}", 500, 0.1)
        try:
            raise ValueError(secret)
        except ValueError:
            logger.exception("in an error")

    assert secret not in str(shown(work))


def test_on_a_terminal_a_line_is_for_people() -> None:
    def work() -> None:
        with about(session="0123456789abcdef", request="r1"):
            logger.warning("careful")

    shown = on_a_terminal(work)
    assert "careful" in shown
    assert "session 0123456789ab" in shown
    assert "r1" not in shown


def test_nobody_can_forge_a_line_or_move_the_cursor() -> None:
    shown = on_a_terminal(lambda: logger.info("a\n12:00:00 all is well\x1b[2J\x9b31m\u202e\r"))
    assert shown.count("\n") == 1
    assert "\x1b[2J" not in shown
    assert not {"\x9b", "\u202e", "\r"} & set(shown)


def test_an_error_keeps_its_traceback() -> None:
    def work() -> None:
        try:
            raise KeyError("gone")
        except KeyError:
            logger.exception("failed")

    (line,) = lines(work)
    assert "KeyError: 'gone'" in line["error"]
    assert "Traceback" in on_a_terminal(work)

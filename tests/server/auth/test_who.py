"""Who calls: by a token, a cookie, or what the kernel knows; and a session never answers for itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail.server.auth.peers import started_by_session
from handrail.server.auth.tokens import Tokens
from handrail.server.auth.who import Authenticator
from handrail.server.problems import Problem
from handrail.store import SqliteStore
from handrail.transports.process_tree import MARKER_VARIABLE, Process, marked_environment, new_marker

from .support import opened, scope_of

UID = os.getuid()


def authenticator(store: SqliteStore, *, inside: bool = False) -> Authenticator:
    return Authenticator(Tokens(store), is_of_a_session=lambda pid: inside)


def bearer(secret: str) -> dict[str, Any]:
    return scope_of(headers=[("authorization", f"Bearer {secret}")])


def with_cookie(secret: str, *, scheme: str = "http") -> dict[str, Any]:
    name = "__Host-handrail_session" if scheme == "https" else "handrail_session"
    return scope_of(headers=[("cookie", f"a=b; {name}={secret}")], scheme=scheme)


def local(pid: int = 4711, uid: int = UID, **more: Any) -> dict[str, Any]:
    return scope_of(client=(f"unix:{pid}", uid), **more)


async def test_a_program_shows_its_token_in_a_header(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        row, secret = await Tokens(store).mint("deploy bot", "approver")
        caller = await authenticator(store).authenticate(bearer(secret))
        assert caller is not None
        assert (caller.name, caller.role, caller.surface) == ("deploy bot", "approver", "api")
        assert (caller.token_id, caller.pid) == (row.id, None)


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_browser_shows_its_cookie(tmp_path: Path, scheme: str) -> None:
    async with opened(tmp_path) as store:
        _, secret = await Tokens(store).mint("Ann", "owner", kind="browser")
        caller = await authenticator(store).authenticate(with_cookie(secret, scheme=scheme))
        assert caller is not None
        assert (caller.name, caller.role, caller.surface) == ("Ann", "owner", "web")


async def test_a_planted_cookie_does_not_hide_the_real_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        _, secret = await Tokens(store).mint("Ann", "owner", kind="browser")
        scope = scope_of(headers=[("cookie", f"handrail_session=x; handrail_session={secret}")])
        assert await authenticator(store).authenticate(scope) is not None


async def test_who_shows_nothing_is_nobody(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        who = authenticator(store)
        assert await who.authenticate(scope_of()) is None
        assert await who.authenticate(with_cookie("hr_wrong")) is None


@pytest.mark.parametrize("header", ["Bearer", "Bearer hr_wrong", "Basic YTpi", "hr_wrong", ""])
async def test_a_header_that_is_no_good_is_said_to_be(tmp_path: Path, header: str) -> None:
    """Even if there is a good cookie: who shows a token wants to be whom it names."""
    async with opened(tmp_path) as store:
        _, secret = await Tokens(store).mint("Ann", "owner", kind="browser")
        headers = [("authorization", header), ("cookie", f"handrail_session={secret}")]
        with pytest.raises(Problem) as caught:
            await authenticator(store).authenticate(scope_of(headers=headers))
        assert caught.value.code == "not_authenticated"
        assert "Bearer" in caught.value.headers["www-authenticate"]


async def test_each_token_is_good_in_its_own_place_only(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        who = authenticator(store)
        _, cookie = await Tokens(store).mint("Ann", "owner", kind="browser")
        _, program = await Tokens(store).mint("bot", "owner")
        assert await who.authenticate(with_cookie(program)) is None
        with pytest.raises(Problem):
            await who.authenticate(bearer(cookie))


async def test_a_plain_cookie_is_not_taken_over_tls(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        _, secret = await Tokens(store).mint("Ann", "owner", kind="browser")
        scope = {**with_cookie(secret), "scheme": "https"}
        assert await authenticator(store).authenticate(scope) is None


# ---------------------------------------------------------------- processes of this machine


async def test_a_process_of_the_same_user_is_the_owner(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        caller = await authenticator(store).authenticate(local())
        assert caller is not None
        assert (caller.role, caller.surface, caller.pid, caller.token_id) == ("owner", "cli", 4711, None)


async def test_a_process_of_another_user_is_nobody(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        with pytest.raises(Problem, match="another user"):
            await authenticator(store).authenticate(local(uid=UID + 1))


async def test_what_a_session_started_may_only_read(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        caller = await authenticator(store, inside=True).authenticate(local())
        assert caller is not None
        assert caller.role == "viewer"
        assert "in a session" in caller.name


async def test_a_token_does_not_help_a_session_to_answer_for_itself(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        _, secret = await Tokens(store).mint("bot", "owner")
        scope = local(headers=[("authorization", f"Bearer {secret}")])
        inside = await authenticator(store, inside=True).authenticate(scope)
        outside = await authenticator(store).authenticate(scope)
        assert inside is not None
        assert outside is not None
        assert (inside.role, outside.role) == ("viewer", "owner")
        assert outside.token_id is not None


# ---------------------------------------------------------------- what a session has started


@contextmanager
def sleeping(command: str, **environment: str) -> Iterator[int]:
    """A process that runs a shell command, which prints the pid in question and then waits for its input to end."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **environment},
        start_new_session=True,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


WAITS = "echo $$; read line"
NEUTRAL = {"PATH": os.environ["PATH"]}


def marked() -> dict[str, str]:
    return {MARKER_VARIABLE: marked_environment({}, new_marker())[MARKER_VARIABLE]}


def test_a_process_of_ours_is_of_no_session() -> None:
    with sleeping(WAITS) as pid:
        assert not started_by_session(pid)


def test_a_process_with_a_sessions_marker_is_of_that_session() -> None:
    with sleeping(WAITS, **marked()) as pid:
        assert started_by_session(pid)


def test_who_drops_the_marker_is_found_by_the_parent() -> None:
    with sleeping(f"env -i /bin/sh -c '{WAITS}'; true", **marked()) as pid:
        assert started_by_session(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="the process table of macOS has no sessions of terminals")
def test_who_drops_marker_and_parent_is_found_by_the_terminal_session() -> None:
    # The shell in between ends at once, so that the inner one has no parent of ours; the outer one stays.
    inner = "env -i /bin/sh -c 'echo $$; read line <&3'"
    with sleeping(f"(exec 3<&0; {inner} & exit 0); read line", **marked()) as pid:
        assert started_by_session(pid)


def test_a_process_that_is_gone_counts_as_one() -> None:
    with sleeping(WAITS) as pid:
        pass
    assert started_by_session(pid)


class NoTable:
    def table(self) -> dict[int, Process]:
        raise OSError("no way to look")

    def now(self) -> float:
        return 0.0

    def signal(self, process: Process, signum: int) -> bool:
        return False


def test_where_nobody_can_look_everything_counts_as_one() -> None:
    assert started_by_session(os.getpid(), NoTable())

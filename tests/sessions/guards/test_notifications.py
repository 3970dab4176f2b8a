"""Notifications: real commands and a real server on loopback, including those that hang, fail and refuse to end."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import ssl
import stat
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail.errors import ConfigError
from handrail.events.model import AskClosed, AskOpened, Completed, Event, Started
from handrail.sessions.guards.activity import Stalled
from handrail.sessions.guards.notifications import KINDS, WAITING_AT_MOST, Notifier, Notify, notice_of
from handrail.sessions.guards.notifying.command import Command
from handrail.sessions.guards.notifying.message import Message, NotDelivered, Notice, message_of
from handrail.sessions.guards.notifying.webhook import Webhook

pytestmark = pytest.mark.timeout(60)

MESSAGE = Message(b'{"text":"hello"}', {"HANDRAIL_NOTICE": "hello"})
FINE = "HTTP/1.1 204 No Content\r\n\r\n"
CERTIFICATE = Path(__file__).parent / "loopback.pem"
"""Of a server on loopback: made for these tests, signed by itself, and trusted nowhere else."""
SESSION = "0123456789abcdef"


def ask(number: int = 1, *, title: str = "Bash: make all", kind: str = "permission") -> AskOpened:
    return AskOpened(ask_id=f"r{number}", kind=kind, digest=f"d{number}", title=title, ask={"input": {"x": 1}}, at=5.0)


async def until(condition: Callable[[], Any]) -> Any:
    async with asyncio.timeout(30):
        while not (found := condition()):
            await asyncio.sleep(0.005)
    return found


def script(path: Path, body: str) -> tuple[str, ...]:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return (str(path),)


def alive(pid: int) -> bool:
    """Whether a process runs: one that has ended may still wait to be noticed."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, timeout=30).stdout
    return bool(state.strip()) and not state.startswith("Z")


class Server:
    """An HTTP server that answers with what the test says, and keeps what it was sent."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.port = 0
        self.released = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook/secret?room=1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers["content-length"]))
        self.requests.append((head[0], headers, body))
        answer = self.answers.pop(0) if self.answers else FINE
        if answer is None:
            await self.released.wait()
        writer.write((FINE if answer is None else answer).encode())
        writer.close()

    @asynccontextmanager
    async def running(self, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            self.released.set()
            server.close()
            await server.wait_closed()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server().running() as running:
        yield running


async def no_pause(seconds: float) -> None:
    """Does not wait."""


# ---------------------------------------------------------------- what is told


@pytest.mark.parametrize(
    ("event", "kind", "text"),
    [
        (ask(), "permission", "Fix the build needs you: Bash: make all"),
        (ask(kind="budget", title="Budget"), "budget", "Fix the build needs you: Budget"),
        (Completed(ok=True, answer="secret plan"), "finished", "Fix the build: the run is finished"),
        (Completed(ok=False, error="secret"), "failed", "Fix the build: the run failed"),
        (
            Stalled(600, "the model was at work").warning(),
            "stalled",
            "Fix the build: nothing was heard for 10 minutes, while the model was at work",
        ),
    ],
    ids=["ask", "budget", "finished", "failed", "stalled"],
)
def test_what_an_event_tells(event: Event, kind: str, text: str) -> None:
    notice = notice_of(event, session_id=SESSION, title="Fix the build")
    assert notice is not None
    assert (notice.kind, notice.text) == (kind, text)
    assert kind in KINDS
    sent = json.loads(message_of([notice], dropped=0, details=False).body)
    assert "secret" not in str(sent)
    assert "detail" not in sent["notices"][0]
    assert json.loads(message_of([notice], dropped=0, details=True).body)["text"] == text


def test_other_events_tell_nothing() -> None:
    assert notice_of(Started(), session_id=SESSION) is None


def test_a_title_cannot_steer_a_screen_nor_give_a_secret_away() -> None:
    title = "\x1b[2J\u202eBash: curl -H 'Authorization: Bearer abcdefghijklmnop1234'\n" + "x" * 1000
    notice = notice_of(ask(title=title), session_id=SESSION)
    assert notice is not None
    message = message_of([notice], dropped=0, details=True)
    told = message.variables["HANDRAIL_NOTICE"]
    assert not set(told) & {"\x1b", "\n", "\u202e"}
    assert len(told) < 400
    assert b"abcdefghijklmnop1234" not in message.body
    assert "abcdefghijklmnop1234" not in str(message.variables)


def test_many_notices_are_one_message() -> None:
    notices = [Notice(kind="permission", session_id=SESSION, text=f"n{number}") for number in range(8)]
    content = json.loads(message_of(notices, dropped=3, details=False).body)
    assert content["text"].splitlines() == ["n0", "n1", "n2", "n3", "n4", "and 3 more", "3 earlier ones were dropped"]
    assert (len(content["notices"]), content["dropped"]) == (8, 3)


@pytest.mark.parametrize(
    ("kinds", "wanted"),
    [(("ask",), {"permission", "budget"}), (("budget", "failed"), {"budget", "failed"})],
)
def test_kinds(kinds: tuple[str, ...], wanted: set[str]) -> None:
    rule = Notify(kinds=kinds, command=("true",))
    told = {"permission", "budget", "failed", "finished", "stalled"}
    assert {kind for kind in told if rule.wants(Notice(kind=kind, session_id="s", text=""))} == wanted


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kinds": ("asks",), "command": ("true",)}, "'asks': use ask, permission"),
        ({"kinds": ("ask",)}, "a command or a webhook"),
        ({"kinds": ("ask",), "command": ()}, "a command or a webhook"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Notify(**settings)


@pytest.mark.parametrize(
    "url", ["ftp://host/x", "host/path", "https://", "http://a..b/", "http://host:port/", "file:///x"]
)
def test_wrong_addresses(url: str) -> None:
    with pytest.raises(ConfigError, match="https://host/path"):
        Notifier([Notify(kinds=("ask",), webhook=url)])


# ---------------------------------------------------------------- commands


async def test_a_command_gets_json_and_variables_and_nothing_of_ours(tmp_path: Path) -> None:
    done, draft = tmp_path / "env", tmp_path / "draft"
    command = script(tmp_path / "notify", f"cat > {tmp_path}/body; env > {draft}; mv {draft} {done}")
    environ = {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "sk-ant-no", "CLAUDECODE": "1", "LANG": "C"}
    async with Notifier([Notify(kinds=("ask",), command=command)], environ=environ, gather=0) as notifier:
        notifier.see(ask(), session_id=SESSION, title="Fix the build")
        await until((tmp_path / "env").exists)
    (notice,) = json.loads((tmp_path / "body").read_text())["notices"]
    assert notice == {
        "kind": "permission",
        "session_id": SESSION,
        "text": "Fix the build needs you: Bash: make all",
        "at": 5.0,
        "session_title": "Fix the build",
        "ask_id": "r1",
        "ask_title": "Bash: make all",
        "digest": "d1",
    }
    variables = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
    assert variables["HANDRAIL_NOTICE"] == "Fix the build needs you: Bash: make all"
    assert variables["HANDRAIL_SESSION"] == SESSION
    assert variables["HANDRAIL_ASK"] == "r1"
    assert variables["HANDRAIL_NOTICE_KIND"] == "permission"
    assert not {"ANTHROPIC_API_KEY", "CLAUDECODE"} & set(variables)


@pytest.mark.slow
async def test_a_command_that_ignores_sigterm_is_ended_with_its_children(tmp_path: Path) -> None:
    stubborn = f'trap "" TERM; sleep 600 & echo $$ $! > {tmp_path}/pids; sleep 600; sleep 600'
    argv = script(tmp_path / "stubborn", stubborn)
    command = Command(argv, environ=os.environ, timeout=0.3, grace=0.1)
    with pytest.raises(NotDelivered, match=r"it did not end within 0.3 s"):
        await command.deliver(MESSAGE)
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    await until(lambda: not any(map(alive, pids)))


async def test_a_command_that_is_given_up_is_killed(tmp_path: Path) -> None:
    argv = script(tmp_path / "slow", f"echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; sleep 600")
    async with Notifier([Notify(kinds=("ask",), command=argv)], gather=0) as notifier:
        notifier.see(ask(), session_id=SESSION)
        pid = int(await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()))
        await notifier.close(patience=0.01)
        await notifier.close()
    await until(lambda: not alive(pid))


async def test_a_command_that_reads_nothing_and_leaves_children_holds_nobody(tmp_path: Path) -> None:
    argv = script(tmp_path / "leaver", f"sleep 60 &\necho $! > {tmp_path}/pid")
    big = Message(b"x" * 1_000_000, {})
    async with asyncio.timeout(20):
        await Command(argv, environ=os.environ).deliver(big)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("/nonexistent/notify",), "it cannot be run"),
        (("sh", "-c", "echo broken >&2; exit 3"), "it ended with 3: broken"),
        (("false",), "it said nothing"),
        (("a\0b",), "it cannot be run"),
    ],
)
async def test_a_command_that_fails(argv: tuple[str, ...], words: str) -> None:
    with pytest.raises(NotDelivered, match=words):
        await Command(argv, environ=os.environ).deliver(MESSAGE)


# ---------------------------------------------------------------- webhooks


async def test_a_webhook_is_posted_json(server: Server) -> None:
    async with Notifier([Notify(kinds=("ask",), webhook=server.url)], gather=0) as notifier:
        notifier.see(ask(), session_id=SESSION)
        await until(lambda: server.requests)
    ((line, headers, body),) = server.requests
    assert line == "POST /hook/secret?room=1 HTTP/1.1"
    assert headers["host"] == f"127.0.0.1:{server.port}"
    assert headers["content-type"] == "application/json"
    assert "authorization" not in headers
    assert json.loads(body)["text"] == "session 01234567 needs you: Bash: make all"


async def test_a_name_and_a_password_in_the_address(server: Server) -> None:
    await Webhook(f"http://al%40ice:s3cret@127.0.0.1:{server.port}/a b").deliver(MESSAGE)
    ((line, headers, _),) = server.requests
    assert line == "POST /a%20b HTTP/1.1"
    assert headers["authorization"] == "Basic YWxAaWNlOnMzY3JldA=="


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["HTTP/1.1 503 Busy\r\n\r\n", "HTTP/1.1 429 Slow\r\n\r\n", "", "what?\r\n", None])
async def test_what_may_be_better_in_a_moment_is_tried_again(trouble: str | None) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async with Server(trouble, trouble).running() as server:
        await Webhook(server.url, timeout=0.1 if trouble is None else 10, sleep=sleep).deliver(MESSAGE)
        assert len(server.requests) == 3
    assert pauses == [1.0, 4.0]


async def test_in_the_end_it_is_given_up() -> None:
    async with Server(*["HTTP/1.1 500 No\r\n\r\n"] * 9).running() as server:
        with pytest.raises(NotDelivered, match="it answered with 500"):
            await Webhook(server.url, sleep=no_pause).deliver(MESSAGE)
        assert len(server.requests) == 3
    with pytest.raises(NotDelivered, match="cannot be reached"):
        await Webhook(server.url, sleep=no_pause).deliver(MESSAGE)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("HTTP/1.1 404 Gone\r\n\r\n", "it answered with 404"),
        ("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n", "it redirects elsewhere"),
        ("HTTP/1.1 308 Moved\r\nLocation: http://127.0.0.1:1/\r\n\r\n", "it redirects elsewhere"),
    ],
)
async def test_what_will_not_be_better_is_tried_once(answer: str, words: str) -> None:
    async with Server(answer).running() as server:
        with pytest.raises(NotDelivered, match=words):
            await Webhook(server.url, sleep=no_pause).deliver(MESSAGE)
        assert len(server.requests) == 1


async def test_https_is_spoken_with_a_server_that_proves_itself_and_with_no_other() -> None:
    identity = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    identity.load_cert_chain(CERTIFICATE)
    async with Server().running(tls=identity) as server:
        url = f"https://127.0.0.1:{server.port}/"
        with pytest.raises(NotDelivered, match="its certificate is not to be trusted"):
            await Webhook(url, sleep=no_pause).deliver(MESSAGE)
        assert server.requests == []
        await Webhook(url, tls=ssl.create_default_context(cafile=CERTIFICATE)).deliver(MESSAGE)
        assert len(server.requests) == 1


# ---------------------------------------------------------------- off the session's path


async def test_a_burst_is_one_message_and_what_is_answered_at_once_is_none(server: Server) -> None:
    async with Notifier([Notify(kinds=("ask",), webhook=server.url)], gather=60) as notifier:
        for number in range(5):
            notifier.see(ask(number), session_id=SESSION)
        notifier.see(ask(3, title="Bash: make most"), session_id=SESSION)
        notifier.see(AskClosed(ask_id="r1", outcome="decided"), session_id=SESSION)
        notifier.see(Completed(ok=True), session_id=SESSION)
    ((_, _, body),) = server.requests
    told = [(notice["ask_id"], notice["ask_title"]) for notice in json.loads(body)["notices"]]
    assert told == [(f"r{n}", "Bash: make most" if n == 3 else "Bash: make all") for n in (0, 2, 3, 4)]


async def test_a_slow_target_delays_nobody_and_the_oldest_notices_go(caplog: pytest.LogCaptureFixture) -> None:
    async with Server(None).running() as slow, Server().running() as quick:
        rules = [Notify(kinds=("failed",), webhook=each.url, timeout=30) for each in (slow, quick)]
        async with Notifier(rules, gather=0) as notifier:
            notifier.see(Completed(ok=False), session_id="first")
            await until(lambda: slow.requests and quick.requests)
            for number in range(WAITING_AT_MOST + 7):
                notifier.see(Completed(ok=False), session_id=f"s{number}")
            await until(lambda: len(quick.requests) == 2)
            slow.released.set()
            await until(lambda: len(slow.requests) >= 2)
    content = json.loads(slow.requests[-1][2])
    assert content["dropped"] == 7
    assert content["notices"][-1]["session_id"] == f"s{WAITING_AT_MOST + 6}"
    assert caplog.text.count("the oldest notices are dropped") == 2  # once for each target


async def test_a_cause_is_logged_once(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    argv = script(tmp_path / "failing", f"echo x >> {tmp_path}/runs; echo $$ >&2; exit 4")
    runs = tmp_path / "runs"
    async with Notifier([Notify(kinds=("ask",), command=argv)], gather=0) as notifier:
        for number in range(1, 4):
            notifier.see(ask(number), session_id=SESSION)
            await until(lambda number=number: runs.exists() and len(runs.read_text().split()) == number)
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert ["failing: it ended with 4" in record.getMessage() for record in warnings] == [True]


async def test_a_secret_address_is_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with (
        Server("HTTP/1.1 403 No\r\n\r\n").running() as server,
        Notifier([Notify(kinds=("ask",), webhook=server.url)], gather=0) as notifier,
    ):
        notifier.see(ask(), session_id=SESSION)
        await until(lambda: "it answered with 403" in caplog.text)
    assert "/hook/secret" not in caplog.text


async def test_nothing_is_taken_after_the_end_nor_without_rules(server: Server) -> None:
    async with Notifier([Notify(kinds=("ask",), webhook=server.url)], gather=0) as notifier:
        pass
    notifier.see(ask(), session_id=SESSION)
    async with Notifier([]) as silent:
        silent.see(ask(), session_id=SESSION)
    assert server.requests == []

"""The recipes of the hub's guide for reaching it from elsewhere, played with the very configuration that stands there.

Each time `handrail serve` runs in a process of its own, with something in front of it, and somebody logs in, starts a
session, watches it and answers it, all through that.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

pytestmark = pytest.mark.slow

GUIDE = (Path(__file__).parents[2] / "docs/guides/hub.md").read_text()
ELSEWHERE = "https://evil.example"
LINK = re.compile(rb"#login=(\S+)")
MORE_THAN_A_PROXY_TAKES_BY_DEFAULT = 3 * 1024 * 1024
PATIENCE = 60.0


def recipe(language: str) -> str:
    """The one block of the guide in this language."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.S | re.M)
    assert isinstance(text, str)
    return text


def adapted(text: str, changes: Mapping[str, object]) -> str:
    """A recipe for this machine. What is not in it cannot be changed: then the test is no longer about the guide."""
    for there, here in changes.items():
        assert there in text, f"the guide does not say {there!r} any more"
        text = text.replace(there, str(here))
    return text


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def program(name: str, package: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
    if found is None:
        pytest.skip(f"there is no {name}: install it (Debian: apt install {package})")
    return found


async def answers(port: int) -> None:
    """Wait until somebody listens."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                await writer.wait_closed()
                return
            await asyncio.sleep(0.05)


# ---------------------------------------------------------------- the hub


@dataclass
class Box:
    """The machine that the hub runs on, and the way to it."""

    directory: Path
    hub_port: int = field(default_factory=free_port)
    outer_port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        steps = [sim.turn(sim.tool("Bash", {"command": "make"}, output="made"), "It is built.")]
        self.cli = SimulatedCLI(steps, directory=self.directory)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory),
            "HANDRAIL_CLAUDE_CLI_PATH": str(self.cli.path),
            "HANDRAIL_HUB_PORT": str(self.hub_port),
        }

    def certificate(self) -> tuple[Path, Path]:
        """A certificate for localhost and its key."""
        certificate, key = self.directory / "cert.pem", self.directory / "key.pem"
        kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        made = [program("openssl", "openssl"), "req", *kind, *named, "-keyout", str(key), "-out", str(certificate)]
        subprocess.run(made, check=True, capture_output=True)
        return certificate, key

    @asynccontextmanager
    async def running(self, *command: str, **environment: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """A program, until the end of the block."""
        process = await asyncio.create_subprocess_exec(
            *command,
            env={**self.env, **environment},
            cwd=self.directory,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            await asyncio.wait_for(process.communicate(), PATIENCE)

    @asynccontextmanager
    async def serving(self, *words: str) -> AsyncIterator[str]:
        """The hub; gives the code of its login link."""
        async with self.running(sys.executable, "-m", "handrail", "serve", *words) as process:
            assert process.stdout is not None
            printed = b""
            async with asyncio.timeout(PATIENCE):
                while not (found := LINK.search(printed)):
                    line = await process.stdout.readline()
                    assert line, printed.decode()
                    printed += line
            yield found[1].decode()


# ---------------------------------------------------------------- the ways to it


@asynccontextmanager
async def nginx(box: Box) -> AsyncIterator[tuple[str, ...]]:
    certificate, key = box.certificate()
    site = adapted(
        recipe("nginx"),
        {
            "listen 443 ssl;": f"listen 127.0.0.1:{box.outer_port} ssl;",
            "server_name hub.example.org;": "server_name localhost;",
            "/etc/letsencrypt/live/hub.example.org/fullchain.pem": certificate,
            "/etc/letsencrypt/live/hub.example.org/privkey.pem": key,
            "127.0.0.1:4280": f"127.0.0.1:{box.hub_port}",
        },
    )
    places = "".join(
        f"{name}_temp_path {box.directory}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "scgi", "uwsgi")
    )
    user = "user root;" if os.geteuid() == 0 else ""
    whole = box.directory / "nginx.conf"
    whole.write_text(
        f"{user}\ndaemon off;\npid {box.directory}/nginx.pid;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{places}\n{site}\n}}\n"
    )
    command = [program("nginx", "nginx-light"), "-e", "stderr", "-p", str(box.directory), "-c", str(whole)]
    async with box.running(*command):
        await answers(box.outer_port)
        yield ("--behind-proxy", "--public-url", f"https://localhost:{box.outer_port}")


@asynccontextmanager
async def caddy(box: Box) -> AsyncIterator[tuple[str, ...]]:
    certificate, key = box.certificate()
    site = adapted(
        recipe("caddy"),
        {
            "hub.example.org {": f"localhost:{box.outer_port} {{\n\tbind 127.0.0.1\n\ttls {certificate} {key}",
            "127.0.0.1:4280": f"127.0.0.1:{box.hub_port}",
        },
    )
    whole = box.directory / "Caddyfile"
    whole.write_text(f"{{\n\tadmin off\n\tauto_https disable_redirects\n}}\n{site}")
    command = [program("caddy", "caddy"), "run", "--config", str(whole), "--adapter", "caddyfile"]
    async with box.running(*command):
        await answers(box.outer_port)
        yield ("--behind-proxy", "--public-url", f"https://localhost:{box.outer_port}")


@asynccontextmanager
async def own_certificate(box: Box) -> AsyncIterator[tuple[str, ...]]:
    certificate, key = box.certificate()
    box.outer_port = box.hub_port
    options = ("--host", "--tls-certificate", "--tls-key", "--public-url")
    assert all(option in GUIDE for option in options)
    values = ("0.0.0.0", str(certificate), str(key), f"https://localhost:{box.hub_port}")
    yield tuple(word for pair in zip(options, values, strict=True) for word in pair)


@asynccontextmanager
async def tunnel(box: Box) -> AsyncIterator[tuple[str, ...]]:
    """What `ssh -L` does: bytes come out elsewhere as they went in."""
    assert "--public-url http://localhost:9000" in GUIDE
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(asyncio.TaskGroup())

        async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                while data := await reader.read(65536):
                    writer.write(data)
                    await writer.drain()
            writer.close()

        async def arrived(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", box.hub_port)
            tasks.create_task(pass_on(reader, inner_writer))
            tasks.create_task(pass_on(inner_reader, writer))

        server = await asyncio.start_server(arrived, "127.0.0.1", box.outer_port)
        stack.callback(server.close)
        yield ("--public-url", f"http://localhost:{box.outer_port}")


# ---------------------------------------------------------------- what is done through them


@dataclass
class Outside:
    """A browser elsewhere that has only the public address."""

    url: str
    browser: httpx2.AsyncClient
    trust: ssl.SSLContext | None

    async def log_in(self, code: str) -> str:
        """Returns the name of the cookie."""
        answer = await self.browser.post("/api/login", json={"code": code})
        assert answer.status_code == 200, answer.text
        (cookie,) = self.browser.cookies
        return cookie

    def live(self, origin: str) -> connect:
        cookies = "; ".join(f"{name}={value}" for name, value in self.browser.cookies.items())
        return connect(
            f"{self.url.replace('http', 'ws', 1)}/api/live",
            additional_headers={"Cookie": cookies, "Origin": origin},
            ssl=self.trust,
            proxy=None,
        )

    async def watched_to_its_end(self, session_id: str) -> list[dict[str, Any]]:
        """Every event of a session, by the live stream; what it asks is allowed on the way."""
        events: list[dict[str, Any]] = []
        async with asyncio.timeout(PATIENCE), self.live(self.url) as stream:
            await stream.send(json.dumps({"type": "follow", "session": session_id, "after": 0}))
            async for text in stream:
                told = json.loads(text)
                if told["type"] != "event":
                    continue
                events.append(told["event"])
                if events[-1]["type"] == "ask_opened":
                    await self.allow(session_id, events[-1])
                if events[-1]["type"] == "completed":
                    break
        return events

    async def allow(self, session_id: str, asked: dict[str, Any]) -> None:
        body = {"digest": asked["digest"], "answer": {"type": "allow"}}
        answer = await self.browser.post(f"/api/asks/{session_id}/{asked['ask_id']}/answer", json=body)
        assert answer.status_code == 200, answer.text


@asynccontextmanager
async def outside(url: str, certificate: Path | None) -> AsyncIterator[Outside]:
    trust = ssl.create_default_context(cafile=certificate) if certificate is not None else None
    async with httpx2.AsyncClient(
        base_url=url, headers={"origin": url}, timeout=PATIENCE, trust_env=False, verify=trust or False
    ) as browser:
        yield Outside(url, browser, trust)


@pytest.mark.parametrize("way", [nginx, caddy, own_certificate, tunnel], ids=lambda way: way.__name__)
async def test_the_hub_is_used_from_elsewhere(way: Any, tmp_path: Path) -> None:
    box = Box(tmp_path)
    async with way(box) as options, box.serving(*options) as code:
        url = options[-1]
        secure = url.startswith("https:")
        async with outside(url, tmp_path / "cert.pem" if secure else None) as there:
            cookie = await there.log_in(code)
            assert cookie == ("__Host-handrail_session" if secure else "handrail_session")
            assert (await there.browser.get("/api/me")).json()["role"] == "owner"
            assert "<!doctype html>" in (await there.browser.get("/")).text.lower()

            wanted = {"prompt": "Build it", "cwd": str(tmp_path)}
            started = await there.browser.post("/api/sessions", json=wanted)
            assert started.status_code == 201, started.text
            events = await there.watched_to_its_end(started.json()["id"])
            assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
            assert (events[-1]["ok"], events[-1]["answer"]) == (True, "It is built.")
            (closed,) = [event for event in events if event["type"] == "ask_closed"]
            assert closed["outcome"] == "decided"

            large = {"content": "x" * MORE_THAN_A_PROXY_TAKES_BY_DEFAULT}
            answer = await there.browser.post("/api/sessions/none/messages", json=large)
            assert answer.json()["code"] == "session_not_found"

            with pytest.raises(InvalidStatus) as refused:
                async with there.live(ELSEWHERE):
                    pass
            assert refused.value.response.status_code == 403
            elsewhere = await there.browser.get("/api/me", headers={"host": "evil.example"})
            assert elsewhere.status_code == 421 or way is caddy  # which has no such site, and answers itself
            assert "owner" not in elsewhere.text

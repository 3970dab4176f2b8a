"""Machines for tests of hosts: `handrail serve` and `handrail host` as processes, each with a home of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from handrail.remote.hub_file import RunningHub

PATIENCE = 60.0
HOST_NAME = "box"


async def eventually(look: Callable[[], Any], what: str = "", patience: float = PATIENCE) -> Any:
    """What `look` gives, or gives when awaited, once that is something."""
    found: Any = None
    try:
        async with asyncio.timeout(patience):
            while not found:
                await asyncio.sleep(0.02)
                found = look()
                if isinstance(found, Awaitable):
                    found = await found
    except TimeoutError:
        raise AssertionError(f"it did not come to this: {what or look}") from None
    return found


class Process:
    """A command of a machine that runs in the background, and what it has said so far."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def said(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    async def until(self, words: str, *, times: int = 1) -> None:
        """Wait until it has said this (so often)."""

        def is_said() -> bool:
            assert self.is_running or self.said.count(words) >= times, self.said
            return self.said.count(words) >= times

        try:
            await eventually(is_said)
        except AssertionError:
            raise AssertionError(f"{words!r} was not said {times} times:\n{self.said}") from None

    async def end(self, number: int = signal.SIGTERM) -> None:
        """End it, and wait until it has."""
        if self.is_running:
            self._process.send_signal(number)
        async with asyncio.timeout(PATIENCE):
            await self._process.wait()


class Machine:
    """A user's directories, and the commands that are run there: `within` a network of its own, say."""

    process: Process
    """The hub or the agent, once it was started."""

    def __init__(
        self, directory: Path, *, within: Sequence[str] = (), config: str = "", env: Mapping[str, str] | None = None
    ) -> None:
        self.directory = directory
        self.project = directory / "project"
        self.state = directory / "state"
        for each in (self.project, self.state, directory / "config"):
            each.mkdir(parents=True, exist_ok=True, mode=0o700)
        (directory / "config" / "config.toml").write_text(config)
        self._within = tuple(within)
        self._started = 0
        names = ("CONFIG", "STATE", "CACHE", "RUNTIME")
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "LANG": "C.UTF-8",
            **{f"HANDRAIL_{name}_DIR": str(directory / name.lower()) for name in names},
            **(env or {}),
        }

    async def handrail(self, *words: str, code: int = 0) -> str:
        """Run a command to its end; returns what it printed."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self._within, sys.executable, "-m", "handrail", *words, env=self.env, cwd=self.project,
            stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe,
        )  # fmt: skip
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
        assert process.returncode == code, (out + err).decode()
        return (out if code == 0 else err).decode()

    @asynccontextmanager
    async def running(self, *argv: str) -> AsyncIterator[Process]:
        """A process that is ended afterwards, if it has not ended by then."""
        process = await self.start(*argv)
        try:
            yield process
        finally:
            await process.end()

    async def start(self, *argv: str) -> Process:
        """A process that whoever starts it ends."""
        self._started += 1
        log = self.directory / f"log-{self._started}.txt"
        with log.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                *self._within, *argv, env=self.env, cwd=self.project,
                stdin=asyncio.subprocess.DEVNULL, stdout=file, stderr=asyncio.subprocess.STDOUT,
            )  # fmt: skip
        return Process(process, log)


class HubMachine(Machine):
    """Where the hub runs. Requests go through its socket on this machine, whatever becomes of the network."""

    async def serve(self) -> None:
        """Start the hub, and wait until it is there."""
        self.process = await self.start(sys.executable, "-m", "handrail", "serve")
        await eventually(self._is_up, f"the hub is up: {self.process.said}")

    async def _is_up(self) -> bool:
        assert self.process.is_running, self.process.said
        found = self._running()
        if found is None or found.pid != self.process.pid:
            return False
        try:
            return (await self.request("GET", "/api/health")).status_code == 200
        except httpx2.HTTPError:
            return False

    def _running(self) -> RunningHub | None:
        try:
            return msgspec.json.decode((self.state / "hub.json").read_bytes(), type=RunningHub)
        except (OSError, msgspec.MsgspecError):
            return None

    @property
    def database(self) -> Path:
        return self.state / "handrail.db"

    @property
    def url(self) -> str:
        """Where machines reach it."""
        found = self._running()
        assert found is not None, self.process.said
        return found.url

    async def request(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """A request of this machine's own user."""
        found = self._running()
        assert found is not None, self.process.said
        way = httpx2.AsyncHTTPTransport(uds=found.socket, verify=False)
        async with httpx2.AsyncClient(base_url="http://handrail", transport=way, timeout=PATIENCE) as client:
            return await client.request(method, path, **more)

    async def get(self, path: str, **params: Any) -> Any:
        answer = await self.request("GET", path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, body: Any = None, *, status: int | None = None) -> Any:
        answer = await self.request("POST", path, json=body)
        assert answer.status_code == status if status else answer.is_success, answer.text
        return answer.json() if answer.content else None

    # ------------------------------------------------------------ hosts and their sessions

    async def code(self, name: str = HOST_NAME) -> str:
        """What lets a machine be a host, once."""
        made = await self.post("/api/hosts/enrolments", {"name": name})
        return str(made["code"])

    async def host(self, name: str = HOST_NAME) -> dict[str, Any]:
        found: dict[str, Any] = await self.get(f"/api/hosts/{name}")
        return found

    async def until_host(self, state: str, name: str = HOST_NAME) -> None:
        async def is_so() -> bool:
            return bool((await self.host(name))["state"] == state)

        await eventually(is_so, f"{name} is {state}")

    async def start_session(self, cwd: Path, prompt: str = "", **wanted: Any) -> str:
        body = {"cwd": str(cwd), "host": HOST_NAME, "prompt": prompt, **wanted}
        return str((await self.post("/api/sessions", body, status=201))["id"])

    async def send(self, session: str, text: str) -> None:
        await self.post(f"/api/sessions/{session}/messages", {"content": text})

    async def asked(self, session: str) -> dict[str, Any]:
        """What the session asks, once it does."""

        async def waiting() -> list[dict[str, Any]]:
            items = (await self.get("/api/asks"))["items"]
            return [ask for ask in items if ask["session"] == session]

        found: list[dict[str, Any]] = await eventually(waiting, f"session {session} asks something")
        (ask,) = found
        return ask

    async def answer(self, ask: Mapping[str, Any], *, status: int | None = None) -> Any:
        """Allow what is asked."""
        body = {"answer": {"type": "allow"}, "digest": ask["digest"]}
        return await self.post(f"/api/asks/{ask['session']}/{ask['ask_id']}/answer", body, status=status)

    async def said(self, session: str, words: str) -> None:
        """Wait until Claude has said this."""

        async def is_said() -> bool:
            items = (await self.get(f"/api/sessions/{session}/events", before=2**53))["items"]
            return any(words in item.get("text", "") for item in items if item["type"] == "text")

        await eventually(is_said, f"{words!r} is said in session {session}")


class HostMachine(Machine):
    """Where sessions run."""

    @property
    def journal(self) -> Path:
        return self.state / "host" / "handrail.db"

    async def join(self, hub: HubMachine, url: str, name: str = HOST_NAME) -> None:
        """Become a host of the hub."""
        await self.work("--hub", url, "--name", name, "--code", await hub.code(name), "--root", str(self.project))
        await hub.until_host("connected", name)

    async def work(self, *words: str) -> None:
        """Start the agent, and wait until it is connected."""
        self.process = await self.start(sys.executable, "-m", "handrail", "host", *words)
        await self.process.until("connected")

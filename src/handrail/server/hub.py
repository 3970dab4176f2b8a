"""The hub: the sessions of this machine, and whatever else its addresses need, in one object with an owner."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import msgspec

from handrail.errors import HostAway, ProcessError, SessionNotLive
from handrail.policy.storage.loading import Asked
from handrail.protocol.options import Options
from handrail.server.auth.audit import Audit
from handrail.server.auth.logins import Logins
from handrail.server.auth.tokens import Tokens
from handrail.server.auth.who import Authenticator
from handrail.server.hosts import Hosts
from handrail.server.idempotency import KEPT_FOR, Replies
from handrail.server.ingress import Ingress
from handrail.server.journal_watch import JournalWatch
from handrail.server.live import Live
from handrail.server.metrics import Metrics
from handrail.server.problems import Problem
from handrail.server.programs import Programs, ProgramSockets
from handrail.server.roots import Roots
from handrail.server.showing import Showing
from handrail.sessions.exchange import PRIVATE, FileExchange
from handrail.sessions.launching import SessionSettings
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session

if TYPE_CHECKING:
    from handrail.store.base import Store

__all__ = ["ClaudeStatus", "Finding", "Hub", "HubSettings", "SessionDefaults"]

PORT = 4280


@dataclass(frozen=True, kw_only=True)
class SessionDefaults:
    """How a session is started where nobody says otherwise: what the configuration file says."""

    options: Options = field(default_factory=lambda: Options(include_partial_messages=True))
    policy: Asked = field(default_factory=Asked)
    budget: float | None = None


@dataclass(frozen=True, kw_only=True)
class HubSettings:
    """How the hub is reached, and what it shows."""

    host: str = "127.0.0.1"
    port: int = PORT
    public_url: str | None = None
    """The address under which people reach it, if that is not the one it listens on: that of a tunnel or a proxy."""
    tls_certificate: str | None = None
    tls_key: str | None = None
    behind_proxy: bool = False
    """Whether a proxy in front of it speaks TLS with the world."""
    proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    """The proxies whose word on the caller's address is taken."""
    allowed_hosts: tuple[str, ...] = ()
    """Further names under which it may be called."""
    roots: tuple[str, ...] = ()
    """The directories in which sessions may be started from the page."""
    private_files: tuple[str, ...] = PRIVATE
    """Patterns of names of files that are neither fetched nor put."""
    defaults: SessionDefaults = field(default_factory=SessionDefaults)
    development: bool = False
    """Whether the playground is served."""

    @property
    def url(self) -> str:
        """The address that people open."""
        if self.public_url is not None:
            return self.public_url.rstrip("/")
        scheme = "https" if self.tls_certificate else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}"


class ClaudeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The Claude Code of this machine."""

    found: bool
    version: str = ""
    path: str = ""
    logged_in: bool | None = None
    """None if that cannot be told."""
    detail: str = ""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a check-up found: `level` is ok, warning or problem; `remedy` says what to do."""

    area: str
    level: str
    words: str
    remedy: str = ""


class Surroundings(Protocol):
    """What the hub needs of the program that runs it."""

    async def claude(self) -> ClaudeStatus:
        """What is known of the Claude Code of this machine."""

    async def findings(self) -> Sequence[Finding]:
        """What a check-up finds."""

    async def start_demo(self) -> Session:
        """Start the scripted session that needs no account."""


class Hub:
    """Everything that the API works with. Opened with `async with`; its manager is opened and closed by its owner."""

    def __init__(self, manager: Manager, settings: HubSettings, surroundings: Surroundings) -> None:
        self.manager = manager
        self.settings = settings
        self.surroundings = surroundings
        self.started_at = time.time()
        self.metrics = Metrics()
        self.roots = Roots(settings.roots or ("~",), home=os.path.expanduser("~"))
        worktrees = os.path.join(manager.places.state, "worktrees")
        self.working_roots = Roots(self.roots.paths, home=self.roots.home, further=[worktrees])
        """Where sessions may work: inside the roots, and in the worktrees that Handrail made."""
        self.files = FileExchange(self.working_roots, private=settings.private_files, own=manager.places.all)
        self.tokens = Tokens(self.store)
        self.logins = Logins()
        self.audit = Audit(self.store)
        self.authenticator = Authenticator(self.tokens)
        self.replies = Replies(self.store)
        self.showing = Showing()
        self.hosts = Hosts(manager, url=lambda: self.settings.url, audit=self.audit, meter=self.metrics)
        self.live = Live(manager, metrics=self.metrics, showing=self.showing, hosts=self.hosts)
        self.ingress = Ingress(manager, self.tokens)
        self.programs = Programs()
        self.program_sockets = ProgramSockets(self.programs)
        self.stopping = False
        self._resources = AsyncExitStack()

    @property
    def store(self) -> Store:
        return self.manager.store

    async def __aenter__(self) -> Self:
        await self._resources.enter_async_context(self.live)
        await self._resources.enter_async_context(self.hosts)
        await self._resources.enter_async_context(self.ingress)
        self._resources.callback(self.tokens.on_revoked(self.ingress.close_token))
        self.hosts.on_change(self.live.host_changed)
        self.hosts.on_callback = self.programs.answer_callback
        self.manager.with_abroad(self.hosts)
        defaults = self.settings.defaults
        self.manager.hold_to(defaults.policy)
        self.manager.adopted_as = SessionSettings(options=defaults.options, policy=Asked(), budget=defaults.budget)
        await self._resources.enter_async_context(JournalWatch(self.store, self.metrics))
        self._resources.callback(self.tokens.close)
        self._resources.callback(self.tokens.on_revoked(self.live.close_token))
        self._resources.callback(self.tokens.on_revoked(self.program_sockets.close_token))
        self._resources.callback(self.programs.close)
        # What was being worked on when a hub ended was answered to nobody.
        await self.store.forget_replies(before=self.started_at - KEPT_FOR, unfinished_before=self.started_at)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._resources.aclose()

    def check_open(self) -> None:
        """Raise `Problem` if no session is to be started any more."""
        if self.stopping:
            raise Problem("stopping", "the hub is stopping: start it when the hub is back")

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Start a session inside. Raises `Problem` if the hub is stopping, or stops before the session has started."""
        self.check_open()
        try:
            yield
        except (HostAway, ProcessError, SessionNotLive) as error:
            if not self.stopping:
                raise
            why = "the hub stopped before the session was known to have started: start it again when the hub is back"
            raise Problem("stopping", why) from error

    def session(self, session_id: str) -> Session:
        """The handle of a session."""
        return self.manager.session(session_id)

    def login_link(self, *, role: Any = "owner", name: str = "", created_by: str = "") -> str:
        """A link that lets a browser in once, within five minutes. The code is in the fragment: no server logs it."""
        return self.logins.link(self.settings.url, role=role, name=name, created_by=created_by)

"""Requests made up from the API's own document: the hub never fails, and answers as the document says."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS, load_all_checks

from handrail.server.openapi import make_document

from .support import ASKS, Around, served_hub

pytestmark = pytest.mark.slow

EXAMPLES = 15
SCHEMA = schemathesis.openapi.from_dict(make_document())
load_all_checks()
ACCEPTS_WHAT_FITS = "positive_data_acceptance"
OTHER_CHECKS = CHECKS.get_by_names([name for name in CHECKS.get_all_names() if name != ACCEPTS_WHAT_FITS])

HAVE_A_GRAMMAR = {
    "GET /api/sessions": "a cursor is what the page before says",
    "POST /api/sessions": "pictures are Base64",
    "GET /api/sessions/{id}/rows": "they go on from one place, not from two",
    "POST /api/sessions/{id}/messages": "a message is not empty",
    "POST /api/sessions/{id}/control": "subtypes have fields of their own",
    "POST /api/asks/{session}/{ask}/answer": "so have answers",
    "GET /api/policy/explain": "a call is written as Tool(argument)",
    "PUT /api/policy/rules": "rules have a grammar",
    "DELETE /api/policy/rules": "a rule that is not there cannot be taken out",
    "GET /api/audit": "a cursor is what the page before says",
    "POST /api/tokens": "names are printable",
    "POST /api/logins": "names are printable",
    "POST /api/hosts/enrolments": "names are printable",
    "POST /api/hosts/enrol": "names are printable",
}
"""Where a request may fit its schema and still make no sense, and why."""


@dataclass(frozen=True)
class Target:
    """Where requests go, and a session and an ask that are there."""

    url: str
    token: str
    session: str
    ask: str


@SCHEMA.auth()
class Token:
    """Tells Schemathesis what lets it in, so that it also tries without."""

    shown = ""

    def get(self, case: Any, context: Any) -> str:
        return Token.shown

    def set(self, case: Any, data: str, context: Any) -> None:
        case.headers["Authorization"] = f"Bearer {data}"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A hub in a thread of its own, because Schemathesis calls as programs do: blocking."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        with _Served(tmp_path_factory.mktemp("schemathesis")) as target:
            Token.shown = target.token
            yield target


class _Served:
    """The hub, from entering to leaving."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._ready = threading.Event()
        self._target: Target | None = None
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Target:
        self._thread.start()
        assert self._ready.wait(60)
        assert self._target is not None
        return self._target

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(60)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._ready.set()
            self._loop.close()

    async def _serve(self) -> None:
        around = Around()
        async with served_hub(self._directory, around=around) as served:
            session = await served.session(*ASKS)
            await session.send("go")
            ask = await served.asked(session)

            async def demo() -> Any:
                return session

            around.demo = demo
            self._target = Target(served.url, served.tokens["owner"], session.id, ask.id)
            self._ready.set()
            await self._over.wait()


@SCHEMA.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_hub_answers_as_its_document_says(case: Any, target: Target) -> None:
    _use_a_fresh_key(case)
    _look_at_what_is_there(case, target)
    checks = OTHER_CHECKS if case.operation.label in HAVE_A_GRAMMAR else None
    case.call_and_validate(base_url=target.url, checks=checks)


def _use_a_fresh_key(case: Any) -> None:
    """One that was used before is refused, and rightly."""
    key = (case.headers or {}).get("Idempotency-Key")
    if key is not None and re.fullmatch("[!-~]+", str(key)):
        case.headers["Idempotency-Key"] = uuid4().hex


def _look_at_what_is_there(case: Any, target: Target) -> None:
    """Made-up ids are not found: whoever reads, reads a session that is there."""
    if case.method == "GET":
        for name, known in (("id", target.session), ("session", target.session), ("ask", target.ask)):
            if re.fullmatch("[!-.0-~]+", str((case.path_parameters or {}).get(name, ""))):
                case.path_parameters[name] = known

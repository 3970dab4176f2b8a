"""A program that acts for somebody: who may, as whom it counts, and what is written down."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from handrail.server.auth.acting import acting
from handrail.server.auth.tokens import Tokens
from handrail.server.auth.who import Authenticator
from handrail.server.calls import Caller
from handrail.server.problems import Problem
from handrail.server.roles import RoleNeeded

from ..support import ServedHub
from .support import opened, scope_of

ANN = "Ann; surface=telegram; role=approver"
OWNER = Caller(name="bridge", role="owner", surface="api", token_id="t1")


def asking(*headers: str) -> dict[str, Any]:
    return scope_of(headers=[("handrail-acting-for", header) for header in headers])


def test_without_the_header_a_caller_is_who_they_are() -> None:
    assert acting(OWNER, scope_of()) is OWNER


def test_an_owner_acts_for_somebody_who_may_less() -> None:
    ann = acting(OWNER, asking(ANN))
    assert (ann.name, ann.surface, ann.role) == ("Ann", "telegram", "approver")
    assert (ann.passed_on_by, ann.key, ann.token_id) == (OWNER, OWNER.key, "t1")


@pytest.mark.parametrize("name", ["Zoë Ωλ", "می‌خواهم", "👩‍🚀", 'a;b="c"', "100%"])
def test_any_name_can_be_said(name: str) -> None:
    assert acting(OWNER, asking(f"{quote(name)}; surface=telegram; role=viewer")).name == name


@pytest.mark.parametrize("role", ["viewer", "approver"])
def test_only_an_owner_may(role: Any) -> None:
    with pytest.raises(RoleNeeded, match="acting for somebody else needs the role owner"):
        acting(Caller(name="bot", role=role, surface="api"), asking(ANN))


async def test_what_a_session_started_may_not(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        scope = scope_of(client=("unix:4711", os.getuid()), headers=[("handrail-acting-for", ANN)])
        claude = await Authenticator(Tokens(store), is_of_a_session=lambda pid: True).authenticate(scope)
        assert claude is not None
        with pytest.raises(RoleNeeded):
            acting(claude, scope)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Ann",
        "Ann; surface=telegram",
        "Ann; role=owner",
        "Ann; surface=web; role=owner",
        "Ann; surface=telegram; role=god",
        "Ann; surface=telegram; role=viewer; role=owner",
        "Ann; surface=telegram; role=viewer; more=1",
        "; surface=telegram; role=viewer",
        "%20; surface=telegram; role=viewer",
        "%FF; surface=telegram; role=viewer",
        "Ann%0ABob; surface=telegram; role=viewer",
        "%E2%80%AEnnA; surface=telegram; role=viewer",
        f"{'x' * 101}; surface=telegram; role=viewer",
    ],
)
def test_what_cannot_be_understood_is_refused(header: str) -> None:
    with pytest.raises(Problem) as caught:
        acting(OWNER, asking(header))
    assert caught.value.code == "bad_request"


def test_one_cannot_act_for_two() -> None:
    with pytest.raises(Problem, match="several times"):
        acting(OWNER, asking(ANN, "Bob; surface=telegram; role=owner"))


@pytest.mark.slow
async def test_an_answer_is_theirs_and_the_audit_log_names_both(served: ServedHub) -> None:
    session = await served.session()
    await session.send("Clean up.")
    ask = await served.asked(session)
    path = f"/api/asks/{session.id}/{ask.id}/answer"
    beyond = {"type": "allow", "updated_input": {"command": "true"}}
    async with served.client("owner", **{"handrail-acting-for": ANN}) as client:
        assert (await client.get("/api/me")).json() == {"name": "Ann", "role": "approver", "surface": "telegram"}
        refused = await client.post(path, json={"digest": ask.digest, "answer": beyond})
        assert refused.json()["code"] == "role_needed"
        assert "an owner may give you another one, in the settings of telegram" in refused.json()["detail"]
        assert (await client.post(path, json={"digest": ask.digest, "answer": {"type": "allow"}})).status_code == 200
        assert (await client.post(f"/api/sessions/{session.id}/stop")).status_code == 403
    row = await served.hub.store.get_ask(session.id, ask.id)
    assert row is not None
    assert (row.decided_by, row.surface) == ("Ann", "telegram")
    last, answered, too_much = await served.hub.audit.read(limit=3)
    assert {(each.actor, each.surface) for each in (last, answered, too_much)} == {("Ann", "telegram")}
    assert answered.detail == "passed on by owner of the tests (api) allow"
    assert [each.outcome for each in (too_much, answered, last)] == ["role_needed", "ok", "role_needed"]


@pytest.mark.slow
async def test_a_program_that_may_not_act_for_others_is_written_down_itself(served: ServedHub) -> None:
    async with served.client("approver", **{"handrail-acting-for": ANN}) as client:
        assert (await client.get("/api/me")).status_code == 403
    (row,) = await served.hub.audit.read(limit=1)
    assert (row.actor, row.outcome) == ("approver of the tests", "role_needed")

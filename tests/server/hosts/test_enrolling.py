"""Enrolment codes let one machine in, once, within ten minutes; what else is tried with them is refused, and noted."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from handrail.server.hosts.enrolments import LIFETIME, Enrolments, ReplayedCode
from handrail.server.problems import Problem

from ..support import ServedHub
from .fake_host import FakeHost, enrolled


async def made(served: ServedHub, **wanted: Any) -> dict[str, Any]:
    async with served.client() as owner:
        answer: dict[str, Any] = (await owner.post("/api/hosts/enrolments", json=wanted)).json()
    return answer


async def used(served: ServedHub, code: str, name: str = "laptop") -> Any:
    async with served.client(None, authorization=f"Bearer {code}") as machine:
        return await machine.post("/api/hosts/enrol", json={"code": code, "name": name})


async def test_a_code_says_how_to_use_it(served: ServedHub) -> None:
    code = await made(served, name="build-box", labels=["linux"])
    assert code["command"] == (f"handrail host --hub {served.url} --code {code['code']} --name build-box --label linux")


async def test_a_code_works_once_and_a_replay_is_noted(served: ServedHub) -> None:
    code = (await made(served))["code"]
    first = await used(served, code)
    assert first.status_code == 201
    assert first.json()["name"] == "laptop"
    again = await used(served, code, "impostor")
    assert (again.status_code, again.json()["code"]) == (401, "wrong_code")
    async with served.client() as owner:
        last, before, *_ = (await owner.get("/api/audit")).json()["items"]
        assert (last["action"], last["outcome"], last["actor"]) == ("hosts.enrol", "wrong_code", "host impostor")
        assert (before["action"], before["outcome"]) == ("hosts.enrol", "ok")
        assert code not in str([last, before])


async def test_the_name_in_the_enrolment_counts(served: ServedHub) -> None:
    code = (await made(served, name="build-box"))["code"]
    assert (await used(served, code, "production")).json()["name"] == "build-box"


async def test_a_name_is_taken_by_a_host_that_was_here(served: ServedHub, host: FakeHost) -> None:
    async with host.connected():
        pass
    code = (await made(served))["code"]
    refused = await used(served, code, "build-box")
    assert (refused.status_code, refused.json()["code"]) == (409, "host_name_taken")
    assert (await used(served, code, "build-box-2")).status_code == 201, "the code is still good"


async def test_no_code_is_made_for_a_name_that_is_taken(served: ServedHub, host: FakeHost) -> None:
    async with host.connected(), served.client() as owner:
        refused = await owner.post("/api/hosts/enrolments", json={"name": "build-box"})
    assert (refused.status_code, refused.json()["code"]) == (409, "host_name_taken")


async def test_a_host_is_not_called_as_the_machine_of_the_hub(served: ServedHub) -> None:
    async with served.client() as owner:
        own = (await owner.get("/api/hosts")).json()["items"][0]["name"]
        refused = await owner.post("/api/hosts/enrolments", json={"name": own})
    code = (await made(served))["code"]
    for answer in (refused, await used(served, code, own)):
        assert (answer.status_code, answer.json()["code"]) == (409, "host_name_taken")
    assert (await used(served, code, f"{own}-2")).status_code == 201, "the code is still good"


async def test_a_host_that_never_came_makes_room_for_one_of_its_name(served: ServedHub, host: FakeHost) -> None:
    assert (await enrolled(served, "build-box"))["host_id"] != host.id


async def test_of_several_at_once_with_one_name_one_holds(served: ServedHub) -> None:
    answers = await asyncio.gather(*(enrolled(served, "twin") for _ in range(3)))
    holding = [answer for answer in answers if served.hub.hosts.registry.by_key(answer["key"])]
    assert len(holding) == 1


async def test_a_host_needs_a_name_that_can_be_used(served: ServedHub) -> None:
    code = (await made(served))["code"]
    for name in ("", "two words", "any", "label:x", "a/b", "\u202e", "x" * 200, ".", "..", "-rf"):
        assert (await used(served, code, name)).status_code == 422, name
    assert (await used(served, code)).status_code == 201


async def test_who_tries_codes_is_slowed_down(served: ServedHub) -> None:
    answers = [await used(served, "hre_" + "A" * 43) for _ in range(12)]
    assert answers[0].status_code == 401
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0


def test_a_code_expires() -> None:
    now = 0.0
    enrolments = Enrolments(clock=lambda: now)
    code, enrolment = enrolments.offer(name="box")
    assert enrolment.expires_at == LIFETIME
    now = LIFETIME + 1
    with pytest.raises(Problem):
        enrolments.exchange(code, "box", "127.0.0.1")
    assert enrolments.pending == 0


def test_a_used_code_is_known_again_and_can_be_given_back() -> None:
    enrolments = Enrolments()
    code, _ = enrolments.offer()
    enrolment = enrolments.exchange(code, "box", "127.0.0.1")
    with pytest.raises(ReplayedCode, match="by box"):
        enrolments.exchange(code, "other", "127.0.0.1")
    enrolments.give_back(code, enrolment)
    enrolments.exchange(code, "other", "127.0.0.1")


def everything_in(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


async def test_keys_and_codes_are_in_no_log_and_no_file(
    served: ServedHub, host: FakeHost, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "handrail")
    code = (await made(served))["code"]
    key = (await used(served, code)).json()["key"]
    await used(served, code, "impostor")
    async with host.connected():
        pass
    written = everything_in(tmp_path)
    for secret in (code, key, host.key):
        assert secret.encode() not in written
        assert secret not in caplog.text

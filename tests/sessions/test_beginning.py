"""A start that is tried again: the same id and the same request are the same session, anything else is refused."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import CLINotFound, InvalidOptions, SessionExists, StoreError
from handrail.places import Places
from handrail.policy.policy import Policy
from handrail.policy.profiles import PROFILES
from handrail.policy.storage.loading import Asked
from handrail.protocol.options import Options
from handrail.sessions import worktrees
from handrail.sessions.beginning import checked_id, first_message, request_of
from handrail.sessions.manager import Manager
from handrail.store.base import SessionRow
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

ID = "0b8e0f4e-58ab-4a6e-9c0c-3f1d6f1f7c11"
ECHO = sim.loop_turns("You said $text.")


@pytest.fixture
def options(tmp_path: Path) -> Options:
    cli = SimulatedCLI((ECHO,), directory=made(tmp_path / "cli"))
    return Options(cli_path=str(cli.path), cwd=str(made(tmp_path / "shop")))


def made(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    return directory


def commit_something(directory: str) -> None:
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    for step in (("init", "-q"), (*who, "commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run(["git", "-C", directory, *step], check=True)


async def starts(manager: Manager, session_id: str) -> list[str]:
    """Why a CLI was started for it, each time."""
    return [row.why for row in await manager.store.starts(session_id) if row.why != "running"]


# ---------------------------------------------------------------- the same again


async def test_a_session_has_the_id_that_was_chosen(manager: Manager, options: Options) -> None:
    session = await manager.start(options, id=ID)
    assert session.id == UUID(ID).hex
    assert (await manager.get(ID.replace("-", "")[:8])).id == session.id


async def test_the_same_start_again_is_the_same_session(manager: Manager, options: Options) -> None:
    first = await manager.start(options, id=ID, title="shop", policy=Asked(profile="careful"), budget=2.0)
    await first.run("hello")
    again = await manager.start(options, id=ID.upper(), title="shop", policy=Asked(profile="careful"), budget=2.0)
    assert again.id == first.id
    assert len(await manager.list()) == 1
    assert await starts(manager, first.id) == ["new"]


async def test_at_once_it_is_started_once(manager: Manager, options: Options) -> None:
    sessions = await asyncio.gather(*(manager.start(options, id=ID) for _ in range(5)))
    assert {session.id for session in sessions} == {checked_id(ID)}
    assert await starts(manager, checked_id(ID)) == ["new"]
    assert await sessions[0].is_live()


@pytest.mark.slow
async def test_two_processes_at_once_start_it_once(places: Places, options: Options) -> None:
    async with Manager.local(places) as here, Manager.local(places) as there:
        await asyncio.gather(here.start(options, id=ID), there.start(options, id=ID))
        assert len(await starts(here, checked_id(ID))) == 1
        assert (await there.session(checked_id(ID)).run("hello")).answer == "You said hello."


@pytest.mark.slow
async def test_one_that_has_ended_is_made_live_again(places: Places, options: Options) -> None:
    async with Manager.local(places) as manager:
        session = await manager.start(options, id=ID)
        await session.run("one")
    async with Manager.local(places) as manager:
        again = await manager.start(options, id=ID)
        assert (await again.run("two")).run == 2
        assert await starts(manager, again.id) == ["new", "resume"]


@pytest.mark.slow
async def test_one_whose_process_died_before_it_had_a_cli_is_started_now(places: Places, options: Options) -> None:
    """The row is stored before the CLI runs: it is all that is left if the process is killed in between."""
    async with Manager.local(places) as manager:
        made = await manager.start(options, id=ID)
        row = await made.row()
        await made.stop()
        await made.delete()
        await manager.store.create_session(row)
    async with Manager.local(places) as manager:
        again = await manager.start(options, id=ID)
        assert (await again.run("hello")).answer == "You said hello."


async def test_one_that_could_not_be_started_leaves_its_id_free(manager: Manager, options: Options) -> None:
    missing = msgspec.structs.replace(options, cli_path="/nowhere/claude")
    with pytest.raises(CLINotFound):
        await manager.start(missing, id=ID)
    assert (await manager.start(options, id=ID)).id == checked_id(ID)


async def test_each_who_starts_at_once_what_cannot_be_started_is_told_so(manager: Manager, options: Options) -> None:
    missing = msgspec.structs.replace(options, cli_path="/nowhere/claude")
    told = await asyncio.gather(*(manager.start(missing, id=ID) for _ in range(4)), return_exceptions=True)
    assert [type(each) for each in told] == [CLINotFound] * 4
    assert await manager.list() == []


@pytest.mark.slow
async def test_of_one_that_could_not_be_started_no_worktree_is_left(manager: Manager, options: Options) -> None:
    commit_something(str(options.cwd))
    missing = msgspec.structs.replace(options, cli_path="/nowhere/claude")
    for _ in range(2):
        with pytest.raises(CLINotFound):
            await manager.start(missing, id=ID, worktree="fix")
    session = await manager.start(options, id=ID, worktree="fix")
    assert (await session.row()).cwd.endswith("/fix")


@pytest.mark.slow
async def test_one_that_could_not_be_stored_leaves_no_worktree(
    manager: Manager, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_something(str(options.cwd))

    async def full(row: SessionRow) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(manager.store, "create_session", full)
        with pytest.raises(StoreError, match="full"):
            await manager.start(options, id=ID, worktree="fix")
    assert await (await manager.start(options, id=ID, worktree="fix")).is_live()


@pytest.mark.slow
async def test_whoever_finds_that_another_process_has_made_the_worktree_gets_that_session(
    places: Places, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_something(str(options.cwd))
    async with Manager.local(places) as here, Manager.local(places) as there:

        async def too_late(*args: Any, **how: Any) -> worktrees.Worktree:
            monkeypatch.undo()
            await there.start(options, id=ID, worktree="fix")
            return await worktrees.create_worktree(*args, **how)

        monkeypatch.setattr(worktrees, "create_worktree", too_late)
        assert await (await here.start(options, id=ID, worktree="fix")).is_live()
        assert await starts(here, checked_id(ID)) == ["new"]


async def test_a_programs_own_policy_is_given_again(manager: Manager, options: Options) -> None:
    policy = Policy(profile=PROFILES["careful"])
    session = await manager.start(options, id=ID, policy=policy)
    await session.stop()
    assert await (await manager.start(options, id=ID, policy=policy)).is_live()


# ---------------------------------------------------------------- another one


def elsewhere(options: Options) -> dict[str, Any]:
    return {"options": msgspec.structs.replace(options, cwd=str(made(Path(str(options.cwd)).parent / "other")))}


OTHERWISE: dict[str, Callable[[Options], dict[str, Any]]] = {
    "directory": elsewhere,
    "model": lambda options: {"options": msgspec.structs.replace(options, model="opus")},
    "conversation": lambda options: {"options": msgspec.structs.replace(options, session_id=str(uuid4()))},
    "variables": lambda options: {"options": msgspec.structs.replace(options, env={"LANG": "C"})},
    "title": lambda options: {"title": "other"},
    "policy": lambda options: {"policy": Asked(profile="readonly")},
    "no policy": lambda options: {"policy": None},
    "a policy of its own": lambda options: {"policy": Policy(profile=PROFILES["careful"])},
    "budget": lambda options: {"budget": 3.0},
    "worktree": lambda options: {"worktree": "fix"},
}


@pytest.mark.parametrize("what", OTHERWISE)
async def test_what_was_asked_for_otherwise_is_refused(manager: Manager, options: Options, what: str) -> None:
    asked: dict[str, Any] = {"options": options, "title": "", "policy": Asked(), "budget": None, "worktree": None}
    session = await manager.start(**asked, id=ID)
    with pytest.raises(SessionExists, match=rf"{session.id} belongs to a session in {options.cwd}.*choose another id"):
        await manager.start(**{**asked, **OTHERWISE[what](options)}, id=ID)
    assert await starts(manager, session.id) == ["new"]
    assert len(await manager.list()) == 1


@pytest.mark.slow
async def test_a_copy_of_a_session_is_no_start(manager: Manager, options: Options) -> None:
    session = await manager.start(options)
    await session.run("hello")
    fork = await manager.fork(session.id)
    with pytest.raises(SessionExists):
        await manager.start(options, id=fork.id)


# ---------------------------------------------------------------- ids and requests


@pytest.mark.parametrize(
    "wanted", ["", "shop", ID[:-1], f"{ID}0", f"{{{ID}}}", f"urn:uuid:{ID}", f" {ID}", "٠" * 32, "../etc/passwd"]
)
async def test_what_is_no_uuid_is_refused(manager: Manager, options: Options, wanted: str) -> None:
    with pytest.raises(InvalidOptions, match="is a UUID, such as .*" + re.escape(repr(wanted))):
        await manager.start(options, id=wanted)
    assert await manager.list() == []


@given(st.uuids())
def test_every_way_to_write_an_id_is_the_same_id(uuid: UUID) -> None:
    ways = (str(uuid), str(uuid).upper(), uuid.hex, uuid.hex.upper())
    assert {checked_id(way) for way in ways} == {uuid.hex}


def test_an_id_that_nobody_chose_is_another_each_time() -> None:
    assert checked_id(None) != checked_id(None)


def test_each_session_has_a_first_message_of_its_own() -> None:
    assert first_message("a") == first_message("a") != first_message("b")
    assert str(UUID(first_message("a"))) == first_message("a")


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


ASKED = st.dictionaries(st.sampled_from(["cwd", "title", "options"]), PLAIN)
POLICIES = st.none() | st.builds(
    Asked, profile=st.sampled_from([None, "careful"]), allow=st.sampled_from([(), ("Read",)])
)


def told(asked: dict[str, Any], policy: Asked | None) -> bytes:
    """What was asked for, without what says nothing."""
    return msgspec.json.encode(
        [{name: value for name, value in asked.items() if value not in (None, "", [], {})}, policy], order="sorted"
    )


@given(ASKED, ASKED, POLICIES, POLICIES, st.data())
def test_a_request_is_the_same_in_any_order_and_no_other(
    asked: dict[str, Any], other: dict[str, Any], policy: Asked | None, otherwise: Asked | None, data: st.DataObject
) -> None:
    shuffled = dict(data.draw(st.permutations(list(asked.items()))))
    assert request_of(**shuffled, policy=policy) == request_of(**asked, policy=policy)
    is_same = request_of(**other, policy=otherwise) == request_of(**asked, policy=policy)
    assert is_same == (told(other, otherwise) == told(asked, policy))


def test_a_later_version_that_can_be_asked_for_more_knows_a_request_again() -> None:
    known = request_of(cwd="/srv", title="", policy=Asked())
    assert request_of(cwd="/srv", title="", policy=Asked(), something_new=None) == known


def test_a_request_says_nothing_of_secrets() -> None:
    def request(token: str, language: str) -> str:
        return request_of(policy=None, options={"env": {"API_TOKEN": token, "LANG": language}})

    assert request("s3cr3t", "C") == request("other", "C") != request("s3cr3t", "de")

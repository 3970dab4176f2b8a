"""What is asked on a host is answered from the chat, and files go there and come back."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from handrail.testing import simulated as sim
from tests.chaos.hosts.machines import eventually

from .support import Fleet, fleet

pytestmark = pytest.mark.slow

ASK = sim.turn(sim.tool("Bash", {"command": "make report"}), "The report is made.")
JPEG = b"\xff\xd8\xff\xe0" + bytes(40)
PLAN = "# The plan\n\n1. Create `made.txt`"


async def works_in(here: Fleet, directory: Path, *branch: str) -> None:
    await here.asks(" ".join((f"/project box:{directory}", *branch)), "This chat works in")


async def test_what_is_asked_there_is_answered_here_and_files_go_both_ways(tmp_path: Path) -> None:
    edited = tmp_path / "box" / "project" / "shop.py"
    change = {"file_path": str(edited), "old_string": "price = 1", "new_string": "price = 2"}
    steps = (
        sim.turn(sim.tool("Edit", change), "It is edited."),
        sim.turn(sim.tool("ExitPlanMode", {"plan": PLAN}), "It is planned."),
        ASK,
    )
    async with fleet(tmp_path, *steps, of_host="file_exchange = true\n") as here:
        edited.write_text("cost = 3\nprice = 1\n")
        await works_in(here, here.project)
        await an_edit_is_allowed(here)
        await a_plan_is_approved(here)
        await a_report_is_made_of_a_document(here)
        assert here.decisions() == ["allow"] * 3
        await files_are_fetched_and_put(here)


async def an_edit_is_allowed(here: Fleet) -> None:
    await here.say("raise the price")
    card = await here.card("Edit shop.py")
    assert " cost = 3\n-price = 1\n+price = 2" in card.text  # the difference is made where the file is
    assert await here.press("Edit shop.py", "Allow") == "Approved"
    await here.hears("It is edited.")


async def a_plan_is_approved(here: Fleet) -> None:
    await here.say("and now plan")
    assert "1. Create made.txt" in (await here.card("The plan")).text
    await here.press("The plan", "Yes, manually")
    await here.hears("It is planned.")


async def a_report_is_made_of_a_document(here: Fleet) -> None:
    await here.chat.send_document(b"\x00binary", "data.bin", caption="make a report of this")
    await here.card("make report")
    (put,) = (here.project / ".handrail-inbox").glob("*data.bin")
    assert put.read_bytes() == b"\x00binary"
    assert f".handrail-inbox/{put.name}" in str(here.cli and here.cli.received())
    here.outbox().mkdir(parents=True)
    (here.outbox() / "report.pdf").write_bytes(b"%PDF a report")
    await here.press("make report", "Allow")
    assert (await here.hears("report.pdf · 13 bytes")).document == b"%PDF a report"


async def files_are_fetched_and_put(here: Fleet) -> None:
    (here.project / ".env").write_text("a secret")
    assert (await here.asks("/file get shop.py", "shop.py · 19 bytes")).document == b"cost = 3\nprice = 1\n"
    assert await here.asks("/file get .env", ".env is private")
    refused = await here.asks("/file get /etc/passwd", f"On box: /etc/passwd is not inside {here.project}: the")
    assert "worktrees" not in refused.text
    sent = await here.chat.send_document(b"new", "new.txt", caption="/file put docs/")
    await here.hears("new.txt · 3 bytes", after=sent)
    assert (here.project / "docs" / "new.txt").read_bytes() == b"new"
    photo = await here.chat.send_photo(JPEG, caption="what is this?")
    await eventually(lambda: "image/jpeg" in str(here.cli and here.cli.received()), f"Claude is shown {photo}")


async def test_a_branch_of_a_host_without_an_exchange_of_files(tmp_path: Path) -> None:
    async with fleet(tmp_path, ASK) as here:
        repository, plain = here.project / "shop", here.project / "plain"
        make_repository(repository)
        plain.mkdir()
        await works_in(here, plain)
        refused = await here.asks("@fix begin", f"{plain} is not in a git repository")
        assert "/project @- leaves the branch @fix" in refused.text.replace("`", "")
        await works_in(here, repository, "@fix")
        await here.say("make a report")
        await here.card("make report")
        assert here.cli is not None
        worktree = Path(here.cli.launches()[-1].cwd)
        assert (worktree / "shop.txt").read_text() == "shop"
        assert worktree.is_relative_to(here.host.state)
        here.outbox().mkdir(parents=True)
        (here.outbox() / "report.txt").write_text("a report")
        await here.press("make report", "Allow")
        assert (await here.hears("report.txt · 8 bytes")).document == b"a report"  # what Claude sends comes anyway
        assert await here.asks("/sessions", "Sessions in box:…/project/shop @fix")

        assert await here.asks("/file get shop.txt", "On box: its owner does not let files be fetched")
        sent = await here.chat.send_document(b"\x00", "data.bin", caption="look")
        assert await here.hears("data.bin could not be put into the project: on box: its owner does not", after=sent)
        assert len(here.cli.launches()) == 1


def make_repository(directory: Path) -> None:
    directory.mkdir()
    (directory / "shop.txt").write_text("shop")
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "."), (*who, "commit", "-qm", "begin")):
        subprocess.run(["git", *words], cwd=directory, check=True)

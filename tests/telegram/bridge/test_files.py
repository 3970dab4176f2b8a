"""Files that people send with a message: they are where the session works that the message is for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .support import eventually, world

NO_TEXT = b"\x00\x01\x02"
WHO = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")


@pytest.mark.slow
@pytest.mark.parametrize("caption", ["@fix look at this", "/new @fix look at this"])
async def test_a_file_for_a_new_worktree_is_put_there(tmp_path: Path, caption: str) -> None:
    async with world(tmp_path) as here, here.bridged():
        project = here.served.directory
        _make_repository(project)
        await here.chat.send_document(NO_TEXT, "core.bin", caption=caption)
        (row,) = await eventually(here.rows)
        await here.hears("core.bin")  # what was said to Claude names it
        assert row.cwd != str(project)
        assert _inbox(Path(row.cwd)) == [NO_TEXT]
        assert _inbox(project) == []


@pytest.mark.slow
async def test_a_file_that_cannot_be_used_starts_no_session(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.bridged():
        await here.chat.send_document(b"", "empty.txt", caption="look at this")
        await here.hears("empty.txt is empty")
        assert await here.rows() == []


def _make_repository(directory: Path) -> None:
    (directory / "README").write_text("hello")
    for words in (("init", "-q"), ("add", "README"), (*WHO, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=directory, check=True)


def _inbox(directory: Path) -> list[bytes]:
    return [path.read_bytes() for path in directory.glob(".handrail-inbox/*.bin")]

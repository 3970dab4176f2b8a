"""Directories and names of files over the API, and no way out of the roots."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..support import ServedHub


async def test_directories_are_listed_from_the_root(served: ServedHub) -> None:
    for name in ("shop/.git", "blog", ".hidden"):
        (served.directory / name).mkdir(parents=True)
    async with served.client("viewer") as client:
        top = (await client.get("/api/directories")).json()
        hidden = (await client.get("/api/directories", params={"hidden": "true"})).json()
        inner = (await client.get("/api/directories", params={"path": str(served.directory / "shop")})).json()
    assert (top["path"], top["parent"], top["root"]) == (str(served.directory), None, True)
    assert [(each["name"], each["git"]) for each in top["items"]] == [("blog", False), ("shop", True)]
    assert [each["name"] for each in hidden["items"]] == [".hidden", "blog", "shop"]
    assert (inner["parent"], inner["root"], inner["items"]) == (str(served.directory), False, [])


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/", "outside_roots"),
        ("{root}/../..", "outside_roots"),
        ("{root}/out", "outside_roots"),
        ("{root}/out/etc", "outside_roots"),
        ("{root}/none", "not_found"),
        ("{root}/file", "not_found"),
        ("relative", "invalid"),
        ("{root}\0", "invalid"),
    ],
)
async def test_nothing_outside_is_listed(served: ServedHub, path: str, code: str) -> None:
    (served.directory / "out").symlink_to("/")
    (served.directory / "file").touch()
    async with served.client() as client:
        refused = await client.get("/api/directories", params={"path": path.format(root=served.directory)})
    assert refused.json()["code"] == code


async def test_a_path_that_is_not_utf8_is_refused(served: ServedHub) -> None:
    async with served.client() as client:
        assert (await client.get("/api/directories?path=/caf%E9")).status_code == 400


async def test_directories_of_sessions_are_remembered(served: ServedHub) -> None:
    session = await served.session()
    async with served.client("viewer") as client:
        recent = (await client.get("/api/directories")).json()["recent"]
    assert [each["path"] for each in recent] == [(await session.row()).cwd]


async def test_files_of_a_session_are_offered_by_name(served: ServedHub) -> None:
    session = await served.session()
    (served.directory / "src").mkdir()
    (served.directory / "src" / "policy.py").touch()
    async with served.client("viewer") as client:
        path = f"/api/sessions/{session.id}/files"
        found = (await client.get(path, params={"q": "polpy"})).json()
        one = (await client.get(path, params={"limit": 1})).json()
        missing = await client.get("/api/sessions/none/files")
    assert found["items"] == [{"path": "src/policy.py", "kind": "file"}]
    assert len(one["items"]) == 1
    assert (missing.status_code, missing.json()["code"]) == (404, "session_not_found")


async def test_no_address_gives_the_content_of_a_file(served: ServedHub) -> None:
    secret = served.directory / "secret.txt"
    secret.write_text("the content")
    session = await served.session()
    async with served.client() as client:
        for address in (f"/api/directories?path={secret}", f"/api/sessions/{session.id}/files?q=secret"):
            assert "the content" not in (await client.get(address)).text


async def test_a_session_whose_directory_is_gone_has_no_files(served: ServedHub, tmp_path: Path) -> None:
    session = await served.session()
    await session.stop()
    served.directory.rename(tmp_path / "moved")
    async with served.client() as client:
        assert (await client.get(f"/api/sessions/{session.id}/files")).json() == {"items": []}

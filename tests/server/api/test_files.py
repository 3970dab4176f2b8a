"""Files over the API: owners fetch and put them inside the roots, and nobody anything private."""

from __future__ import annotations

import base64

import pytest

from ..support import ServedHub


async def test_a_file_is_put_listed_and_fetched(served: ServedHub) -> None:
    path = served.directory / "docs" / "plan ü.md"
    body = {"path": str(path), "data": base64.b64encode(b"# Plan").decode()}
    async with served.client() as client:
        put = await client.put("/api/file", json=body)
        listed = await client.get("/api/files", params={"path": str(path.parent)})
        fetched = await client.get("/api/file", params={"path": str(path)})
        audit = (await client.get("/api/audit")).json()["items"]
    assert put.json() == {"path": str(path), "size": 6}
    assert [(each["name"], each["size"]) for each in listed.json()["items"]] == [("plan ü.md", 6)]
    assert (fetched.content, fetched.headers["content-type"]) == (b"# Plan", "application/octet-stream")
    assert fetched.headers["content-disposition"] == "attachment; filename*=UTF-8''plan%20%C3%BC.md"
    assert any(str(path) in str(each) for each in audit)


async def test_a_directory_that_need_not_be_there_is_one_without_files(served: ServedHub) -> None:
    path = served.directory / "not" / "there"
    async with served.client() as client:
        missing = await client.get("/api/files", params={"path": str(path)})
        optional = await client.get("/api/files", params={"path": str(path), "optional": "true"})
        outside = await client.get("/api/files", params={"path": "/nowhere", "optional": "true"})
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert (optional.status_code, optional.json()) == (200, {"items": []})
    assert outside.json()["code"] == "outside_roots"


@pytest.mark.parametrize("role", ["viewer", "approver"])
async def test_only_owners_exchange_files(served: ServedHub, role: str) -> None:
    (served.directory / "a.txt").write_text("a")
    body = {"path": str(served.directory / "b.txt"), "data": ""}
    async with served.client(role) as client:  # type: ignore[arg-type]
        answers = [
            await client.get("/api/file", params={"path": str(served.directory / "a.txt")}),
            await client.get("/api/files", params={"path": str(served.directory)}),
            await client.put("/api/file", json=body),
        ]
    assert [answer.json()["code"] for answer in answers] == ["role_needed"] * 3


@pytest.mark.parametrize(
    ("path", "data", "code"),
    [
        ("{root}/there.txt", "", "file_exists"),
        ("{root}/new.txt", "no base64!", "invalid"),
        ("{root}/.bashrc", "", "private_file"),
        ("/etc/motd", "", "outside_roots"),
        ("relative.txt", "", "invalid"),
        ("{root}/there.txt/below", "", "not_found"),
    ],
)
async def test_what_cannot_be_put(served: ServedHub, path: str, data: str, code: str) -> None:
    (served.directory / "there.txt").write_text("mine")
    async with served.client() as client:
        refused = await client.put("/api/file", json={"path": path.format(root=served.directory), "data": data})
    assert refused.json()["code"] == code
    assert (served.directory / "there.txt").read_text() == "mine"


async def test_the_hubs_own_files_are_not_to_be_had(served: ServedHub) -> None:
    async with served.client() as client:
        for directory in served.hub.manager.places.all:
            refused = await client.get("/api/files", params={"path": directory})
            assert refused.json()["code"] in ("private_file", "outside_roots")


@pytest.mark.slow
async def test_a_file_of_20_megabytes_fits(served: ServedHub) -> None:
    data = bytes(20 * 1024 * 1024)
    path = served.directory / "large.bin"
    async with served.client() as client:
        put = await client.put("/api/file", json={"path": str(path), "data": base64.b64encode(data).decode()})
        fetched = await client.get("/api/file", params={"path": str(path)})
    assert (put.status_code, fetched.content == data) == (200, True)

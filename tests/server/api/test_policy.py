"""The policy over the API: shown, explained, tried, suggested and edited, within the roots and by owners."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2
import pytest

from handrail.policy import GrantStore
from handrail.protocol.asks import Allow, Deny
from handrail.sessions.asks import Actor
from handrail.testing import simulated as sim

from ..support import ServedHub

MARIA = Actor("maria", "web")


async def told(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["code"]


def shown(policy: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(rule["behavior"], rule["rule"], rule["source"]) for rule in policy["rules"]]


async def test_a_policy_is_shown_with_where_its_rules_come_from(served: ServedHub) -> None:
    write(policy_file(served), 'profile = "edits"\ndeny = ["Read(.env)"]\n')
    async with served.client("viewer") as client:
        policy = (await client.get("/api/policy", params={"cwd": str(served.directory)})).json()
    assert (policy["profile"], policy["root"]) == ("edits", str(served.directory))
    assert shown(policy) == [("deny", "Read(.env)", "global"), ("allow", "Edit(**)", "profile")]
    written, built_in = policy["rules"]
    assert (written["line"], written["scope"], written["removable"]) == (2, "user", True)
    assert (built_in["scope"], built_in["removable"]) == (None, False)
    assert [(file["scope"], file["found"]) for file in policy["files"]] == [("user", True), ("project", False)]
    assert [each["name"] for each in policy["profiles"] if each["default"]] == ["careful"]


async def test_what_an_untrusted_project_does_not_get_is_shown(served: ServedHub) -> None:
    write(served.directory / ".handrail" / "policy.toml", 'allow = ["Bash(make)"]\n')
    async with served.client("viewer") as client:
        policy = (await client.get("/api/policy", params={"cwd": str(served.directory)})).json()
    assert (policy["held_back"]["why"], policy["held_back"]["rules"]) == ("not trusted", ["Bash(make)"])


async def test_a_call_is_explained(served: ServedHub) -> None:
    write(policy_file(served), 'deny = ["Bash(git push *)"]\n')
    asked = {"tool": "Bash", "input": {"command": "git push origin"}, "cwd": str(served.directory)}
    async with served.client("viewer") as client:
        explained = (await client.post("/api/policy/explain", json=asked)).json()
        typed = (await client.get("/api/policy/explain", params={"call": "Bash(git push origin)"})).json()
        bypass = (await client.post("/api/policy/explain", json={**asked, "mode": "bypassPermissions"})).json()
        wrong = await client.post("/api/policy/explain", json={**asked, "mode": "wild"})
    assert (explained["behavior"], explained["rule"], explained["line"]) == ("deny", "Bash(git push *)", 1)
    assert explained["steps"][-1].startswith("So it is denied")
    assert typed["input"] == {"command": "git push origin"}
    assert typed["behavior"] == bypass["behavior"] == "deny"
    assert await told(wrong) == (422, "invalid")


@pytest.mark.parametrize("call", ["Bash(ls", "x y(z)", "mcp__a__b(c)"])
async def test_what_is_no_call_is_told(served: ServedHub, call: str) -> None:
    async with served.client("viewer") as client:
        assert await told(await client.get("/api/policy/explain", params={"call": call})) == (422, "invalid_policy")


async def test_the_longest_call_that_may_be_typed_is_answered(served: ServedHub) -> None:
    """Written in an address it is twelve times as long, and comes in pieces."""
    query = urlencode({"call": "\N{GRINNING FACE}" * 5000, "cwd": "/" + "\N{GRINNING FACE}" * 4095})
    address = urlsplit(served.url)
    head = f"GET /api/policy/explain?{query} HTTP/1.1\r\nhost: {address.netloc}\r\n"
    head += f"authorization: Bearer {served.tokens['viewer']}\r\n\r\n"
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    for start in range(0, len(head), 10_000):
        writer.write(head[start : start + 10_000].encode())
        await writer.drain()
        await asyncio.sleep(0)
    assert await reader.readline() == b"HTTP/1.1 403 Forbidden\r\n", "the directory is outside of the roots"
    writer.close()
    await writer.wait_closed()


async def test_rules_are_written_and_taken_out_again(served: ServedHub) -> None:
    async with served.client() as client:
        rule = {"behavior": "deny", "rule": "Bash(make *)"}
        added = await client.put("/api/policy/rules", json=rule)
        assert ("deny", "Bash(make *)", "global") in shown(added.json())
        assert "Bash(make *)" in policy_file(served).read_text()
        removed = await client.delete("/api/policy/rules", params=rule)
        assert shown(removed.json()) == []
        assert await told(await client.delete("/api/policy/rules", params=rule)) == (422, "invalid_policy")


async def test_rules_of_a_project_stand_in_its_own_file(served: ServedHub) -> None:
    rule = {"behavior": "deny", "rule": "Read(.env)", "scope": "project", "cwd": str(served.directory)}
    async with served.client() as client:
        added = (await client.put("/api/policy/rules", json=rule)).json()
        nameless = await client.put("/api/policy/rules", json={**rule, "cwd": None})
    assert shown(added) == [("deny", "Read(.env)", "project")]
    assert "Read(.env)" in (served.directory / ".handrail" / "policy.toml").read_text()
    assert await told(nameless) == (422, "invalid")


async def test_what_was_granted_is_taken_back(served: ServedHub) -> None:
    update = {"type": "addRules", "rules": [{"toolName": "WebSearch"}], "behavior": "allow"}
    store = GrantStore(served.manager.places.grants_file)
    store.update([{**update, "destination": "userSettings"}], project="/p", actor="maria", at=1.0)
    async with served.client() as client:
        (rule,) = (await client.get("/api/policy")).json()["rules"]
        assert (rule["rule"], rule["granted"], rule["scope"], rule["by"]) == ("WebSearch", True, "user", "maria")
        unwanted = {name: rule[name] for name in ("behavior", "rule", "scope")} | {"granted": "true"}
        assert (await client.delete("/api/policy/rules", params=unwanted)).json()["rules"] == []
        assert await told(await client.delete("/api/policy/rules", params=unwanted)) == (422, "invalid_policy")


@pytest.mark.parametrize("rule", ["Bash(", "", "x" * 3000, "Nothing(x)\n"])
async def test_a_rule_that_is_none_is_refused(served: ServedHub, rule: str) -> None:
    async with served.client() as client:
        refused = await client.put("/api/policy/rules", json={"behavior": "allow", "rule": rule})
    assert refused.status_code == 422
    assert not policy_file(served).exists()


async def test_only_owners_edit(served: ServedHub) -> None:
    async with served.client("approver") as client:
        rule = {"behavior": "allow", "rule": "Bash(ls)"}
        assert await told(await client.put("/api/policy/rules", json=rule)) == (403, "role_needed")
        assert await told(await client.delete("/api/policy/rules", params=rule)) == (403, "role_needed")


async def test_policies_outside_of_the_roots_are_not_shown(served: ServedHub) -> None:
    async with served.client() as client:
        for cwd in ("/etc", str(served.directory / ".." / "..")):
            assert await told(await client.get("/api/policy", params={"cwd": cwd})) == (403, "outside_roots")


async def asked(served: ServedHub, *commands: tuple[str, Any]) -> None:
    """A session that asks for these commands, each answered so."""
    turns = [sim.turn(sim.tool("Bash", {"command": command}), "ok") for command, _ in commands]
    session = await served.session(*turns)
    for _, answer in commands:
        await session.send("go")
        row = await served.asked(session)
        await session.decide(row.id, answer, actor=MARIA, digest=row.digest)
    await session.stop()


@pytest.mark.slow
async def test_rules_are_suggested_from_what_people_answered(served: ServedHub) -> None:
    await asked(
        served,
        ("pytest tests/a", Allow()),
        ("cargo build -v", Allow()),
        ("cargo build -q", Allow()),
        ("rm x", Deny("no")),
    )
    async with served.client("viewer") as client:
        found = (await client.get("/api/policy/suggestions")).json()
    times = {each["rule"]: each["times"] for each in found["items"]}
    assert times["Bash(cargo build *)"] == 2
    assert not any("rm" in rule for rule in times)
    (cargo,) = (each for each in found["items"] if each["rule"] == "Bash(cargo build *)")
    assert cargo["words"] == "cargo build -v, cargo build -q"
    assert cargo["last_at"] > 0


@pytest.mark.slow
async def test_a_text_is_checked_and_tried_on_the_past(served: ServedHub) -> None:
    await asked(served, ("cargo build -v", Allow()))
    async with served.client("viewer") as client:
        good = (await client.post("/api/policy/check", json={"text": 'allow = ["Bash(cargo build *)"]'})).json()
        bad = (await client.post("/api/policy/check", json={"text": 'profile = "x"\nalow = []'})).json()
    assert (good["ok"], good["calls"]) == (True, 1)
    assert [(each["words"], each["then"], each["now"]) for each in good["changes"]] == [
        ("cargo build -v", "allowed", "allow")
    ]
    assert bad["ok"] is False
    assert [problem["line"] for problem in bad["problems"]] == [1, 2]
    assert "did you mean 'allow'" in bad["problems"][1]["words"]


def policy_file(served: ServedHub) -> Path:
    return Path(served.manager.places.policy_file)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

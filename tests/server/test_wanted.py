"""What an owner may say of a session from afar, and what is refused because the session would escape its policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.errors import InvalidOptions
from handrail.protocol.options import Options
from handrail.server.problems import Problem
from handrail.server.roots import Roots
from handrail.server.wanted import ALLOWED, REFUSED, with_wanted

from .support import ServedHub


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    return Roots([str(tmp_path)])


def test_every_option_is_allowed_or_refused() -> None:
    fields = set(Options.__struct_fields__)
    assert fields >= ALLOWED
    assert fields >= set(REFUSED)
    assert not ALLOWED & REFUSED.keys()


@pytest.mark.parametrize("name", sorted(set(Options.__struct_fields__) - ALLOWED - {"session_id"}))
def test_what_is_not_allowed_is_refused_with_a_reason(name: str, roots: Roots) -> None:
    with pytest.raises(InvalidOptions, match=rf"the option {name} .*: \w+"):
        with_wanted(Options(), {name: "something"}, roots)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "path", "HOME", "HANDRAIL_CONFIG", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "ANTHROPIC_BASE_URL"),
        *("LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "BASH_ENV", "PYTHONPATH", "GIT_SSH_COMMAND"),
        *("HTTPS_PROXY", "https_proxy"),
    ],
)
def test_variables_that_move_what_a_session_relies_on_are_refused(name: str, roots: Roots) -> None:
    with pytest.raises(InvalidOptions, match=name):
        with_wanted(Options(), {"env": {name: "/tmp/x"}}, roots)


def test_other_variables_are_added_to_those_of_the_hub(roots: Roots) -> None:
    base = Options(env={"LANG": "C.UTF-8", "CI": "0"})
    assert with_wanted(base, {"env": {"CI": "1"}}, roots).env == {"LANG": "C.UTF-8", "CI": "1"}


@pytest.mark.parametrize(
    "wanted",
    [
        {"system_prompt": {"type": "file", "path": "/etc/passwd"}},
        {"mcp_servers": "/etc/passwd"},
        {"add_dirs": "/etc"},
        {"add_dirs": [7]},
        {"cwd": 7},
        {"env": "PATH"},
        {"max_turns": "many"},
        {"nonsense": 1},
        {"resume": "something"},
    ],
)
def test_what_does_not_fit_is_refused(wanted: dict[str, Any], roots: Roots) -> None:
    with pytest.raises(InvalidOptions):
        with_wanted(Options(), wanted, roots)


def test_directories_stay_inside_the_roots(tmp_path: Path, roots: Roots) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "way-out").symlink_to("/")
    assert with_wanted(Options(), {"add_dirs": [str(tmp_path / "inside")]}, roots).add_dirs == [
        str(tmp_path / "inside")
    ]
    for outside in ("/etc", str(tmp_path / "way-out")):
        for wanted in ({"cwd": outside}, {"add_dirs": [outside]}):
            with pytest.raises(Problem):
                with_wanted(Options(), wanted, roots)


def test_a_mode_takes_the_place_of_what_would_win_over_it(roots: Roots) -> None:
    base = Options(dangerously_skip_permissions=True)
    chosen = with_wanted(base, {"permission_mode": "plan"}, roots)
    assert (chosen.permission_mode, chosen.dangerously_skip_permissions) == ("plan", False)


@pytest.mark.slow
async def test_a_session_is_started_with_what_was_wanted(served: ServedHub) -> None:
    wanted = {
        "cwd": str(served.directory),
        "options": {"max_turns": 3, "append_system_prompt": "Be brief."},
        "policy": {"profile": "readonly", "deny": ["WebFetch"]},
    }
    async with served.client() as client:
        started = (await client.post("/api/sessions", json=wanted)).json()
        settings = msgspec.json.decode((await served.manager.session(started["id"]).row()).settings)
        assert settings["options"]["max_turns"] == 3
        assert settings["policy"]["profile"] == "readonly"
        assert settings["policy"]["deny"] == ["WebFetch"]
        refused = await client.post("/api/sessions", json={**wanted, "options": {"cli_path": "/bin/sh"}})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_options")
        typo = await client.post("/api/sessions", json={**wanted, "policy": {"denny": ["WebFetch"]}})
        assert typo.status_code == 422
        await client.post(f"/api/sessions/{started['id']}/stop")
        resumed = await client.post(f"/api/sessions/{started['id']}/resume", json={"options": {"max_turns": 4}})
        assert resumed.status_code == 200, resumed.text
        refused = await client.post(f"/api/sessions/{started['id']}/fork", json={"options": {"settings": {}}})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_options")


def test_what_is_added_to_the_instructions_follows_what_is_configured(tmp_path: Path) -> None:
    base = Options(append_system_prompt="Be brief.")
    wanted = with_wanted(base, {"append_system_prompt": "Write German."}, Roots((str(tmp_path),)))
    assert wanted.append_system_prompt == "Be brief.\n\nWrite German."
    assert with_wanted(base, {}, Roots((str(tmp_path),))).append_system_prompt == "Be brief."

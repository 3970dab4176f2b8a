"""The owner's word: what a hub may set, choose and allow on a host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.errors import HostRefused, InvalidOptions
from handrail.host.limits import ALLOWED, REFUSED, REFUSED_REQUESTS, REQUESTS, HostLimits
from handrail.policy.answers.plan import ApproveInFreshContext, ApprovePlan
from handrail.policy.storage.loading import Asked
from handrail.protocol.asks import Allow, Deny
from handrail.protocol.control import HOST_REQUESTS
from handrail.protocol.options import Options
from handrail.sessions.launching import SessionSettings


def limits(root: Path, **further: Any) -> HostLimits:
    return HostLimits(roots=(str(root),), **further)


def test_every_option_is_either_allowed_or_refused_with_a_reason() -> None:
    fields = set(Options.__struct_fields__)
    assert not ALLOWED & REFUSED.keys()
    assert fields == ALLOWED | REFUSED.keys()
    assert all(REFUSED.values())


def test_every_control_request_is_either_allowed_or_refused_with_a_reason() -> None:
    assert not REQUESTS & REFUSED_REQUESTS.keys()
    assert HOST_REQUESTS.keys() <= REQUESTS | REFUSED_REQUESTS.keys()


def test_the_options_of_the_hub_are_laid_over_the_owners(tmp_path: Path) -> None:
    own = Options(cli_path="/opt/claude", model="opus", env={"A": "1"})
    options = limits(tmp_path, defaults=own).options({"cwd": str(tmp_path), "model": "haiku"})
    assert (options.cli_path, options.model, options.env) == ("/opt/claude", "haiku", {"A": "1"})
    assert options.cwd == str(tmp_path)


def test_without_a_directory_a_session_starts_in_the_first_root(tmp_path: Path) -> None:
    assert limits(tmp_path).options({}).cwd == str(tmp_path)


@pytest.mark.parametrize("option", sorted(REFUSED))
def test_what_is_refused_says_why(tmp_path: Path, option: str) -> None:
    with pytest.raises(HostRefused, match=f"option {option} on a host: "):
        limits(tmp_path).options({option: "x"})


def test_an_option_that_nobody_knows_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptions, match="no option 'speed'"):
        limits(tmp_path).options({"speed": 9})


def test_directories_are_judged_by_where_they_lead(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "inner").mkdir(parents=True)
    outside.mkdir()
    (root / "out").symlink_to(outside)
    (outside / "in").symlink_to(root / "inner")
    bounds = limits(root)
    assert bounds.directory(str(outside / "in")) == str(root / "inner")
    for path in (str(root / "out"), str(outside), str(root / ".." / "outside")):
        with pytest.raises(HostRefused, match="is not inside"):
            bounds.directory(path)
        with pytest.raises(HostRefused, match="is not inside"):
            bounds.options({"add_dirs": [path]})
    for wrong in ("relative", str(root / "missing"), 7):
        with pytest.raises(InvalidOptions):
            bounds.directory(wrong)
    with pytest.raises(InvalidOptions, match="list of paths"):
        bounds.options({"add_dirs": str(root)})


@pytest.mark.parametrize(
    ("profiles", "allow_bypass", "allowed"),
    [
        (("careful",), False, {"default", "plan", "dontAsk"}),
        (("careful", "edits"), False, {"default", "plan", "dontAsk", "acceptEdits"}),
        (("trusted",), False, {"default", "plan", "dontAsk", "acceptEdits", "auto"}),
        (("careful",), True, {"default", "plan", "dontAsk", "acceptEdits", "auto", "bypassPermissions"}),
    ],
)
def test_modes_have_a_ceiling_on_every_way(
    tmp_path: Path, profiles: tuple[str, ...], allow_bypass: bool, allowed: set[str]
) -> None:
    bounds = limits(tmp_path, profiles=profiles, allow_bypass=allow_bypass)
    ways: list[Any] = [
        lambda mode: bounds.options({"permission_mode": mode}),
        lambda mode: bounds.check_request("set_permission_mode", {"mode": mode}),
        lambda mode: bounds.check_answer(ApprovePlan(mode=mode)),
        lambda mode: bounds.check_answer(ApproveInFreshContext(mode=mode)),
        lambda mode: bounds.check_answer(Allow(updated_permissions=[{"type": "setMode", "mode": mode}])),
        lambda mode: bounds.check_stored(
            SessionSettings(options=Options(cwd=str(tmp_path), permission_mode=mode), policy=Asked())
        ),
    ]
    for mode in ("default", "plan", "dontAsk", "acceptEdits", "auto", "bypassPermissions"):
        for way in ways:
            if mode in allowed:
                way(mode)
            else:
                with pytest.raises(HostRefused):
                    way(mode)


def test_bypassing_has_no_other_way_in(tmp_path: Path) -> None:
    for option in ("dangerously_skip_permissions", "allow_dangerously_skip_permissions"):
        with pytest.raises(HostRefused, match="allow_bypass"):
            limits(tmp_path).options({option: True})
        assert getattr(limits(tmp_path, allow_bypass=True).options({option: True}), option)


def test_profiles_have_a_ceiling(tmp_path: Path) -> None:
    bounds = limits(tmp_path, profiles=("careful", "readonly"), policy=Asked(deny=("Bash(rm *)",)))
    assert bounds.asked(None) == Asked()
    wanted = Asked(profile="readonly", deny=("WebFetch",))
    assert bounds.asked(wanted) == wanted
    for wanted in (Asked(profile="trusted"), Asked(profile="edits"), Asked(allow=("Bash",))):
        with pytest.raises(HostRefused):
            bounds.asked(wanted)


def test_rules_that_allow_are_for_hubs_that_may_choose_trusted(tmp_path: Path) -> None:
    assert limits(tmp_path, profiles=("trusted",)).asked(Asked(allow=("Bash",))).allow == ("Bash",)


def test_variables_are_those_that_the_owner_named(tmp_path: Path) -> None:
    bounds = limits(tmp_path, env_names=frozenset({"TICKET"}), defaults=Options(env={"A": "1"}))
    assert bounds.options({"env": {"TICKET": "7"}}).env == {"A": "1", "TICKET": "7"}
    with pytest.raises(HostRefused, match="variable PATH"):
        bounds.options({"env": {"PATH": "/tmp"}})
    with pytest.raises(InvalidOptions):
        bounds.options({"env": ["PATH=/tmp"]})


def test_agents_bring_no_servers_and_no_hooks(tmp_path: Path) -> None:
    plain = {"description": "d", "prompt": "p", "tools": ["Read"]}
    assert limits(tmp_path).options({"agents": {"a": plain}}).agents
    brought: list[dict[str, Any]] = [{"mcpServers": []}, {"hooks": {}}, {"permissionMode": "bypassPermissions"}]
    for further in brought:
        with pytest.raises(HostRefused, match="agent a"):
            limits(tmp_path).options({"agents": {"a": {**plain, **further}}})


def test_a_prompt_from_a_file_is_not_read_on_the_host(tmp_path: Path) -> None:
    with pytest.raises(HostRefused, match="pass its text"):
        limits(tmp_path).options({"system_prompt": {"type": "file", "path": "/etc/passwd"}})


def test_directories_of_an_answer_are_inside_the_roots(tmp_path: Path) -> None:
    bounds = limits(tmp_path)
    bounds.check_answer(Deny("no"))
    bounds.check_answer(Allow(updated_permissions=[{"type": "addDirectories", "directories": [str(tmp_path)]}]))
    with pytest.raises(HostRefused):
        bounds.check_answer(Allow(updated_permissions=[{"type": "addDirectories", "directories": ["/"]}]))


RULE = {"rules": [{"toolName": "Bash", "ruleContent": "make"}], "behavior": "allow"}


@pytest.mark.parametrize("destination", ["session", "localSettings", "projectSettings"])
def test_always_may_mean_the_session_or_its_project(tmp_path: Path, destination: str) -> None:
    update = {"type": "addRules", "destination": destination, **RULE}
    limits(tmp_path).check_answer(Allow(updated_permissions=[update]))


@pytest.mark.parametrize(
    "update",
    [
        {"type": "addRules", "destination": "userSettings", **RULE},
        {"type": "setMode", "mode": "default", "destination": "userSettings"},
        {"type": "removeRules", "destination": "localSettings", **RULE, "behavior": "deny"},
        {"type": "replaceRules", "destination": "projectSettings", **RULE},
        {"type": "setMode", "mode": ["bypassPermissions"]},
        {"type": "addDirectories", "directories": "/"},
        {"type": "runCommand"},
        "setMode",
    ],
)
def test_an_answer_changes_nothing_of_the_rest_of_the_machine(tmp_path: Path, update: Any) -> None:
    with pytest.raises(HostRefused):
        limits(tmp_path).check_answer(Allow(updated_permissions=[update]))


def test_a_plan_that_is_approved_without_a_mode_has_the_same_ceiling(tmp_path: Path) -> None:
    for answer in (ApprovePlan(), ApproveInFreshContext()):
        limits(tmp_path).check_answer(answer)
        with pytest.raises(HostRefused, match="acceptEdits"):
            limits(tmp_path, profiles=("careful", "readonly")).check_answer(answer)


def test_a_session_is_not_initialized_anew(tmp_path: Path) -> None:
    limits(tmp_path).check_request("initialize", {})
    with pytest.raises(HostRefused, match="with hooks"):
        limits(tmp_path).check_request("initialize", {"hooks": {}})


def test_servers_that_the_owner_left_out_stay_out(tmp_path: Path) -> None:
    bounds = limits(tmp_path, defaults=Options(strict_mcp_config=True))
    assert bounds.options({"strict_mcp_config": False}).strict_mcp_config


@pytest.mark.parametrize("request_name", sorted(REFUSED_REQUESTS))
def test_requests_that_are_refused_say_why(tmp_path: Path, request_name: str) -> None:
    with pytest.raises(HostRefused, match=f"request {request_name} on a host: "):
        limits(tmp_path).check_request(request_name, {})


def test_a_session_in_a_worktree_is_judged_by_where_it_was_started(tmp_path: Path) -> None:
    repository, elsewhere = tmp_path / "repository", tmp_path / "worktrees"
    (repository / "app").mkdir(parents=True)
    (elsewhere / "w1" / "app").mkdir(parents=True)
    kept = {"repository": str(repository), "path": str(elsewhere / "w1"), "cwd": str(elsewhere / "w1" / "app")}
    settings = SessionSettings(options=Options(cwd=kept["cwd"]), policy=Asked(), worktree=kept)
    for root in (repository, repository / "app"):
        limits(root).check_stored(settings)
    with pytest.raises(HostRefused, match=r"host\.roots"):
        limits(elsewhere).check_stored(settings)

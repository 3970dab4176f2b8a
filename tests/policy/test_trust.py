"""A project's policy only tightens until its exact content is trusted: hostile repositories, and the property."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handrail.errors import InvalidPolicy
from handrail.policy import Asked, Loaded, Places, TrustStore, load_policy
from handrail.policy.policy import STRICTNESS
from handrail.policy.trust import digest_of

WIDENS = 'profile = "trusted"\nallow = ["Bash", "WebSearch"]\n'
SEARCH = ("WebSearch", {"query": "q"})


@dataclass
class World:
    """A user with a project."""

    path: Path

    @property
    def project(self) -> Path:
        return self.path / "project"

    @property
    def file(self) -> Path:
        return self.project / ".handrail" / "policy.toml"

    @property
    def places(self) -> Places:
        return Places(*(str(self.path / name) for name in ("config", "state", "cache", "runtime")))

    def write(self, text: str) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(text)

    def write_global(self, text: str) -> None:
        Path(self.places.config).mkdir(parents=True, exist_ok=True)
        Path(self.places.policy_file).write_text(text)

    def trust(self) -> None:
        TrustStore(self.places.trust_file).trust(str(self.file), digest_of(self.file.read_bytes()))

    def load(self, **asked: Any) -> Loaded:
        return load_policy(str(self.project), self.places, Asked(**asked))

    def behavior(self, tool: str, given: dict[str, Any], *, mode: str = "default", **asked: Any) -> str:
        return judge(self.load(**asked), self, tool, given, mode)


def judge(loaded: Loaded, world: World, tool: str, given: dict[str, Any], mode: str = "default") -> str:
    return loaded.policy.judge(tool, given, cwd=str(world.project), home=str(world.path), mode=mode).behavior


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.project.mkdir()
    return world


def test_without_any_file_the_policy_is_careful(world: World) -> None:
    loaded = world.load()
    assert loaded.policy.profile.name == "careful"
    assert [file.found for file in loaded.files] == [False, False]
    assert loaded.held_back is None


def test_an_untrusted_project_does_not_widen_and_it_is_said(world: World) -> None:
    world.write(WIDENS)
    loaded = world.load()
    assert loaded.policy.profile.name == "careful"
    assert judge(loaded, world, *SEARCH) == "ask"
    held = loaded.held_back
    assert held is not None
    assert held.why == "not trusted"
    assert [(rule.text, rule.line) for rule in held.allow] == [("Bash", 2), ("WebSearch", 2)]
    assert held.settings == ('profile = "trusted" (line 1)',)
    assert str(held).endswith(f"to trust the file as it is now: handrail policy trust {world.project}")


def test_an_untrusted_project_tightens(world: World) -> None:
    world.write_global('allow = ["WebSearch", "WebFetch"]\nexpire_after = "1h"')
    world.write('profile = "readonly"\ndeny = ["WebFetch"]\nask = ["WebSearch"]\nexpire_after = "30m"')
    loaded = world.load()
    assert loaded.held_back is None
    assert loaded.policy.profile.name == "readonly"
    assert loaded.policy.expire_after == 1800
    assert judge(loaded, world, *SEARCH) == "ask"
    assert judge(loaded, world, "WebFetch", {"url": "https://x.y/"}) == "deny"
    assert judge(loaded, world, "Write", {"file_path": "x", "content": ""}) == "deny"


def test_a_later_expiry_and_no_cooldown_are_held_back(world: World) -> None:
    world.write_global('expire_after = "10m"\n[plan]\noutline_cooldown = true')
    world.write('expire_after = "2h"\n[plan]\noutline_cooldown = false')
    loaded = world.load()
    assert loaded.policy.expire_after == 600
    assert loaded.policy.outline_cooldown is True
    assert loaded.held_back is not None
    assert len(loaded.held_back.settings) == 2


def test_a_trusted_project_counts_in_full(world: World) -> None:
    world.write(WIDENS)
    world.trust()
    loaded = world.load()
    assert loaded.held_back is None
    assert loaded.policy.profile.name == "trusted"
    assert judge(loaded, world, *SEARCH) == "allow"


def test_what_a_person_asks_for_counts_more_than_a_trusted_project(world: World) -> None:
    world.write(WIDENS)
    world.trust()
    assert world.load(profile="readonly").policy.profile.name == "readonly"
    world.write('profile = "readonly"')
    for trusted in (False, True):
        assert world.load(profile="trusted").policy.profile.name == "readonly", f"{trusted=}"
        world.trust()


def test_a_change_ends_the_trust(world: World) -> None:
    world.write(WIDENS)
    world.trust()
    world.write(WIDENS + "# nothing else\n")
    loaded = world.load()
    assert judge(loaded, world, *SEARCH) == "ask"
    assert loaded.held_back is not None
    assert loaded.held_back.why == "changed since it was trusted"


def test_trust_can_be_taken_back(world: World) -> None:
    world.write(WIDENS)
    world.trust()
    store = TrustStore(world.places.trust_file)
    assert store.untrust(str(world.file)) is True
    assert store.untrust(str(world.file)) is False
    assert world.behavior(*SEARCH) == "ask"


@pytest.mark.parametrize("linked", ["file", "directory"])
def test_a_link_is_never_trusted(world: World, linked: str) -> None:
    elsewhere = world.path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "policy.toml").write_text(WIDENS)
    if linked == "directory":
        world.file.parent.symlink_to(elsewhere)
    else:
        world.file.parent.mkdir()
        world.file.symlink_to(elsewhere / "policy.toml")
    world.trust()
    loaded = world.load()
    assert judge(loaded, world, *SEARCH) == "ask"
    assert loaded.held_back is not None
    assert loaded.held_back.why == "a symbolic link"


def make_directory(path: Path) -> None:
    path.mkdir(parents=True)


def make_pipe(path: Path) -> None:
    path.parent.mkdir(parents=True)
    os.mkfifo(path)


def make_huge(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"#" * (300 * 1024))


def make_dangling(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.symlink_to("nowhere")


def make_malformed(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text('allow = ["Bash"')


@pytest.mark.parametrize("make", [make_directory, make_pipe, make_huge, make_dangling, make_malformed])
@pytest.mark.parametrize("whose", ["global", "project"])
def test_what_cannot_be_read_is_an_error_and_never_no_policy(world: World, whose: str, make: Any) -> None:
    path = Path(world.places.policy_file) if whose == "global" else world.file
    make(path)
    with pytest.raises(InvalidPolicy) as caught:
        world.load()
    assert str(path) in str(caught.value)


def test_a_damaged_trust_store_is_an_error_that_names_it(world: World) -> None:
    world.write(WIDENS)
    world.trust()
    Path(world.places.trust_file).write_text("{")
    with pytest.raises(InvalidPolicy, match=r"trust\.json is damaged"):
        world.load()


def test_the_trust_store_is_for_its_owner_only(world: World) -> None:
    world.write(WIDENS)
    world.trust()
    store = Path(world.places.trust_file)
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.parent.stat().st_mode) == 0o700
    assert TrustStore(str(store)).entries() == {str(world.file): digest_of(WIDENS.encode())}
    assert sorted(path.name for path in store.parent.iterdir()) == ["trust.json", "trust.json.lock"]


def test_a_project_is_its_repository(world: World) -> None:
    (world.project / ".git").mkdir()
    world.write('profile = "readonly"')
    below = world.project / "src" / "deep"
    below.mkdir(parents=True)
    assert load_policy(str(below), world.places).policy.profile.name == "readonly"


def test_what_lies_above_a_project_does_not_count(world: World) -> None:
    (world.path / ".handrail").mkdir()
    (world.path / ".handrail" / "policy.toml").write_text('profile = "readonly"')
    assert world.load().policy.profile.name == "careful"
    (world.project / ".git").mkdir()
    assert world.load().policy.profile.name == "careful"


# ---------------------------------------------------------------- the property

RULES = st.sampled_from(
    [
        *("Bash", "Read", "Edit", "Write", "WebSearch", "Edit(**)", "Read(src/**)", "Edit(src/**)", "Bash(ls *)"),
        *("Bash(git *)", "Bash(git push *)", "WebFetch(domain:x.y)", "mcp__srv__*", "mcp__srv__do", "Read(//etc/**)"),
    ]
)
LISTS = st.lists(RULES, max_size=3)
PROFILES = st.sampled_from([None, "careful", "edits", "readonly", "trusted"])
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("Read", {"file_path": "src/app.py"}),
    ("Read", {"file_path": "/etc/passwd"}),
    ("Edit", {"file_path": "src/app.py", "old_string": "a", "new_string": "b"}),
    ("Write", {"file_path": "new.txt", "content": ""}),
    ("Write", {"file_path": "/elsewhere", "content": ""}),
    ("Bash", {"command": "ls"}),
    ("Bash", {"command": "git push origin"}),
    ("Bash", {"command": "touch x && ls"}),
    ("WebSearch", {"query": "q"}),
    ("WebFetch", {"url": "https://x.y/"}),
    ("mcp__srv__do", {}),
    ("AskUserQuestion", {}),
]


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines = []
    if profile := draw(PROFILES):
        lines.append(f'profile = "{profile}"')
    lines += [f"{name} = {draw(LISTS)!r}" for name in ("allow", "ask", "deny")]
    if seconds := draw(st.sampled_from([None, "5m", "2h"])):
        lines.append(f'expire_after = "{seconds}"')
    return "\n".join(lines)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    common=documents(),
    project=documents(),
    mode=st.sampled_from(["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]),
    otherwise=st.sampled_from([None, "deny"]),
)
def test_an_untrusted_project_is_never_more_permissive(
    world: World, common: str, project: str, mode: str, otherwise: str | None
) -> None:
    world.write_global(common)
    world.file.unlink(missing_ok=True)
    without = world.load(otherwise=otherwise)
    world.write(project)
    with_it = world.load(otherwise=otherwise)
    for call in CALLS:
        before, after = judge(without, world, *call, mode), judge(with_it, world, *call, mode)
        assert STRICTNESS[after] >= STRICTNESS[before], (call, before, after)  # type: ignore[index]
    if without.policy.expire_after is not None:
        assert with_it.policy.expire_after is not None
        assert with_it.policy.expire_after <= without.policy.expire_after
    widened = "allow = []" not in project
    assert not widened or (with_it.held_back is not None and with_it.held_back.allow)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60))
def test_no_text_of_a_project_widens(world: World, text: str) -> None:
    world.write("")
    world.file.write_bytes(text.encode("utf-8", "replace"))
    try:
        loaded = world.load()
    except InvalidPolicy:
        return
    assert judge(loaded, world, *SEARCH) != "allow"

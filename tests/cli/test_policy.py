"""`handrail policy`: what a person sees, and what is written only after a person confirmed it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from handrail.policy import GrantStore, Places, TrustStore
from handrail.policy.trust import digest_of
from handrail.transports.process_tree import MARKER_VARIABLE

from .support import Done, OnTerminal, handrail, handrail_process

TRANSCRIPTS = Path(__file__).parent.parent / "fixtures" / "transcripts"
GRANTED = {"type": "addRules", "rules": [{"toolName": "WebSearch"}], "behavior": "allow", "destination": "userSettings"}


@dataclass
class User:
    """Somebody with a project, and `handrail policy` in it."""

    path: Path

    @property
    def project(self) -> Path:
        return self.path / "project"

    @property
    def places(self) -> Places:
        return Places(*(str(self.path / name) for name in ("config", "state", "cache", "runtime")))

    @property
    def env(self) -> dict[str, str]:
        names = ("CONFIG", "STATE", "CACHE", "RUNTIME")
        places = {f"HANDRAIL_{name}_DIR": path for name, path in zip(names, self.places.all, strict=True)}
        return {**places, "HOME": str(self.path)}

    def write(self, text: str) -> Path:
        return self._write(self.project / ".handrail" / "policy.toml", text)

    def write_global(self, text: str) -> Path:
        return self._write(Path(self.places.policy_file), text)

    def policy(self, *arguments: str, **env: str) -> Done:
        return handrail("policy", *arguments, **{**self.env, **env})

    def record(self, *asked: tuple[str, dict[str, Any], str]) -> str:
        """A recording of these asks: tool, input, answer."""
        frames: list[Any] = [("in", {"type": "system", "subtype": "init", "cwd": str(self.project)})]
        for number, (tool, given, answer) in enumerate(asked):
            request = {"subtype": "can_use_tool", "tool_name": tool, "input": given, "tool_use_id": f"t{number}"}
            frames.append(("in", {"type": "control_request", "request_id": f"r{number}", "request": request}))
            response = {"subtype": "success", "request_id": f"r{number}", "response": {"behavior": answer}}
            frames.append(("out", {"type": "control_response", "response": response}))
        path = self.path / "recording.jsonl"
        path.write_text("".join(json.dumps({"dir": way, "raw": raw}) + "\n" for way, raw in frames))
        return str(path)

    def _write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


@pytest.fixture
def user(tmp_path: Path) -> User:
    user = User(tmp_path)
    user.project.mkdir()
    return user


@pytest.fixture
def here(user: User) -> list[str]:
    return ["--cwd", str(user.project)]


# ---------------------------------------------------------------- show


@pytest.mark.parametrize("profile", ["careful", "edits", "readonly", "trusted"])
@pytest.mark.parametrize("columns", ["60", "80"])
def test_each_profile_is_shown_in_full(user: User, here: list[str], profile: str, columns: str) -> None:
    from handrail.policy import PROFILES

    done = user.policy("show", "--profile", profile, *here, COLUMNS=columns)
    assert (done.returncode, done.stderr) == (0, "")
    flat = " ".join(done.stdout.split())
    for text in (*PROFILES[profile].explained, *PROFILES[profile].allow):
        assert " ".join(text.split()) in flat
    assert all(len(line) <= int(columns) for line in done.stdout.splitlines())
    assert "\x1b" not in done.stdout


def test_rules_are_shown_with_their_origin(user: User, here: list[str]) -> None:
    user.write_global('deny = [\n  "Bash(git push *)",\n]\nexpire_after = "30m"')
    user.write('ask = ["WebSearch"]\nallow = ["WebFetch"]\nprofile = "trusted"')
    GrantStore(user.places.grants_file).update([GRANTED], project="/p", actor="alice", at=0.0)
    done = user.policy("show", *here, COLUMNS="100")
    for expected in (
        "✗ deny  Bash(git push *)  ~/config/policy.toml, line 2",
        "⚠ ask   WebSearch  ~/project/.handrail/policy.toml, line 1",
        "✓ allow WebSearch  granted by alice at",
        "expire after 30 min",
        "is not trusted, so it only tightens",
        "· allow WebFetch  line 2",
        'profile = "trusted" (line 3)',
        "handrail policy trust",
        "⚠ ~/project/.handrail/policy.toml  only tightens",
    ):
        assert expected in done.stdout, expected


def test_a_policy_for_programs(user: User, here: list[str]) -> None:
    user.write('allow = ["WebFetch"]')
    shown = json.loads(user.policy("show", "--json", *here).stdout)
    assert shown["profile"] == "careful"
    assert shown["held_back"]["allow"][0]["text"] == "WebFetch"
    assert [file["found"] for file in shown["files"]] == [False, True]


def test_mistakes_are_messages(user: User, here: list[str]) -> None:
    path = user.write_global("profile = 3")
    done = user.policy("show", *here, COLUMNS="300")
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"✗ {path}, line 1, profile: must be one of" in done.stderr
    path.unlink()
    done = user.policy("show", "--profile", "edit", *here)
    assert (done.returncode, "did you mean 'edits'?" in done.stderr) == (2, True)
    assert user.policy("show", "--cwd", "/does/not/exist").returncode == 2


# ---------------------------------------------------------------- explain


def test_the_rule_that_decides_is_named(user: User, here: list[str]) -> None:
    user.write_global('deny = ["WebFetch(domain:x.y)"]')
    done = user.policy("explain", "WebFetch", "https://x.y/a", *here, COLUMNS="80")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "✗ deny  WebFetch  https://x.y/a"
    assert "  rule WebFetch(domain:x.y)" in lines
    assert "  from ~/config/policy.toml, line 1" in lines
    assert "  with profile careful, mode default" in lines


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["Bash(git push)"], {"command": "git push"}),
        (["Bash(echo (a))"], {"command": "echo (a)"}),
        (["Bash", "git push"], {"command": "git push"}),
        (["Edit", "src/x.py"], {"file_path": "$P/src/x.py"}),
        (["Read(~/x)"], {"file_path": "~/x"}),
        (["WebFetch", "https://x.y/"], {"url": "https://x.y/"}),
        (["mcp__srv__do"], {}),
        (["mcp__srv__do", "--input", '{"a": 1}'], {"a": 1}),
    ],
)
def test_a_call_may_be_written_in_several_ways(
    user: User, here: list[str], arguments: list[str], given: dict[str, Any]
) -> None:
    done = user.policy("explain", *arguments, "--json", *here)
    explained = json.loads(done.stdout)
    project = str(user.project)
    assert explained["input"] == json.loads(json.dumps(given).replace("$P", project))
    assert explained["behavior"] == "ask"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Bash(a)", "b"], "say once"),
        (["Bash", "--input", "{"], "not JSON"),
        (["Bash", "--input", "[]"], "must be a JSON object"),
        (["mcp__srv__do", "x"], "--input"),
        (["git push"], "is not a call"),
        (["Bash(a)", "--mode", "acceptedits"], "did you mean 'acceptEdits'"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(user: User, arguments: list[str], message: str) -> None:
    done = user.policy("explain", *arguments)
    assert (done.returncode, message in done.stderr) == (2, True)


def test_the_mode_counts(user: User, here: list[str]) -> None:
    for mode, expected in (("default", "ask"), ("acceptEdits", "allow")):
        done = user.policy("explain", "Write", "x.txt", "--mode", mode, "--json", *here)
        assert json.loads(done.stdout)["behavior"] == expected


# ---------------------------------------------------------------- check


def test_a_replay_shows_then_and_now(user: User, here: list[str]) -> None:
    user.write_global('allow = ["WebSearch"]\ndeny = ["WebFetch"]')
    recording = user.record(
        ("WebSearch", {"query": "one"}, "allow"),
        ("WebSearch", {"query": "two"}, "deny"),
        ("WebFetch", {"url": "https://x.y/"}, "allow"),
        ("mcp__srv__do", {}, "allow"),
    )
    done = user.policy("check", recording, *here, COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, "")
    for expected in (
        "✓ allow WebSearch one  then asked, allowed  one ask less",
        "✓ allow WebSearch two  then asked, denied  ALLOWED NOW",
        "✗ deny  WebFetch https://x.y/  then asked, allowed  denied now",
        "4 calls: ✓ allow 2  ⚠ ask 1  ✗ deny 1",
        "1 ALLOWED, though nobody allowed it then",
    ):
        assert expected in done.stdout
    counted = json.loads(user.policy("check", recording, "--json", *here).stdout)
    assert counted["differences"] == {"saved": 1, "allowed": 1, "denied": 1, "same": 1}
    assert counted["calls"][0]["now"]["rule"] == "WebSearch"


@pytest.mark.slow
def test_real_recordings_can_be_checked(user: User, here: list[str]) -> None:
    recordings = [str(path) for path in sorted(TRANSCRIPTS.glob("2.1.325/*.jsonl"))]
    done = user.policy("check", *recordings, *here, COLUMNS="60")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(len(line) <= 60 for line in done.stdout.splitlines())


def test_what_is_no_recording_is_said(user: User, tmp_path: Path) -> None:
    other = tmp_path / "x.txt"
    other.write_text("hello\n")
    done = user.policy("check", str(other))
    assert (done.returncode, "is not a recording" in " ".join(done.stderr.split())) == (2, True)
    done = user.policy("check", str(tmp_path / "missing"))
    assert (done.returncode, "No such file" in " ".join(done.stderr.split())) == (1, True)


# ---------------------------------------------------------------- suggest


def writes(user: User) -> str:
    file = str(user.project / "src" / "app.py")
    return user.record(("Write", {"file_path": file, "content": "x"}, "allow"), ("mcp__srv__do", {}, "allow"))


def test_rules_are_proposed_and_nothing_is_written(user: User, here: list[str]) -> None:
    done = user.policy("suggest", writes(user), *here, COLUMNS="100")
    assert done.returncode == 0
    assert "✓ allow Edit(src/app.py)  saves 1 ask" in done.stdout
    assert "every input" in done.stdout
    assert not Path(user.places.policy_file).exists()
    proposed = json.loads(user.policy("suggest", writes(user), "--json", *here).stdout)
    assert proposed["allow"] == [{"rule": "Edit(src/app.py)", "saved": 1}]


def test_written_rules_leave_the_rest_of_the_file_alone(user: User, here: list[str]) -> None:
    path = user.write_global('# mine\nallow = ["WebSearch"]  # yes\n\n[plan]\noutline_cooldown = true\n')
    done = user.policy("suggest", writes(user), "--write", "--yes", *here)
    assert done.returncode == 0, done.stderr
    assert '+     "Edit(src/app.py)",' in done.stdout
    text = path.read_text()
    assert text.startswith("# mine\n")
    assert "# yes" in text
    assert text.endswith("[plan]\noutline_cooldown = true\n")
    assert user.policy("suggest", writes(user), "--json", *here).stdout.count("Edit(src") == 0


def test_a_new_file_is_written_whole(user: User, here: list[str]) -> None:
    assert user.policy("suggest", writes(user), "--write", "--yes", *here).returncode == 0
    assert Path(user.places.policy_file).read_text() == 'allow = [\n    "Edit(src/app.py)",\n]\n'


def test_a_projects_rules_still_have_to_be_trusted(user: User, here: list[str]) -> None:
    done = user.policy("suggest", writes(user), "--write", "--project", "--yes", *here)
    assert "handrail policy trust" in done.stdout
    assert (user.project / ".handrail" / "policy.toml").exists()
    assert user.policy("suggest", writes(user), "--project").returncode == 2


# ---------------------------------------------------------------- trust


@pytest.mark.slow
def test_trusting_shows_the_content_and_asks_first(user: User) -> None:
    path = user.write('profile = "edits"\nallow = ["WebSearch"]\n')
    with OnTerminal("policy", "trust", str(user.project), **user.env) as terminal:
        shown = terminal.wait_for("Trust exactly this content? [y/N]")
        assert 'allow = ["WebSearch"]' in shown
        assert "✓ allow WebSearch  line 2" in shown
        assert TrustStore(user.places.trust_file).entries() == {}
        terminal.type("y")
        terminal.wait_for("✓ trusted")
        assert terminal.exit_code() == 0
    assert TrustStore(user.places.trust_file).entries() == {str(path): digest_of(path.read_bytes())}


@pytest.mark.slow
def test_anything_but_yes_is_no(user: User) -> None:
    user.write('allow = ["WebSearch"]\n')
    with OnTerminal("policy", "trust", str(user.project), **user.env) as terminal:
        terminal.wait_for("[y/N]")
        terminal.type("")
        assert terminal.exit_code() == 1
    assert TrustStore(user.places.trust_file).entries() == {}


def test_without_a_terminal_only_yes_trusts(user: User) -> None:
    path = user.write('allow = ["WebSearch"]\n')
    done = user.policy("trust", str(user.project))
    assert (done.returncode, "nobody to ask" in done.stderr) == (2, True)
    assert user.policy("trust", str(user.project), "--yes").returncode == 0
    assert str(path) in TrustStore(user.places.trust_file).entries()
    assert "can only tighten from now on" in " ".join(user.policy("untrust", str(user.project)).stdout.split())
    assert TrustStore(user.places.trust_file).entries() == {}
    assert "was not trusted" in " ".join(user.policy("untrust", str(user.project)).stdout.split())


def test_what_cannot_be_trusted_is_said(user: User, tmp_path: Path) -> None:
    done = user.policy("trust", str(user.project), "--yes")
    assert (done.returncode, "has no policy of its own" in " ".join(done.stderr.split())) == (2, True)
    user.write("allow = [3]")
    assert "is not a rule" in user.policy("trust", str(user.project), "--yes").stderr
    (tmp_path / "real.toml").write_text("")
    path = user.project / ".handrail" / "policy.toml"
    path.unlink()
    path.symlink_to(tmp_path / "real.toml")
    assert "symbolic link" in " ".join(user.policy("trust", str(user.project), "--yes").stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize("command", ["trust", "untrust", "revoke", "suggest"])
def test_nothing_that_a_session_started_may_loosen(user: User, command: str) -> None:
    user.write('allow = ["WebSearch"]\n')
    GrantStore(user.places.grants_file).update([GRANTED], project="/p", actor="alice", at=0.0)
    arguments = {
        "trust": [str(user.project), "--yes"],
        "untrust": [str(user.project)],
        "revoke": ["WebSearch"],
        "suggest": [writes(user), "--write", "--yes", "--cwd", str(user.project)],
    }[command]
    done = handrail_process("policy", command, *arguments, **user.env, **{MARKER_VARIABLE: "1234"})
    assert done.returncode == 2
    assert "inside a session" in " ".join(done.stderr.split())
    assert TrustStore(user.places.trust_file).entries() == {}
    assert not Path(user.places.policy_file).exists()


# ---------------------------------------------------------------- revoke


def test_a_grant_can_be_taken_back(user: User, here: list[str]) -> None:
    store = GrantStore(user.places.grants_file)
    store.update([GRANTED], project="/p", actor="alice", at=0.0)
    assert user.policy("revoke", "WebSearch", *here).returncode == 0
    assert len(store.read()) == 0
    done = user.policy("revoke", "WebSearch", *here)
    assert (done.returncode, "nobody granted WebSearch" in done.stderr) == (2, True)


@pytest.mark.slow
def test_what_the_settings_say_counts_as_it_does_for_sessions(user: User) -> None:
    user._write(
        Path(user.places.config_file), '[claude]\ndisallowed_tools = ["WebFetch"]\n\n[policy]\nprofile = "edits"\n'
    )
    cwd = ("--cwd", str(user.project))
    shown = json.loads(user.policy("show", "--json", *cwd).stdout)
    assert shown["profile"] == "edits"
    assert json.loads(user.policy("show", "--json", "--profile", "careful", *cwd).stdout)["profile"] == "careful"
    explained = user.policy("explain", "WebFetch", "https://example.org", *cwd).stdout
    assert "deny" in explained
    assert "its settings" in explained

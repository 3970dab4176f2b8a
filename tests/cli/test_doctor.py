"""`handrail doctor`: what it finds in good and in broken surroundings, and the command that it names for each."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from handrail.cli.checkup.checkup import CHECKS, check_up
from handrail.cli.checkup.claude import check_cli, check_login
from handrail.cli.checkup.database import check_database, check_disk
from handrail.cli.checkup.finding import Finding, attention, broken, good
from handrail.cli.checkup.own import check_config, check_policy, check_runtime
from handrail.cli.checkup.report import report
from handrail.cli.checkup.surroundings import Surroundings
from handrail.cli.checkup.tools import check_git, check_terminal
from handrail.places import Places
from handrail.store.base import SessionRow
from handrail.store.migrations import SCHEMA_VERSION
from handrail.store.place import store_path
from handrail.store.sqlite import SqliteStore
from handrail.testing import SimulatedCLI, claude_cli, cli_slot, isolated_env

from .support import OnTerminal, handrail, plain

KEY = "ANTHROPIC_API_KEY"


class Patient:
    """Surroundings of its own: a home, places, a project, and a `claude` on PATH."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.bin = directory / "bin"
        self.project = directory / "project"
        self.bin.mkdir()
        self.project.mkdir()
        self.environ = {
            "HOME": str(directory),
            "PATH": f"{self.bin}:/usr/bin:/bin",
            **{
                f"HANDRAIL_{name}_DIR": str(directory / name.lower())
                for name in ("CONFIG", "STATE", "CACHE", "RUNTIME")
            },
        }

    def has_claude(self, version: str = "2.1.325", *, logged_in: bool | None = True) -> None:
        """A Claude Code of that version; it knows `auth status` unless `logged_in` is None."""
        simulated = SimulatedCLI(directory=self.directory, name="simulated", version=version)
        status = json.dumps({"loggedIn": logged_in, "authMethod": "claude.ai", "email": "me@example.com"})
        answer = f"echo '{status}'" if logged_in is not None else "echo \"error: unknown option '--json'\" >&2; exit 1"
        self.program("claude", f'[ "$1" = auth ] && {{ {answer}; exit; }}\nexec {simulated.path} "$@"')

    def program(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def writes(self, path: str, text: str) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
        Path(path).chmod(0o600)

    @property
    def places(self) -> Places:
        return Places.of_user(self.environ)

    @property
    def around(self) -> Surroundings:
        return Surroundings(self.places, self.environ, str(self.project))


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path)


def one(findings: Iterable[Finding], status: str) -> Finding:
    (found,) = [finding for finding in findings if finding.status == status]
    return found


def statuses(findings: Iterable[Finding]) -> set[str]:
    return {finding.status for finding in findings}


# ---------------------------------------------------------------- Claude Code


def test_a_claude_that_is_known(patient: Patient) -> None:
    patient.has_claude()
    first, second, third = check_cli(patient.around)
    assert first == good(
        "claude",
        f"Claude Code 2.1.325, {patient.bin}/claude (from PATH); Handrail is tested with this version",
    )
    assert second.text == "this version can do everything that Handrail uses"
    assert third.text == "it needs no Node.js"


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("2.1.999", "newer than 2.1.325, the newest that Handrail is tested with"),
        ("2.1.1", "older than 2.1.37, the oldest that Handrail is tested with"),
        ("2.1.100", "between versions that Handrail is tested with (2.1.37, 2.1.52, "),
    ],
)
def test_a_claude_that_was_not_tested(patient: Patient, version: str, said: str) -> None:
    patient.has_claude(version)
    assert said in next(iter(check_cli(patient.around))).text


def test_an_old_claude_says_what_it_cannot_do(patient: Patient) -> None:
    patient.has_claude("2.1.100")
    warnings = [finding for finding in check_cli(patient.around) if finding.status == "attention"]
    assert any("an edited plan is ignored" in finding.text for finding in warnings)
    assert {finding.fix for finding in warnings} == {"claude update"}


def test_no_claude(patient: Patient) -> None:
    patient.writes(patient.places.config_file, '[claude]\ncli_path = "/there/is/none"\n')
    found = one(check_cli(patient.around), "broken")
    assert "'/there/is/none'" in found.text
    assert found.fix == "handrail config unset claude.cli_path"
    assert statuses(check_login(patient.around)) == {"attention"}


def test_a_claude_that_does_not_run(patient: Patient) -> None:
    patient.program("claude", "echo 'node: not found' >&2; exit 127")
    assert "does not run: node: not found" in one(check_cli(patient.around), "broken").text


def test_a_claude_without_a_version(patient: Patient) -> None:
    patient.program("claude", "echo hello")
    assert "is not Claude Code: it calls itself 'hello'" in one(check_cli(patient.around), "broken").text


# ---------------------------------------------------------------- the login


def test_logged_in(patient: Patient) -> None:
    patient.has_claude()
    assert list(check_login(patient.around)) == [good("login", "logged in (claude.ai)")]


def test_not_logged_in(patient: Patient) -> None:
    patient.has_claude(logged_in=False)
    assert list(check_login(patient.around)) == [broken("login", "Claude Code is not logged in", "claude auth login")]


def test_not_logged_in_with_a_key_that_is_withheld(patient: Patient) -> None:
    patient.has_claude(logged_in=False)
    patient.environ[KEY] = "secret"
    first, second = check_login(patient.around)
    assert "handrail config set claude.use_api_billing true" in first.fix
    assert second == good("login", f"{KEY} is set, and kept from Claude Code: the key is not billed")


def test_a_key_that_is_billed(patient: Patient) -> None:
    patient.program("claude", f'echo "{{\\"loggedIn\\": $([ -n "${KEY}" ] && echo true || echo false)}}"')
    patient.environ[KEY] = "secret"
    patient.writes(patient.places.config_file, "[claude]\nuse_api_billing = true\n")
    first, second = check_login(patient.around)
    assert first.status == "good"
    assert second.text == f"{KEY} is passed on: the key is billed"
    assert "secret" not in first.text + second.text


def test_an_old_claude_is_asked_nothing_and_its_files_are_not_opened(patient: Patient) -> None:
    patient.has_claude("2.1.37", logged_in=None)
    assert one(check_login(patient.around), "broken").fix == "claude, then /login"
    credentials = patient.directory / ".claude" / ".credentials.json"
    patient.writes(str(credentials), "{}")
    credentials.chmod(0)
    assert one(check_login(patient.around), "good").text == f"a login is stored in {patient.directory}/.claude"


@pytest.mark.real_cli
def test_the_real_claude_says_whether_it_is_logged_in(patient: Patient) -> None:
    patient.environ |= isolated_env(patient.directory, extra={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", KEY: "any"})
    patient.writes(patient.places.config_file, f"[claude]\ncli_path = '{claude_cli().path}'\n")
    with cli_slot():
        assert next(iter(check_login(patient.around))).text == "Claude Code is not logged in"
        assert "Handrail is tested with this version" in next(iter(check_cli(patient.around))).text
        patient.environ["HANDRAIL_CLAUDE_USE_API_BILLING"] = "true"
        assert next(iter(check_login(patient.around))).text == "logged in (api_key, firstParty)"


# ---------------------------------------------------------------- settings and policy


def test_good_settings(patient: Patient) -> None:
    assert "the defaults hold" in one(check_config(patient.around), "good").text
    patient.writes(patient.places.config_file, '[claude]\nmodel = "opus"\n')
    assert list(check_config(patient.around)) == [good("config", patient.places.config_file)]


def test_broken_settings(patient: Patient) -> None:
    patient.writes(patient.places.config_file, "[claude]\nmodell = 1\n[limits]\nrestarts = -1\n")
    findings = list(check_config(patient.around))
    assert [finding.status for finding in findings] == ["broken", "broken"]
    assert "line 2, claude.modell: there is no such key" in findings[0].text
    assert findings[0].fix == "handrail config edit"


def test_settings_worth_a_look(patient: Patient) -> None:
    patient.writes(patient.places.config_file, "[claude]\ndangerously_skip_permissions = true\n")
    os.chmod(patient.places.config_file, 0o644)
    patient.environ["HANDRAIL_CLAUDE_MODLE"] = "x"
    worth = [finding for finding in check_config(patient.around) if finding.status == "attention"]
    assert [finding.fix for finding in worth] == [
        "handrail config unset claude.dangerously_skip_permissions",
        "unset HANDRAIL_CLAUDE_MODLE",
        f"chmod 600 {patient.places.config_file}",
    ]


def test_policies(patient: Patient) -> None:
    assert list(check_policy(patient.around)) == [good("policy", "profile careful; no policy files")]
    patient.writes(f"{patient.project}/.handrail/policy.toml", 'allow = ["Bash"]\n')
    assert one(check_policy(patient.around), "attention").fix == "handrail policy trust"
    patient.writes(patient.places.policy_file, 'profile = "carefull"\n')
    assert "did you mean 'careful'" in one(check_policy(patient.around), "broken").text


def test_a_rule_in_the_settings_that_is_no_rule(patient: Patient) -> None:
    patient.writes(patient.places.config_file, '[claude]\nallowed_tools = ["Bash(ls"]\n')
    assert "Bash(ls" in one(check_policy(patient.around), "broken").text


# ---------------------------------------------------------------- the database and the disk


def make_database(path: str) -> None:
    async def make() -> None:
        store = SqliteStore(path)
        await store.open()
        await store.create_session(SessionRow(id="a" * 32, cwd="/", created_at=1, updated_at=1))
        await store.close()

    asyncio.run(make())


def test_no_database_yet(patient: Patient) -> None:
    assert "none yet" in one(check_database(patient.around), "good").text
    assert not os.path.exists(patient.places.state)


def test_a_sound_database(patient: Patient) -> None:
    make_database(store_path(patient.places))
    found = one(check_database(patient.around), "good")
    assert f"schema {SCHEMA_VERSION}, 1 session, 0 events" in found.text


def test_a_damaged_database(patient: Patient) -> None:
    patient.writes(store_path(patient.places), "no database at all " * 100)
    assert "is damaged" in one(check_database(patient.around), "broken").text


def test_what_is_stored_is_wrong(patient: Patient) -> None:
    path = store_path(patient.places)
    make_database(path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE sessions SET last_seq = 5")
    connection.commit()
    connection.close()
    assert "should have 5 events" in one(check_database(patient.around), "broken").text


def test_a_database_of_a_newer_handrail(patient: Patient) -> None:
    path = store_path(patient.places)
    make_database(path)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    assert statuses(check_database(patient.around)) == {"broken"}


def test_a_disk(patient: Patient) -> None:
    assert "free for" in one(check_disk(patient.around), "good").text


def test_a_state_directory_that_is_none(patient: Patient) -> None:
    Path(patient.places.state).write_text("in the way")
    assert one(check_disk(patient.around), "broken").fix == "export HANDRAIL_STATE_DIR=DIRECTORY"


# ---------------------------------------------------------------- the rest


def test_runtime(patient: Patient) -> None:
    assert statuses(check_runtime(patient.around)) == {"good"}
    patient.environ["HANDRAIL_RUNTIME_DIR"] = f"{patient.directory}/{'long' * 30}"
    assert "too long for the path of a socket" in one(check_runtime(patient.around), "attention").text
    (patient.directory / "file").write_text("")
    patient.environ["HANDRAIL_RUNTIME_DIR"] = f"{patient.directory}/file/below"
    assert "not a directory that you may write in" in one(check_runtime(patient.around), "broken").text


def test_git(patient: Patient) -> None:
    patient.program("git", "echo git version 9.9")
    assert list(check_git(patient.around)) == [good("git", "git version 9.9")]
    patient.program("git", "exit 1")
    assert one(check_git(patient.around), "attention").fix == "install git"


def test_no_terminal(patient: Patient) -> None:
    assert "without one nothing is asked" in [finding.text for finding in check_terminal(patient.around)][-1]


# ---------------------------------------------------------------- all together


@pytest.mark.slow
def test_a_check_that_hangs_or_fails_hides_no_other(patient: Patient) -> None:
    forever = threading.Event()

    def hangs(around: Surroundings) -> list[Finding]:
        forever.wait()
        return []

    def fails(around: Surroundings) -> list[Finding]:
        raise RuntimeError("oh")

    waiting: list[list[str]] = []
    checks = {"slow": hangs, "bad": fails, "fine": lambda around: [good("fine", "yes")]}
    findings = check_up(patient.around, checks=checks, seconds=0.3, on_progress=waiting.append)
    forever.set()
    assert [(finding.area, finding.status) for finding in findings] == [
        ("slow", "broken"),
        ("bad", "broken"),
        ("fine", "good"),
    ]
    assert "RuntimeError: oh" in findings[1].text
    assert waiting[0] == ["slow", "bad", "fine"]
    assert waiting[-1] == ["slow"]


def test_the_report() -> None:
    looks = [attention("bcd", "look", "do it"), attention("bcd", "look again", "do it")]
    page = plain(report([good("a", "fine"), good("a", "also"), *looks, broken("e", "bad")]))
    assert page.splitlines() == [
        "✓ a    fine",
        "✓      also",
        "! bcd  look",
        "!      look again",
        "       → do it",
        "✗ e    bad",
        "",
        "One thing is broken. Run this again when it is mended.",
    ]
    assert "Everything is as it should be." in plain(report([good("a", "fine")]))


@pytest.mark.slow
def test_the_command(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    patient.has_claude()
    monkeypatch.chdir(patient.project)
    monkeypatch.delenv(KEY, raising=False)
    well = handrail("doctor", "--json", **patient.environ)
    document = json.loads(well.stdout)
    assert (well.returncode, document["ok"]) == (0, True)
    assert {finding["area"] for finding in document["findings"]} == set(CHECKS)
    assert "me@example.com" not in well.stdout
    patient.writes(patient.places.config_file, "[claude\n")
    ill = handrail("doctor", **patient.environ)
    assert ill.returncode == 1
    assert "✗ config" in ill.stdout
    assert "→ handrail config edit" in ill.stdout


@pytest.mark.slow
def test_on_a_terminal(patient: Patient) -> None:
    patient.has_claude()
    with OnTerminal("doctor", **patient.environ) as terminal:
        terminal.wait_for("xterm-256color, 80 by 40, colours")
        assert terminal.exit_code() == 0
    assert "checking" in terminal.text

"""The cache of real CLIs, with sources that need no network: stand-ins, a local wheel, a stand-in for npm."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import os
import platform
import signal
import subprocess
import sys
import tarfile
import textwrap
import threading
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from handrail.testing.cli_cache import (
    PINNED_VERSION,
    ClaudeCLI,
    CLIUnavailable,
    FetchProgress,
    cache_directory,
    claude_cli,
    latest_cli,
)
from handrail.testing.cli_sandbox import cli_slot, isolated_env
from handrail.testing.cli_sources import Fetched, NpmSource, PipSource, SourceError, Watch, platform_name
from handrail.testing.model import ScriptedModel

pytestmark = pytest.mark.slow

VERSION = "2.1.300"
PROGRAM = b"#!/bin/sh\necho a CLI\n"


class StandIn:
    """A source that makes up a CLI, or fails."""

    def __init__(
        self,
        name: str = "stand-in",
        *,
        fails: str | None = None,
        newest: str | None = None,
        executable: str = "claude",
        before: Callable[[], object] = lambda: None,
    ) -> None:
        self.name = name
        self.fetches = 0
        self._fails = fails
        self._newest = newest
        self._executable = executable
        self._before = before

    def offers(self, version: str) -> bool:
        return True

    def newest(self) -> str | None:
        if self._fails:
            raise SourceError(self._fails)
        return self._newest

    def fetch(self, version: str | None, into: Path, watch: Watch) -> Fetched:
        self.fetches += 1
        self._before()
        watch()
        if self._fails:
            (into / "half").write_bytes(b"half a download")
            raise SourceError(self._fails)
        executable = into / self._executable
        executable.write_bytes(PROGRAM)
        return Fetched(version or VERSION, executable)


def quiet(progress: FetchProgress) -> None:
    pass


def get(cache: Path, *sources: StandIn, version: str = VERSION) -> ClaudeCLI:
    return claude_cli(version, cache=cache, sources=sources, progress=quiet)


# The cache


def test_a_version_is_fetched_once(tmp_path: Path):
    source = StandIn()
    first, second = get(tmp_path, source), get(tmp_path, source)
    assert first == second
    assert source.fetches == 1
    assert first.version == VERSION
    assert first.argv == (str(first.path),)
    assert subprocess.run(first.argv, capture_output=True, check=True).stdout == b"a CLI\n"
    assert first.path.is_relative_to(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda cli: cli.path.write_bytes(PROGRAM + b"\0"),
        lambda cli: cli.path.write_bytes(b""),
        lambda cli: cli.path.unlink(),
        lambda cli: (cli.path.parent / "entry.json").write_text("{"),
        lambda cli: (cli.path.parent / "entry.json").write_text("{}"),
        lambda cli: (cli.path.parent / "entry.json").unlink(),
    ],
)
def test_a_damaged_entry_is_fetched_again(tmp_path: Path, damage: Callable[[ClaudeCLI], object]):
    source = StandIn()
    damage(get(tmp_path, source))
    assert get(tmp_path, source).path.read_bytes() == PROGRAM
    assert source.fetches == 2
    assert visible_entries(tmp_path) == [f"{VERSION}-{platform_name()}"]


def visible_entries(cache: Path) -> list[str]:
    """Everything in the cache but its locks: no rubbish may stay behind."""
    return sorted(path.name for path in cache.iterdir() if path.name != "locks")


def test_what_a_killed_fetch_left_behind_is_removed(tmp_path: Path):
    (tmp_path / f".{VERSION}-left" / "package").mkdir(parents=True)
    get(tmp_path, StandIn())
    assert visible_entries(tmp_path) == [f"{VERSION}-{platform_name()}"]


def test_if_one_source_fails_the_next_is_asked(tmp_path: Path):
    broken, good = StandIn(fails="out of order"), StandIn()
    assert get(tmp_path, broken, good).path.read_bytes() == PROGRAM
    assert (broken.fetches, good.fetches) == (1, 1)


def test_if_all_sources_fail_the_error_says_what_was_tried_and_what_to_do(tmp_path: Path):
    with pytest.raises(CLIUnavailable) as raised:
        get(tmp_path, StandIn("shop one", fails="closed"), StandIn("shop two", fails="sold out"))
    message = str(raised.value)
    assert f"Claude Code {VERSION} is not in the cache and could not be fetched" in message
    assert "- shop one: closed\n  - shop two: sold out" in message
    assert "HANDRAIL_CLI_CACHE" in message
    assert raised.value.version == VERSION
    assert visible_entries(tmp_path) == []


def test_two_at_once_fetch_once(tmp_path: Path):
    somebody_waits = threading.Event()
    source = StandIn(before=lambda: somebody_waits.wait(20))

    def note(progress: FetchProgress) -> None:
        if "waiting for another process" in progress.message:
            somebody_waits.set()

    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(claude_cli, VERSION, cache=tmp_path, sources=[source], progress=note) for _ in range(2)]
        first, second = (future.result(30) for future in asked)
    assert first == second
    assert somebody_waits.is_set()
    assert source.fetches == 1


@pytest.mark.parametrize("version", ["latest", "2.1", "../2.1.3", "2.1.3-beta", ""])
def test_a_version_must_look_like_one(tmp_path: Path, version: str):
    with pytest.raises(CLIUnavailable, match=r"is not a version: write it like 2\.1\.325"):
        get(tmp_path, StandIn(), version=version)


def test_a_machine_that_claude_code_does_not_run_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(platform, "machine", lambda: "pdp11")
    with pytest.raises(CLIUnavailable, match=r"there is no Claude Code for .* on pdp11: it runs on Linux and macOS"):
        get(tmp_path, StandIn())


def test_older_versions_are_started_with_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "node").write_text("#!/bin/sh\n")
    (tools / "node").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    cli = get(tmp_path / "cache", StandIn(executable="cli.js"))
    assert cli.argv == (str(tools / "node"), str(cli.path))

    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CLIUnavailable, match=r"is a program for node, and there is no node.*install Node\.js 18"):
        get(tmp_path / "cache", StandIn())


def test_the_cache_is_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HANDRAIL_CLI_CACHE", str(tmp_path / "mine"))
    assert cache_directory() == tmp_path / "mine"
    monkeypatch.delenv("HANDRAIL_CLI_CACHE")
    assert cache_directory().parts[-2:] == ("handrail", "cli")


def test_progress_is_told(tmp_path: Path):
    told: list[FetchProgress] = []
    claude_cli(VERSION, cache=tmp_path, sources=[StandIn(fails="closed"), StandIn()], progress=told.append)
    assert [progress.stage for progress in told] == ["start", "update", "end", "start", "update", "end"]
    assert told[2].message == f"Claude Code {VERSION} from stand-in failed: closed"
    assert told[5].received >= len(PROGRAM)


def test_by_default_the_start_and_the_end_go_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    claude_cli(VERSION, cache=tmp_path, sources=[StandIn()])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"fetching Claude Code {VERSION} from stand-in into {tmp_path}"
    assert lines[1].startswith(f"fetched Claude Code {VERSION} from stand-in in ")
    assert len(lines) == 2


def test_the_latest_version_comes_from_the_source_that_can_tell(tmp_path: Path):
    wheel, registry = StandIn("wheel"), StandIn("registry", newest="2.1.999")
    cli = latest_cli(cache=tmp_path, sources=[wheel, registry], progress=quiet)
    assert cli.version == "2.1.999"
    assert (wheel.fetches, registry.fetches) == (0, 1)


def test_the_latest_version_can_come_from_a_source_that_tells_only_by_downloading(tmp_path: Path):
    wheel, registry = StandIn("wheel"), StandIn("registry", fails="no npm")
    for _ in range(2):
        assert latest_cli(cache=tmp_path, sources=[wheel, registry], progress=quiet).version == VERSION
    assert visible_entries(tmp_path) == [f"{VERSION}-{platform_name()}"]


def test_no_latest_version(tmp_path: Path):
    sources = [StandIn("wheel", fails="no pip"), StandIn("registry", fails="no npm")]
    with pytest.raises(CLIUnavailable, match=r"Tried:\n  - registry: no npm\n  - wheel: no pip\n"):
        latest_cli(cache=tmp_path, sources=sources, progress=quiet)


# PyPI, by way of a directory of wheels


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory from which pip takes everything."""
    directory = tmp_path / "wheels"
    directory.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    return directory


def make_wheel(directory: Path, *, cli_version: str = PINNED_VERSION, recorded: bytes = PROGRAM) -> None:
    digest = base64.urlsafe_b64encode(hashlib.sha256(recorded).digest()).rstrip(b"=").decode()
    info = "claude_agent_sdk-0.2.182.dist-info"
    cli = "claude_agent_sdk/_bundled/claude"
    files = {
        cli: PROGRAM,
        "claude_agent_sdk/_cli_version.py": f'__cli_version__ = "{cli_version}"\n'.encode(),
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: claude-agent-sdk\nVersion: 0.2.182\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-any\n",
        f"{info}/RECORD": f"{cli},sha256={digest},{len(PROGRAM)}\n{info}/RECORD,,\n".encode(),
    }
    with zipfile.ZipFile(directory / "claude_agent_sdk-0.2.182-py3-none-any.whl", "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)


def test_the_pinned_version_needs_nothing_but_pip(tmp_path: Path, wheels: Path):
    make_wheel(wheels)
    assert PipSource().offers(PINNED_VERSION)
    cli = claude_cli(cache=tmp_path / "cache", sources=[PipSource()], progress=quiet)
    assert cli.version == PINNED_VERSION
    assert cli.path.read_bytes() == PROGRAM
    assert sorted(path.name for path in cli.path.parent.iterdir()) == ["claude", "entry.json"]


def test_the_newest_wheel_says_which_version_it_carries(tmp_path: Path, wheels: Path):
    make_wheel(wheels, cli_version="2.1.999")
    assert latest_cli(cache=tmp_path / "cache", sources=[PipSource()], progress=quiet).version == "2.1.999"


def test_a_wheel_with_another_version_is_refused(tmp_path: Path, wheels: Path):
    make_wheel(wheels, cli_version="2.1.999")
    with pytest.raises(SourceError, match=r"carries 2\.1\.999, not 2\.1\.325"):
        PipSource().fetch(PINNED_VERSION, tmp_path, lambda: None)


def test_a_wheel_that_contradicts_its_record_is_refused(tmp_path: Path, wheels: Path):
    make_wheel(wheels, recorded=b"something else")
    with pytest.raises(SourceError, match="is damaged: the CLI in it does not match its recorded digest"):
        PipSource().fetch(PINNED_VERSION, tmp_path, lambda: None)


def test_pip_without_a_wheel(tmp_path: Path, wheels: Path):
    with pytest.raises(SourceError, match=r"No matching distribution found for claude-agent-sdk==0\.2\.182"):
        PipSource().fetch(PINNED_VERSION, tmp_path, lambda: None)


# npm, by way of a stand-in on the PATH

NPM = """
    import hashlib, base64, json, pathlib, shutil, sys
    packages = pathlib.Path(__file__).parent.parent / "packages"
    command, spec, *options = sys.argv[1:]
    tarball = packages / (spec.replace("/", "_") + ".tgz")
    if command == "view" and options[0] == "version":
        print(json.dumps("2.1.999"))
    elif not tarball.exists():
        print("npm error code E404", file=sys.stderr)
        print("npm error 404 No match found for " + spec, file=sys.stderr)
        sys.exit(1)
    elif command == "view":
        digest = hashlib.sha512((packages / "published" / tarball.name).read_bytes()).digest()
        print(json.dumps("sha512-" + base64.b64encode(digest).decode()))
    else:
        shutil.copy(tarball, options[options.index("--pack-destination") + 1])
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of packages that a stand-in for npm serves."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "npm").write_text(f"#!{sys.executable}\n{textwrap.dedent(NPM)}")
    (tools / "node").write_text("#!/bin/sh\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    directory = tmp_path / "packages"
    (directory / "published").mkdir(parents=True)
    return directory


def publish(packages: Path, spec: str, **files: bytes) -> Path:
    """Put a package where npm finds it, and return its tarball."""
    tarball = packages / "published" / (spec.replace("/", "_") + ".tgz")
    with tarfile.open(tarball, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/{name.replace('_', '.')}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    served = packages / tarball.name
    served.write_bytes(tarball.read_bytes())
    return served


def test_native_versions_come_from_the_package_for_this_platform(tmp_path: Path, packages: Path):
    publish(packages, f"@anthropic-ai/claude-code-{platform_name()}@2.1.113", claude=PROGRAM, package_json=b"{}")
    cli = claude_cli("2.1.113", cache=tmp_path / "cache", sources=[NpmSource()], progress=quiet)
    assert cli.argv == (str(cli.path),)
    assert cli.path.read_bytes() == PROGRAM


def test_older_versions_come_as_a_program_for_node(tmp_path: Path, packages: Path):
    publish(packages, "@anthropic-ai/claude-code@2.1.112", cli_js=b"// a CLI", package_json=b"{}")
    cli = claude_cli("2.1.112", cache=tmp_path / "cache", sources=[NpmSource()], progress=quiet)
    assert cli.argv[0].endswith("/node")
    assert cli.path.name == "cli.js"
    assert (cli.path.parent / "package.json").exists()
    assert not list(cli.path.parent.parent.glob("*.tgz"))


def test_the_newest_version_by_npm(tmp_path: Path, packages: Path):
    publish(packages, f"@anthropic-ai/claude-code-{platform_name()}@2.1.999", claude=PROGRAM)
    cli = latest_cli(cache=tmp_path / "cache", sources=[PipSource(), NpmSource()], progress=quiet)
    assert cli.version == "2.1.999"


def test_a_tarball_that_is_not_what_the_registry_published_is_refused(tmp_path: Path, packages: Path):
    served = publish(packages, "@anthropic-ai/claude-code@2.1.37", cli_js=b"// a CLI")
    served.write_bytes(served.read_bytes() + b"\0")
    with pytest.raises(SourceError, match="is damaged: it does not match the registry's integrity value"):
        NpmSource().fetch("2.1.37", tmp_path, lambda: None)


def test_a_tarball_without_a_cli_is_refused(tmp_path: Path, packages: Path):
    publish(packages, "@anthropic-ai/claude-code@2.1.37", package_json=b"{}")
    with pytest.raises(SourceError, match=r"@anthropic-ai/claude-code@2\.1\.37 holds no cli\.js"):
        NpmSource().fetch("2.1.37", tmp_path, lambda: None)


def test_npm_says_why_it_failed(tmp_path: Path, packages: Path):
    with pytest.raises(SourceError, match=r"npm error code E404; npm error 404 No match found for .*2\.1\.38"):
        NpmSource().fetch("2.1.38", tmp_path, lambda: None)


def test_no_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CLIUnavailable, match="npm: there is no npm on the PATH"):
        claude_cli("2.1.37", cache=tmp_path / "cache", sources=[NpmSource()], progress=quiet)


# Slots


async def test_no_more_than_two_hold_a_slot_at_once(tmp_path: Path):
    running, most = 0, 0

    async def work() -> None:
        nonlocal running, most
        async with cli_slot(directory=tmp_path, timeout=30):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.01)
            running -= 1

    await asyncio.gather(*(work() for _ in range(8)))
    assert most == 2


def test_a_slot_that_does_not_come_free_is_a_timeout(tmp_path: Path):
    with (
        cli_slot(directory=tmp_path),
        cli_slot(directory=tmp_path),
        pytest.raises(TimeoutError, match="2 real CLIs were running on this machine for 0 s"),
        cli_slot(directory=tmp_path, timeout=0),
    ):
        pass
    with cli_slot(directory=tmp_path, timeout=0):
        pass


async def test_a_slot_that_does_not_come_free_is_a_timeout_in_asynchronous_code_too(tmp_path: Path):
    async with cli_slot(limit=1, directory=tmp_path):
        with pytest.raises(TimeoutError):
            await cli_slot(limit=1, directory=tmp_path, timeout=0.1).__aenter__()


HOLDER = """
    import sys
    from pathlib import Path
    from handrail.testing.cli_sandbox import cli_slot
    with cli_slot(limit=1, directory=Path(sys.argv[1]), timeout=30):
        print("held", flush=True)
        sys.stdin.read()
"""


def test_slots_count_across_processes_and_a_killed_holder_frees_its_own(tmp_path: Path):
    command = [sys.executable, "-c", textwrap.dedent(HOLDER), str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            with pytest.raises(TimeoutError):
                cli_slot(limit=1, directory=tmp_path, timeout=0).__enter__()
        finally:
            holder.send_signal(signal.SIGKILL)
        holder.wait(20)
        with cli_slot(limit=1, directory=tmp_path, timeout=20):
            pass


def test_a_limit_of_none_at_all_makes_no_sense(tmp_path: Path):
    with pytest.raises(ValueError, match="limit is 0: it must be at least 1"):
        cli_slot(limit=0, directory=tmp_path)


# The environment


def test_a_clis_environment_inherits_nothing_but_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "secret")
    monkeypatch.setenv("CLAUDECODE", "1")
    with ScriptedModel().in_thread() as model:
        env = isolated_env(tmp_path / "home", model, {"EXTRA": "1"})
        assert env["ANTHROPIC_BASE_URL"] == model.url
    assert env.keys().isdisjoint({"ANTHROPIC_AUTH_TOKEN", "CLAUDECODE"})
    assert env["HOME"] == str(tmp_path / "home")
    assert Path(env["TMPDIR"]).is_dir()
    assert env["PATH"] == os.environ["PATH"]
    assert env["EXTRA"] == "1"
    assert "ANTHROPIC_BASE_URL" not in isolated_env(tmp_path / "other")

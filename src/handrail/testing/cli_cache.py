"""Real Claude Code CLIs by version: found in a cache outside any project, or fetched into it.

::

    cli = claude_cli()                      # the pinned version; needs nothing but Python and a package index
    cli = claude_cli("2.1.62")              # any other version, through npm (and node, up to 2.1.112)
    subprocess.run([*cli.argv, "--version"])

The cache is the user's cache directory, or `HANDRAIL_CLI_CACHE`. Each version has a directory of its own, which
appears there in one step and complete; its executable is checked against its digest each time it is asked for, and
fetched again if it was damaged. Processes that want the same version at the same time fetch it once.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
import platformdirs

from handrail.errors import HandrailError
from handrail.testing._file_lock import FileLock
from handrail.testing.cli_sources import Fetched, Source, SourceError, default_sources, platform_name

__all__ = [
    "MATRIX_VERSIONS",
    "PINNED_VERSION",
    "CLIUnavailable",
    "ClaudeCLI",
    "FetchProgress",
    "cache_directory",
    "claude_cli",
    "latest_cli",
]

PINNED_VERSION = "2.1.325"
MATRIX_VERSIONS = ("2.1.37", "2.1.52", "2.1.62", "2.1.120", "2.1.197")

_ENTRY_FILE = "entry.json"
_LATEST = "latest"


class CLIUnavailable(HandrailError):
    """A real CLI is neither in the cache nor to be had; the message says what was tried and what to do."""

    def __init__(self, message: str, *, version: str) -> None:
        super().__init__(message)
        self.version = version


@dataclass(frozen=True, slots=True)
class ClaudeCLI:
    """A real CLI on this machine. `argv` starts it (with node, for older versions); `path` is its own file."""

    version: str
    argv: tuple[str, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """How a fetch goes on: one `start`, any number of `update`, one `end`."""

    stage: Literal["start", "update", "end"]
    message: str
    received: int = 0


Progress: TypeAlias = Callable[[FetchProgress], None]


def claude_cli(
    version: str = PINNED_VERSION,
    *,
    progress: Progress | None = None,
    cache: Path | None = None,
    sources: Sequence[Source] | None = None,
) -> ClaudeCLI:
    """The CLI of this version, fetched if it is not in the cache. Raises `CLIUnavailable`.

    `progress` is told how a fetch goes (by default, standard error is); `cache` and `sources` replace the usual ones.
    """
    return _Cache(cache or cache_directory(), progress or _tell_stderr).get(version, sources or default_sources())


def latest_cli(
    *, progress: Progress | None = None, cache: Path | None = None, sources: Sequence[Source] | None = None
) -> ClaudeCLI:
    """The newest CLI that the registries have. Raises `CLIUnavailable`."""
    # The last source first: npm tells the newest version without downloading it.
    candidates = list(reversed(sources or default_sources()))
    return _Cache(cache or cache_directory(), progress or _tell_stderr).get_latest(candidates)


def cache_directory() -> Path:
    """Where the CLIs are kept: `HANDRAIL_CLI_CACHE`, or the user's cache directory."""
    chosen = os.environ.get("HANDRAIL_CLI_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("handrail") / "cli"


class _Entry(msgspec.Struct, frozen=True):
    """What a cached version says of itself."""

    version: str
    executable: str
    sha256: str
    source: str


class _Cache:
    """One cache directory: `VERSION-PLATFORM/` for each CLI, and locks."""

    def __init__(self, directory: Path, progress: Progress) -> None:
        self._directory = directory
        self._progress = progress

    def get(self, version: str, sources: Sequence[Source]) -> ClaudeCLI:
        if re.fullmatch(r"\d+\.\d+\.\d+", version) is None:
            raise CLIUnavailable(f"{version!r} is not a version: write it like {PINNED_VERSION}", version=version)
        if (found := self._find(version)) is not None:
            return found
        with self._lock(version):
            return self._find(version) or self._fetch(version, [s for s in sources if s.offers(version)])

    def get_latest(self, sources: Sequence[Source]) -> ClaudeCLI:
        failures: list[str] = []
        for source in sources:
            try:
                version = source.newest()
            except SourceError as error:
                failures.append(f"{source.name}: {error}")
                continue
            if version is not None:
                return self.get(version, sources)
            with self._lock(_LATEST):
                return self._fetch(_LATEST, [source], failures)
        raise _unavailable(_LATEST, failures)

    def _find(self, version: str) -> ClaudeCLI | None:
        """The cached CLI, if it is there and sound."""
        home = self._home(version)
        try:
            entry = msgspec.json.decode((home / _ENTRY_FILE).read_bytes(), type=_Entry)
            executable = home / entry.executable
            if _sha256(executable) != entry.sha256:
                return None
        except (OSError, msgspec.DecodeError):
            return None
        return ClaudeCLI(entry.version, _argv(executable, entry.version), executable)

    def _fetch(self, version: str, sources: Sequence[Source], failed_before: Sequence[str] = ()) -> ClaudeCLI:
        """Ask one source after the other. The caller holds the version's lock."""
        failures = list(failed_before)
        for source in sources:
            with self._staging(version) as staging:
                try:
                    fetched = self._fetch_from(source, version, staging)
                except SourceError as error:
                    failures.append(f"{source.name}: {error}")
                    continue
                self._publish(fetched, source.name, staging)
            found = self._find(fetched.version)
            if found is not None:
                return found
            failures.append(f"{source.name}: what it gave is not sound on disk")
        raise _unavailable(version, failures)

    def _fetch_from(self, source: Source, version: str, staging: Path) -> Fetched:
        wanted = None if version == _LATEST else version
        label = f"Claude Code {version} from {source.name}"
        started = time.monotonic()
        self._progress(FetchProgress("start", f"fetching {label} into {self._directory}"))

        def watch() -> None:
            size = _size(staging)
            self._progress(FetchProgress("update", f"fetching {label}: {size / 1e6:.0f} MB", size))

        try:
            fetched = source.fetch(wanted, staging, watch)
        except SourceError as error:
            self._progress(FetchProgress("end", f"{label} failed: {error}"))
            raise
        seconds = time.monotonic() - started
        self._progress(FetchProgress("end", f"fetched {label} in {seconds:.0f} s", _size(staging)))
        return fetched

    def _publish(self, fetched: Fetched, source: str, staging: Path) -> None:
        """Make a complete directory of what was fetched, then let it appear in one step."""
        fetched.executable.chmod(0o755)
        relative = str(fetched.executable.relative_to(staging))
        entry = _Entry(fetched.version, relative, _sha256(fetched.executable), source)
        (staging / _ENTRY_FILE).write_bytes(msgspec.json.encode(entry))
        if self._find(fetched.version) is not None:
            return  # the newest turned out to be a version that is here already
        home = self._home(fetched.version)
        if home.exists():
            home.rename(staging.with_suffix(".damaged"))
        staging.rename(home)

    @contextmanager
    def _staging(self, version: str) -> Iterator[Path]:
        """An empty directory beside the entries, which is gone afterwards unless it was renamed."""
        prefix = f".{version}-"
        for left_over in self._directory.glob(f"{prefix}*"):
            shutil.rmtree(left_over, ignore_errors=True)
        staging = Path(tempfile.mkdtemp(prefix=prefix, dir=self._directory))
        staging.chmod(0o755)
        try:
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            shutil.rmtree(staging.with_suffix(".damaged"), ignore_errors=True)

    @contextmanager
    def _lock(self, version: str) -> Iterator[None]:
        lock = FileLock(self._directory / "locks" / f"{version}.lock")
        if not lock.try_acquire():
            self._progress(FetchProgress("update", f"waiting for another process that fetches Claude Code {version}"))
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _home(self, version: str) -> Path:
        try:
            return self._directory / f"{version}-{platform_name()}"
        except SourceError as error:
            raise CLIUnavailable(f"{error}: it runs on Linux and macOS, x64 and arm64", version=version) from error


def _argv(executable: Path, version: str) -> tuple[str, ...]:
    if executable.suffix != ".js":
        return (str(executable),)
    node = shutil.which("node")
    if node is None:
        raise CLIUnavailable(
            f"Claude Code {version} is a program for node, and there is no node on the PATH: "
            "install Node.js 18 or newer, or use a version from 2.1.113 on",
            version=version,
        )
    return (node, str(executable))


def _unavailable(version: str, failures: Sequence[str]) -> CLIUnavailable:
    tried = "\n".join(f"  - {failure}" for failure in failures) or "  - no source offers it"
    return CLIUnavailable(
        f"Claude Code {version} is not in the cache and could not be fetched. Tried:\n{tried}\n"
        f"What to do: check that this machine reaches its package registries. {PINNED_VERSION} needs only pip; every "
        "other version needs npm (it comes with Node.js). Without a network, copy the cache of another machine and "
        "name it in HANDRAIL_CLI_CACHE.",
        version=version,
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size(directory: Path) -> int:
    """Bytes on disk so far; files that vanish while it counts do not matter."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                continue
    return total


def _tell_stderr(progress: FetchProgress) -> None:
    """A line at the start and at the end; a counter in between only where a person watches."""
    if progress.stage == "update":
        if sys.stderr.isatty():
            print(f"\r{progress.message} ", end="", file=sys.stderr, flush=True)
        return
    newline = "\n" if progress.stage == "end" and sys.stderr.isatty() else ""
    print(f"{newline}{progress.message}", file=sys.stderr, flush=True)

"""Where real Claude Code CLIs come from: PyPI (inside `claude-agent-sdk`) and npm, each through its own client.

Registries are never named here: `pip` and `npm` know theirs, with whatever mirror, proxy or login this machine has.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, TypeAlias

__all__ = ["Fetched", "NpmSource", "PipSource", "Source", "SourceError", "Watch", "default_sources", "platform_name"]

Watch: TypeAlias = Callable[[], None]
"""Called every now and then while a client is downloading."""

_CLIENT_TIMEOUT = 1800.0
_WATCH_INTERVAL = 0.5
_COPY_SIZE = 1 << 20

# Which release of claude-agent-sdk carries a CLI version; its wheel names the version only inside.
_SDK_RELEASES = {"2.1.325": "0.2.182"}
_SDK_CLI = "claude_agent_sdk/_bundled/claude"
_SDK_CLI_VERSION = "claude_agent_sdk/_cli_version.py"

# Up to 2.1.112 the npm package is a JavaScript program for node; from 2.1.113 on it only picks a native package.
_FIRST_NATIVE_ONLY = (2, 1, 113)
_NPM_PACKAGE = "@anthropic-ai/claude-code"

_ARCHITECTURES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


class SourceError(Exception):
    """A source could not give what was asked of it; the message is one line that says why."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A CLI as a source left it in a directory."""

    version: str
    executable: Path


class Source(Protocol):
    """A place to fetch CLIs from."""

    @property
    def name(self) -> str:
        """What to call it in messages."""

    def offers(self, version: str) -> bool:
        """Whether it is worth asking for this version."""

    def newest(self) -> str | None:
        """The newest version, or None if only a download tells. Raises `SourceError`."""

    def fetch(self, version: str | None, into: Path, watch: Watch) -> Fetched:
        """Put a CLI (None: the newest) somewhere under an empty directory. Raises `SourceError`."""


def default_sources() -> tuple[Source, ...]:
    """PyPI first, because it needs nothing but Python."""
    return PipSource(), NpmSource()


def platform_name() -> str:
    """This machine as npm's native packages name it: `linux-x64`, `linux-arm64-musl`, `darwin-arm64`, …"""
    architecture = _ARCHITECTURES.get(platform.machine().lower())
    if sys.platform not in ("linux", "darwin") or architecture is None:
        raise SourceError(f"there is no Claude Code for {sys.platform} on {platform.machine()}")
    musl = "-musl" if sys.platform == "linux" and platform.libc_ver()[0] != "glibc" else ""
    return f"{sys.platform}-{architecture}{musl}"


class PipSource:
    """The native binary inside the `claude-agent-sdk` wheel, through `pip download`."""

    name = "pip (claude-agent-sdk)"

    def offers(self, version: str) -> bool:
        return version in _SDK_RELEASES

    def newest(self) -> str | None:
        return None

    def fetch(self, version: str | None, into: Path, watch: Watch) -> Fetched:
        requirement = "claude-agent-sdk" if version is None else f"claude-agent-sdk=={_SDK_RELEASES[version]}"
        wheel = self._download(requirement, into, watch)
        try:
            return _unpack_wheel(wheel, version, into)
        finally:
            wheel.unlink()

    def _download(self, requirement: str, into: Path, watch: Watch) -> Path:
        # pip checks the wheel against the digest that the index gives for it.
        options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", "download", *options, "--quiet", "--dest", str(into), requirement]
        _run(command, into, watch, TMPDIR=str(into))
        return _only_file(into, "*.whl")


class NpmSource:
    """Any version, through `npm pack`: native packages, or the JavaScript one for older versions."""

    name = "npm"

    def offers(self, version: str) -> bool:
        return True

    def newest(self) -> str | None:
        return _npm_view(_NPM_PACKAGE, "version")

    def fetch(self, version: str | None, into: Path, watch: Watch) -> Fetched:
        version = version or _npm_view(_NPM_PACKAGE, "version")
        native = _is_native(version)
        spec = f"{_NPM_PACKAGE}-{platform_name()}@{version}" if native else f"{_NPM_PACKAGE}@{version}"
        integrity = _npm_view(spec, "dist.integrity")
        tarball = self._download(spec, into, watch)
        _check_integrity(tarball, integrity)
        _unpack_tarball(tarball, into)
        executable = into / "package" / ("claude" if native else "cli.js")
        if not executable.is_file():
            raise SourceError(f"{spec} holds no {executable.name}")
        return Fetched(version, executable)

    def _download(self, spec: str, into: Path, watch: Watch) -> Path:
        npm_cache = into / "npm-cache"
        command = [_npm(), "pack", spec, "--loglevel=error", "--pack-destination", str(into), "--cache", str(npm_cache)]
        _run(command, into, watch)
        shutil.rmtree(npm_cache, ignore_errors=True)
        return _only_file(into, "*.tgz")


def _is_native(version: str) -> bool:
    """Whether npm has this version as a native binary only (else as a program for node)."""
    try:
        return tuple(int(part) for part in version.split(".")) >= _FIRST_NATIVE_ONLY
    except ValueError:
        raise SourceError(f"{version!r} is not a version: write it like 2.1.325") from None


def _npm() -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise SourceError("there is no npm on the PATH")
    return npm


def _npm_view(spec: str, field: str) -> str:
    answer = _run([_npm(), "view", spec, field, "--json", "--loglevel=error"], Path.cwd(), lambda: None)
    try:
        value = json.loads(answer)
    except ValueError:
        value = None
    if not isinstance(value, str):
        raise SourceError(f"npm knows no {field} of {spec}: the registry has no such version for this platform")
    return value


def _run(command: Sequence[str], directory: Path, watch: Watch, **extra_env: str) -> str:
    """Run a package client to its end and return what it printed."""
    environment = {**os.environ, **extra_env}
    try:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise SourceError(f"{command[0]} does not start: {error.strerror}") from error
    with process:
        output, errors = _communicate(process, watch)
    if process.returncode != 0:
        raise SourceError(_last_words(errors or output) or f"exit code {process.returncode}")
    return output


def _communicate(process: subprocess.Popen[str], watch: Watch) -> tuple[str, str]:
    deadline = time.monotonic() + _CLIENT_TIMEOUT
    try:
        while True:
            try:
                return process.communicate(timeout=_WATCH_INTERVAL)
            except subprocess.TimeoutExpired:
                watch()
            if time.monotonic() > deadline:
                raise SourceError(f"not finished after {_CLIENT_TIMEOUT:g} s")
    finally:
        process.kill()


def _last_words(text: str) -> str:
    """The lines in which a client says what went wrong, as one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(npm )?err(or)?\b", line, re.IGNORECASE)]
    return "; ".join((errors or lines)[:3])[:500]


def _only_file(directory: Path, pattern: str) -> Path:
    files = list(directory.glob(pattern))
    if len(files) != 1:
        raise SourceError(f"the client left {len(files)} files like {pattern}, not one")
    return files[0]


def _unpack_wheel(wheel: Path, version: str | None, into: Path) -> Fetched:
    with zipfile.ZipFile(wheel) as archive:
        try:
            carried = _declared_version(archive.read(_SDK_CLI_VERSION).decode())
            recorded = _recorded_digests(archive)[_SDK_CLI]
            executable = into / "claude"
            with archive.open(_SDK_CLI) as packed:
                digest = _copy(packed, executable)
        except (KeyError, ValueError, zipfile.BadZipFile) as error:
            raise SourceError(f"{wheel.name} is not a wheel that carries a CLI: {error}") from error
    if version not in (None, carried):
        raise SourceError(f"{wheel.name} carries {carried}, not {version}")
    if digest != recorded:
        raise SourceError(f"{wheel.name} is damaged: the CLI in it does not match its recorded digest")
    return Fetched(carried, executable)


def _declared_version(source: str) -> str:
    match = re.search(r'__cli_version__ = "([^"]+)"', source)
    if match is None:
        raise KeyError("__cli_version__")
    return match[1]


def _recorded_digests(archive: zipfile.ZipFile) -> Mapping[str, bytes]:
    """The SHA-256 of each file, as the wheel's own list has it."""
    (record,) = [name for name in archive.namelist() if name.endswith(".dist-info/RECORD")] or [""]
    digests = {}
    for line in archive.read(record).decode().splitlines():
        name, digest, _ = line.rsplit(",", 2)
        if digest.startswith("sha256="):
            digests[name] = base64.urlsafe_b64decode(digest.removeprefix("sha256=") + "==")
    return digests


def _copy(source: IO[bytes], target: Path) -> bytes:
    """Write a stream to a file and return its SHA-256."""
    digest = hashlib.sha256()
    with target.open("wb") as file:
        while piece := source.read(_COPY_SIZE):
            digest.update(piece)
            file.write(piece)
    return digest.digest()


def _check_integrity(tarball: Path, integrity: str) -> None:
    """Compare with npm's own value, which looks like `sha512-<base64>`."""
    algorithm, _, expected = integrity.partition("-")
    with tarball.open("rb") as file:
        actual = hashlib.file_digest(file, algorithm).digest()
    if base64.b64encode(actual).decode() != expected:
        raise SourceError(f"{tarball.name} is damaged: it does not match the registry's integrity value")


def _unpack_tarball(tarball: Path, into: Path) -> None:
    try:
        with tarfile.open(tarball) as archive:
            archive.extractall(into, filter="data")
    except tarfile.TarError as error:
        raise SourceError(f"{tarball.name} cannot be unpacked: {error}") from error
    tarball.unlink()

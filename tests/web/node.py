"""Node, which runs the page's modules outside of a browser, and the compiler that checks their types.

The compiler is pinned, and fetched through npm into the cache of the CLIs, where it appears in one step and complete.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

from handrail.testing._file_lock import FileLock
from handrail.testing.cli_cache import cache_directory

TYPESCRIPT = "typescript@5.9.3"
INTEGRITY = "jl1vZzPDinLr9eUt3J/t7V6FgNEw9QjvBPdysz9KfQDD41fQrC2Y4vKQdiaUpFT4bXlb1RHhLpp8wtm6M5TgSw=="
"""The SHA-512 of its package."""


def program(name: str) -> str:
    """The path of node or npm; without it the test is left out."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name}: install Node.js 18 or newer")
    return found


def type_checker() -> list[str]:
    """The command that checks types. Without node, or if it cannot be fetched, the test is left out."""
    node = program("node")
    home = cache_directory() / TYPESCRIPT
    compiler = home / "package" / "lib" / "tsc.js"
    lock = FileLock(cache_directory() / "locks" / f"{TYPESCRIPT}.lock")
    lock.acquire()
    try:
        if not compiler.is_file():
            _fetch(home)
    finally:
        lock.release()
    return [node, str(compiler)]


def _fetch(home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f".{TYPESCRIPT}-") as staging:
        tarball = _packed(Path(staging))
        digest = hashlib.sha512(tarball.read_bytes()).digest()
        assert base64.b64encode(digest).decode() == INTEGRITY, f"{TYPESCRIPT} is not what was pinned"
        unpacked = Path(staging) / "unpacked"
        with tarfile.open(tarball) as archive:
            archive.extractall(unpacked, filter="data")
        unpacked.rename(home)


def _packed(into: Path) -> Path:
    pack = [program("npm"), "pack", TYPESCRIPT, "--loglevel=error", "--pack-destination", str(into)]
    done = subprocess.run([*pack, "--cache", str(into / "npm-cache")], cwd=into, capture_output=True, text=True)
    if done.returncode != 0:
        said = " ".join(done.stderr.split())[:300]
        pytest.skip(f"{TYPESCRIPT} is not in the cache, and npm could not fetch it: {said}")
    (tarball,) = into.glob("*.tgz")
    return tarball

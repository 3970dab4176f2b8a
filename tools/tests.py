"""`make test`: everything on this Python, the unit tests once more on the newest other one, and what was left out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
OLDEST = (3, 11)
UNIT_TESTS = ["-p", "no:schemathesis", "--in-memory", "--examples", "20"]
UNIT_TESTS += ["-m", "not slow and not real_cli and not browser"]
EXTRAS = ".[mcp,uvloop,dev]"


def main() -> int:
    workers = sys.argv[1] if len(sys.argv) > 1 else "2"
    other = newest_other_python()
    with ThreadPoolExecutor() as beside:
        # Mostly a download: the tests on this Python need not wait for it.
        preparing = beside.submit(prepare, *other) if other is not None else None
        say("Fetching the pinned Claude Code, if it is not cached")
        run([sys.executable, "-m", "handrail.testing", "fetch"])
        say("All tests, the ones on the real CLI included")
        failed = run([sys.executable, "-m", "pytest", "-q", *spread_over(workers)])
        return failed | test_other_python(preparing, workers)


def test_other_python(preparing: Future[Path] | None, workers: str) -> int:
    """The unit tests on the newest Python that is not this one."""
    if preparing is None:
        return left_out("only this one was found (3.11 or newer, on PATH or in pyenv)")
    try:
        python = preparing.result()
    except subprocess.CalledProcessError as error:
        return left_out(str(error))
    say(f"The unit tests on {python.relative_to(ROOT)}")
    return run([str(python), "-m", "pytest", "-q", *spread_over(workers), "-p", "no:cacheprovider", *UNIT_TESTS])


def left_out(why: str) -> int:
    print(f"\nLeft out: the unit tests on a second Python: {why}")
    return int(os.environ.get("HANDRAIL_REQUIRE") == "all")


def spread_over(workers: str) -> list[str]:
    """Each worker has a half of its own, so that what a module needs is made once; who is done early helps out."""
    return ["-n", workers, "--dist", "worksteal"]


def prepare(version: tuple[int, ...], executable: str) -> Path:
    """A virtual environment with everything installed, made anew when what it is made of has changed."""
    venv = ROOT / f".venv-{version[0]}.{version[1]}"
    python = venv / "bin" / "python"
    stamp = venv / ".dev"
    sources = [ROOT / "pyproject.toml", ROOT / "constraints.txt"]
    if not stamp.exists() or any(source.stat().st_mtime > stamp.stat().st_mtime for source in sources):
        subprocess.run([executable, "-m", "venv", str(venv)], check=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-qq"]
        subprocess.run([*pip, "install", "-c", "constraints.txt", "-e", EXTRAS], cwd=ROOT, check=True)
        stamp.touch()
    return python


def newest_other_python() -> tuple[tuple[int, ...], str] | None:
    found = [(version, path) for version, path in pythons() if version[:2] != sys.version_info[:2]]
    return max(found, default=None)


def pythons() -> Iterator[tuple[tuple[int, ...], str]]:
    """Every Python on PATH and in pyenv that is new enough."""
    candidates = [shutil.which(f"python3.{minor}") for minor in range(OLDEST[1], 30)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates += [str(path) for path in pyenv.glob("3.*/bin/python")]
    for candidate in candidates:
        version = version_of(candidate) if candidate else None
        if candidate and version and version[:2] >= OLDEST:
            yield version, candidate


def version_of(executable: str) -> tuple[int, ...] | None:
    try:
        printed = subprocess.run([executable, "--version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None  # a pyenv shim for a version that is not active
    match = re.fullmatch(r"Python (\d+)\.(\d+)\.(\d+)\s*", printed.stdout)
    return tuple(map(int, match.groups())) if match else None


def say(what: str) -> None:
    print(f"\n── {what} …", flush=True)


def run(command: list[str]) -> int:
    return int(subprocess.run(command, cwd=ROOT).returncode != 0)


if __name__ == "__main__":
    sys.exit(main())

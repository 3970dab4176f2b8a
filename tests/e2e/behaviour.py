"""What each CLI version was seen to do: recorded by the tests, compared with what was recorded before."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TypeAlias

from handrail.testing._file_lock import FileLock

RECORDED = Path(__file__).parents[2] / "docs" / "reference" / "behaviour.json"

Outcomes: TypeAlias = dict[str, dict[str, str]]
"""Version → behaviour → outcome."""


def load(path: Path = RECORDED) -> Outcomes:
    return json.loads(path.read_text()) if path.exists() else {}


def recording() -> bool:
    return os.environ.get("HANDRAIL_RECORD_BEHAVIOUR") == "1"


def record(version: str, behaviour: str, outcome: str, *, lock: Path, path: Path = RECORDED) -> None:
    """Write one outcome into the file. Several test processes do this at once, hence the lock."""
    guard = FileLock(lock)
    guard.acquire()
    try:
        outcomes = load(path)
        outcomes.setdefault(version, {})[behaviour] = outcome
        _replace(path, json.dumps(_sorted(outcomes), indent=2, ensure_ascii=False) + "\n")
    finally:
        guard.release()


def version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _sorted(outcomes: Outcomes) -> Outcomes:
    return {version: dict(sorted(outcomes[version].items())) for version in sorted(outcomes, key=version_key)}


def _replace(path: Path, text: str) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_text(text)
    temporary.replace(path)

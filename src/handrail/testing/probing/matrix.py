"""What recorded versions were seen to do: a file in this package, so that an installed Handrail can compare."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from handrail.errors import HandrailError
from handrail.testing.probing.behaviours import Seen
from handrail.transports.discovery import parse_version

__all__ = ["RECORDED", "Matrix", "MatrixDamaged", "load_matrix", "neighbours", "save_matrix", "version_key"]

RECORDED = Path(__file__).with_name("recorded.json")

Matrix: TypeAlias = Mapping[str, Mapping[str, Seen]]
"""Version → behaviour → what was seen."""


class MatrixDamaged(HandrailError):
    """The recorded versions cannot be read."""


def load_matrix(path: Path = RECORDED) -> Matrix:
    """The recorded versions, oldest first. Raises `MatrixDamaged`."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, Seen]])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MatrixDamaged(f"{path} cannot be read ({error}): install Handrail again") from error
    if unreadable := [version for version in found if parse_version(version) is None]:
        raise MatrixDamaged(f"{path} has {unreadable[0]!r} for a version: install Handrail again")
    return _sorted(found)


def save_matrix(matrix: Matrix, path: Path = RECORDED) -> None:
    """Write the file anew, for people to read and compare."""
    encoded = msgspec.json.encode(_sorted(matrix))
    path.write_bytes(msgspec.json.format(encoded, indent=2) + b"\n")


def version_key(version: str) -> tuple[int, ...]:
    """By which versions are put in order."""
    return parse_version(version) or (0, 0, 0)


def neighbours(version: tuple[int, ...], matrix: Matrix) -> list[str]:
    """The recorded version itself; or else those next to it, the newer one last."""
    older = [each for each in matrix if version_key(each) <= version]
    newer = [each for each in matrix if version_key(each) > version]
    if older and version_key(max(older, key=version_key)) == version:
        return [max(older, key=version_key)]
    return [*sorted(older, key=version_key)[-1:], *sorted(newer, key=version_key)[:1]]


def _sorted(matrix: Matrix) -> Matrix:
    return {version: matrix[version] for version in sorted(matrix, key=version_key)}

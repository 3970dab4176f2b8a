"""The page's files, and what each of them loads."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

WEB = Path(__file__).parent.parent.parent / "src" / "handrail" / "web"
FILES = sorted(path for path in WEB.rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc"})
MODULES = [path for path in FILES if path.suffix == ".js"]
STYLES = [path for path in FILES if path.suffix == ".css"]

_COMMENTS = re.compile(r"/\*.*?\*/|(?<![:\"'`])//[^\n]*", re.S)
_LOADS = re.compile(
    r'^import\s+(?:(?P<what>[\w*{}\s,]+?)\s+from\s+)?"(?P<first>[^"]+)"'
    r'|^export\s+(?P<again>\*|\{[^}]*\})\s+from\s+"(?P<passed>[^"]+)"'
    r'|\bimport\("(?P<later>[^"]+)"\)',
    re.M,
)
_EXPORTS = re.compile(r"^export\s+(?:async\s+)?(?:function\*?|class|const|let)\s+(\w+)", re.M)
_EXPORTED_AGAIN = re.compile(r"^export\s*\{([^}]*)\}", re.M)


def name_of(path: Path) -> str:
    """The path as the page's own addresses have it: `js/main.js`."""
    return path.relative_to(WEB).as_posix()


def code_of(path: Path) -> str:
    """A module or a style sheet without its comments."""
    return _COMMENTS.sub("", path.read_text(encoding="utf-8"))


def loads(path: Path) -> Iterator[tuple[str, set[str]]]:
    """Each module that a module loads, and the names that it takes from it."""
    for found in _LOADS.finditer(code_of(path)):
        inside = re.search(r"\{(.*)\}", found["what"] or found["again"] or "", re.S)
        names = inside[1].split(",") if inside else []
        yield (
            found["first"] or found["passed"] or found["later"],
            {each.split(" as ")[0].strip() for each in names} - {""},
        )


def exports(path: Path) -> set[str]:
    """The names that a module gives to others."""
    code = code_of(path)
    listed = [each for names in _EXPORTED_AGAIN.findall(code) for each in names.split(",")]
    return {*_EXPORTS.findall(code), *(each.split(" as ")[-1].strip() for each in listed)}


def target(path: Path, address: str) -> Path:
    """The file that an address in `path` leads to: one of its own directory, or of the whole page (`/web/…`)."""
    if address.startswith("/web/"):
        return WEB / address.removeprefix("/web/")
    return WEB / posixpath.normpath(posixpath.join(posixpath.dirname(name_of(path)), address))

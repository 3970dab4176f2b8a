"""Sessions that Claude Code ran without Handrail: which there are, and what to know before one is adopted.

The CLI keeps a transcript of each session in a directory per project. Only the beginning and the end of each file are
read, so that hundreds of them are listed at once.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import msgspec

from handrail.policy.describing.visible import one_line
from handrail.sessions.transcripts import SYNTHETIC_MODEL, Line, command_of, history, parse_line, time_of, words_of

__all__ = ["Adoptable", "adoptable", "find_adoptable", "history", "transcript_of"]

HEAD = 64 * 1024
READ_WHOLE = 512 * 1024
LARGEST_HEAD = 4 * 1024 * 1024
TAIL = 64 * 1024
LARGEST_TAIL = 1024 * 1024
LONGEST_TITLE = 120
RECENTLY = 60.0
_NOT_ALPHANUMERIC = re.compile(r"[^A-Za-z0-9]")
_CERTAIN_PART_OF_A_NAME = 150
"""The CLI shortens the names of directories that would become too long."""
_SUFFIX = ".jsonl"
_SUBAGENT_PREFIX = "agent-"
_NOTHING: Mapping[str, str] = MappingProxyType({})

_log = logging.getLogger("handrail.adoption")


class Adoptable(msgspec.Struct, frozen=True, kw_only=True):
    """A session of Claude Code's own, as its transcript tells of it."""

    session_id: str
    cwd: str
    path: str
    title: str
    created_at: float
    updated_at: float
    size: int
    changed_at: float
    """When the file was last written, by the clock of this machine."""
    messages: int | None = None
    """How many messages it has; None if it is too large to count them in passing."""
    model: str = ""
    cli_version: str = ""
    git_branch: str = ""

    def may_be_running(self, now: float) -> bool:
        """Whether it was written to within the last minute: it may be open in somebody's terminal.

        No lock tells: Claude Code takes none, and two processes on one session split its history.
        """
        return now - self.changed_at < RECENTLY


Complain = Callable[[str], None]
"""Hears what could not be read."""


def adoptable(
    home: str, cwd: str | None = None, *, environ: Mapping[str, str] = _NOTHING, complain: Complain = _log.warning
) -> list[Adoptable]:
    """The sessions of the user whose home is `home`, latest first; those of one directory if `cwd` is given.

    `environ` is the environment of the sessions: its `CLAUDE_CONFIG_DIR` is where the CLI keeps its files. What cannot
    be read is left out, and `complain` hears of it.
    """
    places = {cwd, os.path.realpath(cwd)} if cwd is not None else None
    found = [
        session
        for directory in _project_directories(_projects(home, environ), places, complain)
        for path in _transcripts(directory, complain)
        if (session := _look_at(path, complain)) is not None and (places is None or session.cwd in places)
    ]
    return sorted(found, key=lambda session: (-session.updated_at, session.session_id))


def find_adoptable(
    home: str, session_id: str, *, environ: Mapping[str, str] = _NOTHING, complain: Complain = _log.warning
) -> Adoptable | None:
    """The session with this id; None if there is none."""
    path = transcript_of(home, session_id, environ=environ, complain=complain)
    return _look_at(path, complain) if path is not None else None


def transcript_of(
    home: str, session_id: str, *, environ: Mapping[str, str] = _NOTHING, complain: Complain = _log.warning
) -> str | None:
    """Where the transcript of the session with this id is; None if there is none."""
    if os.path.basename(session_id) != session_id or session_id.startswith(_SUBAGENT_PREFIX):
        return None
    for directory in _project_directories(_projects(home, environ), None, complain):
        path = os.path.join(directory, session_id + _SUFFIX)
        if os.path.isfile(path):
            return path
    return None


# ---------------------------------------------------------------- where they are


def _projects(home: str, environ: Mapping[str, str]) -> str:
    return os.path.join(environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "projects")


def _project_directories(projects: str, places: set[str] | None, complain: Complain) -> Iterator[str]:
    wanted = None if places is None else tuple(_directory_name(place)[:_CERTAIN_PART_OF_A_NAME] for place in places)
    for entry in _entries(projects, complain):
        if wanted is None or entry.name.startswith(wanted):
            yield entry.path


def _directory_name(cwd: str) -> str:
    return _NOT_ALPHANUMERIC.sub("-", cwd)


def _transcripts(directory: str, complain: Complain) -> Iterator[str]:
    for entry in _entries(directory, complain):
        if entry.name.endswith(_SUFFIX) and not entry.name.startswith(_SUBAGENT_PREFIX):
            yield entry.path


def _entries(directory: str, complain: Complain) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        complain(f"{directory} cannot be read: {error.strerror}")
        return []


# ---------------------------------------------------------------- what they are


class _Excerpt(msgspec.Struct):
    """The lines at the beginning and at the end of a transcript."""

    head: list[Line]
    tail: list[Line]
    whole: bool
    """Whether that is all of it: then `tail` is the same as `head`."""


def _look_at(path: str, complain: Complain) -> Adoptable | None:
    """The session of a transcript; None if it is of no session."""
    try:
        with open(path, "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return None
            excerpt = _excerpt(file.fileno(), status.st_size)
    except OSError as error:
        complain(f"{path} cannot be read: {error.strerror}")
        return None
    return _described(path, status, excerpt)


def _described(path: str, status: os.stat_result, excerpt: _Excerpt) -> Adoptable | None:
    first = next(filter(_is_message, excerpt.head), None)
    if first is None or first.get("isSidechain") is True:
        return None
    latest_first = [*reversed(excerpt.tail), *([] if excerpt.whole else reversed(excerpt.head))]
    times = [at for line in (*excerpt.head, *excerpt.tail) if (at := time_of(line)) is not None]
    return Adoptable(
        session_id=os.path.basename(path).removesuffix(_SUFFIX),
        cwd=_text(first, "cwd"),
        path=path,
        title=_title(excerpt.head, latest_first),
        created_at=min(times, default=status.st_mtime),
        updated_at=max(times, default=status.st_mtime),
        size=status.st_size,
        changed_at=status.st_mtime,
        messages=sum(map(_is_message, excerpt.head)) if excerpt.whole else None,
        model=_model(latest_first),
        cli_version=_latest(latest_first, "version"),
        git_branch=_latest(latest_first, "gitBranch"),
    )


def _is_message(line: Line) -> bool:
    return line.get("type") in ("user", "assistant") and line.get("isMeta") is not True


def _title(head: list[Line], latest_first: list[Line]) -> str:
    """What the session is called: by a person, by Claude, or by its first message."""
    for kind, field in (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary")):
        named = next((_text(line, field) for line in latest_first if line.get("type") == kind), "")
        if named:
            return _short(named)
    messages = (words_of(line) for line in head if line.get("type") == "user" and _is_message(line))
    said = [command_of(text) or text for text in messages if text.strip() and not text.startswith("<local-command")]
    # A command such as /clear says less than what was asked for afterwards.
    return _short(next((text for text in said if not text.startswith("/")), next(iter(said), "")))


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 2] + " …"


def _model(lines: list[Line]) -> str:
    for line in lines:
        message = line.get("message")
        if line.get("type") == "assistant" and isinstance(message, dict):
            model = _text(message, "model")
            if model and model != SYNTHETIC_MODEL:
                return model
    return ""


def _latest(lines: list[Line], name: str) -> str:
    return next((text for line in lines if (text := _text(line, name))), "")


def _text(line: Mapping[str, object], name: str) -> str:
    value = line.get(name)
    return value if isinstance(value, str) else ""


# ---------------------------------------------------------------- reading only what is needed


def _excerpt(file: int, size: int) -> _Excerpt:
    head, read = _head(file, size)
    if read >= size:
        return _Excerpt(head=head, tail=head, whole=True)
    return _Excerpt(head=head, tail=_tail(file, size), whole=False)


def _head(file: int, size: int) -> tuple[list[Line], int]:
    """Enough of the beginning to hold a message, and how much that was: what comes before it can be long."""
    wanted = size if size <= READ_WHOLE else HEAD
    while True:
        data = os.pread(file, wanted, 0)
        # The last line may be cut off here; at the end of the file it may be broken, or just being written.
        lines = _parsed(data.split(b"\n"))
        if wanted >= min(size, LARGEST_HEAD) or any(map(_is_message, lines)):
            return lines, len(data)
        wanted *= 4


def _tail(file: int, size: int) -> list[Line]:
    """Enough of the end to hold a line with a time."""
    wanted = TAIL
    while True:
        data = os.pread(file, wanted, max(0, size - wanted))
        lines = _parsed(data.split(b"\n")[1:])
        if any(time_of(line) is not None for line in lines) or wanted >= min(size, LARGEST_TAIL):
            return lines
        wanted *= 4


def _parsed(pieces: list[bytes]) -> list[Line]:
    return [line for piece in pieces if piece and (line := parse_line(piece)) is not None]

"""What the `handrail policy` commands do: read files, ask the policy, write down what a person confirms."""

from __future__ import annotations

import enum
import json
import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console, RenderableType

from handrail.cli import policy_view as view
from handrail.cli.inside_session import refuse_inside_session
from handrail.cli.showing.remarks import notice
from handrail.cli.showing.style import DONE, FAILED, NEEDS_YOU, QUIET, make_console
from handrail.errors import HandrailError, InvalidPolicy, PolicyError
from handrail.places import Places, project_policy_file
from handrail.policy.documents import parse_document
from handrail.policy.editing import added_rules
from handrail.policy.grants import Grant
from handrail.policy.recordings import RecordedCall, Replayed, read_recording, replay
from handrail.policy.situation import MODES
from handrail.policy.storage.grant_store import GrantStore
from handrail.policy.storage.loading import Asked, Loaded, behind_a_link, load_policy, project_root, read_policy_bytes
from handrail.policy.storage.trust_store import TrustStore
from handrail.policy.suggest import Suggested, suggest
from handrail.policy.trust import digest_of
from handrail.policy.typed_call import parse_call
from handrail.wording import did_you_mean

__all__ = ["Desk", "in_words"]


class ExitCode(enum.IntEnum):
    """The same as those of `handrail run`, whose module costs too much to import here."""

    OK = 0
    ERROR = 1
    USAGE = 2
    INTERRUPTED = 130


def in_words(work: Callable[[Desk], int]) -> int:
    """Do it, and turn what goes wrong into a message; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a locale without some sign must not end the command
    errors = make_console(sys.stderr)
    try:
        return work(Desk(make_console(sys.stdout), Places.of_user(os.environ), str(Path.home())))
    except HandrailError as error:
        errors.print(notice(FAILED, str(error)))
        return ExitCode.USAGE
    except OSError as error:
        errors.print(notice(FAILED, f"{error.filename or 'the system'}: {error.strerror or error}"))
        return ExitCode.ERROR
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


class Desk:
    """The commands, with what they all need: where to write, and Handrail's places."""

    def __init__(self, console: Console, places: Places, home: str) -> None:
        self._console = console
        self._places = places
        self._home = home

    # ------------------------------------------------------------ looking

    def show(self, cwd: Path, profile: str | None, *, as_json: bool) -> int:
        loaded = self._load(cwd, profile)
        grants = self._grants(loaded.root)
        if as_json:
            return self._json(view.policy_data(loaded, grants))
        return self._print(view.policy_page(loaded, grants, self._home))

    def explain(
        self,
        call: str,
        argument: str | None,
        given: str | None,
        mode: str,
        cwd: Path,
        profile: str | None,
        *,
        as_json: bool,
    ) -> int:
        if mode not in MODES:
            raise PolicyError(f"there is no mode {mode!r}{did_you_mean(mode, MODES)}")
        project = _absolute(cwd)
        tool, tool_input = parse_call(call, argument, given, project)
        loaded = self._load(cwd, profile)
        grants = self._grants(loaded.root)
        ruling = loaded.policy.judge(tool, tool_input, cwd=project, home=self._home, mode=mode, grants=grants)
        if as_json:
            return self._json({"tool": tool, "input": tool_input, "mode": mode, **view.ruling_data(ruling)})
        return self._print(view.ruling_page(tool, tool_input, ruling, loaded, mode, project, self._home))

    def check(self, recordings: Sequence[Path], cwd: Path, profile: str | None, *, as_json: bool) -> int:
        replayed = self._replay(recordings, self._load(cwd, profile))
        if as_json:
            return self._json(view.replayed_data(replayed))
        return self._print(view.replayed_page(replayed))

    # ------------------------------------------------------------ changing

    def suggest(
        self,
        recordings: Sequence[Path],
        cwd: Path,
        profile: str | None,
        target: str | None,
        *,
        yes: bool,
        as_json: bool,
    ) -> int:
        loaded = self._load(cwd, profile)
        suggested = suggest(loaded.policy, self._replay(recordings, loaded), home=self._home)
        if as_json:
            self._json(view.suggested_data(suggested))
        else:
            self._print(view.suggested_page(suggested))
        if target is None or not suggested.rules:
            return ExitCode.OK
        path = self._places.policy_file if target == "global" else project_policy_file(loaded.root)
        return self._write(path, suggested, yes=yes, in_project=target == "project")

    def trust(self, directory: Path, *, yes: bool) -> int:
        refuse_inside_session()
        path, data = _project_file(directory)
        document = parse_document(data, path)
        self._print(view.trust_page(path, data, document))
        if not self._confirmed("Trust exactly this content?", yes):
            return self._say(QUIET, "not trusted: it can only tighten", ExitCode.ERROR)
        TrustStore(self._places.trust_file).trust(path, digest_of(data))
        return self._say(DONE, "trusted, until the file changes")

    def untrust(self, directory: Path) -> int:
        refuse_inside_session()
        path = project_policy_file(project_root(_absolute(directory)))
        if TrustStore(self._places.trust_file).untrust(path):
            return self._say(DONE, f"{path} can only tighten from now on")
        return self._say(QUIET, f"{path} was not trusted")

    def revoke(self, rule: str, cwd: Path) -> int:
        refuse_inside_session()
        root = project_root(_absolute(cwd))
        store = GrantStore(self._places.grants_file)
        unwanted = [grant for grant in store.read().holding_in(root) if grant.what == rule]
        if not unwanted:
            raise InvalidPolicy(f"nobody granted {rule} here: handrail policy show lists what was granted")
        store.revoke(unwanted)
        return self._say(DONE, f"{rule} is granted no longer. Claude Code may keep a rule of its own in its settings.")

    def _write(self, path: str, suggested: Suggested, *, yes: bool, in_project: bool) -> int:
        refuse_inside_session()
        before = (read_policy_bytes(path) or b"").decode()
        after = added_rules(before, [each.rule for each in suggested.rules], path)
        self._print(view.change_page(path, before, after))
        if not self._confirmed("Write this?", yes):
            return self._say(QUIET, "nothing was written", ExitCode.ERROR)
        target = Path(path)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        target.write_text(after, encoding="utf-8")
        if in_project:
            return self._say(NEEDS_YOU, "written; a project's rules allow nothing until: handrail policy trust")
        return self._say(DONE, "written")

    # ------------------------------------------------------------ shared

    def _load(self, cwd: Path, profile: str | None) -> Loaded:
        from handrail.cli.defaults import standing_policy  # not needed by commands that only write
        from handrail.config import load_config

        standing = standing_policy(load_config(self._places, os.environ))
        return load_policy(_absolute(cwd), self._places, Asked(profile=profile).beside(standing))

    def _grants(self, root: str) -> tuple[Grant, ...]:
        return GrantStore(self._places.grants_file).read().holding_in(root)

    def _replay(self, recordings: Sequence[Path], loaded: Loaded) -> tuple[Replayed, ...]:
        return tuple(
            replayed for path in recordings for replayed in replay(loaded.policy, self._calls(path), home=self._home)
        )

    def _calls(self, path: Path) -> tuple[RecordedCall, ...]:
        with path.open("rb") as file:
            recorded = read_recording(file)
        if not recorded.frames:
            raise PolicyError(f"{path} is not a recording: handrail run --record FILE writes one")
        if recorded.unreadable:
            make_console(sys.stderr).print(
                notice(NEEDS_YOU, f"{path}: {recorded.unreadable} lines could not be read and are left out")
            )
        return recorded.calls

    def _confirmed(self, question: str, yes: bool) -> bool:
        if yes:
            return True
        if sys.stdin is None or not sys.stdin.isatty():
            raise PolicyError("there is nobody to ask: run this on a terminal, or say --yes")
        self._console.print(f"{question} [y/N] ", end="")
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def _print(self, page: RenderableType) -> int:
        self._console.print(page)
        return ExitCode.OK

    def _say(self, colour: str, text: str, code: int = ExitCode.OK) -> int:
        self._console.print(notice(colour, text))
        return code

    def _json(self, value: Any) -> int:
        sys.stdout.write(json.dumps(msgspec.to_builtins(value), ensure_ascii=False, indent=2) + "\n")
        return ExitCode.OK


def _absolute(directory: Path) -> str:
    path = os.path.abspath(directory)
    if not os.path.isdir(path):
        raise PolicyError(f"{directory} is not a directory")
    return path


def _project_file(directory: Path) -> tuple[str, bytes]:
    path = project_policy_file(project_root(_absolute(directory)))
    if behind_a_link(path):
        raise InvalidPolicy(f"{path} is a symbolic link, which is never trusted: put a file in its place")
    data = read_policy_bytes(path)
    if data is None:
        raise InvalidPolicy(f"there is no {path}: this project has no policy of its own")
    return path, data

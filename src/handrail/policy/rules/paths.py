"""Which path rule covers a file: anchors, gitignore patterns, and both ends of symbolic links."""

from __future__ import annotations

import posixpath
from typing import Literal, NamedTuple, TypeAlias

from handrail.policy.rules.gitignore import matches
from handrail.policy.rules.grammar import Rule
from handrail.policy.rules.ruleset import Rules
from handrail.policy.situation import Situation
from handrail.policy.verdict import Behavior

__all__ = ["Action", "absolute_path", "inside_project", "leaves_through_link", "path_rule"]

Action: TypeAlias = Literal["read", "edit"]

_TOOL = {"read": "Read", "edit": "Edit"}
_LONGEST_CHAIN = 40


class _Anchored(NamedTuple):
    roots: tuple[str, ...]
    pattern: str


def absolute_path(path: str, situation: Situation) -> str:
    """`path` as a tool takes it: `~` is the home, and what is relative starts at the working directory."""
    return "/" + posixpath.normpath(_joined(path, situation)).lstrip("/")


def inside_project(path: str, situation: Situation) -> bool:
    """Whether `path`, and what it leads to, lies in the working directory or in one that was added to it."""
    roots = [root for directory in (situation.cwd, *situation.add_dirs) for root in _names_of(directory, situation)]
    ends = (absolute_path(path, situation), *_ends(path, situation))
    return all(any(_below(end, root) for root in roots) for end in ends)


def leaves_through_link(path: str, situation: Situation) -> bool:
    """Whether a symbolic link on the way makes `path` end outside the project."""
    absolute = absolute_path(path, situation)
    return any(end != absolute for end in _ends(path, situation)) and not inside_project(path, situation)


def path_rule(rules: Rules, behavior: Behavior, action: Action, path: str, situation: Situation) -> Rule | None:
    """The first rule of that behaviour that covers reading or editing `path`.

    Where links are on the way, an allow rule is needed for the path as written and for where it leads;
    an ask or deny rule on either is enough.
    """
    found = [_first_covering(rules, behavior, action, face, situation) for face in _faces(path, situation)]
    if behavior == "allow":
        return found[0] if all(found) else None
    return next((rule for rule in found if rule), None)


def _faces(path: str, situation: Situation) -> list[str]:
    """The path as written, each link it goes through if it is one itself, and where it ends."""
    faces = [absolute_path(path, situation)]
    while (target := situation.files.link_target(faces[-1])) is not None and len(faces) < _LONGEST_CHAIN:
        faces.append(posixpath.normpath(posixpath.join(posixpath.dirname(faces[-1]), target)))
    return list(dict.fromkeys((*faces, *_ends(path, situation))))


def _ends(path: str, situation: Situation) -> tuple[str, str]:
    """Where the path leads: with `..` taken as text, as tools do, and as the step up that the system makes."""
    return situation.files.resolve(absolute_path(path, situation)), situation.files.resolve(_joined(path, situation))


def _joined(path: str, situation: Situation) -> str:
    if path == "~" or path.startswith("~/"):
        path = situation.home + path[1:]
    return posixpath.join(situation.cwd, path)


def _names_of(directory: str, situation: Situation) -> tuple[str, ...]:
    """A directory as it is called, and as it is where links lead to it."""
    named = absolute_path(directory, situation)
    return tuple(dict.fromkeys((named, situation.files.resolve(named))))


def _first_covering(rules: Rules, behavior: Behavior, action: Action, path: str, situation: Situation) -> Rule | None:
    about_paths = [rule for rule in rules.of(behavior) if rule.tool == _TOOL[action] and not rule.is_whole_tool]
    if behavior == "allow" and any(_is_exception(rule, path, situation) for rule in about_paths):
        return None
    covers = _covers_narrowly if behavior == "allow" else _covers_widely
    return next((rule for rule in about_paths if covers(rule.spec or "", path, situation)), None)


def _is_exception(rule: Rule, path: str, situation: Situation) -> bool:
    """`!pattern` takes from what other rules allow; it takes nothing from what they ask about or deny."""
    spec = rule.spec or ""
    return spec.startswith("!") and _covers_widely(spec[1:], path, situation)


def _covers_narrowly(spec: str, path: str, situation: Situation) -> bool:
    anchored = _anchor(spec, situation)
    return any(matches(anchored.pattern, relative) for relative in _relative(path, anchored.roots))


def _covers_widely(spec: str, path: str, situation: Situation) -> bool:
    anchored = _anchor(spec, situation)
    pattern = _widened(anchored.pattern)
    return any(matches(pattern, relative, generous=True) for relative in _relative(path, anchored.roots))


def _widened(pattern: str) -> str:
    """Without its tail a pattern covers the directory itself, and at any depth if no other slash anchors it."""
    if pattern.endswith("/**/"):
        return "/" + pattern.removesuffix("/**/").lstrip("/")
    return pattern.removesuffix("/**") or pattern


def _relative(path: str, roots: tuple[str, ...]) -> list[str]:
    return [path[len(root.rstrip("/")) + 1 :] for root in roots if path != root and _below(path, root)]


def _anchor(spec: str, situation: Situation) -> _Anchored:
    if spec.startswith("//"):
        return _Anchored(("/",), spec[1:])
    if spec.startswith("~/"):
        return _Anchored(_names_of("~", situation), spec[1:])
    if spec.startswith("/"):
        return _Anchored(_source_roots(situation), spec)
    if ".." in spec.split("/"):
        return _Anchored((), spec)
    return _Anchored(_names_of(".", situation), spec.removeprefix("./"))


def _source_roots(situation: Situation) -> tuple[str, ...]:
    """The directory that `/x` starts from; the place of rules passed as `--settings` holds no files of anyone."""
    match situation.source:
        case "settings":
            return ()
        case "user":
            return _names_of("~/.claude", situation)
        case _:
            return _names_of(".", situation)


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")

"""Paths that a call touches: where they really are, and what is special about a place."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from handrail.policy.files import Files
from handrail.protocol.descriptions import Access, AffectedPath, Flag, Level

__all__ = ["Access", "Ground", "is_passing", "path_flags", "secret_in"]


@dataclass(frozen=True, slots=True)
class Ground:
    """The project and the home directory that paths are seen from. Without a project, nothing is outside of it."""

    cwd: str
    home: str
    files: Files

    def absolute(self, path: str, base: str | None = None) -> str:
        """`path` as the CLI would take it: `~` is the home directory, anything relative starts at `base`."""
        if path == "~" or path.startswith("~/"):
            path = self.home + path[1:]
        return posixpath.normpath(posixpath.join(base or self.cwd or "/", path or "."))

    def touched(self, path: str, access: Access, base: str | None = None) -> AffectedPath:
        """`path` with everything that is known of where it leads."""
        absolute = self.absolute(path, base)
        resolved = self._resolved(absolute)
        return AffectedPath(
            path=path,
            absolute=absolute,
            resolved=resolved,
            access=access,
            inside_project=not self.cwd or _below(resolved, self._resolved(self.cwd)),
        )

    def _resolved(self, path: str) -> str:
        try:
            return self.files.resolve(path)
        except (OSError, ValueError):  # no path on any disk: a NUL in it, or half a surrogate pair
            return path


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


@dataclass(frozen=True, slots=True)
class _Special:
    """Places of one kind: `pattern` is sought in the path seen from the home directory or from the root."""

    code: str
    words: str
    level: Level
    pattern: re.Pattern[str]


def _special(code: str, words: str, level: Level, *patterns: str) -> _Special:
    return _Special(code, words, level, re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE))


_SECRETS = (
    _special(
        "secrets",
        "keys or credentials",
        "high",
        r"(^|/)\.ssh(/|$)(?!known_hosts|config$)",
        r"(^|/)\.(aws|gnupg|password-store)(/|$)",
        r"(^|/)\.(netrc|npmrc|pypirc|git-credentials|pgpass|my\.cnf|vault-token)$",
        r"(^|/)\.(docker/config\.json|kube/config|config/(gh/hosts\.yml|gcloud(/|$)))",
        r"(^|/)\.claude/\.credentials\.json$",
        r"(^|/)\.claude\.json$",
        r"(^|/)id_(rsa|dsa|ecdsa|ed25519)(_sk)?$",
        r"\.(pem|key|p12|pfx|keystore|jks|kdbx)$",
        r"(^|/)(credentials|secrets?|service[-_]account)(\.(json|ya?ml|toml|ini))?$",
        r"^/etc/(shadow|gshadow|sudoers)",
        r"(^|/)library/keychains(/|$)",
        r"^/proc/[^/]+/environ$",
    ),
    _special(
        "secrets",
        "an environment file, which often holds secrets",
        "medium",
        r"(^|/)\.env(?!\.(example|sample|template|dist|defaults?)$)(\.[^/]+)?$",
        r"(^|/)\.envrc$",
    ),
)
_GUARDED = (
    _special(
        "handrail",
        "Handrail's own files",
        "high",
        r"(^|/)\.(config|local/share|local/state|cache)/handrail(/|$)",
        r"(^|/)library/(application support|caches|preferences)/handrail(/|$)",
        r"(^|/)run/user/[^/]+/handrail(/|$)",
        r"(^|/)\.handrail(/|$)",
    ),
    _special(
        "shell-startup",
        "a file that shells run when they start",
        "high",
        r"(^|/)\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|inputrc)$",
        r"(^|/)\.config/(fish|environment\.d|autostart|systemd)(/|$)",
        r"^/etc/(profile|bash\.bashrc|zsh|environment|cron|rc\.local|init\.d|systemd)",
        r"(^|/)library/launch(agents|daemons)(/|$)",
    ),
    _special(
        "git-hooks",
        "a hook that git runs by itself, or git's settings",
        "high",
        r"(^|/)\.git/(hooks(/|$)|config$|info/attributes$)",
        r"(^|/)\.(husky|githooks)(/|$)",
        r"(^|/)\.gitconfig$",
        r"(^|/)\.config/git(/|$)",
        r"(^|/)(\.pre-commit-config\.yaml|lefthook\.ya?ml)$",
    ),
    _special(
        "ci",
        "a file that says what the build servers run",
        "medium",
        r"(^|/)\.(github/(workflows|actions)|circleci|buildkite|gitea/workflows|forgejo/workflows)(/|$)",
        r"(^|/)(\.gitlab-ci\.yml|\.travis\.yml|azure-pipelines\.yml|jenkinsfile|bitbucket-pipelines\.yml|\.drone\.yml)$",
    ),
    _special(
        "agent-settings",
        "settings or instructions of coding agents",
        "medium",
        r"(^|/)\.(claude|cursor|codex|gemini|continue|windsurf|aider)(/|$)",
        r"(^|/)(\.mcp\.json|\.claude\.json|claude(\.local)?\.md|agents\.md|gemini\.md|\.cursorrules)$",
        r"(^|/)\.github/copilot-instructions\.md$",
        r"(^|/)\.vscode/(settings|tasks)\.json$",
    ),
)
_SYSTEM = re.compile(r"^/(etc|usr|bin|sbin|lib|lib64|boot|opt|var|sys|proc|root|System|Library|Applications)(/|$)")
_PASSING = re.compile(r"^(/private)?(/tmp|/var/tmp|/var/folders)(/|$)")
_HARMLESS_DEVICES = re.compile(r"^/dev/(null|zero|stdin|stdout|stderr|tty|fd/.*|u?random)$")
_DEVICES = re.compile(r"^/dev/")


def path_flags(touched: AffectedPath, where: str) -> Iterator[Flag]:
    """What a person should know about a path that is touched."""
    if _HARMLESS_DEVICES.match(touched.absolute):
        return
    writes = touched.access != "read"
    if writes and _DEVICES.match(touched.absolute):
        yield Flag(code="device-write", words=f"writes to the device {touched.absolute}", where=where, level="high")
        return
    yield from _secret_flags(touched, where)
    if writes:
        yield from _guarded_flags(touched, where)
    yield from _outside_flags(touched, where)


def _secret_flags(touched: AffectedPath, where: str) -> Iterator[Flag]:
    verb = {"read": "reads", "write": "writes", "delete": "deletes"}[touched.access]
    for special in _SECRETS:
        if _matches(special, touched):
            words = f"{verb} {special.words}: {touched.path}"
            yield Flag(code=special.code, words=words, where=where, level=special.level)
            return


def _guarded_flags(touched: AffectedPath, where: str) -> Iterator[Flag]:
    verb = "deletes" if touched.access == "delete" else "changes"
    for special in _GUARDED:
        if _matches(special, touched):
            words = f"{verb} {special.words}: {touched.path}"
            yield Flag(code=special.code, words=words, where=where, level=special.level)


def _matches(special: _Special, touched: AffectedPath) -> bool:
    return any(special.pattern.search(path) for path in (touched.absolute, touched.resolved))


def _outside_flags(touched: AffectedPath, where: str) -> Iterator[Flag]:
    if touched.inside_project:
        return
    lands = "" if touched.resolved == touched.absolute else f", which leads to {touched.resolved}"
    if touched.access == "read":
        words = f"reads outside the project: {touched.absolute}{lands}"
        yield Flag(code="outside-project", words=words, where=where, level="low")
        return
    verb = "deletes" if touched.access == "delete" else "writes"
    yield Flag(
        code="outside-project",
        words=f"{verb} outside the project: {touched.absolute}{lands}",
        where=where,
        level=_outside_level(touched.resolved),
    )


def _outside_level(path: str) -> Level:
    if is_passing(path):
        return "low"
    return "high" if path == "/" or _SYSTEM.match(path) else "medium"


def is_passing(path: str) -> bool:
    """Whether a path is in a directory for things that do not stay."""
    return _PASSING.match(path) is not None


def secret_in(path: str) -> bool:
    """Whether a path looks like one of a secret."""
    return any(special.pattern.search(path) for special in _SECRETS)

"""Rules that would have saved asks, drawn from recorded sessions, and never wider than what people approved.

Each proposal is tried on the policy itself: it must allow what was approved, and nothing that was asked and not
approved.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from handrail.policy.documents import rule_problem
from handrail.policy.files import Files
from handrail.policy.policy import FOR_A_PERSON, Origin, PlacedRule, Policy
from handrail.policy.profiles import EDITORS
from handrail.policy.recordings import RecordedCall, Replayed

__all__ = ["LeftAlone", "Suggested", "Suggestion", "suggest"]

_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*")
_PLAIN_COMMAND = re.compile(r"[\w\s./:=@%+,'\"-]+")
_MORE_THAN_ITS_TEXT = re.compile(r"[*$`\n]")
"""What makes a rule a pattern, or a command depend on more than its text."""
_PATTERN_SIGNS = re.compile(r"[*?\[\]!#\\(){}]")

_EXACT_ONLY = frozenset(
    {
        *("rm", "rmdir", "mv", "cp", "dd", "ln", "tee", "sed", "shred", "truncate", "chmod", "chown", "install"),
        *("kill", "pkill", "killall", "systemctl", "service", "crontab", "mount", "umount", "find", "xargs"),
        *("curl", "wget", "http", "https", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "telnet", "ftp", "socat"),
        *("gh", "aws", "gcloud", "az", "kubectl", "helm", "terraform", "ansible", "docker", "podman"),
        *("sh", "bash", "zsh", "fish", "dash", "ksh", "eval", "exec", "source", "sudo", "doas", "su", "env", "command"),
        *("nohup", "timeout", "time", "nice", "watch", "setsid", "parallel", "make", "awk", "gawk", "tclsh", "expect"),
        *("node", "deno", "bun", "ruby", "perl", "php", "lua", "java", "osascript", "Rscript", "ghc", "ipython"),
        *("npx", "bunx", "uvx", "pipx", "pip", "pip3", "psql", "mysql", "sqlite3", "redis-cli", "mongosh"),
    }
)
"""Commands that destroy, reach the network or run what they are given: a prefix of them says little about the rest."""
_EXACT_ONLY_SUBCOMMANDS = frozenset(
    {
        *("git push", "git reset", "git clean", "git checkout", "git restore", "git rebase", "git rm", "git stash"),
        *(
            "git branch",
            "git tag",
            "git config",
            "git filter-branch",
            "git remote",
            "git fetch",
            "git pull",
            "git clone",
        ),
        *("git update-ref", "git bisect", "git submodule", "git worktree", "git switch", "git merge", "git am"),
        *("npm install", "npm i", "npm ci", "npm exec", "npm publish", "npm uninstall", "npm config", "npm init"),
        *("pnpm dlx", "pnpm exec", "pnpm install", "pnpm add", "yarn dlx", "yarn add", "yarn install"),
        *("uv run", "uv add", "uv pip", "uv tool", "poetry run", "poetry add", "poetry install", "pipenv run"),
        *("cargo run", "cargo install", "cargo publish", "go run", "go install", "go get", "go generate"),
        *("brew install", "apt install", "apt-get install", "conda install", "conda run", "gem install", "hatch run"),
    }
)
_INTERPRETER = re.compile(r"(python|pypy|perl|ruby|node|php|lua)[\d.]*")


class Suggestion(msgspec.Struct, frozen=True):
    """A rule, and the calls that it would have saved asks for."""

    rule: str
    calls: tuple[RecordedCall, ...]

    @property
    def saved(self) -> int:
        """How many asks."""
        return len(self.calls)


class LeftAlone(msgspec.Struct, frozen=True):
    """An approved call for which there is no rule that allows no more than it."""

    call: RecordedCall
    why: str


class Suggested(msgspec.Struct, frozen=True):
    """The rules to add, those that save most first, and what stays an ask."""

    rules: tuple[Suggestion, ...]
    left: tuple[LeftAlone, ...]


def suggest(policy: Policy, replayed: Iterable[Replayed], *, home: str, files: Files | None = None) -> Suggested:
    """Rules to allow, for calls that were asked and approved and that the policy would ask about again."""
    trial = _Trial(policy, tuple(replayed), home, files)
    open_calls = list(trial.approved)
    found: list[Suggestion] = []
    for rule in [*_prefixes(open_calls), *_exact(open_calls, trial)]:
        saved = trial.saved_by(rule, open_calls)
        if saved:
            found.append(Suggestion(rule, tuple(saved)))
            open_calls = [call for call in open_calls if call not in saved]
    left = tuple(LeftAlone(call, _why_not(call)) for call in _distinct(open_calls))
    return Suggested(tuple(sorted(found, key=lambda each: -each.saved)), left)


class _Trial:
    """Tries rules on the policy."""

    def __init__(self, policy: Policy, replayed: Sequence[Replayed], home: str, files: Files | None) -> None:
        self._policy = policy
        self._home = home
        self._files = files
        self.approved = [each.call for each in replayed if _is_open(each)]
        self._refused = [each.call for each in replayed if _was_refused(each) and not self.allows(policy, each.call)]

    def saved_by(self, rule: str, calls: Iterable[RecordedCall]) -> list[RecordedCall]:
        """The calls that the rule would allow; none if it is no rule, or would allow what nobody approved."""
        if rule_problem(rule, "allow"):
            return []
        policy = self._policy.with_rules([PlacedRule(rule, "allow", Origin("program", "suggested"))])
        if any(self.allows(policy, call) for call in self._refused):
            return []
        return [call for call in calls if self.allows(policy, call)]

    def covers_elsewhere(self, rule: str, call: RecordedCall) -> bool:
        """Whether a path rule also allows a file of that name somewhere else in the project."""
        policy = self._policy.with_rules([PlacedRule(rule, "allow", Origin("program", "suggested"))])
        path = posixpath.join(call.cwd, "elsewhere", posixpath.basename(_path(call)))
        decoy = msgspec.structs.replace(call, input={**call.input, _path_field(call): path})
        return self.allows(policy, decoy) and not self.allows(self._policy, decoy)

    def allows(self, policy: Policy, call: RecordedCall) -> bool:
        home = call.home or self._home
        ruling = policy.judge(call.tool, call.input, cwd=call.cwd, home=home, mode=call.mode, files=self._files)
        return ruling.behavior == "allow"


def _is_open(each: Replayed) -> bool:
    call = each.call
    return (
        call.then == "allowed"
        and not call.changed
        and call.tool not in FOR_A_PERSON
        and each.ruling.behavior == "ask"
        and each.ruling.rule is None
    )


def _was_refused(each: Replayed) -> bool:
    return each.call.then in ("denied", "cancelled", "unanswered", "refused") or each.call.changed


# ---------------------------------------------------------------- rules


class _Command(NamedTuple):
    text: str
    words: tuple[str, ...]


def _prefixes(calls: Iterable[RecordedCall]) -> Iterator[str]:
    """For each command and subcommand that was approved in several forms: what the forms have in common."""
    groups: dict[tuple[str, ...], set[_Command]] = {}
    for call in calls:
        command = _command(call)
        if command is not None and _may_be_widened(command.words):
            groups.setdefault(command.words[:2], set()).add(command)
    for forms in groups.values():
        if len(forms) > 1:
            yield f"Bash({' '.join(_common([form.words for form in forms]))} *)"


def _command(call: RecordedCall) -> _Command | None:
    text = call.input.get("command")
    if call.tool != "Bash" or not isinstance(text, str) or "\n" in text or not _PLAIN_COMMAND.fullmatch(text):
        return None
    try:
        return _Command(text, tuple(shlex.split(text)))
    except ValueError:
        return None


def _may_be_widened(words: Sequence[str]) -> bool:
    if len(words) < 2 or not _SUBCOMMAND.fullmatch(words[0]) or not _SUBCOMMAND.fullmatch(words[1]):
        return False
    name = words[0]
    return not (name in _EXACT_ONLY or _INTERPRETER.fullmatch(name) or f"{name} {words[1]}" in _EXACT_ONLY_SUBCOMMANDS)


def _common(forms: Sequence[Sequence[str]]) -> list[str]:
    """The words that all forms begin with, as far as they need no quotes."""
    shared = []
    for words in zip(*forms, strict=False):
        if len(set(words)) > 1 or shlex.quote(words[0]) != words[0]:
            break
        shared.append(words[0])
    return shared


def _exact(calls: Iterable[RecordedCall], trial: _Trial) -> Iterator[str]:
    for call in _distinct(calls):
        if call.tool == "Bash":
            command = call.input.get("command")
            if isinstance(command, str) and not _MORE_THAN_ITS_TEXT.search(command):
                yield f"Bash({_escaped(command)})"
        elif call.tool == "Skill":
            yield f"Skill({call.input.get('skill')})"
        elif call.tool in (*EDITORS, "Read"):
            yield from _path_rules(call, trial)


def _path_rules(call: RecordedCall, trial: _Trial) -> Iterator[str]:
    """The shortest rule for that file alone."""
    path = posixpath.normpath(posixpath.join(call.cwd, _path(call)))
    if not _path(call) or _PATTERN_SIGNS.search(path):
        return
    tool = "Read" if call.tool == "Read" else "Edit"
    inside = path.startswith(call.cwd.rstrip("/") + "/")
    written = [posixpath.relpath(path, call.cwd)] if inside else []
    for spec in (*written, f"/{path}"):
        rule = f"{tool}({spec})"
        if trial.saved_by(rule, [call]) and not trial.covers_elsewhere(rule, call):
            yield rule
            return


def _path_field(call: RecordedCall) -> str:
    return "notebook_path" if call.tool == "NotebookEdit" else "file_path"


def _path(call: RecordedCall) -> str:
    value = call.input.get(_path_field(call))
    return value if isinstance(value, str) else ""


def _escaped(command: str) -> str:
    return re.sub(r"([()\\])", r"\\\1", command)


# ---------------------------------------------------------------- what is left


def _distinct(calls: Iterable[RecordedCall]) -> list[RecordedCall]:
    seen: dict[tuple[str, bytes], RecordedCall] = {}
    for call in calls:
        seen.setdefault((call.tool, msgspec.json.encode(_relevant(call), order="sorted")), call)
    return list(seen.values())


def _relevant(call: RecordedCall) -> Mapping[str, Any]:
    """The input without what only explains it."""
    if call.tool == "Bash":
        return {"command": call.input.get("command")}
    return call.input


def _why_not(call: RecordedCall) -> str:
    if call.tool == "WebFetch":
        return "a rule would allow the whole host: write WebFetch(domain:…) yourself if that is meant"
    if call.tool.startswith("mcp__"):
        return f"a rule would allow it with every input: write {call.tool} yourself if that is meant"
    if call.tool == "Bash" and "*" in str(call.input.get("command")):
        return "a rule for this command would be a pattern, because it has a * in it"
    if call.tool == "Bash" and _MORE_THAN_ITS_TEXT.search(str(call.input.get("command"))):
        return "what this command does depends on more than its text"
    return "no rule allows this and nothing else, or the same was refused at another time"

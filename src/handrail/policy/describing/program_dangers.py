"""What single programs do that a person should notice: git, interpreters, package managers, and others by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from handrail.policy.describing.command_line import SimpleCommand
from handrail.protocol.descriptions import Flag, Level

__all__ = ["code_option", "interpreter", "is_remote", "program_flags"]

LONGEST_LINE = 2_000

Check: TypeAlias = Callable[[SimpleCommand], Iterator[Flag]]


def program_flags(command: SimpleCommand) -> Iterator[Flag]:
    """What stands out about a program and its arguments."""
    yield from _inline_code(command)
    yield from _by_name(command)
    if check := _CHECKS.get(command.name):
        yield from check(command)


# ---------------------------------------------------------------- interpreters

_CODE_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "python": ("-c",),
    "perl": ("-e", "-E", "-ne", "-pe", "-i"),
    "ruby": ("-e",),
    "node": ("-e", "-p", "--eval", "--print"),
    "deno": ("eval",),
    "bun": ("-e", "--eval"),
    "php": ("-r",),
    "lua": ("-e",),
    "osascript": ("-e",),
    "Rscript": ("-e",),
    "pwsh": ("-c", "-Command", "-EncodedCommand"),
    "powershell": ("-c", "-Command", "-EncodedCommand"),
}


def interpreter(name: str) -> str:
    """The language that a program runs, without its version; empty if it is no interpreter."""
    base = re.sub(r"[\d.]+$", "", name)
    return base if base in _CODE_OPTIONS else ""


def code_option(command: SimpleCommand) -> str:
    """The option that is followed by code; empty if there is none before the first operand."""
    options = _CODE_OPTIONS.get(interpreter(command.name), ())
    for argument in command.arguments:
        if argument in options or any(len(each) == 2 and argument.startswith(each) for each in options):
            return argument
        if argument == "-m" or not argument.startswith("-"):
            return ""
    return ""


def _inline_code(command: SimpleCommand) -> Iterator[Flag]:
    if not interpreter(command.name):
        return
    reads_code = command.script is not None and not command.fed_by and not command.operands
    if code_option(command) or reads_code:
        yield Flag(code="inline-code", words=f"runs {command.name} code that is written in the command")


def _awk(command: SimpleCommand) -> Iterator[Flag]:
    if any(re.search(r"\bsystem\s*\(|\|\s*getline|\|\s*\"", argument) for argument in command.arguments):
        yield Flag(code="inline-code", words=f"{command.name} runs commands of its own")


# ---------------------------------------------------------------- git

_RUNNING_SETTINGS = re.compile(
    r"core\.(hookspath|editor|pager|sshcommand|fsmonitor|gitproxy|askpass)|alias\.|credential|filter\.|diff\..*command|url\.",
    re.IGNORECASE,
)
_UNCOMMITTED = "throws away changes that are not committed"
_RESCUE = "deletes what could bring lost commits back"


def _git(command: SimpleCommand) -> Iterator[Flag]:
    arguments = _after_git_options(command)
    if not arguments:
        return
    sub, rest = arguments[0], arguments[1:]
    if sub == "push":
        yield from _git_push(rest)
    elif sub in ("clone", "fetch", "pull", "ls-remote") or (sub == "remote" and rest[:1] in (["update"], ["prune"])):
        yield Flag(code="network", words=f"uses the network: git {sub}")
    if words := _lost_by_git(sub, rest):
        yield Flag(code="git-history", words=words, level="high" if sub.startswith("filter") else "medium")
    if sub == "config" and any(_RUNNING_SETTINGS.match(argument) for argument in rest):
        yield Flag(code="git-hooks", words="changes settings of git that run programs", level="high")


def _after_git_options(command: SimpleCommand) -> list[str]:
    arguments = list(command.arguments)
    while arguments and arguments[0].startswith("-"):
        option = arguments.pop(0)
        if option in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") and arguments:
            arguments.pop(0)
    return arguments


def _git_push(rest: list[str]) -> Iterator[Flag]:
    yield Flag(code="network", words="uses the network: git push")
    if _any(rest, "f", "--force", "--mirror") or any(re.match(r"\+\S", each) for each in rest):
        yield Flag(code="force-push", words="overwrites the history of the remote repository", level="high")
    elif any(each.startswith(("--force-with-lease", "--force-if-includes")) for each in rest):
        yield Flag(code="force-push", words="overwrites the history of the remote repository, if it is as last seen")
    if _any(rest, "d", "--delete", "--prune") or any(re.match(r":\S", each) for each in rest):
        yield Flag(code="git-history", words="deletes branches of the remote repository", level="high")


def _any(rest: list[str], letter: str, *names: str) -> bool:
    """Whether an option is among the arguments: its letter, perhaps behind others, or one of its names."""
    return any(re.match(rf"-[a-zA-Z]*{letter}", each) or each in names for each in rest)


def _lost_by_git(sub: str, rest: list[str]) -> str:
    """What such a git command throws away; empty if nothing."""
    losses: Mapping[str, tuple[bool, str]] = {
        "branch": (_any(rest, "[DM]", "--force"), "deletes or overwrites a branch"),
        "checkout": (_any(rest, "f", ".", "--", "--force"), _UNCOMMITTED),
        "clean": (_any(rest, "f", "--force"), "deletes files that git does not track"),
        "filter-branch": (True, "rewrites the whole history"),
        "filter-repo": (True, "rewrites the whole history"),
        "gc": (any(each.startswith("--prune") for each in rest), _RESCUE),
        "rebase": (not {"--abort", "--continue", "--skip"} & set(rest), "rewrites the history of the branch"),
        "reflog": (rest[:1] in (["expire"], ["delete"]), _RESCUE),
        "reset": ("--hard" in rest, _UNCOMMITTED),
        "restore": ("--staged" not in rest, _UNCOMMITTED),
        "stash": (rest[:1] in (["drop"], ["clear"]), "throws away stashed changes"),
        "switch": (_any(rest, "f", "--discard-changes", "--force"), _UNCOMMITTED),
        "tag": (_any(rest, "d", "--delete"), "deletes a tag"),
        "update-ref": ("-d" in rest, "deletes a reference"),
        "worktree": (rest[:1] == ["remove"] and _any(rest, "f", "--force"), "deletes a working tree with its changes"),
    }
    loses, words = losses.get(sub, (False, ""))
    return words if loses else ""


# ---------------------------------------------------------------- programs by their names


@dataclass(frozen=True, slots=True)
class _Named:
    """Commands of one kind: `pattern` matches the program's name and its arguments, set apart by single spaces."""

    code: str
    level: Level
    words: str
    pattern: re.Pattern[str]


def _named(code: str, level: Level, words: str, *patterns: str) -> _Named:
    return _Named(code, level, words, re.compile(rf"(?:{'|'.join(patterns)})(?:\s|$)"))


_BY_NAME: tuple[_Named, ...] = (
    _named(
        "install",
        "medium",
        "installs software, which can run code of its own",
        r"(npm|pnpm|yarn|bun) (install|i|ci|add|update|up|upgrade|exec|dlx|create)",
        r"yarn$",
        r"(npx|bunx|pnpx|uvx)",
        r"(pip3?|pipx|uv pip|conda|mamba) (install|download|inject|upgrade)",
        r"python[\d.]* -m (pip|ensurepip) install",
        r"(uv|poetry|pdm|pipenv) (add|sync|install|update|lock|tool install)",
        r"(cargo|go|gem|composer|bundle|brew|opam|cabal|luarocks) (install|add|get|update|upgrade|require)",
        r"(apt|apt-get|dnf|yum|apk|zypper|pacman|snap|flatpak|port) .*(install|add|upgrade|-S\w*)",
    ),
    _named(
        "publish",
        "high",
        "publishes for others to use",
        r"(npm|pnpm|yarn|bun|cargo|poetry|uv|flit|hatch|pdm|vsce|ovsx|jsr|deno|dart pub|flutter pub) publish",
        r"npm (unpublish|deprecate|dist-tag)",
        r"(python[\d.]* -m )?twine upload",
        r"(gem|nuget|dotnet nuget|pod trunk) push",
        r"(docker|podman|helm|buildah) (image )?push",
        r"mvn .*deploy",
        r"gradlew? publish\w*",
        r"gh release (create|upload)",
    ),
    _named("network", "medium", "uses the network to fetch images", r"(docker|podman) (pull|login|search)"),
    _named(
        "infrastructure",
        "high",
        "changes running services",
        r"(terraform|tofu|pulumi|cdk) (apply|destroy|up|deploy)",
        r"kubectl (delete|apply|drain|scale|replace|patch|exec)",
        r"(aws|gcloud|az) .*\b(delete\S*|destroy|rm|rb|terminate\S*|deploy|remove)",
        r"(heroku|flyctl|fly|vercel|netlify|wrangler|firebase) .*\b(delete|destroy|deploy|remove)",
        r"gh repo (delete|archive)",
    ),
    _named(
        "infrastructure",
        "high",
        "gives a container wide rights on this machine",
        r"(docker|podman) run .*(--privileged|--pid=host|-v /:\S*|\S*docker\.sock\S*)",
    ),
    _named(
        "infrastructure",
        "medium",
        "deletes containers, images or volumes",
        r"(docker|podman) (rm|rmi|(system|container|image|volume) (rm|prune)|compose down .*-v)",
    ),
    _named(
        "persistence",
        "high",
        "changes what starts by itself",
        r"crontab(?! -l)|at|batch|update-rc\.d|chkconfig|systemd-run",
        r"launchctl (load|bootstrap|submit|enable)",
        r"systemctl (--user )?(enable|disable|mask|start|stop|restart|edit)",
    ),
    _named("processes", "medium", "ends other processes", r"killall|pkill|kill (-\w+ )*(-- )?-1$|fuser .*-k"),
    _named("processes", "high", "stops or restarts the machine", r"shutdown|reboot|halt|poweroff|init [06]"),
    _named(
        "database",
        "high",
        "deletes data in a database",
        r"dropdb|dropuser|redis-cli .*flush(all|db)|mongo\S* .*dropDatabase\S*",
        r"(?i:(psql|mysql|sqlite3|mariadb) .*\b(drop (table|database|schema)|truncate table))\b.*",
    ),
    _named(
        "system",
        "high",
        "changes users, the firewall or settings of the system",
        r"useradd|usermod|userdel|passwd|visudo|iptables|nft|ufw|setenforce|csrutil|spctl|insmod|modprobe",
        r"mount .+|umount|sysctl -w|defaults write",
    ),
    _named(
        "device-write",
        "high",
        "formats or partitions a disk",
        r"mkfs(\.\w+)?|newfs\w*|fdisk|sfdisk|parted|wipefs|mkswap|blkdiscard|hdparm|diskutil (erase|partition)\w*",
    ),
    _named("secrets", "medium", "shows the environment, where secrets often are", r"printenv|env$|set$"),
    _named(
        "secrets",
        "high",
        "reads stored passwords",
        r"security (find|dump)-\S+|pass show|secret-tool lookup|op (read|item get)|vault (read|kv get)",
        r"gh auth token|aws configure get|gcloud auth print-\S+",
    ),
)
_ALSO_NETWORK = frozenset({"install", "publish"})


def _by_name(command: SimpleCommand) -> Iterator[Flag]:
    line = " ".join([command.name, *command.arguments])[:LONGEST_LINE]
    for entry in _BY_NAME:
        if entry.pattern.match(line):
            yield Flag(code=entry.code, words=entry.words, level=entry.level)
            if entry.code in _ALSO_NETWORK:
                yield Flag(code="network", words=f"uses the network: {command.name}")


# ---------------------------------------------------------------- files

_DELETING = frozenset({"rm", "shred", "unlink"})
_EVERYBODY_WRITES = re.compile(r"[0-7]{0,2}[0-7][2367]|[ugo]*[ao][ugoa]*\+[rx]*w\S*|\+[rx]*w\S*")
_OWNERS_RIGHTS = re.compile(r"[ug]*\+[rwx]*s\S*|[2467][0-7]{3}")


def _permissions(command: SimpleCommand) -> Iterator[Flag]:
    if command.has_option("R", "--recursive"):
        words = "changes the permissions or owners of whole directories"
        yield Flag(code="recursive-permissions", words=words)
    mode = next(iter(command.operands), "")
    if command.name == "chmod" and _EVERYBODY_WRITES.fullmatch(mode):
        yield Flag(code="permissions", words="lets everybody write")
    if command.name == "chmod" and _OWNERS_RIGHTS.fullmatch(mode):
        yield Flag(code="permissions", words="makes a program run with its owner's rights", level="high")


def _find(command: SimpleCommand) -> Iterator[Flag]:
    arguments = set(command.arguments)
    runs_deletion = {"-exec", "-execdir"} & arguments and _DELETING & arguments
    if "-delete" in arguments or runs_deletion:
        yield Flag(code="recursive-delete", words="deletes all files that find finds")


def _listed_files(command: SimpleCommand) -> Iterator[Flag]:
    if _DELETING & set(command.arguments):
        yield Flag(code="recursive-delete", words="deletes all files that another program lists")


def _rsync(command: SimpleCommand) -> Iterator[Flag]:
    if any(argument.startswith("--delete") for argument in command.arguments):
        yield Flag(code="recursive-delete", words="deletes files at the target that are not at the source")
    if any(is_remote(operand) for operand in command.operands):
        yield Flag(code="network", words="uses the network: rsync")


def is_remote(path: str) -> bool:
    """Whether a path is on another machine, as scp and rsync write it."""
    return re.match(r"[^/]+:", path) is not None


def _curl(command: SimpleCommand) -> Iterator[Flag]:
    if command.has_option("dFT", "--data", "--data-binary", "--data-raw", "--json", "--form", "--upload-file"):
        yield Flag(code="upload", words="sends data away")


def _wget(command: SimpleCommand) -> Iterator[Flag]:
    if command.has_option("", "--post-data", "--post-file", "--body-data", "--body-file"):
        yield Flag(code="upload", words="sends data away")


def _shred(_: SimpleCommand) -> Iterator[Flag]:
    yield Flag(code="recursive-delete", words="overwrites files so that they cannot be brought back", level="high")


_CHECKS: Mapping[str, Check] = {
    "awk": _awk,
    "chgrp": _permissions,
    "chmod": _permissions,
    "chown": _permissions,
    "curl": _curl,
    "fd": _listed_files,
    "find": _find,
    "gawk": _awk,
    "git": _git,
    "parallel": _listed_files,
    "rsync": _rsync,
    "shred": _shred,
    "wget": _wget,
    "xargs": _listed_files,
}

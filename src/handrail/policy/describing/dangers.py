"""What a shell command does that a person should notice: each finding with its words and the piece it is in.

Findings are for people. A command without any is one in which nothing stood out, and that is no reason to allow it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from handrail.policy.describing.command_line import SHELLS, SimpleCommand, Word, read_command_line
from handrail.policy.describing.deceptions import lookalikes
from handrail.policy.describing.program_dangers import code_option, interpreter, is_remote, program_flags
from handrail.policy.describing.touched import Ground, is_passing, path_flags, secret_in
from handrail.policy.describing.web_addresses import address_flags, host_of, is_this_machine
from handrail.protocol.descriptions import Access, AffectedPath, Flag, Level

__all__ = ["Findings", "command_findings"]

LONGEST_EXCERPT = 100
MOST_PATHS = 500


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found in a command: flags, and the paths it touches as far as they can be known."""

    flags: tuple[Flag, ...] = ()
    paths: tuple[AffectedPath, ...] = ()


def command_findings(command: str, ground: Ground) -> Findings:
    """Look at a command line with the shell's own grammar."""
    line = read_command_line(command, cwd=ground.cwd, home=ground.home)
    flags: list[Flag] = []
    paths: dict[AffectedPath, None] = {}
    for simple in line.commands:
        named = list(_touched(simple, MOST_PATHS - len(paths)))
        touched = [ground.touched(path, access, simple.base) for path, access in named if _is_placed(path, simple)]
        paths.update(dict.fromkeys(touched))
        flags += [*_flags(simple, touched), *_unplaced(named, simple)]
    if len(paths) >= MOST_PATHS:
        flags.append(Flag(code="not-understood", words=f"it names more than {MOST_PATHS} paths"))
    flags += [Flag(code="not-understood", words=f"not understood for certain: {problem}") for problem in line.problems]
    if _starts_itself(command):
        flags.append(Flag(code="fork-bomb", words="starts itself over and over", level="high"))
    return Findings(_distinct([*flags, *_leaks(flags)]), tuple(paths))


def _flags(command: SimpleCommand, touched: list[AffectedPath]) -> Iterator[Flag]:
    where = _excerpt(command.text)
    for flag in (*_general_flags(command), *program_flags(command)):
        yield Flag(code=flag.code, words=flag.words, where=where, level=flag.level)
    for path in touched:
        yield from path_flags(path, where)
    yield from _deletions(command, touched, where)


def _is_placed(path: str, command: SimpleCommand) -> bool:
    """Whether it is known where a path starts."""
    return command.base is not None or path.startswith(("/", "~"))


def _unplaced(named: Iterable[tuple[str, Access]], command: SimpleCommand) -> Iterator[Flag]:
    for path, access in named:
        if access != "read" and not _is_placed(path, command):
            words = f"changes {_excerpt(path)} in a directory that is known only when it runs"
            yield Flag(code="not-understood", words=words, where=_excerpt(command.text))


def _excerpt(text: str) -> str:
    return text if len(text) <= LONGEST_EXCERPT else text[: LONGEST_EXCERPT - 1] + "…"


def _distinct(flags: Iterable[Flag]) -> tuple[Flag, ...]:
    """Each thing said once: the same words about the same code add nothing."""
    seen: dict[tuple[str, str], Flag] = {}
    for flag in flags:
        seen.setdefault((flag.code, flag.words), flag)
    return tuple(seen.values())


def _leaks(flags: Iterable[Flag]) -> Iterator[Flag]:
    """A secret and the network in one command are more than each alone."""
    if {"secrets", "network"} <= {flag.code for flag in flags if flag.level != "low"}:
        words = "handles secrets and uses the network: they could be sent away"
        yield Flag(code="leak", words=words, level="high")


def _starts_itself(command: str) -> bool:
    return re.search(r"(\S{1,40})\s*\(\)\s*\{[^}]{0,200}?\1\s*\|\s*\1\s*&", command[:2_000]) is not None


# ---------------------------------------------------------------- paths

_WRITING = frozenset(
    {"touch", "mkdir", "tee", "truncate", "chmod", "chown", "chgrp", "mkfifo", "patch", "vi", "vim", "nano"}
)
_DELETING = frozenset({"rm", "rmdir", "unlink", "shred"})
_COPYING = frozenset({"cp", "ln", "install", "rsync", "scp"})
_MODE_FIRST = frozenset({"chmod", "chown", "chgrp"})


def _touched(command: SimpleCommand, at_most: int) -> Iterator[tuple[str, Access]]:
    """The paths that a command names, and what it does to each."""
    for _, found in zip(range(at_most), (*_redirected(command), *_named(command)), strict=False):
        yield found


def _redirected(command: SimpleCommand) -> Iterator[tuple[str, Access]]:
    for redirect in command.redirects:
        if redirect.target.known and redirect.target.text:
            yield redirect.target.text, "write" if redirect.writes else "read"


def _named(command: SimpleCommand) -> Iterator[tuple[str, Access]]:
    name, operands = command.name, _path_operands(command)
    if name in _WRITING:
        yield from _each(operands[1:] if name in _MODE_FIRST else operands, "write")
    elif name in _DELETING:
        yield from _each(operands, "delete")
    elif name == "mv":
        yield from _each(operands[:-1], "delete")
        yield from _each(operands[-1:], "write")
    elif name in _COPYING:
        yield from _each(operands[:-1], "read")
        yield from _each([path for path in operands[-1:] if not is_remote(path)], "write")
    elif name == "sed" and any(re.match(r"-[a-zA-Z]*i|--in-place", text) for text in command.arguments):
        yield from _each(operands[1:], "write")
    elif name == "dd":
        yield from _each([text[3:] for text in command.arguments if text.startswith("if=")], "read")
        yield from _each([text[3:] for text in command.arguments if text.startswith("of=")], "write")
    else:
        yield from _transferred(command)
        # Ordinary files that are only read need no mention; secrets do.
        yield from _each([path for path in operands if secret_in(path)], "read")


def _path_operands(command: SimpleCommand) -> list[str]:
    words = command.words[1:]
    if command.name in ("ssh", "scp", "sftp", "rsync"):
        # The key that a login uses stays where it is.
        words = tuple(word for before, word in zip(command.words, words, strict=False) if before.text != "-i")
    return [word.text for word in words if _is_path(word)]


def _is_path(word: Word) -> bool:
    text = word.text
    return word.known and text not in ("", "{}") and not text.startswith("-") and "://" not in text


def _each(paths: Iterable[str], access: Access) -> Iterator[tuple[str, Access]]:
    for path in paths:
        yield path, access


def _transferred(command: SimpleCommand) -> Iterator[tuple[str, Access]]:
    """Files that curl and wget write or send."""
    written = {"curl": ("-o", "--output"), "wget": ("-O", "--output-document")}.get(command.name)
    if written is None:
        return
    for option, value in zip(command.arguments, command.arguments[1:], strict=False):
        if option in written and value != "-":
            yield value, "write"
        elif option in ("-T", "--upload-file", "--post-file", "--body-file"):
            yield value, "read"
        elif option in ("-d", "--data", "--data-binary", "-F", "--form", "--json") and "@" in value:
            yield value.partition("@")[2], "read"


# ---------------------------------------------------------------- deleting


def _deletions(command: SimpleCommand, touched: list[AffectedPath], where: str) -> Iterator[Flag]:
    if command.name != "rm" or not command.has_option("rR", "--recursive"):
        return
    targets = [path for path in touched if path.access == "delete"]
    unknown = any(not word.known for word in command.words) or not targets
    named = ", ".join([path.path for path in targets] + ["what is known only when it runs"] * unknown)
    level: Level = "high" if unknown or any(_is_precious(path) for path in targets) else "medium"
    yield Flag(code="recursive-delete", words=f"deletes whole directories: {_excerpt(named)}", where=where, level=level)


def _is_precious(path: AffectedPath) -> bool:
    """Whether more than a part of the project would go: the project itself, its history, or something elsewhere."""
    elsewhere = not path.inside_project and not is_passing(path.resolved)
    everything = path.path.strip("./") in ("", "*", "**") or "*" in path.path.split("/")[0]
    return elsewhere or everything or path.path.rstrip("/").endswith(".git")


# ---------------------------------------------------------------- what every command is looked at for

_NETWORK_PROGRAMS = frozenset({
    "ansible", "aria2c", "aws", "az", "cloudflared", "curl", "dig", "doctl", "firebase", "flyctl", "ftp", "gcloud",
    "gh", "glab", "grpcurl", "gsutil", "helm", "heroku", "host", "http", "httpie", "https", "hub", "kubectl", "lftp",
    "mosh", "nc", "ncat", "netcat", "netlify", "ngrok", "nmap", "nslookup", "ping", "rclone", "s3cmd", "scp", "sftp",
    "socat", "ssh", "telnet", "terraform", "tftp", "traceroute", "vercel", "websocat", "wget", "whois", "wrangler",
    "xh",
})  # fmt: skip
_ELEVATING = frozenset({"sudo", "doas", "su", "pkexec", "run0", "runuser"})
_DECIDING_VARIABLES = frozenset({
    "ANTHROPIC_BASE_URL", "BASH_ENV", "DYLD_INSERT_LIBRARIES", "EDITOR", "ENV", "GIT_EXTERNAL_DIFF", "GIT_SSH",
    "GIT_SSH_COMMAND", "HOME", "HTTPS_PROXY", "HTTP_PROXY", "IFS", "LD_LIBRARY_PATH", "LD_PRELOAD", "NODE_OPTIONS",
    "NPM_CONFIG_REGISTRY", "PAGER", "PATH", "PERL5OPT", "PIP_INDEX_URL", "PROMPT_COMMAND", "PYTHONSTARTUP", "RUBYOPT",
    "http_proxy", "https_proxy",
})  # fmt: skip


def _general_flags(command: SimpleCommand) -> Iterator[Flag]:
    checks: tuple[Callable[[SimpleCommand], Iterator[Flag]], ...] = (
        _elevated,
        _unknown_program,
        _network,
        _fed_interpreter,
        _environment,
        _lasting,
        _handrail_itself,
    )
    for check in checks:
        yield from check(command)


def _elevated(command: SimpleCommand) -> Iterator[Flag]:
    if command.name in _ELEVATING:
        yield Flag(code="sudo", words=f"runs with the rights of another user ({command.name})", level="high")


def _unknown_program(command: SimpleCommand) -> Iterator[Flag]:
    if command.words and not command.words[0].known:
        words = f"which program runs is known only when it runs: {_excerpt(command.words[0].text)}"
        yield Flag(code="not-understood", words=words)
    yield from lookalikes(command.name, "", names=True)


def _network(command: SimpleCommand) -> Iterator[Flag]:
    texts = (*command.arguments, *(redirect.target.text for redirect in command.redirects))
    if any("/dev/tcp/" in text or "/dev/udp/" in text for text in texts):
        yield Flag(code="network", words="opens a network connection of the shell's own", level="high")
    if command.name in _NETWORK_PROGRAMS:
        yield from _addressed(command)


def _addressed(command: SimpleCommand) -> Iterator[Flag]:
    """The network, with the host if it is named."""
    hosts = list(dict.fromkeys(host for host in map(host_of, command.arguments) if host))
    named = f" ({_excerpt(', '.join(hosts))})" if hosts else ""
    if hosts and all(is_this_machine(host) for host in hosts):
        yield Flag(code="network", words=f"talks to this machine{named}", level="low")
        return
    yield Flag(code="network", words=f"uses the network: {command.name}{named}")
    for argument in command.arguments:
        if "://" in argument:
            yield from (flag for flag in address_flags(argument) if flag.level != "low")


def _fed_interpreter(command: SimpleCommand) -> Iterator[Flag]:
    """A shell or interpreter that runs what another program writes."""
    sources = dict.fromkeys(_code_sources(command))
    if not sources:
        return
    from_network = any(source in _NETWORK_PROGRAMS for source in sources)
    origin = "the network" if from_network else _excerpt(" and ".join(source or "a variable" for source in sources))
    level: Level = "high" if from_network or not interpreter(command.name) else "medium"
    yield Flag(code="pipe-to-shell", words=f"{command.name} runs whatever comes from {origin}", level=level)


def _code_sources(command: SimpleCommand) -> tuple[str, ...]:
    """The programs whose output a command takes for code."""
    shell, language = command.name in SHELLS, interpreter(command.name)
    if command.name in ("eval", "source", ".") or shell or language:
        if command.holds:
            return command.holds
        reads_input = not command.operands or command.operands[0] == "/dev/stdin"
        if shell and (reads_input or command.has_option("s")) and not command.has_option("c"):
            return command.fed_by
        if language and reads_input and not code_option(command) and "-m" not in command.arguments:
            return command.fed_by
    return ()


def _environment(command: SimpleCommand) -> Iterator[Flag]:
    for name, _ in command.assignments:
        if name in _DECIDING_VARIABLES:
            level: Level = "low" if name == "PATH" else "medium"
            yield Flag(code="environment", words=f"changes {name}, which decides what other programs do", level=level)


def _lasting(command: SimpleCommand) -> Iterator[Flag]:
    if command.name in ("nohup", "setsid", "disown", "daemonize"):
        yield Flag(code="background", words=f"goes on after the session ends ({command.name})")
    elif command.background:
        yield Flag(code="background", words="goes on in the background", level="low")


def _handrail_itself(command: SimpleCommand) -> Iterator[Flag]:
    pairs = zip(command.arguments, command.arguments[1:], strict=False)
    as_module = any(option == "-m" and re.match(r"handrail(\.|$)", value) for option, value in pairs)
    if command.name == "handrail" or as_module:
        yield Flag(code="handrail", words="runs Handrail itself, which answers for you", level="high")

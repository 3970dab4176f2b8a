"""Handrail itself: its version, its settings, its policy, and its directories."""

from __future__ import annotations

import os
import platform
import stat
import sys
from collections.abc import Iterator

from handrail.cli.checkup.finding import Finding, attention, broken, good
from handrail.cli.checkup.surroundings import Surroundings, nearest_existing
from handrail.cli.named_hub import URL
from handrail.config.keys import unknown_variables
from handrail.config.notices import danger_notice
from handrail.errors import PolicyError

__all__ = ["check_config", "check_policy", "check_runtime", "check_versions"]

LONGEST_SOCKET_PATH = 103
SOCKET_NAME = "owner-1234567-12345678.sock"


def check_versions(around: Surroundings) -> Iterator[Finding]:
    """What runs here."""
    from importlib.metadata import version

    yield good(
        "handrail",
        f"Handrail {version('handrail')}, Python {platform.python_version()} ({sys.executable}), "
        f"{platform.system()} {platform.release()} {platform.machine()}",
    )
    if hub := around.environ.get(URL):
        yield attention(
            "handrail",
            f"{URL} names {hub}: commands are about the sessions of that hub, and this check-up about this machine",
            "run handrail doctor where that hub runs",
        )


def check_config(around: Surroundings) -> Iterator[Finding]:
    """Whether the settings can be used."""
    path = around.places.config_file
    if around.config_error is not None:
        for line in str(around.config_error).splitlines():
            yield broken("config", line, "handrail config edit")
        return
    yield good("config", path if os.path.exists(path) else f"there is no {path}: the defaults hold")
    if danger := danger_notice(around.config):
        yield attention("config", danger, danger.rpartition(": ")[2])
    for name in unknown_variables(around.environ):
        yield attention("config", f"{name} in the environment is not a setting", f"unset {name}")
    if _others_can_read(path):
        yield attention("config", f"other users can read {path}", f"chmod 600 {path}")


def _others_can_read(path: str) -> bool:
    try:
        return bool(stat.S_IMODE(os.stat(path).st_mode) & 0o077)
    except OSError:
        return False


def check_policy(around: Surroundings) -> Iterator[Finding]:
    """Whether the policy of this project can be used, and whether all of it is."""
    from handrail.cli.defaults import standing_policy
    from handrail.policy.storage.loading import load_policy

    try:
        loaded = load_policy(around.cwd, around.places, standing_policy(around.config))
    except PolicyError as error:
        for line in str(error).splitlines():
            yield broken("policy", line, "handrail policy show")
        return
    files = [file.path for file in loaded.files if file.found]
    yield good("policy", f"profile {loaded.policy.profile.name}; {', '.join(files) or 'no policy files'}")
    if loaded.held_back is not None:
        yield attention("policy", str(loaded.held_back), "handrail policy trust")


def check_runtime(around: Surroundings) -> Iterator[Finding]:
    """Whether sessions can be reached from other terminals."""
    runtime = around.places.runtime
    existing = nearest_existing(runtime)
    if not os.path.isdir(existing) or not os.access(existing, os.W_OK | os.X_OK):
        yield broken(
            "runtime",
            f"no socket can be made in {runtime}: {existing} is not a directory that you may write in",
            "export HANDRAIL_RUNTIME_DIR=DIRECTORY",
        )
        return
    if existing == runtime and os.stat(runtime).st_uid != os.geteuid():
        yield broken("runtime", f"{runtime} belongs to another user", "export HANDRAIL_RUNTIME_DIR=DIRECTORY")
        return
    if len(os.fsencode(os.path.join(runtime, SOCKET_NAME))) > LONGEST_SOCKET_PATH:
        yield attention(
            "runtime",
            f"{runtime} is too long for the path of a socket: sockets are made in a short directory instead",
            "export HANDRAIL_RUNTIME_DIR=SHORTER-DIRECTORY",
        )
        return
    yield good("runtime", f"sockets in {runtime}")

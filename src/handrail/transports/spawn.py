"""Start a child process on three pipes, and say what to do when that fails."""

from __future__ import annotations

import errno
import os
import subprocess
from typing import TYPE_CHECKING

from handrail.errors import LaunchError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["spawn"]


def spawn(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: str | os.PathLike[str] | None, holds: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Start `argv` in a session of its own, with the descriptors that it `holds`. Raises `LaunchError`."""
    if not argv:
        raise LaunchError("there is no command to start: the argument list is empty")
    try:
        return subprocess.Popen(
            argv,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=cwd,
            start_new_session=True,
            pass_fds=holds,
        )
    except (OSError, ValueError) as error:
        raise LaunchError(_explain(error, argv, env, cwd)) from error


def _explain(
    error: OSError | ValueError,
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str | os.PathLike[str] | None,
) -> str:
    if isinstance(error, ValueError):
        return f"{argv[0]!r} could not be started: an argument or environment variable is not valid ({error})"
    return (cwd is not None and _explain_cwd(os.fspath(cwd))) or _explain_program(error, argv[0], env)


def _explain_cwd(cwd: str) -> str | None:
    if not os.path.lexists(cwd):
        return f"the working directory {cwd!r} does not exist: create it, or pass another `cwd`"
    if not os.path.isdir(cwd):
        return f"the working directory {cwd!r} is not a directory: pass another `cwd`"
    if not os.access(cwd, os.X_OK):
        return f"the working directory {cwd!r} may not be entered: change its permissions, or pass another `cwd`"
    return None


def _explain_program(error: OSError, program: str, env: Mapping[str, str]) -> str:
    path = program if os.path.dirname(program) else _which(program, env)
    if error.errno == errno.ENOENT:
        return _explain_missing(program, path)
    if error.errno == errno.EACCES:
        return _explain_not_executable(path or program)
    if error.errno == errno.ENOEXEC:
        return (
            f"{program!r} is not a program that this system can run: it was built for another system, "
            "or it is a script without a `#!` line"
        )
    if error.errno == errno.E2BIG:
        return f"{program!r} could not be started: its arguments and environment are too long for this system"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return f"{program!r} could not be started: too many files are open; raise the limit with `ulimit -n`"
    return f"{program!r} could not be started: {error.strerror}"


def _explain_missing(program: str, path: str | None) -> str:
    if path is None:
        return f"there is no {program!r} on PATH: install it, or give its full path"
    if os.path.exists(path):
        return f"{path!r} is there, but the interpreter that its `#!` line names is not: install that one"
    return f"there is no {path!r}: check the path, or install the program there"


def _explain_not_executable(path: str) -> str:
    if os.path.isdir(path):
        return f"{path!r} is a directory, not a program: give the path of the program inside it"
    return f"{path!r} may not be executed: make it executable with `chmod +x`"


def _which(program: str, env: Mapping[str, str]) -> str | None:
    import shutil  # slow to import, and only needed when something went wrong

    return shutil.which(program, path=env.get("PATH"))

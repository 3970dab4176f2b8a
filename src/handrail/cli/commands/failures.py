"""What goes wrong, in one line on standard error and an exit code: the one place for all commands."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer

from handrail.errors import (
    AmbiguousSession,
    AskClosed,
    ConfigError,
    DecisionRefused,
    HandrailError,
    HostNotFound,
    InvalidOptions,
    PolicyError,
    SessionNotFound,
)

__all__ = ["ExitCode", "code_of", "told_in_words"]

WRONG_USAGE = (SessionNotFound, AmbiguousSession, ConfigError, HostNotFound, InvalidOptions, PolicyError)
NO_SUCH_ASK = "unknown"


class ExitCode(IntEnum):
    """What commands exit with."""

    OK = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    INTERRUPTED = 130
    READER_GONE = 128 + signal.SIGPIPE


def code_of(error: HandrailError) -> ExitCode:
    """The exit code for an error."""
    if isinstance(error, AskClosed) and error.state == NO_SUCH_ASK:
        return ExitCode.USAGE
    if isinstance(error, DecisionRefused):
        return ExitCode.REFUSED
    return ExitCode.USAGE if isinstance(error, WRONG_USAGE) else ExitCode.FAILED


@contextmanager
def told_in_words() -> Iterator[None]:
    """Do it, and turn what goes wrong into a message and an exit code."""
    try:
        yield
    except HandrailError as error:
        _tell(str(error))
        raise typer.Exit(code_of(error)) from None
    except BrokenPipeError:
        _write_nowhere()
        raise typer.Exit(ExitCode.READER_GONE) from None
    except OSError as error:
        _tell(f"{error.filename or 'the system'}: {error.strerror or error}")
        raise typer.Exit(ExitCode.FAILED) from None
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _tell(message: str) -> None:
    from handrail.cli.showing.remarks import notice  # Rich is needed only now
    from handrail.cli.showing.style import FAILED, MARKS, make_console, prose

    console = make_console(sys.stderr)
    if console.is_terminal:
        console.print(notice(FAILED, message))
    else:
        console.print(prose(f"{MARKS[FAILED]} {message}"), soft_wrap=True)


def _write_nowhere() -> None:
    """Let what is still buffered for a reader that is gone vanish: Python itself flushes it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)

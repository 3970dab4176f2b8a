"""Every exception Handrail raises, in one tree.

    HandrailError
    ├── LocalProtocolError         you (or Handrail) used the protocol wrongly: nothing was sent
    ├── ControlError               a control request of ours did not succeed
    │   ├── ControlRefused         the CLI answered with an error
    │   └── ControlExpired         the CLI did not answer before the deadline
    ├── LaunchError                the CLI could not be started
    │   ├── CLINotFound            there is no `claude` where Handrail looked
    │   ├── DialRefused            this `claude` connects to no server of ours (`--sdk-url`)
    │   └── InvalidOptions         the options contradict each other
    ├── DecisionRefused            an answer to an ask was not taken: the ask is as it was
    │   ├── AlreadyDecided         somebody was faster: who, and when
    │   ├── AskClosed              nobody can answer it any more: cancelled, expired, lost, or never there
    │   ├── StaleDigest            what is asked is not what was shown, or the digest is missing
    │   ├── UnfitAnswer            this answer does not fit this ask: what would is in the message
    │   └── SelfApproval           the answer comes from a process that the session itself started
    ├── PolicyError                a policy cannot be used as it is written
    │   ├── InvalidRule            a rule is malformed
    │   └── InvalidPolicy          a policy file is malformed: file, line and key are in the message
    ├── BudgetSpent                the session has cost what it may, and nobody raised the limit
    ├── ConfigError                a configuration file or key is wrong: file, line, key and what would be right
    ├── SessionError               a session cannot be had, or not do this now
    │   ├── SessionNotFound        there is no such session
    │   ├── AmbiguousSession       the reference fits several sessions
    │   ├── SessionExists          the id that was chosen for a new session is another one's
    │   ├── SessionBusy            another process owns it and cannot be reached
    │   ├── SessionNotLive         no CLI runs for it: resume it first
    │   └── SessionLimit           as many sessions run, or restarts happened, as are allowed
    ├── HostError                  a host cannot be had, or not do this now
    │   ├── HostNotFound           there is no such host
    │   ├── HostAway               it is not connected: what runs there goes on
    │   │   └── OutcomeUnknown     it went away before it had said whether this was done
    │   └── HostRefused            its owner does not let the hub do this there
    ├── StoreError                 the journal cannot be written or read: the message says what to do
    │   ├── StoreUnavailable       the place is read-only, missing, on a network, or not ours
    │   ├── StoreFull              the disk is full: nothing that was stored is lost
    │   ├── StoreLocked            another process keeps the database locked
    │   ├── StoreCorrupt           the database is damaged
    │   ├── StoreTooNew            a newer Handrail wrote it
    │   ├── LeaseHeld              somebody else owns the session's journal
    │   ├── Fenced                 this owner was replaced: it may not append any more
    │   └── CopyDiverged           the copy of a session has another past than the session itself
    ├── MessageDropped             the CLI dropped a message unanswered (cancelled, discarded or refused it)
    └── ProcessError               the CLI is gone
        ├── ProcessExited          it exited by itself: exit code and the end of stderr are in the message
        └── ClientClosed           you closed the client (or never opened it)

What the *CLI* does wrong is never raised while reading: it is a value in the stream of frames
(`handrail.protocol.frames.Malformed`, or a frame with `problems`), so one bad line cannot end a session.
"""

from __future__ import annotations

__all__ = [
    "AlreadyDecided",
    "AmbiguousSession",
    "AskClosed",
    "BudgetSpent",
    "CLINotFound",
    "ClientClosed",
    "ConfigError",
    "ControlError",
    "ControlExpired",
    "ControlRefused",
    "CopyDiverged",
    "DecisionRefused",
    "DialRefused",
    "Fenced",
    "HandrailError",
    "HostAway",
    "HostError",
    "HostNotFound",
    "HostRefused",
    "InvalidOptions",
    "InvalidPolicy",
    "InvalidRule",
    "LaunchError",
    "LeaseHeld",
    "LocalProtocolError",
    "MessageDropped",
    "OutcomeUnknown",
    "PolicyError",
    "ProcessError",
    "ProcessExited",
    "SelfApproval",
    "SessionBusy",
    "SessionError",
    "SessionExists",
    "SessionLimit",
    "SessionNotFound",
    "SessionNotLive",
    "StaleDigest",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreLocked",
    "StoreTooNew",
    "StoreUnavailable",
    "UnfitAnswer",
]


class HandrailError(Exception):
    """Base of everything Handrail raises on purpose."""


class LocalProtocolError(HandrailError):
    """This side broke the protocol's rules; nothing reached the CLI."""


class ControlError(HandrailError):
    """A control request of ours did not succeed."""

    def __init__(self, message: str, *, subtype: str) -> None:
        super().__init__(message)
        self.subtype = subtype


class ControlRefused(ControlError):
    """The CLI answered our control request with an error."""

    def __init__(self, subtype: str, error: str, *, code: str | None = None) -> None:
        super().__init__(f"the CLI refused {subtype!r}: {error}", subtype=subtype)
        self.error = error
        self.code = code


class ControlExpired(ControlError):
    """The CLI did not answer our control request in time. A late answer does no harm."""

    def __init__(self, subtype: str, seconds: float) -> None:
        super().__init__(
            f"the CLI did not answer {subtype!r} within {seconds:g} s; "
            "it may be too old to know this request, or busy: pass a longer `timeout` to wait longer",
            subtype=subtype,
        )
        self.seconds = seconds


class LaunchError(HandrailError):
    """The CLI could not be started."""


class CLINotFound(LaunchError):
    """There is no `claude` executable where Handrail looked."""


class DialRefused(LaunchError):
    """This CLI connects to no server but its vendor's; the message says what to use instead."""


class InvalidOptions(LaunchError):
    """The options contradict each other or cannot be passed to the CLI."""


class DecisionRefused(HandrailError):
    """An answer to an ask was not taken. The ask is as it was; nothing reached the CLI."""


class AlreadyDecided(DecisionRefused):
    """The ask was answered before: by `actor`, at `at` (seconds since the epoch)."""

    def __init__(self, message: str, *, actor: str, at: float) -> None:
        super().__init__(message)
        self.actor = actor
        self.at = at


class AskClosed(DecisionRefused):
    """The ask can no longer be answered; `state` says why: cancelled, expired, lost or unknown."""

    def __init__(self, message: str, *, state: str) -> None:
        super().__init__(message)
        self.state = state


class StaleDigest(DecisionRefused):
    """The digest is missing, or is not that of what is asked now: look again, then answer."""


class UnfitAnswer(DecisionRefused):
    """The answer does not fit the ask: wrong kind, incomplete, or against the form's schema."""


class SelfApproval(DecisionRefused):
    """The answer comes from a process that descends from the session it would approve."""


class PolicyError(HandrailError):
    """A policy cannot be used as it is written."""


class InvalidRule(PolicyError):
    """A permission rule is malformed."""


class InvalidPolicy(PolicyError):
    """A policy file is malformed; the message names the file, the line and the key."""


class BudgetSpent(HandrailError):
    """The session's budget is spent and was not raised: the message was not sent."""


class ConfigError(HandrailError):
    """Configuration is wrong; the message names the file, the line, the key and what would be right."""


class SessionError(HandrailError):
    """A session cannot be had, or cannot do this now."""


class SessionNotFound(SessionError):
    """There is no such session."""


class AmbiguousSession(SessionError):
    """The reference fits several sessions; the message lists them."""


class SessionExists(SessionError):
    """The id that was chosen for a new session belongs to one that was not started by this request."""


class SessionBusy(SessionError):
    """Another process owns the session and cannot be reached."""


class SessionNotLive(SessionError):
    """No CLI runs for the session, and this needs one."""


class SessionLimit(SessionError):
    """A limit that was set for sessions is reached."""


class HostError(HandrailError):
    """A host cannot be had, or not do this now."""


class HostNotFound(HostError):
    """There is no such host."""


class HostAway(HostError):
    """The host is not connected. What runs there goes on, and is told when it is back."""


class OutcomeUnknown(HostAway):
    """The host has not said or shown that this was done, and may have done it. A start with the same id can be tried
    again."""


class HostRefused(HostError):
    """The owner of the host does not let the hub do this there."""


class StoreError(HandrailError):
    """The journal cannot be written or read. What was stored before is not lost."""


class StoreUnavailable(StoreError):
    """The database cannot be used where it is: read-only, missing, on a network file system, or not ours."""


class StoreFull(StoreError):
    """There is no space left on the disk."""


class StoreLocked(StoreError):
    """Another process keeps the database locked."""


class StoreCorrupt(StoreError):
    """The database is damaged."""


class StoreTooNew(StoreError):
    """A newer version of Handrail wrote the database."""


class LeaseHeld(StoreError):
    """Somebody else owns the session's journal: `owner` is what they said of themselves."""

    def __init__(self, message: str, *, owner: str) -> None:
        super().__init__(message)
        self.owner = owner


class Fenced(StoreError):
    """This owner was replaced by another and may not append any more."""


class CopyDiverged(StoreError):
    """A copy of a host's session has events that are not those of the host: it lost its own and went on without."""


class MessageDropped(HandrailError):
    """The CLI dropped a message without running a turn for it, so there is no result."""


class ProcessError(HandrailError):
    """The CLI process is gone."""


class ProcessExited(ProcessError):
    """The CLI exited on its own; `exit_code` is negative for a signal, as in `subprocess`."""

    def __init__(self, message: str, *, exit_code: int | None, stderr_tail: str = "") -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.stderr_tail = stderr_tail


class ClientClosed(ProcessError):
    """The client is closed, or was never opened: use `async with connect(...)`."""

"""What went wrong, in words: what happened, and what to do about it from Telegram."""

from __future__ import annotations

import re

from handrail import errors
from handrail.events.endings import was_interrupted
from handrail.events.model import Completed, ProcessExited
from handrail.events.view import PromptItem, RunItem, SessionView
from handrail.remote.errors import HubError, HubUnreachable
from handrail.telegram.show.reasons import Reason, reason_of_run
from handrail.telegram.text.markdown import from_markdown
from handrail.telegram.text.rich import EMPTY, RichText, bold, code, joined, plain, pre
from handrail.telegram.text.safe import safe, within

__all__ = ["exited", "explained", "interrupted_words", "run_notice", "undone"]

FAILED, STOPPED, WARNING = "✗", "■", "⚠"
LONGEST_ERROR = 800
LONGEST_STDERR = 600
LONGEST_MESSAGE_QUOTED = 200

_FIRST_SENTENCE = re.compile(r"[^\n]{1,160}?(?:[.!?:](?=\s)|(?=\n)|\Z)")
_SEND_AGAIN = "Send it again if it is still wanted."
_HINTS: tuple[tuple[type[errors.HandrailError], str], ...] = (
    (
        errors.CLINotFound,
        "Install Claude Code on the machine where the session is to run; /health shows what it finds.",
    ),
    (errors.DialRefused, "Use another version of Claude Code, or run `handrail host` on that machine."),
    (errors.InvalidOptions, "See what is set here with /status, and change it with /model, /mode or /policy."),
    (errors.BudgetSpent, "Raise it with /budget, then send the message again; or begin a new session with /new."),
    (errors.SessionNotFound, "/sessions lists those that there are, /new begins another one."),
    (errors.AmbiguousSession, "Choose one with /sessions."),
    (errors.SessionBusy, "End it where it runs, or begin another one with /new."),
    (errors.SessionNotLive, "Send a message, and it is resumed."),
    (errors.SessionLimit, "End one that is not needed with /sessions and /stop, then try again."),
    (errors.HostNotFound, "Choose another project with /project."),
    (
        errors.OutcomeUnknown,
        "When the machine is back, see here and with /sessions what became of it, before you try again.",
    ),
    (errors.HostAway, "Try again once the machine is connected; /health shows which are."),
    (errors.HostRefused, "Choose another project with /project, or ask the owner of that machine."),
    (errors.StoreFull, "Free some space on the hub's disk, then try again."),
    (errors.StoreError, "Look at the hub's log on its machine."),
    (errors.PolicyError, "Choose another policy with /policy, or correct it on the page."),
    (errors.MessageDropped, _SEND_AGAIN),
    (errors.ProcessExited, "Send a message, and the session is resumed."),
    (HubUnreachable, "See on the hub's machine whether `handrail serve` runs, then try again."),
    (errors.ControlExpired, "Claude Code may be busy: try again, or /stop and go on with /continue."),
)


def run_notice(ended: RunItem | Completed, view: SessionView, *, now: float = 0.0) -> RichText:
    """Why a run did not end well, and what to do."""
    if was_interrupted(ended) if isinstance(ended, Completed) else ended.interrupted:
        return interrupted_words()
    reason = reason_of_run(ended, view, now=now)
    return _said(FAILED, reason)


def interrupted_words() -> RichText:
    """Somebody stopped it, which is no failure."""
    return joined([bold(f"{STOPPED} interrupted"), "Write what to do instead, or “go on”."], "\n")


def explained(error: errors.HandrailError) -> RichText:
    """An error of Handrail itself: its own words, and what to do from here."""
    hint = next((words for kind, words in _HINTS if isinstance(error, kind)), "")
    if isinstance(error, HubError) and error.code == "role_needed":
        hint = "Somebody with that role can do it, or give it to you in the hub's configuration."
    return _said(FAILED, Reason(_sentence(str(error) or type(error).__name__), hint))


def exited(event: ProcessExited) -> RichText:
    """The process is gone, and nobody wanted that."""
    code = "" if event.exit_code is None else f" with code {event.exit_code}"
    what = _sentence(event.reason or f"Claude Code exited{code}")
    said = _said(FAILED, Reason(what, "Nothing that was said is lost: send a message, and the session is resumed."))
    stderr = event.stderr.strip()
    if not stderr or stderr in event.reason:
        return said
    return joined([said, pre(_end_of(safe(stderr), LONGEST_STDERR))], "\n")


def undone(prompt: PromptItem) -> RichText:
    """A message that nobody answers."""
    quoted = within(" ".join(safe(prompt.text[: 2 * LONGEST_MESSAGE_QUOTED]).split()), LONGEST_MESSAGE_QUOTED)
    why = f": {within(safe(prompt.reason), LONGEST_ERROR)}" if prompt.reason else ""
    which = f"\n“{quoted}”" if quoted else ""
    return joined([bold(f"{WARNING} not taken up"), plain(f"{why}{which}\n{_SEND_AGAIN}")])


def _said(sign: str, reason: Reason) -> RichText:
    first, rest = _headline(within(safe(reason.what), LONGEST_ERROR))
    what = joined([bold(f"{sign} {first}"), rest] if first else [bold(sign), " ", rest])
    hint = from_markdown(reason.hint)
    quoted = joined(["It said: ", code(reason.said)]) if reason.said else EMPTY
    return joined([each for each in (what, hint, quoted) if each], "\n")


def _headline(text: str) -> tuple[str, str]:
    """The first sentence, which stands out, and the rest."""
    sentence = _FIRST_SENTENCE.match(text)
    return (sentence[0], text[sentence.end() :]) if sentence else ("", text)


def _sentence(text: str) -> str:
    """With a capital, unless it begins with a name: of a file, say."""
    text = text.strip()
    first = text.split(maxsplit=1)[0] if text else ""
    return text[:1].upper() + text[1:] if first.rstrip(",:;.").isalpha() else text


def _end_of(text: str, limit: int) -> str:
    """The end of an output, where it says why."""
    if len(text) <= limit:
        return text
    tail = text[-limit:]
    _, found, rest = tail.partition("\n")
    return f"…\n{rest if found and rest.strip() else tail}"

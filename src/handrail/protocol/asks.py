"""What waits for a person, and the answers: values, and how they look on the wire.

An `Ask` is made from a control request of the CLI; `answer_body` turns an answer into the body of the response, and
refuses an answer that does not fit the kind of ask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.errors import UnfitAnswer
from handrail.protocol.descriptions import Description, LazyDescription

__all__ = [
    "Allow",
    "Answer",
    "Answers",
    "Ask",
    "AskKind",
    "Deny",
    "DialogResult",
    "Elicited",
    "Failed",
    "answer_body",
    "ask_digest",
    "ask_from",
    "unanswered_body",
]

AskKind: TypeAlias = Literal["permission", "plan", "enter_plan", "question", "elicitation", "dialog", "budget"]

CANONICAL_JSON = msgspec.json.Encoder(order="sorted")
ASK_SUBTYPES = frozenset({"can_use_tool", "elicitation", "request_user_dialog"})
TOOL_KINDS: dict[str, AskKind] = {
    "ExitPlanMode": "plan",
    "EnterPlanMode": "enter_plan",
    "AskUserQuestion": "question",
}


class Ask(msgspec.Struct, kw_only=True, frozen=True):
    """Something that waits for an answer. `request` is the whole request as the CLI sent it."""

    id: str
    kind: AskKind
    request: dict[str, Any]
    tool_name: str = ""
    input: dict[str, Any] = msgspec.field(default_factory=dict)
    suggestions: tuple[dict[str, Any], ...] = ()
    tool_use_id: str | None = None
    agent_id: str | None = None
    """The subagent that asks; None for the main conversation."""
    agent: str = ""
    """The subagent in words, if it is one and has been introduced."""
    message: str = ""
    cwd: str = ""
    """The working directory of the session."""
    opened_at: float = 0.0
    """When it was asked, in seconds since the epoch."""
    plan: str | None = None
    """The plan of a plan ask, from wherever the CLI put it."""
    after_outline: bool = False
    """Whether this is the plan that follows a request for an outline."""
    digest: str = ""
    """Of exactly what is asked. An answer that carries it cannot be taken for an answer to anything else."""
    described: LazyDescription | None = None
    """Makes `description` when it is first looked at: an ask that a policy or a program answers needs none."""

    @property
    def description(self) -> Description | None:
        """What a surface shows: everything of the ask, with what is dangerous or hidden pointed out."""
        return self.described.value if self.described is not None else None

    def waited(self, now: float) -> float:
        """For how many seconds it has waited at `now` (seconds since the epoch)."""
        return max(0.0, now - self.opened_at)

    @property
    def questions(self) -> tuple[dict[str, Any], ...]:
        """The questions of a question ask, as the CLI sent them."""
        found = self.input.get("questions")
        return tuple(item for item in found if isinstance(item, dict)) if isinstance(found, list) else ()


class Allow(msgspec.Struct, frozen=True):
    """Let the tool run: with its own input, or with a changed one; and perhaps change the rules for what follows."""

    updated_input: Mapping[str, Any] | None = None
    updated_permissions: Sequence[Any] = ()


class Deny(msgspec.Struct, frozen=True):
    """Do not let the tool run. Claude is told `message`; with `interrupt` the turn ends."""

    message: str
    interrupt: bool = False


class Answers(msgspec.Struct, frozen=True):
    """Answers to a question ask, keyed by the question's text: a choice, several, or free text.

    `annotations` adds notes to single answers (2.1.62 and later), `response` a word to all of them (2.1.197 and later).
    A question without an answer is refused unless `partial` says that it is left open on purpose.
    """

    answers: Mapping[str, str | Sequence[str]]
    annotations: Mapping[str, Mapping[str, str]] | None = None
    response: str | None = None
    partial: bool = False


class Elicited(msgspec.Struct, frozen=True):
    """The answer to an MCP server's elicitation."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None


class DialogResult(msgspec.Struct, frozen=True):
    """The answer to a user dialog."""

    result: Any = None
    behavior: Literal["completed", "cancelled"] = "completed"


class Failed(msgspec.Struct, frozen=True):
    """No answer: whoever should have given one failed. The CLI is told the error; the tool does not run."""

    error: str


Answer: TypeAlias = Allow | Deny | Answers | Elicited | DialogResult | Failed


def ask_from(request_id: str, request: dict[str, Any]) -> Ask:
    """The ask that a control request of the CLI makes."""
    subtype = request.get("subtype")
    if subtype == "elicitation":
        return Ask(id=request_id, kind="elicitation", request=request, message=_text(request, "message"))
    if subtype == "request_user_dialog":
        payload = request.get("payload")
        return Ask(
            id=request_id,
            kind="dialog",
            request=request,
            input=payload if isinstance(payload, dict) else {},
            tool_use_id=request.get("tool_use_id"),
            message=_text(request, "dialog_kind"),
        )
    tool = _text(request, "tool_name")
    asked = request.get("input")
    suggestions = request.get("permission_suggestions")
    return Ask(
        id=request_id,
        kind=TOOL_KINDS.get(tool, "permission"),
        request=request,
        tool_name=tool,
        input=asked if isinstance(asked, dict) else {},
        suggestions=tuple(suggestions) if isinstance(suggestions, list) else (),
        tool_use_id=request.get("tool_use_id"),
        agent_id=request.get("agent_id"),
        message=_text(request, "description"),
    )


def answer_body(ask: Ask, answer: Answer) -> dict[str, Any]:
    """`answer` as the body of the control response to `ask`."""
    if ask.kind == "elicitation":
        return _elicitation_body(ask, answer)
    if ask.kind == "dialog":
        return _dialog_body(ask, answer)
    match answer:
        case Allow():
            return _allow_body(ask, answer)
        case Deny(message=message, interrupt=interrupt):
            denial = {"behavior": "deny", "message": message, "interrupt": interrupt}
            return _with_tool_use(ask, denial)
        case Answers() if ask.kind == "question":
            return _answers_body(ask, answer)
    raise _misfit(ask, answer)


def unanswered_body(ask: Ask, seconds: float) -> dict[str, Any]:
    """The body that tells the CLI, and Claude, that nobody answered: nobody refused, either."""
    if ask.kind == "elicitation":
        return {"action": "cancel"}
    message = (
        f"Nobody answered this within {_duration(seconds)}, so it was not done. Nobody refused it: "
        "whoever could allow it is away. Go on with what needs no permission, or stop and say what is waiting."
    )
    return answer_body(ask, Deny(message))


def ask_digest(ask: Ask, *, file_hash: str | None = None) -> str:
    """SHA-256 over the canonical JSON of what is asked; `file_hash` is that of the file an edit would change, as it is.

    What has no tool is told apart by its whole request.
    """
    import hashlib  # costs a session nothing until something is asked

    asked = {
        "request_id": ask.id,
        "tool": ask.tool_name or ask.kind,
        "input": ask.input if ask.tool_name else ask.request,
        "cwd": ask.cwd,
        "agent": ask.agent_id,
        "file": file_hash,
        "plan": ask.plan,
    }
    return hashlib.sha256(_canonical(asked)).hexdigest()


def _canonical(value: Any) -> bytes:
    """The one way to write `value` as JSON."""
    try:
        return CANONICAL_JSON.encode(value)
    except (ValueError, OverflowError, RecursionError):  # half a surrogate pair, say, of which UTF-8 knows nothing
        import json

        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _allow_body(ask: Ask, answer: Allow) -> dict[str, Any]:
    # The input is always sent: older CLIs refuse an allow without it, and an empty one would wipe the call's input.
    changed = ask.input if answer.updated_input is None else dict(answer.updated_input)
    body: dict[str, Any] = {"behavior": "allow", "updatedInput": changed}
    if answer.updated_permissions:
        body["updatedPermissions"] = list(answer.updated_permissions)
    return _with_tool_use(ask, body)


def _answers_body(ask: Ask, answer: Answers) -> dict[str, Any]:
    asked = {item.get("question") for item in ask.questions}
    unknown = [key for key in answer.answers if key not in asked]
    if unknown:
        raise UnfitAnswer(
            f"no such question: {unknown[0]!r}; key each answer by the question's full text: {sorted(map(str, asked))}"
        )
    given = {
        key: value if isinstance(value, str) else [str(choice) for choice in value]
        for key, value in answer.answers.items()
    }
    changed: dict[str, Any] = {**ask.input, "answers": given}
    if answer.response is not None:
        changed["response"] = answer.response
    if answer.annotations:
        changed["annotations"] = {key: dict(value) for key, value in answer.annotations.items()}
    return _with_tool_use(ask, {"behavior": "allow", "updatedInput": changed})


def _elicitation_body(ask: Ask, answer: Answer) -> dict[str, Any]:
    match answer:
        case Elicited(action=action, content=content):
            return {"action": action} if content is None else {"action": action, "content": dict(content)}
        case Deny():
            return {"action": "decline"}
    raise _misfit(ask, answer)


def _dialog_body(ask: Ask, answer: Answer) -> dict[str, Any]:
    match answer:
        case DialogResult(behavior="completed", result=result):
            return {"behavior": "completed", "result": result}
        case DialogResult() | Deny():
            return {"behavior": "cancelled"}
    raise _misfit(ask, answer)


def _with_tool_use(ask: Ask, body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "toolUseID": ask.tool_use_id} if ask.tool_use_id else body


def _misfit(ask: Ask, answer: object) -> UnfitAnswer:
    fitting = {
        "question": "Answers, Allow or Deny",
        "elicitation": "Elicited or Deny",
        "dialog": "DialogResult or Deny",
    }.get(ask.kind, "Allow or Deny")
    return UnfitAnswer(f"{type(answer).__name__} does not answer a {ask.kind} ask: use {fitting}")


def _duration(seconds: float) -> str:
    for unit, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= unit and seconds % unit == 0:
            count = int(seconds // unit)
            return f"{count} {name}" + ("s" if count > 1 else "")
    return f"{seconds:g} seconds"


def _text(request: dict[str, Any], name: str) -> str:
    value = request.get(name)
    return value if isinstance(value, str) else ""

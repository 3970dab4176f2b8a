"""Answers as JSON, for the journal and for surfaces in other processes: an object with a `type`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec

from handrail.errors import UnfitAnswer
from handrail.policy.answers.plan import (
    ApproveInFreshContext,
    ApprovePlan,
    EnterPlan,
    ImplementNow,
    OutlinePlan,
    PlanAnswer,
    RejectPlan,
    RevisePlan,
)
from handrail.protocol.asks import Allow, Answer, Answers, Deny, DialogResult, Elicited, Failed

__all__ = ["ANSWER_TYPES", "decode_answer", "encode_answer"]

ANSWER_TYPES: Final[Mapping[str, type[Any]]] = {
    "allow": Allow,
    "deny": Deny,
    "answers": Answers,
    "elicited": Elicited,
    "dialog_result": DialogResult,
    "failed": Failed,
    "approve_plan": ApprovePlan,
    "approve_in_fresh_context": ApproveInFreshContext,
    "revise_plan": RevisePlan,
    "outline_plan": OutlinePlan,
    "reject_plan": RejectPlan,
    "enter_plan": EnterPlan,
    "implement_now": ImplementNow,
}
"""The `type` of each answer."""

_NAMES: Final = {kind: name for name, kind in ANSWER_TYPES.items()}


def encode_answer(answer: Answer | PlanAnswer) -> dict[str, Any]:
    """`answer` as plain JSON values. Fields that have their default are left out."""
    name = _NAMES.get(type(answer))
    if name is None:
        raise UnfitAnswer(f"{type(answer).__name__} is no answer")
    try:
        fields = msgspec.json.decode(msgspec.json.encode(msgspec.structs.asdict(answer)))
    except (TypeError, ValueError, RecursionError) as error:
        raise UnfitAnswer(f"the answer cannot be written as JSON: {error}") from None
    defaults = _defaults(type(answer))
    return {"type": name} | {key: value for key, value in fields.items() if not _is_default(value, defaults[key])}


def decode_answer(encoded: Any) -> Answer | PlanAnswer:
    """The answer that `encode_answer` wrote, or that a program did. Raises `UnfitAnswer`, which says what is wrong."""
    if not isinstance(encoded, Mapping):
        raise UnfitAnswer(f'an answer is an object with a "type", not {type(encoded).__name__}')
    name = encoded.get("type")
    kind = ANSWER_TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise UnfitAnswer(f"no such type of answer: {name!r}; there are {', '.join(ANSWER_TYPES)}")
    fields = {key: value for key, value in encoded.items() if key != "type"}
    known = {field.name for field in msgspec.structs.fields(kind)}
    if unknown := fields.keys() - known:
        raise UnfitAnswer(
            f"{name} has no field {min(map(str, unknown))!r}; it has {', '.join(sorted(known)) or 'none'}"
        )
    images = fields.pop("images", ()) if kind is RevisePlan else ()
    try:
        answer = msgspec.convert(fields, _READ_AS.get(kind, kind))
    except msgspec.ValidationError as error:
        raise UnfitAnswer(f"{name}: {error}") from None
    if kind is RevisePlan:
        return RevisePlan(answer.feedback, tuple(_images(images)))
    decoded: Answer | PlanAnswer = answer
    return decoded


@cache
def _defaults(kind: type[Any]) -> dict[str, Any]:
    """The default of each field: looking them up takes longer than all the rest."""
    return {field.name: field.default for field in msgspec.structs.fields(kind)}


class _Revision(msgspec.Struct):
    """The part of a `RevisePlan` that has one type: an image may be a struct or an object."""

    feedback: str


_READ_AS: Final[Mapping[type[Any], type[Any]]] = {RevisePlan: _Revision}


def _images(images: Any) -> list[Mapping[str, Any]]:
    if not isinstance(images, list | tuple) or not all(isinstance(image, Mapping) for image in images):
        raise UnfitAnswer("revise_plan: images are content blocks, each an object")
    return list(images)


def _is_default(value: Any, default: Any) -> bool:
    return default is not msgspec.NODEFAULT and type(value) is type(_plain(default)) and bool(value == _plain(default))


def _plain(default: Any) -> Any:
    return list(default) if isinstance(default, tuple) else default

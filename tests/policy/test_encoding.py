"""Answers as JSON: every one comes back as it was, and what is malformed is refused with the reason."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.errors import UnfitAnswer
from handrail.policy.answers.encoding import ANSWER_TYPES, decode_answer, encode_answer
from handrail.policy.answers.plan import (
    ApproveInFreshContext,
    ApprovePlan,
    EnterPlan,
    ImplementNow,
    OutlinePlan,
    RejectPlan,
    RevisePlan,
)
from handrail.protocol.asks import Allow, Answers, Deny, DialogResult, Elicited, Failed
from handrail.protocol.blocks import Image

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(words, json_values, max_size=3)
modes = st.none() | st.sampled_from(["acceptEdits", "default", "bypassPermissions"])
prompts = st.booleans() | st.lists(st.integers(0, 5), max_size=3)
several = st.lists(words, max_size=3)

ANSWERS: dict[type[Any], st.SearchStrategy[Any]] = {
    Allow: st.builds(Allow, st.none() | objects, st.lists(objects, max_size=2)),
    Deny: st.builds(Deny, words, st.booleans()),
    Answers: st.builds(
        Answers,
        st.dictionaries(words, words | several, max_size=3),
        st.none() | st.dictionaries(words, st.dictionaries(words, words, max_size=2), max_size=2),
        st.none() | words,
        st.booleans(),
    ),
    Elicited: st.builds(Elicited, st.sampled_from(["accept", "decline", "cancel"]), st.none() | objects),
    DialogResult: st.builds(DialogResult, json_values, st.sampled_from(["completed", "cancelled"])),
    Failed: st.builds(Failed, words),
    ApprovePlan: st.builds(ApprovePlan, modes, st.none() | words, prompts, several, st.booleans()),
    ApproveInFreshContext: st.builds(ApproveInFreshContext, modes, st.none() | words, prompts, several),
    RevisePlan: st.builds(RevisePlan, words, st.lists(objects, max_size=2)),
    OutlinePlan: st.builds(OutlinePlan),
    RejectPlan: st.builds(RejectPlan, words, st.booleans()),
    EnterPlan: st.builds(EnterPlan),
    ImplementNow: st.builds(ImplementNow),
}


def plain(answer: Any) -> Any:
    """Its fields as JSON values: a tuple is as good as a list."""
    return msgspec.json.decode(msgspec.json.encode(msgspec.structs.asdict(answer)))


def test_every_kind_of_answer_is_tried() -> None:
    assert set(ANSWERS) == set(ANSWER_TYPES.values())


@settings(max_examples=100)
@given(st.one_of(*ANSWERS.values()))
def test_every_answer_comes_back_as_it_was(answer: Any) -> None:
    encoded = msgspec.json.decode(msgspec.json.encode(encode_answer(answer)))
    decoded = decode_answer(encoded)
    assert type(decoded) is type(answer)
    assert plain(decoded) == plain(answer)
    assert encode_answer(decoded) == encoded


def test_what_is_as_usual_is_left_out() -> None:
    assert encode_answer(Allow()) == {"type": "allow"}
    assert encode_answer(Allow({})) == {"type": "allow", "updated_input": {}}
    assert encode_answer(ApprovePlan(allow_prompts=[0])) == {"type": "approve_plan", "allow_prompts": [0]}


def test_images_of_a_revision_are_content_blocks() -> None:
    image = Image(source={"type": "base64", "media_type": "image/png", "data": "eA=="})
    encoded = encode_answer(RevisePlan("like this", [image]))
    assert encoded["images"][0]["source"]["data"] == "eA=="
    decoded = decode_answer(encoded)
    assert isinstance(decoded, RevisePlan)
    assert encode_answer(decoded) == encoded


@pytest.mark.parametrize(
    ("encoded", "why"),
    [
        (None, 'an answer is an object with a "type", not NoneType'),
        ("allow", "not str"),
        ([], "not list"),
        ({}, "no such type of answer: None; there are allow, deny"),
        ({"type": "yes"}, "no such type of answer: 'yes'; there are allow, deny"),
        ({"type": ["allow"]}, "no such type of answer"),
        ({"type": "deny"}, "deny: .*missing required field `message`"),
        ({"type": "deny", "message": 5}, r"deny: Expected `str`, got `int` - at `\$.message`"),
        (
            {"type": "deny", "message": "no", "interupt": True},
            "deny has no field 'interupt'; it has interrupt, message",
        ),
        ({"type": "enter_plan", "x": 1}, "enter_plan has no field 'x'; it has none"),
        ({"type": "allow", "updated_input": "ls"}, r"allow: .*at `\$.updated_input`"),
        ({"type": "allow", 1: 2, "x": 3}, "allow has no field"),
        ({"type": "elicited", "action": "maybe"}, "elicited: Invalid enum value 'maybe'"),
        ({"type": "answers", "answers": {"q": 1}}, "answers: "),
        ({"type": "approve_plan", "mode": "yolo"}, "approve_plan: Invalid enum value 'yolo'"),
        ({"type": "revise_plan"}, "revise_plan: .*missing required field `feedback`"),
        ({"type": "revise_plan", "feedback": "x", "images": "png"}, "images are content blocks, each an object"),
        ({"type": "revise_plan", "feedback": "x", "images": ["png"]}, "images are content blocks, each an object"),
    ],
)
def test_what_is_malformed_is_refused_with_the_reason(encoded: Any, why: str) -> None:
    with pytest.raises(UnfitAnswer, match=why):
        decode_answer(encoded)


@settings(max_examples=80)
@given(
    st.dictionaries(
        st.sampled_from(["message", "updated_input", "answers", "images", "feedback", "mode"]), json_values
    ),
    st.sampled_from(list(ANSWER_TYPES)) | json_values,
)
def test_anything_is_decoded_or_refused(fields: dict[str, Any], type: Any) -> None:
    try:
        answer = decode_answer({**fields, "type": type})
    except UnfitAnswer:
        return
    assert encode_answer(answer)["type"] == type


@pytest.mark.parametrize("answer", ["yes", None, object(), Allow, Image(source={})])
def test_what_is_no_answer_is_refused(answer: Any) -> None:
    with pytest.raises(UnfitAnswer, match="is no answer"):
        encode_answer(answer)


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("result", [object(), {"x": [object()]}, "\ud800", nested(100_000)])
def test_what_json_cannot_say_is_refused(result: Any) -> None:
    with pytest.raises(UnfitAnswer, match="cannot be written as JSON"):
        encode_answer(DialogResult(result))

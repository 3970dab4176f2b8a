"""Elicitations and dialogs: the fields of a form, and what may be sent for them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import UnfitAnswer
from handrail.policy.answers.forms import FieldProblem, check_dialog, check_elicited, form_fields, form_problems
from handrail.protocol.asks import Ask, DialogResult, Elicited

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 10},
        "age": {"type": "integer", "minimum": 18, "maximum": 150},
        "mail": {"type": "string", "format": "email"},
        "colours": {"type": "array", "items": {"enum": ["red", "green"]}, "minItems": 1, "maxItems": 2},
    },
    "required": ["name", "age"],
}


def elicitation(schema: Any = PERSON, **request: Any) -> Ask:
    return Ask(id="1", kind="elicitation", request={"mode": "form", "requested_schema": schema, **request})


def problem_with(schema: dict[str, Any], value: Any) -> str:
    found = form_problems({"properties": {"it": schema}}, {"it": value})
    return "; ".join(map(str, found))


def test_the_fields_say_what_a_surface_needs() -> None:
    fields = {field.name: field for field in form_fields(elicitation().request)}
    assert list(fields) == ["name", "age", "mail", "colours"]
    assert (fields["name"].min_length, fields["name"].max_length, fields["name"].required) == (2, 10, True)
    assert (fields["age"].kind, fields["age"].minimum, fields["age"].maximum) == ("integer", 18, 150)
    assert fields["mail"].format == "email"
    assert fields["colours"].several
    assert fields["colours"].choices == (("red", "red"), ("green", "green"))


def test_a_form_that_is_filled_in_rightly_is_accepted() -> None:
    check_elicited(elicitation(), Elicited("accept", {"name": "Ada", "age": 36, "colours": ["red"]}))
    check_elicited(elicitation({}), Elicited("accept", {}))


def test_every_wrong_field_is_named() -> None:
    problems = form_problems(PERSON, {"age": 3, "mail": "nobody", "colours": [], "shoe": 43})
    assert problems == (
        FieldProblem("name", "is missing"),
        FieldProblem("shoe", "is not in the form"),
        FieldProblem("age", "must be at least 18"),
        FieldProblem("mail", "must be an e-mail address"),
        FieldProblem("colours", "needs at least 1 choices"),
    )
    with pytest.raises(UnfitAnswer, match="name is missing; shoe is not in the form; age must be at least 18"):
        check_elicited(elicitation(), Elicited("accept", {"age": 3, "shoe": 43}))


def test_an_empty_form_says_what_is_wanted() -> None:
    with pytest.raises(UnfitAnswer, match="name is missing, age is missing"):
        check_elicited(elicitation(), Elicited("accept"))


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_nothing_is_sent_with_a_no(action: Any) -> None:
    check_elicited(elicitation(), Elicited(action))
    with pytest.raises(UnfitAnswer, match="nothing is sent"):
        check_elicited(elicitation(), Elicited(action, {"name": "Ada"}))


def test_an_address_is_accepted_without_content() -> None:
    asked = elicitation(None, mode="url", url="https://example.com")
    for action in ("accept", "decline", "cancel"):
        check_elicited(asked, Elicited(action))  # type: ignore[arg-type]
    with pytest.raises(UnfitAnswer, match="address"):
        check_elicited(asked, Elicited("accept", {}))


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": "string"}, 3, "it must be text"),
        ({"type": "integer"}, "3", "it must be a whole number"),
        ({"type": "integer"}, True, "it must be a whole number"),
        ({"type": "integer"}, 3.5, "it must be a whole number"),
        ({"type": "number"}, float("nan"), "it must be a finite number"),
        ({"type": "boolean"}, 1, "it must be true or false"),
        ({"type": "array"}, "a", "it must be a list"),
        ({"enum": ["a", "b"]}, "c", "it must be one of 'a', 'b'"),
        ({"oneOf": [{"const": "a", "title": "A"}]}, "A", "it must be one of 'a'"),
        ({"type": "array", "items": {"enum": ["a"]}}, ["a", "z"], "it [1]: must be one of 'a'"),
        ({"type": "array", "maxItems": 1}, ("a", "b"), "it can have at most 1 choices"),
        ({"type": "string", "minLength": 2}, "a", "it must have at least 2 characters"),
        ({"type": "string", "maxLength": 2}, "abc", "it must have at most 2 characters"),
        ({"type": "number", "maximum": 2.5}, 3, "it must be at most 2.5"),
        ({"type": "number", "exclusiveMinimum": 2}, 2, "it must be more than 2"),
        ({"type": "number", "exclusiveMaximum": 2}, 2, "it must be less than 2"),
        ({"format": "date"}, "31.1.2026", "it must be a date such as 2026-01-31"),
        ({"format": "date-time"}, "2026-01-31", "it must be a time such as 2026-01-31T12:00:00Z"),
        ({"format": "date-time"}, "2026-01-31T12:00:00", "it must be a time such as 2026-01-31T12:00:00Z"),
        ({"format": "uri"}, "example.com", "it must be an address with its scheme, such as https://example.com"),
        ({"format": "uri"}, "http://[", "it must be an address with its scheme, such as https://example.com"),
        ({"format": "email"}, "@", "it must be an e-mail address"),
    ],
)
def test_problems_are_said_in_words(schema: dict[str, Any], value: Any, problem: str) -> None:
    assert problem_with(schema, value) == problem


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "format": "date"}, "2026-01-31"),
        ({"type": "string", "format": "date-time"}, "2026-01-31T12:00:00.5Z"),
        ({"type": "string", "format": "date-time"}, "2026-01-31t12:00:00+02:00"),
        ({"type": "string", "format": "uri"}, "https://example.com/a?b"),
        ({"type": "string", "format": "email"}, "a@b.example"),
        ({"type": "string", "format": "haiku"}, "anything"),
        ({"type": "array", "items": {"anyOf": [{"const": "x"}, {"const": "y"}]}}, ["y"]),
        ({}, None),
    ],
)
def test_what_fits_has_no_problem(schema: dict[str, Any], value: Any) -> None:
    assert problem_with(schema, value) == ""


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "(a+)+$"},
        {"$ref": "http://127.0.0.1:1/schema"},
        {"allOf": [{"$ref": "#/nowhere"}]},
        {"type": "nonsense", "minLength": -1, "minimum": "low", "enum": "a"},
        {"type": ["string", "null"]},
    ],
)
def test_a_schema_beyond_mcp_does_no_harm(schema: dict[str, Any]) -> None:
    assert problem_with(schema, "a" * 40 + "!") == ""


def test_dialogs() -> None:
    dialog = Ask(id="1", kind="dialog", request={})
    check_dialog(dialog, DialogResult({"chosen": [1, None]}))
    check_dialog(dialog, DialogResult(behavior="cancelled"))
    with pytest.raises(UnfitAnswer, match="cancelled dialog"):
        check_dialog(dialog, DialogResult("x", behavior="cancelled"))
    with pytest.raises(UnfitAnswer, match="JSON"):
        check_dialog(dialog, DialogResult(object()))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
LIMITS = ("minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems", "maxItems")
KEYWORDS = st.sampled_from(
    ("type", "enum", "enumNames", "oneOf", "anyOf", "format", "items", "title", "default", "$ref", "pattern", *LIMITS)
)
WORDS = st.sampled_from(["string", "integer", "number", "boolean", "array", "email", "uri", "date", "date-time"])
FIELD_SCHEMAS = st.dictionaries(KEYWORDS, JSON | WORDS, max_size=5)


@pytest.mark.slow
@given(schema=st.dictionaries(st.sampled_from("abc"), FIELD_SCHEMAS | JSON, max_size=3), content=st.data())
def test_no_schema_and_no_content_is_too_strange(schema: dict[str, Any], content: st.DataObject) -> None:
    request = {"requested_schema": {"properties": schema, "required": ["a"]}, "property_order": ["b", "b", 3]}
    assert sorted(field.name for field in form_fields(request)) == sorted(schema)
    values = content.draw(st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4))
    problems = form_problems(request["requested_schema"], values)  # type: ignore[arg-type]
    assert {"a"} - values.keys() <= {problem.field for problem in problems}
    assert all(problem.problem for problem in problems)


@given(
    value=st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
    low=st.integers(-100, 100),
    span=st.integers(0, 100),
)
def test_a_number_fits_exactly_if_it_is_in_range(value: float, low: int, span: int) -> None:
    schema = {"type": "number", "minimum": low, "maximum": low + span}
    assert (problem_with(schema, value) == "") is (low <= value <= low + span)


@given(choices=st.lists(st.text(max_size=5), min_size=1, max_size=5, unique=True), value=st.text(max_size=5))
def test_a_choice_fits_exactly_if_it_is_offered(choices: list[str], value: str) -> None:
    assert (problem_with({"enum": choices}, value) == "") is (value in choices)
    titled = {"oneOf": [{"const": each, "title": json.dumps(each)} for each in choices]}
    assert (problem_with(titled, value) == "") is (value in choices)

"""Forms from JSON schemas, and what may be typed into them."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.cli.asking.forms import form_fields, pick, read_value


def field(schema: dict[str, Any], **request: Any) -> Any:
    (only,) = form_fields({"requested_schema": {"properties": {"it": schema}}, **request})
    return only


def test_fields_come_in_the_order_the_server_wants() -> None:
    properties = {"a": {"type": "string"}, "b": {"type": "integer", "title": "Bee", "default": 3}, "c": {}}
    fields = form_fields(
        {"requested_schema": {"properties": properties, "required": ["b"]}, "property_order": ["b", "zz", "a"]}
    )
    assert [each.name for each in fields] == ["b", "a", "c"]
    assert (fields[0].title, fields[0].default, fields[0].required) == ("Bee", 3, True)
    assert (fields[1].title, fields[1].required) == ("a", False)


def test_a_request_without_a_schema_has_no_fields() -> None:
    assert form_fields({}) == []
    assert form_fields({"requested_schema": {"properties": []}, "property_order": None}) == []


@pytest.mark.parametrize(
    ("schema", "typed", "value"),
    [
        ({"type": "string"}, "some words", "some words"),
        ({"type": "integer"}, "42", 42),
        ({"type": "number", "minimum": 0.5}, "0.5", 0.5),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "n", False),
        ({"enum": ["red", "green"]}, "2", "green"),
        ({"enum": [1, 2], "enumNames": ["one", "two"]}, "1", 1),
        ({"oneOf": [{"const": "r", "title": "Red"}, {"const": "g"}]}, "1", "r"),
        ({"type": "array", "items": {"enum": ["a", "b", "c"]}}, "1, 3", ["a", "c"]),
        ({"type": "array", "items": {"anyOf": [{"const": "x"}, {"const": "y"}]}}, "2", ["y"]),
        ({"type": "array", "items": {"type": "integer"}}, "1, 2", [1, 2]),
    ],
)
def test_what_is_typed_becomes_a_value(schema: dict[str, Any], typed: str, value: Any) -> None:
    assert read_value(field(schema), typed) == value


@pytest.mark.parametrize(
    ("schema", "typed", "complaint"),
    [
        ({"type": "integer"}, "4.5", "a whole number"),
        ({"type": "number"}, "much", "a number"),
        ({"type": "integer", "minimum": 3}, "2", "at least 3"),
        ({"type": "number", "maximum": 1.5}, "2", "at most 1.5"),
        ({"type": "boolean"}, "maybe", "y or n"),
        ({"enum": ["red", "green"]}, "3", "from 1 to 2"),
        ({"enum": ["red", "green"]}, "1,2", "only one"),
        ({"type": "array", "items": {"enum": ["a"]}}, "", "with commas"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(schema: dict[str, Any], typed: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_value(field(schema), typed)


def test_choices_show_their_names() -> None:
    assert field({"enum": [1, 2, 3], "enumNames": ["one", "two"]}).choices == ((1, "one"), (2, "two"), (3, "3"))


def test_picking_twice_counts_once() -> None:
    assert pick("2, 1 2", 3, several=True) == [1, 0]

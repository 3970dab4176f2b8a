"""What MCP servers ask for (elicitations) and user dialogs: the fields of a form, and whether an answer fits it.

The CLI passes on whatever it is given, so what a server wants is checked here. MCP's forms are flat: one object whose
fields are text, numbers, yes or no, or a choice. Of a field's schema only what MCP knows is used; `pattern` and
references are not, because a server could have us search forever or fetch something.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from handrail.errors import UnfitAnswer
from handrail.protocol.asks import Ask, DialogResult, Elicited

if TYPE_CHECKING:
    from jsonschema import FormatChecker
    from jsonschema.exceptions import ValidationError

__all__ = ["Field", "FieldProblem", "check_dialog", "check_elicited", "form_fields", "form_problems"]

TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
}
FORMATS = {
    "email": "an e-mail address",
    "uri": "an address with its scheme, such as https://example.com",
    "date": "a date such as 2026-01-31",
    "date-time": "a time such as 2026-01-31T12:00:00Z",
}
COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One value to ask for. `choices` are (value, what is shown); `several` of them may be picked."""

    name: str
    title: str
    kind: str = "string"
    description: str = ""
    required: bool = False
    default: Any = None
    choices: tuple[tuple[Any, str], ...] = ()
    several: bool = False
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    format: str = ""


class FieldProblem(msgspec.Struct, frozen=True):
    """What is wrong with the value of one field, in words: `age` "must be at least 18"."""

    field: str
    problem: str

    def __str__(self) -> str:
        return f"{self.field} {self.problem}"


def form_fields(request: Mapping[str, Any]) -> list[Field]:
    """The fields of an elicitation request, in the order in which the server wants them shown."""
    schema = _mapping(request.get("requested_schema"))
    properties = _mapping(schema.get("properties"))
    required = _list(schema.get("required"))
    order = [name for name in _list(request.get("property_order")) if isinstance(name, str) and name in properties]
    names = [*dict.fromkeys(order), *(name for name in properties if name not in order)]
    return [_field(name, _mapping(properties[name]), name in required) for name in names]


def check_elicited(ask: Ask, answer: Elicited) -> None:
    """Raise `UnfitAnswer` if `answer` does not fit the elicitation `ask`; for a form, field by field."""
    if answer.action != "accept":
        if answer.content is not None:
            raise UnfitAnswer(f"nothing is sent to the server with {answer.action!r}: leave `content` out")
    elif ask.request.get("mode") == "url":
        if answer.content is not None:
            raise UnfitAnswer("the server wants an address opened, not values: leave `content` out")
    elif answer.content is None:
        raise UnfitAnswer(f"the form is not filled in: {_wanted(ask) or 'accept with content={}'}")
    elif problems := form_problems(_mapping(ask.request.get("requested_schema")), answer.content):
        raise UnfitAnswer("; ".join(map(str, problems)))


def check_dialog(ask: Ask, answer: DialogResult) -> None:
    """Raise `UnfitAnswer` if `answer` cannot answer the dialog `ask`."""
    if answer.behavior == "cancelled" and answer.result is not None:
        raise UnfitAnswer("nothing is sent with a cancelled dialog: leave `result` out")
    try:
        msgspec.json.encode(answer.result)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnfitAnswer(f"the result cannot be written as JSON: {error}") from None


def form_problems(schema: Mapping[str, Any], content: Mapping[str, Any]) -> tuple[FieldProblem, ...]:
    """What is wrong with `content` by a form's `schema`, field by field; nothing if it fits."""
    properties = {name: _mapping(field) for name, field in _mapping(schema.get("properties")).items()}
    required = [name for name in _list(schema.get("required")) if isinstance(name, str)]
    return (
        *(FieldProblem(name, "is missing") for name in required if name not in content),
        *(FieldProblem(name, "is not in the form") for name in content if name not in properties),
        *(
            FieldProblem(name, problem)
            for name, value in content.items()
            if name in properties and (problem := _problem(properties[name], value))
        ),
    )


# ---------------------------------------------------------------- one field


def _field(name: str, schema: Mapping[str, Any], required: bool) -> Field:
    several = schema.get("type") == "array"
    item = _mapping(schema.get("items")) if several else schema
    return Field(
        name=name,
        title=str(schema.get("title") or name),
        kind=str(item.get("type", "string")),
        description=str(schema.get("description") or ""),
        required=required,
        default=schema.get("default"),
        choices=_choices(item),
        several=several,
        minimum=_number(item.get("minimum")),
        maximum=_number(item.get("maximum")),
        min_length=_count(item.get("minLength")),
        max_length=_count(item.get("maxLength")),
        format=str(item.get("format") or ""),
    )


def _choices(schema: Mapping[str, Any]) -> tuple[tuple[Any, str], ...]:
    for key in ("oneOf", "anyOf"):
        if titled := [_mapping(each) for each in _list(schema.get(key)) if "const" in _mapping(each)]:
            return tuple((each["const"], str(each.get("title") or each["const"])) for each in titled)
    values, names = _list(schema.get("enum")), _list(schema.get("enumNames"))
    return tuple((value, str(names[index] if index < len(names) else value)) for index, value in enumerate(values))


def _problem(schema: Mapping[str, Any], value: Any) -> str:
    """What is wrong with one value, in words; empty if it fits."""
    # Imported here, because it takes long and only forms need it.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    if isinstance(value, float) and not math.isfinite(value):
        return "must be a finite number"
    validator = Draft202012Validator(_known(schema), format_checker=_format_checker())
    error = best_match(validator.iter_errors(_plain(value)))
    return "" if error is None else _in_words(error)


def _known(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a field's schema that MCP defines, without what makes no sense."""
    known = _known_of_one(schema)
    if schema.get("type") == "array":
        known["items"] = _known_of_one(_mapping(schema.get("items")))
    return known


def _known_of_one(schema: Mapping[str, Any]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for key, words in (("type", TYPES), ("format", FORMATS)):
        if (word := schema.get(key)) in list(words):
            known[key] = word
    if choices := _choices(schema):
        known["enum"] = [value for value, _ in choices]
    known |= {key: count for key in COUNTS if (count := _count(schema.get(key))) is not None}
    known |= {key: bound for key in BOUNDS if (bound := _number(schema.get(key))) is not None}
    return known


def _in_words(error: ValidationError) -> str:
    wanted: Any = error.validator_value
    words: dict[str, Callable[[], str]] = {
        "type": lambda: f"must be {TYPES[wanted]}",
        "enum": lambda: f"must be one of {', '.join(map(repr, wanted))}",
        "format": lambda: f"must be {FORMATS[wanted]}",
        "minLength": lambda: f"must have at least {wanted} characters",
        "maxLength": lambda: f"must have at most {wanted} characters",
        "minItems": lambda: f"needs at least {wanted} choices",
        "maxItems": lambda: f"can have at most {wanted} choices",
        "minimum": lambda: f"must be at least {wanted:g}",
        "maximum": lambda: f"must be at most {wanted:g}",
        "exclusiveMinimum": lambda: f"must be more than {wanted:g}",
        "exclusiveMaximum": lambda: f"must be less than {wanted:g}",
    }
    where = "".join(f"[{part}]: " for part in error.path)
    return where + words[str(error.validator)]()


def _format_checker() -> FormatChecker:
    from jsonschema import FormatChecker

    # Not the library's own: what it checks depends on which packages happen to be installed.
    checker = FormatChecker(formats=())
    checker.checks("email")(_text_only(lambda text: "@" in text.strip("@") and " " not in text))
    checker.checks("uri", raises=ValueError)(_text_only(lambda text: bool(urlsplit(text).scheme)))
    checker.checks("date", raises=ValueError)(_text_only(lambda text: bool(date.fromisoformat(text))))
    checker.checks("date-time", raises=ValueError)(_text_only(_is_time))
    return checker


def _text_only(check: Callable[[str], bool]) -> Callable[[object], bool]:
    """A format says something about text only; anything else is the type's business."""
    return lambda value: check(value) if isinstance(value, str) else True


def _is_time(text: str) -> bool:
    return "T" in text.upper() and datetime.fromisoformat(text.upper()).tzinfo is not None


def _wanted(ask: Ask) -> str:
    return ", ".join(f"{field.name} is missing" for field in form_fields(ask.request) if field.required)


# ---------------------------------------------------------------- values from elsewhere


def _plain(value: Any) -> Any:
    """A tuple is a list on the wire."""
    return list(value) if isinstance(value, tuple) else value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

"""Questions and forms as part of a description, with everything that the CLI sent about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.policy.describing.json_text import compact_json, fields_of, storable, text_in
from handrail.protocol.descriptions import Choice, Form, FormField, Option, Question, Questions

__all__ = ["form_of", "questions_of"]


def questions_of(given: Mapping[str, Any]) -> Questions | None:
    """The questions of an input; None if it has another shape than questions have."""
    found = given.get("questions")
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        return None
    return Questions(questions=tuple(_question(each) for each in found))


def _question(given: Mapping[str, Any]) -> Question:
    shown = {name for name in ("question", "header") if isinstance(given.get(name), str)}
    options = given.get("options")
    listed = isinstance(options, list) and all(isinstance(each, dict) for each in options)
    shown |= {"options"} if listed else set()
    shown |= {"multiSelect"} if isinstance(given.get("multiSelect"), bool) else set()
    return Question(
        text=text_in(given, "question"),
        header=text_in(given, "header"),
        options=tuple(_option(each) for each in options) if listed and isinstance(options, list) else (),
        multi_select=given.get("multiSelect") is True,
        fields=fields_of(given, shown),
    )


def _option(given: Mapping[str, Any]) -> Option:
    shown = {name for name in ("label", "description", "preview") if isinstance(given.get(name), str)}
    return Option(
        label=text_in(given, "label"),
        description=text_in(given, "description"),
        preview=text_in(given, "preview"),
        fields=fields_of(given, shown),
    )


# ---------------------------------------------------------------- forms


def form_of(request: Mapping[str, Any]) -> tuple[Form, set[str]]:
    """The form of an elicitation, and which fields of the request it holds."""
    schema = _mapping(request.get("requested_schema"))
    fields = _form_fields(schema)
    shown = {name for name in ("mcp_server_name", "message", "url") if isinstance(request.get(name), str)}
    if fields is not None and schema.keys() <= {"type", "properties", "required"}:
        shown.add("requested_schema")
    form = Form(
        server=text_in(request, "mcp_server_name"),
        message=text_in(request, "message"),
        url=text_in(request, "url"),
        form_fields=fields or (),
    )
    return form, shown


def _form_fields(schema: Mapping[str, Any]) -> tuple[FormField, ...] | None:
    """The fields; None if the schema is not one that a form can show, so that it is shown as it came."""
    properties, required = schema.get("properties"), schema.get("required", [])
    if schema.get("type", "object") != "object" or not isinstance(properties, dict) or not isinstance(required, list):
        return None
    if not all(isinstance(each, dict) for each in properties.values()):
        return None
    if not all(isinstance(name, str) and name in properties for name in required):
        return None
    return tuple(_form_field(storable(name), each, name in required) for name, each in properties.items())


def _form_field(name: str, schema: Mapping[str, Any], required: bool) -> FormField:
    several = schema.get("type") == "array"
    items = _mapping(schema.get("items")) if several else schema
    choices, keyword = _choices(items)
    shown = {key for key in ("title", "description", "type") if isinstance(schema.get(key), str)} | {"default"}
    if several and isinstance(schema.get("items"), dict) and _says_only_choices(items, keyword):
        shown.add("items")
    elif not several and keyword:
        shown.add(keyword)
    return FormField(
        name=name,
        title=text_in(schema, "title"),
        kind=text_in(items, "type") or "string",
        description=text_in(schema, "description"),
        required=required,
        default=compact_json(schema["default"]) if "default" in schema else None,
        choices=choices,
        several=several,
        fields=fields_of(schema, shown),
    )


def _says_only_choices(items: Mapping[str, Any], keyword: str) -> bool:
    return items.keys() <= {"type", keyword} and isinstance(items.get("type", ""), str)


def _choices(schema: Mapping[str, Any]) -> tuple[tuple[Choice, ...], str]:
    """The values to choose from, and the keyword of the schema that says them."""
    for keyword in ("oneOf", "anyOf"):
        titled = schema.get(keyword)
        if isinstance(titled, list) and titled and all(_is_titled(each) for each in titled):
            return tuple(_choice(each["const"], text_in(each, "title")) for each in titled), keyword
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return tuple(_choice(value, "") for value in values), "enum"
    return (), ""


def _is_titled(given: Any) -> bool:
    return (
        isinstance(given, dict)
        and "const" in given
        and given.keys() <= {"const", "title"}
        and isinstance(given.get("title", ""), str)
    )


def _choice(value: Any, title: str) -> Choice:
    return Choice(
        value=compact_json(value), shown=title or (storable(value) if isinstance(value, str) else compact_json(value))
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}

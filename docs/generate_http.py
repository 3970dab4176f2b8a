"""Writes reference/http.md from the API's own description: python docs/generate_http.py"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from handrail.server.metrics import Metrics
from handrail.server.openapi import make_document

PAGE = Path(__file__).parent / "reference" / "http.md"

INTRODUCTION = """\
# HTTP API

<!-- Written by docs/generate_http.py: change the handlers in handrail/server, then run that. -->

`handrail serve` answers these addresses. The same is at `/api/openapi.json`, as an OpenAPI 3.1 document.
"""

Json = Mapping[str, Any]


def page() -> str:
    document = make_document()
    lines = [INTRODUCTION, f"{document['info']['description']}\n", *overview(document)]
    for tag in document["tags"]:
        lines += [f"## {tag['name'].capitalize()}\n", f"{tag['description']}\n"]
        lines += [line for each in operations(document, tag["name"]) for line in described(document, *each)]
    return "\n".join([*lines, *figures(), *shapes(document)])


def overview(document: Json) -> Iterator[str]:
    yield "| | address | role |"
    yield "|---|---|---|"
    for tag in document["tags"]:
        for method, path, operation in operations(document, tag["name"]):
            yield row(method, f"[`{path}`](#{anchor(method, path)})", role(operation))
    yield ""


def operations(document: Json, tag: str) -> Iterator[tuple[str, str, Json]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if tag in operation["tags"]:
                yield method.upper(), path, operation


def described(document: Json, method: str, path: str, operation: Json) -> Iterator[str]:
    yield f"### {method} {path}\n"
    yield f"{operation['summary']} {operation['description']}\n"
    parameters = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
    if parameters:
        yield "| in the address | type | |"
        yield "|---|---|---|"
        for each in parameters:
            words = ("required. " if each["required"] else "") + each.get("description", "")
            yield row(f"`{each['name']}`", type_of(each["schema"]), words + default(each["schema"]))
        yield ""
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        shape = resolved(document, content["schema"])
        yield f"Takes {shape.get('title', 'JSON')}. {description(shape)}\n"
        yield from fields(shape)
        yield from examples(content)
    yield f"Gives {answer(operation)}.\n"


def answer(operation: Json) -> str:
    status, response = next(iter(operation["responses"].items()))
    kinds = response.get("content", {})
    shown = [type_of(content["schema"]) if kind == "application/json" else kind for kind, content in kinds.items()]
    return f"{status}: {' or '.join(shown)}" if shown else f"{status}, without content"


def examples(content: Json) -> Iterator[str]:
    import json

    for example in content.get("examples", {}).values():
        yield f"```json\n{json.dumps(example['value'], ensure_ascii=False)}\n```\n"


def figures() -> Iterator[str]:
    """What `/metrics` counts, beside the figures of the process itself."""
    yield "## Figures\n"
    yield "What `/metrics` gives, for Prometheus, beside the usual figures of the process (`process_…`, `python_…`).\n"
    yield "| name | kind | what it is | labels |"
    yield "|---|---|---|---|"
    for name, kind, words, labels in Metrics().catalogue:
        yield row(f"`{name}`", kind, words, ", ".join(f"`{label}`" for label in labels))
    yield ""


def shapes(document: Json) -> Iterator[str]:
    yield "## Shapes\n"
    yield "What the answers above are made of.\n"
    for name, schema in sorted(document["components"]["schemas"].items()):
        if name not in bodies(document):
            yield f"### {name}\n"
            if "description" in schema:
                yield f"{schema['description']}\n"
            yield from fields(schema)


def bodies(document: Json) -> set[str]:
    """What is described where it is taken."""
    contents = [
        operation["requestBody"]["content"]["application/json"]["schema"]
        for methods in document["paths"].values()
        for operation in methods.values()
        if "requestBody" in operation
    ]
    return {schema["$ref"].rpartition("/")[2] for schema in contents if "$ref" in schema}


def fields(schema: Json) -> Iterator[str]:
    required = schema.get("required", ())
    if schema.get("properties"):
        yield "| field | type | |"
        yield "|---|---|---|"
    for name, each in schema.get("properties", {}).items():
        words = ("required. " if name in required else "") + description(each)
        yield row(f"`{name}`", type_of(each), words + default(each))
    yield ""


def resolved(document: Json, schema: Json) -> Json:
    found: Json = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


def type_of(schema: Json) -> str:
    """A type in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{anchor(name)})"
    if "anyOf" in schema:
        return " or ".join(type_of(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    if schema.get("type") == "array":
        inner = schema.get("items") or {}
        return f"list of {type_of(inner)}" if inner else "list"
    return {"null": "null", "object": "object", "string": "text"}.get(schema.get("type", ""), schema.get("type", "any"))


def description(schema: Json) -> str:
    kinds = [schema, *schema.get("anyOf", ())]
    return next((str(each["description"]) for each in kinds if "description" in each), "")


def default(schema: Json) -> str:
    value = schema.get("default")
    return (
        f" Default: `{str(value).lower() if isinstance(value, bool) else value}`."
        if value not in (None, "", [])
        else ""
    )


def role(operation: Json) -> str:
    return str(operation["description"]).removeprefix("Needs the role ").removeprefix("Needs ").rstrip(".")


def anchor(*words: str) -> str:
    text = " ".join(words).lower()
    return "".join(sign for sign in text if sign.isalnum() or sign in "_- ").replace(" ", "-")


def row(*cells: str) -> str:
    return "| " + " | ".join(cell.strip().replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

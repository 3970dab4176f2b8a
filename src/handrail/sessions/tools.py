"""Python functions as tools for the model: `@tool`, the schema its hints give, and what its results become.

Nothing here needs the `mcp` package; `handrail.sessions.mcp` serves these tools with it.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, get_args, get_origin, overload

import msgspec

from handrail.errors import InvalidOptions

__all__ = ["Tool", "check_name", "image_block", "result_body", "tool"]

P = ParamSpec("P")
R = TypeVar("R")

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

BLOCK_FIELDS = {
    "text": "text",
    "image": "data",
    "audio": "data",
    "resource": "resource",
    "resource_link": "uri",
}
"""MCP's content blocks, each with the field that tells it from data that merely has a `type`."""

IMAGE_SIGNATURES = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}


@dataclass(frozen=True, eq=False)
class Tool(Generic[P, R]):
    """A function the model may call. Made by `@tool`; it can still be called as the function it was."""

    name: str
    description: str
    function: Callable[P, R]
    annotations: Mapping[str, Any]
    """Hints for the CLI, by their wire names (`readOnlyHint`, …)."""
    arguments: type[msgspec.Struct] = field(repr=False)
    """The parameters as a struct type: what arguments are checked against."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return _json_schema(self.arguments)

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """`arguments` as the types the function expects. Raises `msgspec.ValidationError` if they do not fit."""
        values = msgspec.convert(arguments, self.arguments)
        # Only what was given is passed on: the function's own defaults stand for the rest.
        return {name: getattr(values, name) for name in arguments}

    async def run(self, arguments: Mapping[str, Any]) -> Any:
        """Call the function with checked arguments; a plain function runs in a worker thread."""
        function: Callable[..., Any] = self.function
        if inspect.iscoroutinefunction(inspect.unwrap(function)):
            return await function(**arguments)
        result = await asyncio.to_thread(function, **arguments)
        return await result if inspect.isawaitable(result) else result


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(
    name: str | None = None,
    /,
    *,
    description: str | None = None,
    title: str | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(
    target: Callable[..., Any] | str | None = None,
    /,
    *,
    description: str | None = None,
    title: str | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
) -> Any:
    """Make a function a tool: `@tool`, or `@tool("name", description=…, read_only=True)`.

    The name and the docstring of the function are the tool's unless others are given. Each parameter needs a
    type hint; one with a default is optional. The remaining arguments are MCP's hints about what the tool does.
    """
    hints = {
        "title": title,
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": open_world,
    }
    annotations = {name: value for name, value in hints.items() if value is not None}

    def decorate(function: Callable[..., Any]) -> Tool[..., Any]:
        name = target if isinstance(target, str) else _name_of(function)
        check_name("tool", name)
        about = description if description is not None else inspect.getdoc(function)
        return Tool(name, about or "", function, annotations, _arguments_type(name, function))

    return decorate(target) if callable(target) else decorate


def check_name(kind: str, name: str) -> None:
    """Raise `InvalidOptions` for a name the CLI would have to change: rules name a tool `mcp__SERVER__TOOL`."""
    if not NAME.fullmatch(name):
        raise InvalidOptions(f"{name!r} cannot name a {kind}: use up to 64 letters, digits, underscores and hyphens")


def image_block(data: bytes, mime_type: str | None = None) -> dict[str, Any]:
    """An image as a content block, for a tool to return. The type is found from the data if it is not given."""
    mime_type = mime_type or next((kind for kind, sign in IMAGE_SIGNATURES.items() if sign.match(data)), None)
    if mime_type is None:
        raise ValueError("this is no PNG, JPEG, GIF or WebP image: pass its mime_type")
    return {"type": "image", "data": base64.b64encode(data).decode("ascii"), "mimeType": mime_type}


def result_body(value: Any) -> dict[str, Any]:
    """What a tool returned, as the body of MCP's call result.

    Text stays text. A content block, or a list with blocks in it, is content. A dict, struct or dataclass is
    structured content, with its JSON as text beside it. Anything else is its JSON as text; None is no content.
    Raises TypeError for what JSON cannot hold.
    """
    if value is None:
        return {"content": []}
    if isinstance(value, str):
        return {"content": [_text_block(value)]}
    if _is_block(value):
        return {"content": [value]}
    if isinstance(value, list | tuple) and any(map(_is_block, value)):
        return {"content": [item if _is_block(item) else _text_block(_as_text(item)) for item in value]}
    plain = msgspec.to_builtins(value, str_keys=True)
    body: dict[str, Any] = {"content": [_text_block(_as_text(plain))]}
    if isinstance(plain, dict):
        body["structuredContent"] = plain
    return body


def _is_block(value: Any) -> bool:
    return isinstance(value, dict) and any(
        value.get("type") == kind and needed in value for kind, needed in BLOCK_FIELDS.items()
    )


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        raise InvalidOptions(f'{function!r} has no name of its own: use tool("name")(...)')
    return name


def _arguments_type(name: str, function: Callable[..., Any]) -> type[msgspec.Struct]:
    """A struct type with a field for each parameter of `function`."""
    fields = [
        (parameter.name, _hint(name, parameter), _default(parameter)) for parameter in _parameters(name, function)
    ]
    struct = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
    try:
        _json_schema(struct)
    except TypeError as error:
        raise InvalidOptions(f"the tool {name!r} has a parameter that JSON cannot carry: {error}") from error
    return struct


def _parameters(name: str, function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function, eval_str=True).parameters.values())
    except NameError as error:
        raise InvalidOptions(
            f"the type hints of the tool {name!r} cannot be read: {error}; define its types at module level"
        ) from error


def _hint(name: str, parameter: inspect.Parameter) -> Any:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise InvalidOptions(f"the tool {name!r} cannot take `{parameter}`: give each parameter a name")
    if parameter.annotation is parameter.empty:
        raise InvalidOptions(f"the tool {name!r} needs a type hint for {parameter.name!r}: the model is told it")
    return _described(parameter.annotation)


def _described(hint: Any) -> Any:
    """`Annotated[int, "how many"]` describes a parameter as briefly as it can be done."""
    if get_origin(hint) is not Annotated:
        return hint
    base, *extras = get_args(hint)
    for extra in extras:
        base = Annotated[base, msgspec.Meta(description=extra) if isinstance(extra, str) else extra]
    return base


def _default(parameter: inspect.Parameter) -> Any:
    """The default as the schema shows it. What no schema can show only makes the parameter optional."""
    if parameter.default is parameter.empty:
        return msgspec.NODEFAULT
    if parameter.default is None or isinstance(parameter.default, str | int | float | bool):
        return parameter.default
    return msgspec.field(default_factory=lambda: parameter.default)


def _json_schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema with the struct's own part at the root, where MCP requires `type: object`."""
    (reference,), components = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    root = dict(components.pop(reference["$ref"].removeprefix("#/$defs/")))
    root.pop("title", None)
    return {**root, "$defs": components} if components else root

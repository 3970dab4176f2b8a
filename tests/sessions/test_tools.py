"""Tools: the schema that type hints give, checked arguments, and what results become."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import json
import threading
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Literal

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import InvalidOptions
from handrail.sessions.tools import Tool, image_block, result_body, tool


class Point(msgspec.Struct):
    x: int
    y: int = 0


@dataclasses.dataclass
class Label:
    text: str


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


Branch = Annotated[str, msgspec.Meta(min_length=1, description="a branch")]


@tool
async def plain(count: int) -> str:
    """Counts.

    To the end.
    """
    return str(count)


@tool
async def rich(
    point: Point,
    branch: Branch,
    labels: list[Label] = [],  # noqa: B006  (what many people write)
    colour: Colour = Colour.RED,
    mode: Literal["fast", "slow"] = "fast",
    note: Annotated[str | None, "shown to nobody"] = None,
    *,
    ratio: float = 0.5,
) -> None:
    """Has it all."""


class TestDecorator:
    async def test_name_and_description_come_from_the_function(self) -> None:
        assert (plain.name, plain.description) == ("plain", "Counts.\n\nTo the end.")
        assert await plain(3) == "3"

    def test_both_can_be_given_with_hints(self) -> None:
        @tool("add-up", description="Adds.", title="Adder", read_only=True, open_world=False)
        def add(a: int, b: int) -> int:
            """Not this."""
            return a + b

        assert (add.name, add.description) == ("add-up", "Adds.")
        assert add.annotations == {"title": "Adder", "readOnlyHint": True, "openWorldHint": False}
        assert add(1, b=2) == 3

    def test_no_docstring_is_no_description(self) -> None:
        @tool()
        def quiet() -> None: ...

        assert quiet.description == ""
        assert quiet.input_schema["properties"] == {}

    @pytest.mark.parametrize("name", ["", "with space", "dots.too", "ü", "x" * 65])
    def test_a_name_the_cli_would_change_is_refused(self, name: str) -> None:
        with pytest.raises(InvalidOptions, match="cannot name a tool"):
            tool(name)(lambda: None)

    def test_what_the_model_cannot_be_told_is_refused(self) -> None:
        def bare(x) -> None:  # type: ignore[no-untyped-def]
            ...

        def star(*xs: int) -> None: ...

        def double_star(**xs: int) -> None: ...

        def positional(x: int, /) -> None: ...

        def opaque(x: threading.Lock) -> None: ...

        def unknown(x: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
            ...

        for function in (bare, star, double_star, positional, opaque, unknown, functools.partial(plain.function)):
            with pytest.raises(InvalidOptions):
                tool(function)

    async def test_a_bound_method_is_a_tool_without_its_self(self) -> None:
        class Shop:
            def price(self, item: str) -> str:
                return f"{item}: 3"

        price = tool(Shop().price)
        assert list(price.input_schema["properties"]) == ["item"]
        assert await price.run(price.checked({"item": "tea"})) == "tea: 3"


class TestSchema:
    def test_the_root_is_an_object_with_what_is_required(self) -> None:
        assert plain.input_schema == {
            "type": "object",
            "properties": {"count": {"type": "integer"}},
            "required": ["count"],
            "additionalProperties": False,
        }

    def test_structs_dataclasses_enums_literals_and_descriptions(self) -> None:
        schema = rich.input_schema
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["required"] == ["point", "branch"]
        properties = schema["properties"]
        assert properties["branch"] == {"type": "string", "minLength": 1, "description": "a branch"}
        assert properties["mode"] == {"enum": ["fast", "slow"], "default": "fast"}
        assert properties["note"]["description"] == "shown to nobody"
        assert properties["ratio"] == {"type": "number", "default": 0.5}
        assert {"Point", "Label", "Colour"} == set(schema["$defs"])


class TestRun:
    async def test_arguments_arrive_as_their_types(self) -> None:
        given = rich.checked(
            {"point": {"x": 1}, "branch": "b", "labels": [{"text": "t"}], "colour": "blue", "ratio": 2}
        )
        assert given == {
            "point": Point(1),
            "branch": "b",
            "labels": [Label("t")],
            "colour": Colour.BLUE,
            "ratio": 2.0,
        }

    async def test_the_functions_own_defaults_stand(self) -> None:
        sentinel = object()

        @tool
        def shows(x: int = sentinel) -> object:  # type: ignore[assignment]
            return x

        assert await shows.run(shows.checked({})) is sentinel

    @pytest.mark.parametrize("arguments", [{}, {"count": "3"}, {"count": True}, {"count": 3, "more": 1}])
    def test_arguments_that_do_not_fit_are_refused(self, arguments: dict[str, Any]) -> None:
        with pytest.raises(msgspec.ValidationError):
            plain.checked(arguments)

    async def test_a_plain_function_runs_beside_the_event_loop(self) -> None:
        @tool
        def where() -> int:
            return threading.get_ident()

        assert await where.run({}) != threading.get_ident()

    async def test_a_wrapped_async_function_runs_on_the_event_loop(self) -> None:
        def logged(function: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(function)
            def wrapper(**given: Any) -> Any:
                return function(**given)

            return wrapper

        @tool
        @logged
        async def here(x: int) -> tuple[int, int]:
            await asyncio.sleep(0)
            return x, threading.get_ident()

        assert await here.run({"x": 1}) == (1, threading.get_ident())


PNG = b"\x89PNG\r\n\x1a\n...."


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


class TestResult:
    @pytest.mark.parametrize(
        ("value", "content"),
        [
            (None, []),
            ("hello", [text("hello")]),
            (3, [text("3")]),
            (True, [text("true")]),
            ([1, 2], [text("[1,2]")]),
            (["a", "b"], [text('["a","b"]')]),
            ([], [text("[]")]),
            ([{"name": "x"}], [text('[{"name":"x"}]')]),
            (image_block(PNG), [image_block(PNG)]),
            (["look:", image_block(PNG), {"n": 1}], [text("look:"), image_block(PNG), text('{"n":1}')]),
            (text("block"), [text("block")]),
        ],
    )
    def test_content(self, value: Any, content: list[dict[str, Any]]) -> None:
        assert result_body(value) == {"content": content}

    @pytest.mark.parametrize(
        ("value", "structured"),
        [
            ({"a": 1}, {"a": 1}),
            ({1: "one"}, {"1": "one"}),
            ({"type": "text"}, {"type": "text"}),
            ({"type": ["odd"]}, {"type": ["odd"]}),
            (Point(1, 2), {"x": 1, "y": 2}),
            (Label("t"), {"text": "t"}),
        ],
    )
    def test_objects_are_structured_content_with_their_json_beside_it(
        self, value: Any, structured: dict[str, Any]
    ) -> None:
        body = result_body(value)
        assert body["structuredContent"] == structured
        (block,) = body["content"]
        assert json.loads(block["text"]) == structured

    def test_what_json_cannot_hold_is_an_error(self) -> None:
        with pytest.raises(TypeError):
            result_body(object())

    @pytest.mark.parametrize(
        ("data", "kind"),
        [
            (PNG, "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\n\x00\x00\x00WEBPVP8 ", "image/webp"),
        ],
    )
    def test_the_type_of_an_image_is_found(self, data: bytes, kind: str) -> None:
        assert image_block(data)["mimeType"] == kind

    def test_or_it_must_be_given(self) -> None:
        assert image_block(b"<svg/>", "image/svg+xml")["mimeType"] == "image/svg+xml"
        with pytest.raises(ValueError, match="mime_type"):
            image_block(b"<svg/>")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
SCALARS: list[Any] = [int, float, str, bool, Any, Point, Label, Colour, Branch, Literal["a", "b"]]
HINTS = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: (
        inner.map(lambda hint: list[hint])  # type: ignore[valid-type]
        | inner.map(lambda hint: dict[str, hint])  # type: ignore[valid-type]
        | st.sampled_from([int, str, bool]).map(lambda hint: hint | None)
    ),
    max_leaves=3,
)
NAMES = st.sampled_from(["a", "b", "c", "self", "type"])
VALUES = JSON | st.sampled_from([{"x": 1}, {"x": 1, "y": 2}, {"text": "t"}, "red", "a", 1.5, [], {}, [1], ["a"]])


def tool_with(hints: dict[str, Any], optional: set[str]) -> Tool[..., Any]:
    """A tool with the given parameters, which returns what it was called with."""

    async def echo(**given: Any) -> dict[str, Any]:
        return given

    parameters = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=None if name in optional else inspect._empty
        )
        for name, hint in hints.items()
    ]
    echo.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return tool(echo)


class TestProperties:
    @given(st.dictionaries(NAMES, HINTS, max_size=3), st.sets(NAMES), st.dictionaries(NAMES, VALUES, max_size=3))
    async def test_arguments_are_accepted_exactly_if_the_schema_accepts_them(
        self, hints: dict[str, Any], optional: set[str], arguments: dict[str, Any]
    ) -> None:
        made = tool_with(hints, optional)
        schema = json.loads(json.dumps(made.input_schema))
        jsonschema.Draft202012Validator.check_schema(schema)
        expected = jsonschema.Draft202012Validator(schema).is_valid(arguments)
        try:
            given = made.checked(arguments)
        except msgspec.ValidationError:
            assert not expected
        else:
            assert expected
            assert given.keys() == arguments.keys()
            assert await made.run(given) == given

    @given(st.dictionaries(st.text(max_size=5), JSON) | JSON)
    def test_every_json_value_becomes_a_result_that_can_be_written(self, value: Any) -> None:
        body = result_body(value)
        assert json.loads(json.dumps(body)) == body
        assert all(isinstance(block, dict) and "type" in block for block in body["content"])

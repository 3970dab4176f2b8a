"""The API's document is valid, complete, and what the documentation says."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.server.openapi import GIVING_SECRETS, TAGS, encoded_document, make_document
from handrail.server.openapi_examples import EXAMPLES
from handrail.server.problems import CODES
from handrail.server.roles import ROLES
from handrail.server.routes import ROUTES
from handrail.server.routing import Route

from .support import ServedHub

ROOT = Path(__file__).parent.parent.parent
DOCUMENT = make_document()
ACTING = [route for route in ROUTES if route.acts and route.role is not None]
BY_NAME = {route.name: route for route in ROUTES}


def operation(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][route.path][route.method.lower()]
    return found


def test_the_document_is_valid() -> None:
    from openapi_spec_validator import OpenAPIV31SpecValidator  # here, since only one worker needs to load it

    assert list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors()) == []


def test_every_route_is_in_it_once() -> None:
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)
    assert len(BY_NAME) == len(ROUTES)
    assert sum(len(methods) for methods in DOCUMENT["paths"].values()) == len(ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_a_route_is_described(route: Route) -> None:
    described = operation(route)
    assert re.match(r"[A-Z].*[.]$", described["summary"]), "a handler's docstring begins with a sentence"
    assert described["tags"] == [route.tag]
    assert route.tag in TAGS
    assert (route.role or "no token") in described["description"]
    assert ("security" in described) == (route.role is None)
    assert all(each["description"] for each in described.get("parameters", ()) if each["in"] == "path")
    assert "default" in described["responses"]


@pytest.mark.parametrize(
    "route", [route for route in ROUTES if route.acts and route.role], ids=lambda route: route.name
)
def test_whatever_acts_takes_a_key_unless_it_gives_a_secret(route: Route) -> None:
    headers = [each["name"] for each in operation(route).get("parameters", ()) if each["in"] == "header"]
    assert headers == ([] if route.name in GIVING_SECRETS else ["Idempotency-Key"])


def test_the_document_names_every_role_and_code() -> None:
    description = DOCUMENT["info"]["description"]
    assert [word for word in (*ROLES, *CODES) if word not in description] == []


def each_example() -> Iterator[Any]:
    for name, examples in EXAMPLES.items():
        yield from (pytest.param(name, value, id=f"{name}: {title}") for title, value in examples.items())


@pytest.mark.parametrize(("name", "value"), list(each_example()))
def test_an_example_can_be_sent(name: str, value: Any) -> None:
    route = BY_NAME[name]
    assert route.decode_body("application/json", msgspec.json.encode(value)) is not None


async def test_it_is_served(served: ServedHub) -> None:
    async with served.client("viewer") as client:
        given = await client.get("/api/openapi.json")
    assert given.headers["content-type"] == "application/json"
    assert given.json() == json.loads(encoded_document()) == DOCUMENT


def test_the_reference_is_what_the_generator_writes() -> None:
    spec = importlib.util.spec_from_file_location("generate_http", ROOT / "docs/generate_http.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    written = (ROOT / "docs/reference/http.md").read_text(encoding="utf-8")
    assert written == generator.page(), "run: python docs/generate_http.py"

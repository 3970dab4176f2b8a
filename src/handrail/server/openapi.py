"""The API's own description: an OpenAPI 3.1 document, made from the table of routes and the types of their handlers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, Final

import msgspec

from handrail.server.auth.cookies import cookie_name
from handrail.server.calls import Document
from handrail.server.idempotency import LONGEST_KEY
from handrail.server.openapi_examples import EXAMPLES
from handrail.server.problems import CODES, ProblemDetails
from handrail.server.roles import ROLES
from handrail.server.routes import ROUTES
from handrail.server.routing import JSON, Route

__all__ = ["encoded_document", "make_document"]

PROBLEM: Final = "application/problem+json"
_REFERENCE: Final = "#/components/schemas/{name}"
_IN_PATH: Final = re.compile(r"\{(\w+)\}")

DESCRIPTION: Final = """\
Handrail's hub: sessions of Claude Code on this machine, what they ask, and what happens in them.

A token is needed always, also on this machine: in the header `Authorization: Bearer …` (`handrail token new` makes \
one), or as the cookie of a browser that opened a login link. What a token may do depends on its role:

{roles}

Whatever goes wrong is answered with problem details (`application/problem+json`). Their `code` is one of those below, \
and keeps its meaning:

{codes}

A request that does something may carry an `Idempotency-Key`: sent again with the same key within a day, it is not \
done again, and gets the same answer. Lists that have a `next` go on with it as `cursor`.

A program of an owner's that knows its people itself, as a bridge to a chat does, says for whom it acts in the header \
`Handrail-Acting-For: NAME; surface=telegram; role=ROLE` (the name percent-encoded). What is done then needs that \
role, is recorded as done by them, and the audit log names both.

What happens in sessions is streamed over a WebSocket at `/api/live`. Programs offer hooks, tools and answers to the \
sessions that they start over another one, at `/api/programs`.\
"""

GIVING_SECRETS: Final = frozenset(
    {"tokens.mint", "tokens.login_link", "hosts.make_enrolment", "ingress.make", "ingress.renew"}
)
"""Routes that take no idempotency key: their answers are kept nowhere."""

TAGS: Final[Mapping[str, str]] = {
    "login": "Browsers log in with the code of a login link.",
    "sessions": "Start, find, steer, end and delete sessions.",
    "messages": "Messages to Claude.",
    "control": "Requests of Claude Code's control protocol.",
    "events": "What happened in a session.",
    "asks": "Whatever waits for a person, and answers to it.",
    "claude": "What a session's Claude Code says of itself.",
    "places": "Directories and files on the hub's machine and on hosts, within their roots.",
    "policy": "What is allowed without asking.",
    "records": "Rows as they are stored, for programs that use the hub as they would use a store.",
    "hub": "The hub itself.",
    "hosts": "Other machines that run sessions for the hub.",
    "ingress": "Claude Codes that somebody starts elsewhere, and that dial in.",
    "tokens": "Who may come in.",
}

PATH_PARAMETERS: Final[Mapping[str, str]] = {
    "id": "A session.",
    "session": "A session.",
    "ask": "One of its asks.",
    "uuid": "A message.",
    "key": "A row of the conversation.",
    "token": "A token.",
    "host": "A host, by its id or name.",
    "name": "A picture of the conversation, as its rows name it.",
}


@cache
def encoded_document() -> bytes:
    """The document as it is served."""
    return msgspec.json.format(msgspec.json.encode(make_document()))


def make_document(routes: Sequence[Route] = ROUTES) -> dict[str, Any]:
    """The document as plain values."""
    schemas = _Schemas(routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    used = {route.tag for route in routes}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Handrail", "version": version("handrail"), "description": _description()},
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {"cookie": []}],
        "tags": [{"name": name, "description": words} for name, words in TAGS.items() if name in used],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "responses": {"Problem": _problem_response()},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "As `handrail token new` makes it."},
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": cookie_name(secure=False),
                    "description": "What a browser gets for the code of a login link.",
                },
            },
        },
    }
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document))
    return plain


class _Schemas:
    """The JSON Schemas of everything that the routes take and give."""

    def __init__(self, routes: Iterable[Route]) -> None:
        bodies = [route.signature.body for route in routes if route.signature.body is not None]
        answers = [route.signature.answer for route in routes if _is_json(route.signature.answer)]
        kinds = [*bodies, *answers, ProblemDetails]
        shown, self.components = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
        self._shown = dict(zip(map(repr, kinds), shown, strict=True))

    def of(self, kind: Any) -> dict[str, Any]:
        return self._shown[repr(kind)]


def _operation(route: Route, schemas: _Schemas) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "tags": [route.tag],
        "summary": route.summary,
        "description": _needs(route),
        "responses": _responses(route, schemas),
    }
    if parameters := [*_path_parameters(route), *_query_parameters(route), *_headers(route)]:
        operation["parameters"] = parameters
    if route.signature.body is not None:
        operation["requestBody"] = _request_body(route, schemas)
    if route.role is None:
        operation["security"] = []
    return operation


def _needs(route: Route) -> str:
    return "Needs no token." if route.role is None else f"Needs the role {route.role}."


def _path_parameters(route: Route) -> Iterator[dict[str, Any]]:
    for name in _IN_PATH.findall(route.path):
        text = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-.0-~]+$"}
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": PATH_PARAMETERS.get(name, ""),
            "schema": text,
        }


def _query_parameters(route: Route) -> Iterator[dict[str, Any]]:
    kind = route.signature.query
    _, components = msgspec.json.schema_components([kind])
    shape = components[kind.__name__]
    for name, given in shape["properties"].items():
        schema = _without_null(given)
        parameter = {"name": name, "in": "query", "required": name in shape.get("required", ())}
        described = schema.pop("description", None)
        yield {**parameter, **({"description": described} if described else {}), "schema": schema}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that may be null is one that may be left out: addresses have no null."""
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    default = {} if schema.get("default") is None else {"default": schema["default"]}
    return {**kinds[0], **rest, **default}


def _headers(route: Route) -> Iterator[dict[str, Any]]:
    if route.acts and route.role is not None and route.name not in GIVING_SECRETS:
        yield {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "description": "Makes the request safe to send again.",
            "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[!-~]([ -~]*[!-~])?$"},
        }


def _request_body(route: Route, schemas: _Schemas) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": schemas.of(route.signature.body)}
    if route.name in EXAMPLES:
        content["examples"] = {name: {"value": value} for name, value in EXAMPLES[route.name].items()}
    required = bool(_required(route.signature.body))
    return {"required": required, "content": {JSON: content}}


def _required(kind: Any) -> list[str]:
    return [field.name for field in msgspec.structs.fields(kind) if field.required]


def _responses(route: Route, schemas: _Schemas) -> dict[str, Any]:
    answer = route.signature.answer
    problem = {"$ref": "#/components/responses/Problem"}
    if answer is type(None) or route.status == 204:
        good: dict[str, Any] = {"204": {"description": "Done."}}
    else:
        good = {str(route.status): {"description": "Done.", "content": _content(route, schemas)}}
    refused = {} if route.role is None else {"401": problem, "403": problem}
    return {**good, **refused, "default": problem}


def _content(route: Route, schemas: _Schemas) -> dict[str, Any]:
    answer = route.signature.answer
    if _is_json(answer):
        return {JSON: {"schema": schemas.of(answer)}}
    return {kind: {"schema": {} if kind == JSON else {"type": "string"}} for kind in route.produces}


def _is_json(answer: Any) -> bool:
    return answer is not type(None) and answer is not Document


def _problem_response() -> dict[str, Any]:
    schema = {"$ref": _REFERENCE.format(name=ProblemDetails.__name__)}
    status, title = CODES["session_not_found"]
    example = {
        "type": "urn:handrail:problem:session_not_found",
        "title": title,
        "status": status,
        "detail": "there is no session 4f1c",
        "code": "session_not_found",
    }
    return {"description": "It was not done.", "content": {PROBLEM: {"schema": schema, "example": example}}}


def _description() -> str:
    roles = "\n".join(f"- **{name}** {words}" for name, words in ROLES.items())
    codes = "\n".join(f"- `{code}` ({status}): {title}" for code, (status, title) in CODES.items())
    return DESCRIPTION.format(roles=roles, codes=codes)

"""The hub as an ASGI application: the table of routes, the live stream and the page behind one set of guards."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, WebSocketRoute
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from handrail.errors import HandrailError, StoreError
from handrail.link.programs import PROGRAMS_PATH
from handrail.link.wire import LINK_PATH
from handrail.server.auth.acting import acting
from handrail.server.auth.guards import Guards
from handrail.server.calls import Call, Caller
from handrail.server.hub import Hub
from handrail.server.idempotency import HEADER, check_key
from handrail.server.logs import about, access, new_request_id
from handrail.server.page import page_routes
from handrail.server.problems import Problem, problem_of
from handrail.server.roles import Role, RoleNeeded, suffices
from handrail.server.routes import ROUTES
from handrail.server.routing import Reply, Route

__all__ = ["LIVE_PATH", "make_app"]

logger = logging.getLogger("handrail.server")

LIVE_PATH = "/api/live"
NOT_AUTHENTICATED = 4401
"""The close code of a socket that shows no valid token."""
ROLE_NEEDED = 4403
TRY_AGAIN = 1011


def make_app(hub: Hub) -> ASGIApp:
    """The application that serves `hub`."""
    routes: list[BaseRoute] = [_starlette_route(hub, route) for route in ROUTES]
    routes.append(WebSocketRoute(LIVE_PATH, _socket(hub, hub.live.serve, "viewer")))
    routes.append(WebSocketRoute(LINK_PATH, hub.hosts.serve))
    routes += hub.ingress.routes()
    routes.append(WebSocketRoute(PROGRAMS_PATH, _socket(hub, hub.program_sockets.serve, "owner")))
    routes += page_routes(development=hub.settings.development)
    app = Starlette(routes=routes, exception_handlers={HTTPException: _told_by_starlette})
    app.router.redirect_slashes = False
    return Guards(app, hub.settings)


def _starlette_route(hub: Hub, route: Route) -> BaseRoute:
    async def endpoint(request: Request) -> Response:
        began = time.perf_counter()
        request_id = new_request_id()
        with about(request=request_id, **_named(request)):
            reply = await _replied(hub, route, request)
            _note(hub, route, request, reply.status, time.perf_counter() - began)
        return Response(reply.content, reply.status, headers={**reply.headers, "x-request-id": request_id})

    return StarletteRoute(route.path, endpoint, methods=[route.method], name=route.name)


def _named(request: Request) -> dict[str, str]:
    """The session and the ask that an address names."""
    path = request.path_params
    return {"session": path.get("session") or path.get("id", ""), "ask": path.get("ask", "")}


def _note(hub: Hub, route: Route, request: Request, status: int, seconds: float) -> None:
    """Count the request, and log it."""
    hub.metrics.request(route.name, status, seconds)
    with about(caller=getattr(request.state, "caller", "")):
        access(route.name, route.method, request.url.path, status, seconds)


async def _replied(hub: Hub, route: Route, request: Request) -> Reply:
    try:
        caller = await _caller(hub, route, request)
        request.state.caller = caller.name if caller else ""
        with about(caller=request.state.caller):
            return await _done(hub, route, request, caller)
    except HandrailError as error:
        told = problem_of(error)
    except ClientDisconnect:  # in the middle of its request: nobody hears the answer
        told = problem_of(Problem("bad_request", "the request ended before all of it was here"))
    except asyncio.CancelledError:
        if not hub.stopping:
            raise
        told = problem_of(Problem("stopping", "the hub stopped before this was done: look what became of it"))
    except Exception:  # whatever a handler did wrong, the caller gets an answer, and the log says more
        logger.exception("%s %s failed", request.method, request.url.path)
        told = problem_of(Problem("internal_error", "the hub's log says more; nothing that was stored is lost"))
    return Reply(told.status, told.content, told.headers)


async def _caller(hub: Hub, route: Route, request: Request) -> Caller | None:
    """Who calls, if they may."""
    if route.role is None:
        return None
    caller = await hub.authenticator.authenticate(request.scope)
    if caller is None:
        raise Problem(
            "not_authenticated",
            "show a token in the header `Authorization: Bearer …`, or open a login link (`handrail login` prints one)",
            headers={"www-authenticate": 'Bearer realm="handrail"'},
        )
    try:
        caller = acting(caller, request.scope)
        caller.check(route.role, f"{route.method} {route.path}")
    except RoleNeeded:
        await hub.audit.note(caller, route.name, path=request.path_params, outcome="role_needed")
        raise
    return caller


async def _done(hub: Hub, route: Route, request: Request, caller: Caller | None) -> Reply:
    content = await _content(route, request)
    call: Call[Any, Any] = Call(
        caller=caller or NOBODY,
        body=route.decode_body(request.headers.get("content-type", ""), content),
        query=route.decode_query(_query(request)),
        path={name: str(value) for name, value in request.path_params.items()},
        headers=request.headers,
        origin=f"{request.url.scheme}://{request.url.netloc}",
        address=request.client.host if request.client else "",
    )

    async def work() -> Reply:
        return route.encode(await route.handler(hub, call))

    if not route.acts or caller is None:
        return await work()
    return await _audited(hub, route, call, _once(hub, request, caller, content, work))


def _once(
    hub: Hub, request: Request, caller: Caller, content: bytes, work: Callable[[], Awaitable[Reply]]
) -> Callable[[], Awaitable[Reply]]:
    """The work, done once for an idempotency key, if there is one."""
    key = request.headers.get(HEADER)
    if key is None:
        return work
    said = b"\0".join([request.method.encode(), request.url.path.encode(), request.scope["query_string"], content])
    return lambda: hub.replies.once(caller, check_key(key), said, work)


async def _audited(hub: Hub, route: Route, call: Call[Any, Any], work: Callable[[], Awaitable[Reply]]) -> Reply:
    """Do it, and write down who did what and what came of it."""
    outcome = "failed"
    try:
        reply = await work()
        outcome = "ok"
    except HandrailError as error:
        outcome = problem_of(error).code
        raise
    finally:
        detail = " ".join(call.notes)
        await hub.audit.note(call.caller, route.name, path={**call.path, **call.made}, outcome=outcome, detail=detail)
    return reply


async def _content(route: Route, request: Request) -> bytes:
    """The request's body, which must not be larger than the route allows."""
    if route.method == "GET":
        return b""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > route.largest_body:
            raise Problem("too_large", f"a request to {route.path} has at most {route.largest_body} bytes")
        parts.append(part)
    return b"".join(parts)


def _query(request: Request) -> dict[str, list[str]]:
    try:
        return parse_qs(request.url.query, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError as error:
        raise Problem("bad_request", f"the query cannot be read: {error}") from None


def _socket(
    hub: Hub, serve: Callable[[WebSocket, Caller], Awaitable[None]], needed: Role
) -> Callable[[WebSocket], Awaitable[None]]:
    """A WebSocket for those who have this role."""

    async def endpoint(websocket: WebSocket) -> None:
        try:
            caller = await hub.authenticator.authenticate(websocket.scope)
        except Problem:
            caller = None
        except StoreError as error:
            logger.warning("nobody can be let in now: %s", error)
            await _turn_away(websocket, TRY_AGAIN, "tokens cannot be looked up now: connect again")
            return
        if caller is None:
            await _turn_away(websocket, NOT_AUTHENTICATED, "show a token or open a login link")
            return
        if not suffices(caller.role, needed):
            await _turn_away(websocket, ROLE_NEEDED, f"this needs the role {needed}; yours is {caller.role}")
            return
        await serve(websocket, caller)

    return endpoint


async def _turn_away(websocket: WebSocket, code: int, reason: str) -> None:
    # Accepted first: a browser tells a page nothing of a socket that was refused, not even the code.
    await websocket.accept()
    await websocket.close(code, reason)


async def _told_by_starlette(request: Request, error: Exception) -> Response:
    """What the router itself refuses: an address that there is not, or a method that it does not take."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    code = {404: "not_found", 405: "method_not_allowed"}.get(status, "bad_request")
    detail = {
        "not_found": f"there is nothing at {request.url.path}",
        "method_not_allowed": f"{request.url.path} does not take {request.method}",
    }
    if status == 405:
        headers = {"allow": ", ".join(sorted(_methods_at(request)))}
    told = problem_of(Problem(code, detail.get(code, "the request cannot be understood"), headers=headers))
    return Response(told.content, told.status, headers=dict(told.headers))


def _methods_at(request: Request) -> set[str]:
    """All that the address takes: each of its methods is a route of its own, and the router names those of one."""
    routes = [route for route in request.app.routes if isinstance(route, StarletteRoute)]
    path = next((route.path for route in routes if route.matches(request.scope)[0] is not Match.NONE), None)
    return {method for route in routes if route.path == path for method in route.methods or ()}


NOBODY = Caller(name="", role="viewer", surface="api")
"""Who calls what needs no token."""

"""The API on one page: every address, who may call it, and what does the work.

What each takes and gives is in the signature of its handler; `handrail.server.openapi` writes all of it down.
"""

from __future__ import annotations

from typing import Final

from handrail.server.api import (
    asks,
    claude,
    control,
    events,
    files,
    hosts,
    ingress,
    login,
    messages,
    places,
    policy,
    records,
    sessions,
    system,
    tokens,
    usage,
)
from handrail.server.metrics import MEDIA_TYPE as FIGURES
from handrail.server.routing import Route

__all__ = ["ROUTES"]

WITH_IMAGES: Final = 30 * 1024 * 1024
"""The largest request that may carry pictures or a file."""
IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
BYTES: Final = "application/octet-stream"
EXPORTS: Final = ("text/markdown", "text/html", "application/x-ndjson")

LOGIN: Final = (
    Route("POST", "/api/login", login.login, None, "login"),
    Route("POST", "/api/logout", login.logout, "viewer", "login", status=204),
)

SESSIONS: Final = (
    Route("GET", "/api/sessions", sessions.list_all, "viewer", "sessions"),
    Route("POST", "/api/sessions", sessions.create, "owner", "sessions", status=201, largest_body=WITH_IMAGES),
    Route("POST", "/api/sessions/stop-all", sessions.stop_all, "owner", "sessions"),
    Route("GET", "/api/sessions/{id}", sessions.get, "viewer", "sessions"),
    Route("PATCH", "/api/sessions/{id}", sessions.change, "owner", "sessions"),
    Route("DELETE", "/api/sessions/{id}", sessions.delete, "owner", "sessions"),
    Route("POST", "/api/sessions/{id}/interrupt", sessions.interrupt, "approver", "sessions"),
    Route("POST", "/api/sessions/{id}/stop", sessions.stop, "owner", "sessions"),
    Route("POST", "/api/sessions/{id}/resume", sessions.resume, "owner", "sessions"),
    Route("POST", "/api/sessions/{id}/fork", sessions.fork, "owner", "sessions", status=201),
    Route("GET", "/api/sessions/{id}/export", sessions.export, "viewer", "sessions", produces=EXPORTS),
    Route("GET", "/api/adoptable", sessions.adoptable, "viewer", "sessions"),
    Route("POST", "/api/adopt", sessions.adopt, "owner", "sessions", status=201),
    Route("POST", "/api/demo", sessions.start_demo, "owner", "sessions", status=201),
)

CONVERSATION: Final = (
    Route("POST", "/api/sessions/{id}/messages", messages.send, "approver", "messages", largest_body=WITH_IMAGES),
    Route("DELETE", "/api/sessions/{id}/messages/{uuid}", messages.cancel, "approver", "messages"),
    Route("POST", "/api/sessions/{id}/messages/{uuid}/now", messages.send_now, "approver", "messages"),
    Route("POST", "/api/sessions/{id}/control", control.control, "viewer", "control"),
    Route("POST", "/api/sessions/{id}/rewind", control.rewind, "viewer", "control"),
    Route("GET", "/api/sessions/{id}/events", events.list_events, "viewer", "events"),
    Route("GET", "/api/sessions/{id}/rows", events.list_rows, "viewer", "events"),
    Route("GET", "/api/sessions/{id}/rows/{key}", events.row, "viewer", "events"),
    Route("GET", "/api/sessions/{id}/images/{name}", events.image, "viewer", "events", produces=IMAGES),
    Route("GET", "/api/sessions/{id}/find", events.find, "viewer", "events"),
    Route("GET", "/api/search", events.search, "viewer", "events"),
)

ASKS: Final = (
    Route("GET", "/api/asks", asks.list_all, "viewer", "asks"),
    Route("GET", "/api/asks/{session}/{ask}", asks.get, "viewer", "asks"),
    Route("POST", "/api/asks/{session}/{ask}/answer", asks.answer, "approver", "asks"),
)

CLAUDE: Final = (
    Route("GET", "/api/models", claude.models, "viewer", "claude"),
    Route("GET", "/api/sessions/{id}/commands", claude.commands, "viewer", "claude"),
    Route("GET", "/api/sessions/{id}/mcp", claude.mcp, "viewer", "claude"),
    Route("GET", "/api/sessions/{id}/context", claude.context, "viewer", "claude"),
    Route("GET", "/api/sessions/{id}/files", places.files, "viewer", "places"),
    Route("GET", "/api/directories", places.directories, "viewer", "places"),
    Route("GET", "/api/files", files.list_all, "owner", "places"),
    Route("GET", "/api/file", files.fetch, "owner", "places", produces=(BYTES,)),
    Route("PUT", "/api/file", files.put, "owner", "places", largest_body=WITH_IMAGES),
)

POLICY: Final = (
    Route("GET", "/api/policy", policy.show, "viewer", "policy"),
    Route("GET", "/api/policy/explain", policy.explain_typed, "viewer", "policy"),
    Route("POST", "/api/policy/explain", policy.explain, "viewer", "policy", reads=True),
    Route("POST", "/api/policy/check", policy.check, "viewer", "policy", reads=True),
    Route("GET", "/api/policy/suggestions", policy.suggestions, "viewer", "policy"),
    Route("PUT", "/api/policy/rules", policy.add_rule, "owner", "policy"),
    Route("DELETE", "/api/policy/rules", policy.remove_rule, "owner", "policy"),
)

RECORDS: Final = (
    Route("GET", "/api/records/sessions", records.sessions, "viewer", "records"),
    Route("GET", "/api/records/sessions/{id}", records.session, "viewer", "records"),
    Route("GET", "/api/records/sessions/{id}/runs", records.runs, "viewer", "records"),
    Route("GET", "/api/records/counts", records.count, "viewer", "records"),
    Route("GET", "/api/records/find", records.find, "viewer", "records"),
    Route("GET", "/api/records/asks", records.asks, "viewer", "records"),
    Route("GET", "/api/records/usage", records.usage, "viewer", "records"),
    Route("GET", "/api/records/adoptable", records.adoptable, "viewer", "records"),
    Route("GET", "/api/sessions/{id}/frames", records.frames, "owner", "records"),
)

HUB: Final = (
    Route("GET", "/api/health", system.health, None, "hub"),
    Route("GET", "/api/me", system.me, "viewer", "hub"),
    Route("GET", "/api/hub", system.info, "viewer", "hub"),
    Route("GET", "/api/doctor", system.doctor, "viewer", "hub"),
    Route("GET", "/api/audit", system.audit, "owner", "hub"),
    Route("GET", "/api/usage", usage.show, "viewer", "hub"),
    Route("GET", "/api/openapi.json", system.openapi, "viewer", "hub"),
    Route("GET", "/metrics", system.metrics, "viewer", "hub", produces=(FIGURES,)),
)

HOSTS: Final = (
    Route("GET", "/api/hosts", hosts.list_all, "viewer", "hosts"),
    Route("POST", "/api/hosts/enrolments", hosts.make_enrolment, "owner", "hosts", status=201),
    Route("POST", "/api/hosts/enrol", hosts.enrol, None, "hosts", status=201),
    Route("GET", "/api/hosts/{host}", hosts.get, "viewer", "hosts"),
    Route("POST", "/api/hosts/{host}/drain", hosts.drain, "owner", "hosts"),
    Route("DELETE", "/api/hosts/{host}", hosts.revoke, "owner", "hosts"),
)

INGRESS: Final = (
    Route("GET", "/api/ingress", ingress.list_all, "owner", "ingress"),
    Route("POST", "/api/ingress", ingress.make, "owner", "ingress", status=201),
    Route("POST", "/api/ingress/{id}/token", ingress.renew, "owner", "ingress", status=201),
    Route("DELETE", "/api/ingress/{id}", ingress.revoke, "owner", "ingress"),
)

TOKENS: Final = (
    Route("GET", "/api/tokens", tokens.list_all, "owner", "tokens"),
    Route("POST", "/api/tokens", tokens.mint, "owner", "tokens", status=201),
    Route("DELETE", "/api/tokens/{token}", tokens.revoke, "owner", "tokens"),
    Route("POST", "/api/logins", tokens.login_link, "owner", "tokens", status=201),
)

ROUTES: Final[tuple[Route, ...]] = (
    *LOGIN,
    *SESSIONS,
    *CONVERSATION,
    *ASKS,
    *CLAUDE,
    *POLICY,
    *RECORDS,
    *HUB,
    *HOSTS,
    *INGRESS,
    *TOKENS,
)
"""Every address of the API but the WebSockets: the live stream at /api/live, and what programs and hosts connect to."""

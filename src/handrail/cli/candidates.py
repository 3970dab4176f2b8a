"""What the Tab key offers: sessions, asks, settings, profiles, models. Quick, and silent about whatever goes wrong."""

from __future__ import annotations

import os
from collections.abc import Iterable

import typer

__all__ = [
    "TRANSPORTS",
    "ask_ids",
    "config_keys",
    "config_values",
    "host_names",
    "host_wishes",
    "models",
    "permission_modes",
    "policy_profiles",
    "session_ids",
    "transports",
]

Candidates = list[tuple[str, str]]
"""Each with a word about it."""

SHORTEST_ID = 8
MOST = 200
MODELS = (("opus", "the strongest"), ("sonnet", "the usual one"), ("haiku", "the quickest"))
TRANSPORTS = (
    ("stdio", "on its own pipes; every version"),
    ("websocket", "it connects to an address served here; up to 2.1.120"),
    ("hybrid", "the same, and it sends by HTTP"),
)

# The tables of the store are read directly: to import the store, and to open it as it should be opened for writing,
# takes longer than a person waits for the Tab key.
_SESSIONS = "SELECT id, title, cwd FROM sessions WHERE NOT archived ORDER BY updated_at DESC LIMIT ?"
_ASKS = "SELECT id, title, kind FROM asks WHERE state = 'pending' ORDER BY opened_at LIMIT ?"
_HOSTS = "SELECT name, enrolled_by, id FROM hosts WHERE revoked_at IS NULL ORDER BY name LIMIT ?"


def session_ids(incomplete: str) -> Candidates:
    """Sessions, the latest first, by as much of their ids as is usually shown."""
    latest = [("@", "the latest session of this directory")]
    rows = [
        (id_ if len(incomplete) > SHORTEST_ID else id_[:SHORTEST_ID], title or cwd)
        for id_, title, cwd in _rows(_SESSIONS)
    ]
    return _matching(incomplete, [*latest, *rows])


def ask_ids(incomplete: str) -> Candidates:
    """What waits for an answer."""
    return _matching(incomplete, ((id_, title or kind) for id_, title, kind in _rows(_ASKS)))


def host_names(incomplete: str) -> Candidates:
    """Hosts of the hub that runs here."""
    return _matching(incomplete, ((name, f"enrolled by {by}" if by else "") for name, by, _ in _rows(_HOSTS)))


def host_wishes(incomplete: str) -> Candidates:
    """Where a session may be started."""
    return [*host_names(incomplete), *_matching(incomplete, [("any", "the host with the least to do")])]


def config_keys(incomplete: str) -> Candidates:
    """Settings."""
    from handrail.config.keys import KEYS

    return _matching(incomplete, ((key.name, key.description.replace("`", "")) for key in KEYS.values()))


def config_values(ctx: typer.Context, incomplete: str) -> Candidates:
    """What the setting that stands before takes."""
    from handrail.config.keys import KEYS

    key = KEYS.get(ctx.params.get("key") or "")
    if key is None:
        return []
    if key.name in ("claude.model", "claude.fallback_model"):
        return models(incomplete)
    words = ("true", "false") if key.wanted == "true or false" else key.choices
    return _matching(incomplete, ((word, "") for word in words))


def policy_profiles(incomplete: str) -> Candidates:
    """Built-in profiles."""
    from handrail.config.keys import KEYS

    return _matching(incomplete, ((name, "") for name in KEYS["policy.profile"].choices))


def permission_modes(incomplete: str) -> Candidates:
    """Modes that a session can start in."""
    from handrail.config.keys import KEYS

    return _matching(incomplete, ((name, "") for name in KEYS["claude.permission_mode"].choices))


def export_formats(incomplete: str) -> Candidates:
    """What a session can be written as."""
    return _matching(incomplete, ((name, "") for name in ("markdown", "html", "jsonl")))


def models(incomplete: str) -> Candidates:
    """Names of models. Claude Code knows more of them."""
    return _matching(incomplete, MODELS)


def transports(incomplete: str) -> Candidates:
    """How Claude Code can be reached."""
    return _matching(incomplete, TRANSPORTS)


def _matching(incomplete: str, candidates: Iterable[tuple[str, str]]) -> Candidates:
    return [(value, one_line(about)) for value, about in candidates if value.startswith(incomplete)]


def one_line(text: str) -> str:
    """Titles are written by others: what a terminal would obey is left out."""
    kept = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(kept.split())[:60]


def _rows(query: str) -> list[tuple[str, str, str]]:
    import sqlite3
    from urllib.parse import quote

    from handrail.places import Places
    from handrail.store.place import store_path

    if os.environ.get("HANDRAIL_HUB"):
        return []  # sessions are those of another machine then, and to ask it takes too long
    try:
        path = store_path(Places.of_user(os.environ))
        connection = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=0.1)
        try:
            return connection.execute(query, (MOST,)).fetchall()
        finally:
            connection.close()
    except Exception:  # noqa: BLE001  # whatever it is, a message in the middle of a command line would help nobody
        return []

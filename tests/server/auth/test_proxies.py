"""What a proxy says is believed of the proxies that were named, and of nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.server.auth.guards import Guards
from handrail.server.hub import HubSettings

from .support import HERE, Answer, Pairs, Seen, ask, scope_of

PUBLIC = {"behind_proxy": True, "public_url": "https://hub.example.org"}
PROXY = ("127.0.0.1", 40_000)
STRANGER = ("203.0.113.9", 40_000)


async def seen(headers: Pairs = (), *, method: str = "GET", settings: Any = PUBLIC, **scope: Any) -> tuple[Answer, Any]:
    """The answer, and the scope that the application saw (None if it saw nothing)."""
    app = Seen()
    answer = await ask(Guards(app, HubSettings(**settings)), scope_of(method, headers=headers, **scope))
    return answer, app.scopes[0] if app.scopes else None


def host_of(scope: Any) -> str:
    (host,) = [value for name, value in scope["headers"] if name == b"host"]
    return str(host.decode())


async def test_a_proxy_that_passes_the_host_on() -> None:
    headers = [("x-forwarded-proto", "https"), ("x-forwarded-for", "198.51.100.7")]
    _, scope = await seen(headers, host="hub.example.org", client=PROXY)
    assert (scope["scheme"], host_of(scope), scope["client"][0]) == ("https", "hub.example.org", "198.51.100.7")


async def test_a_proxy_that_names_the_host_in_a_header() -> None:
    headers = [("x-forwarded-proto", "https"), ("x-forwarded-host", "hub.example.org")]
    _, scope = await seen(headers, client=PROXY)
    assert (scope["scheme"], host_of(scope)) == ("https", "hub.example.org")


async def test_a_proxy_that_does_not_name_the_scheme_serves_the_public_address_securely() -> None:
    _, scope = await seen(host="hub.example.org", client=PROXY)
    assert scope["scheme"] == "https"


async def test_a_socket_through_a_proxy_is_secure() -> None:
    headers = [("x-forwarded-proto", "https"), ("origin", "https://hub.example.org")]
    _, scope = await seen(headers, method="SOCKET", host="hub.example.org", client=PROXY)
    assert scope["scheme"] == "wss"


async def test_without_tls_in_front_the_public_address_is_refused() -> None:
    answer, scope = await seen([("x-forwarded-proto", "http")], host="hub.example.org", client=PROXY)
    assert (answer.code, scope) == ("wrong_host", None)


async def test_a_host_that_a_proxy_names_is_checked_all_the_same() -> None:
    answer, scope = await seen([("x-forwarded-host", "evil.example")], client=PROXY)
    assert (answer.code, scope) == ("wrong_host", None)


@pytest.mark.parametrize("header", ["", "a b", "evil.example/", "hub.example.org, evil.example"])
async def test_nonsense_from_a_proxy_is_refused(header: str) -> None:
    answer, scope = await seen([("x-forwarded-host", header)], client=PROXY, host="evil.example")
    assert answer.status in (400, 421)
    assert scope is None


async def test_a_plain_request_of_this_machine_still_works() -> None:
    _, scope = await seen(client=PROXY)
    assert (scope["scheme"], host_of(scope), scope["client"][0]) == ("http", HERE, "127.0.0.1")


@pytest.mark.parametrize(
    ("forwarded", "caller"),
    [
        ([], "127.0.0.1"),
        (["198.51.100.7"], "198.51.100.7"),
        (["10.9.9.9, 198.51.100.7"], "198.51.100.7"),
        (["10.9.9.9", "198.51.100.7"], "198.51.100.7"),
        (["198.51.100.7, 127.0.0.1"], "198.51.100.7"),
        (["2001:db8::1"], "2001:db8::1"),
        (["unix:1"], "127.0.0.1"),
        (["evil, 127.0.0.1"], "127.0.0.1"),
        ([""], "127.0.0.1"),
    ],
)
async def test_the_callers_address_is_the_nearest_that_is_no_proxy(forwarded: list[str], caller: str) -> None:
    _, scope = await seen([("x-forwarded-for", each) for each in forwarded], client=PROXY)
    assert scope["client"][0] == caller


async def test_without_a_proxy_nothing_of_this_is_looked_at() -> None:
    headers = [("x-forwarded-proto", "https"), ("x-forwarded-host", "evil.example"), ("x-forwarded-for", "1.2.3.4")]
    _, scope = await seen(headers, settings={})
    assert (scope["scheme"], host_of(scope), scope["client"][0]) == ("http", HERE, "127.0.0.1")


async def test_strangers_are_not_believed_and_not_served_in_the_clear() -> None:
    settings = {**PUBLIC, "host": "0.0.0.0"}
    headers = [("x-forwarded-proto", "https"), ("x-forwarded-host", "hub.example.org")]
    answer, scope = await seen(headers, settings=settings, client=STRANGER)
    assert (answer.status, scope) == (403, None)
    assert "203.0.113.9" in answer.detail


async def test_a_proxy_elsewhere_is_believed_once_it_is_named() -> None:
    settings = {**PUBLIC, "host": "0.0.0.0", "proxies": ("203.0.113.0/24",)}
    _, scope = await seen(settings=settings, client=STRANGER, host="hub.example.org")
    assert scope["scheme"] == "https"


async def test_with_tls_of_its_own_the_hub_serves_everybody() -> None:
    settings = {**PUBLIC, "host": "0.0.0.0", "tls_certificate": "c.pem", "tls_key": "k.pem"}
    _, scope = await seen(settings=settings, client=STRANGER, host="hub.example.org", scheme="https")
    assert scope["client"] == STRANGER

"""The guards let our own page, programs with a token and visitors of the page through, and nobody else."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.server.auth.guards import Guards
from handrail.server.auth.headers import PAGE_POLICY
from handrail.server.auth.secret_words import CODE_PREFIX, TOKEN_PREFIX
from handrail.server.hub import HubSettings
from handrail.server.problems import CODES

from .support import ELSEWHERE, HERE, OWN_ORIGIN, Answer, Pairs, Seen, ask, guarded, scope_of

PROGRAM = ("authorization", "Bearer hr_x")
ACTING = ["POST", "PUT", "PATCH", "DELETE", "SOCKET"]
REACHED = {200, 101}
SECRET = TOKEN_PREFIX + 43 * "a"


async def refused(scope: dict[str, Any], **settings: Any) -> Answer:
    """The answer to a request that must not reach the application."""
    app = Seen()
    answer = await ask(Guards(app, HubSettings(**settings)), scope)
    assert app.scopes == []
    assert answer.status not in REACHED
    return answer


# ---------------------------------------------------------------- hosts


@pytest.mark.parametrize(
    "host", [HERE, "localhost:4280", "LOCALHOST:4280", "localhost.:4280", "[::1]:4280", "[0::1]:4280"]
)
async def test_the_names_of_this_machine_are_ours(host: str) -> None:
    assert (await guarded(scope_of(host=host))).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:4280",
        "evil.example",
        "localhost",
        "localhost:4281",
        "127.0.0.1",
        "127.0.0.2:4280",
        "localhost.evil.example:4280",
        "localhost4280",
        "127.0.0.1.evil.example:4280",
        "192.168.1.2:4280",
    ],
)
async def test_dns_rebinding_leads_nowhere(host: str) -> None:
    """A hostile page can give our address a name of its own; then host and origin agree, and are both not ours."""
    for method in ("GET", "POST", "SOCKET"):
        answer = await refused(scope_of(method, "/", [("origin", f"http://{host}")], host=host))
        assert (answer.status, answer.code) == (421, "wrong_host")


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        " ",
        "a b",
        f"user@{HERE}",
        f"{HERE}/",
        f"{HERE},{HERE}",
        "é:4280",
        b"\xff",
        "::1",
        "127.1:4280",
    ],
)
async def test_a_host_that_is_none_is_refused(host: str | bytes | None) -> None:
    answer = await refused(scope_of(host=host))
    assert (answer.status, answer.code) == (400, "bad_request")


async def test_spaces_around_a_host_are_not_part_of_it() -> None:
    assert (await guarded(scope_of(host=f" {HERE}\t"))).status == 200


@pytest.mark.parametrize("name", ["Host", "HOST", "host"])
async def test_two_hosts_are_refused(name: str) -> None:
    assert (await refused(scope_of(headers=[(name, HERE)]))).status == 400


@given(st.binary(max_size=40))
async def test_no_bytes_but_our_names_pass_as_a_host(host: bytes) -> None:
    assert (await refused(scope_of(host=host))).status in (400, 421)


# ---------------------------------------------------------------- origins


@pytest.mark.parametrize("origin", [OWN_ORIGIN, "http://localhost:4280", "HTTP://LocalHost:4280", "http://[::1]:4280"])
async def test_our_own_page_may_do_everything(origin: str) -> None:
    for method in ("GET", *ACTING):
        assert (await guarded(scope_of(method, headers=[("origin", origin)]))).status in REACHED


@pytest.mark.parametrize(
    "origin",
    [
        ELSEWHERE,
        "null",
        "",
        "http://localhost",
        "http://localhost:3000",
        "https://127.0.0.1:4280",
        f"{OWN_ORIGIN}.evil.example",
        "http://127.0.0.1:4280@evil.example",
        f"{OWN_ORIGIN} {ELSEWHERE}",
        "http://localhost:4280\xa0",
        "file://",
    ],
)
async def test_no_other_page_may_do_anything(origin: str) -> None:
    for method, headers in product(("GET", "HEAD", "OPTIONS", *ACTING), ([], [PROGRAM])):
        answer = await refused(scope_of(method, headers=[("origin", origin), *headers]))
        assert (answer.status, answer.code) == (403, "wrong_origin")


@pytest.mark.parametrize("method", ACTING)
async def test_without_an_origin_only_programs_with_a_token_may_act(method: str) -> None:
    assert (await refused(scope_of(method))).code == "wrong_origin"
    assert (await refused(scope_of(method, headers=[("cookie", "handrail_session=hr_x")]))).code == "wrong_origin"
    assert (await guarded(scope_of(method, headers=[PROGRAM]))).status in REACHED


async def test_reading_needs_no_origin() -> None:
    assert (await guarded(scope_of("GET"))).status == 200


async def test_two_origins_are_refused() -> None:
    assert (await refused(scope_of("POST", headers=[("origin", OWN_ORIGIN)] * 2))).status == 400


async def test_a_socket_is_refused_even_by_a_server_that_cannot_answer_with_a_status() -> None:
    answer = await refused(scope_of("SOCKET", headers=[("origin", ELSEWHERE)], extensions=()))
    assert answer.status == 1008


@pytest.mark.slow
@given(st.text(max_size=40))
async def test_no_text_but_our_origins_passes_as_one(origin: str) -> None:
    answer = await refused(scope_of("POST", headers=[("origin", origin.encode())]))
    assert answer.status in (400, 403)


# ---------------------------------------------------------------- what browsers say of themselves


@pytest.mark.parametrize("site", ["cross-site", "same-site", "something new"])
async def test_what_the_browser_says_comes_from_elsewhere_is_refused(site: str) -> None:
    """Another server on this machine is the same site: its page must not read the API with our cookie."""
    headers = [("sec-fetch-site", site), ("sec-fetch-mode", "cors"), ("origin", OWN_ORIGIN)]
    for method in ("GET", "POST", "SOCKET"):
        assert (await refused(scope_of(method, headers=headers))).code == "wrong_origin"


def visit(dest: str = "document") -> Pairs:
    return [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", dest)]


@pytest.mark.parametrize("dest", ["document", "empty"], ids=["directly", "through the service worker"])
async def test_a_link_from_a_chat_opens_the_page(dest: str) -> None:
    assert (await guarded(scope_of("GET", "/s/abc", visit(dest)))).status == 200


async def test_a_link_does_not_open_the_api() -> None:
    assert (await refused(scope_of("GET", "/api/sessions/abc/export", visit()))).status == 403


async def test_a_frame_elsewhere_does_not_open_the_page() -> None:
    assert (await refused(scope_of("GET", "/", visit("iframe")))).status == 403


async def test_a_form_elsewhere_does_not_post() -> None:
    assert (await refused(scope_of("POST", "/", visit()))).status == 403


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_what_the_page_and_the_person_ask_for_passes(site: str) -> None:
    assert (await guarded(scope_of("GET", headers=[("sec-fetch-site", site)]))).status == 200


# ---------------------------------------------------------------- secrets in addresses


@pytest.mark.parametrize(
    "query",
    [
        "token=hr_x",
        "a=1&TOKEN=x",
        "access_token=x",
        "api_key=x",
        "handrail_session=x",
        "code=x",
        "token",
        f"q={SECRET}",
        f"q=behind{SECRET}before",
        f"q={CODE_PREFIX}{43 * 'a'}",
        SECRET.replace("_", "%5f", 1),
    ],
)
async def test_a_secret_in_the_query_is_refused_with_what_to_do(query: str) -> None:
    for method in ("GET", "SOCKET"):
        answer = await refused(scope_of(method, "/api/live", [PROGRAM], query=query))
        assert (answer.status, answer.code) == (400, "secret_in_address")
        assert "Authorization: Bearer" in answer.detail


async def test_a_secret_in_the_path_is_refused() -> None:
    answer = await refused(scope_of("DELETE", f"/api/tokens/{SECRET}", [PROGRAM]))
    assert answer.code == "secret_in_address"
    assert SECRET not in answer.body.decode()


async def test_other_queries_pass() -> None:
    assert (await guarded(scope_of(query="q=hr_ and tokens&cursor=hr_abc&limit=5"))).status == 200


# ---------------------------------------------------------------- sanity


@pytest.mark.parametrize("path", ["*", "http://evil.example/", "/a\0b", "/a\nb", "/\x7f", ""])
async def test_paths_that_are_none_are_refused(path: str) -> None:
    assert (await refused(scope_of("GET", path))).status == 400


@pytest.mark.parametrize("value", [b"a\0b", b"a\nb", b"\x7f", b"a\rb"])
async def test_control_characters_in_headers_are_refused(value: bytes) -> None:
    assert (await refused(scope_of(headers=[("x-anything", value)]))).status == 400


@pytest.mark.parametrize("name", ["authorization", "sec-fetch-site", "content-type"])
async def test_headers_that_make_sense_only_once_are_refused_twice(name: str) -> None:
    assert (await refused(scope_of(headers=[(name, "same-origin")] * 2))).status == 400


FETCH = ["sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest"]
FORWARDED = ["x-forwarded-host", "x-forwarded-proto", "x-forwarded-for", "via"]
NAMES = st.sampled_from(
    ["host", "Host", "origin", "authorization", "cookie", "content-length", "x", *FETCH, *FORWARDED]
)
PLAUSIBLE = [
    HERE,
    OWN_ORIGIN,
    ELSEWHERE,
    "hub.example.org",
    "https://hub.example.org",
    "https",
    "same-origin",
    "navigate",
]
VALUES = st.one_of(st.sampled_from(PLAUSIBLE).map(str.encode), st.binary(max_size=20))
OURS = {"127.0.0.1:4280", "localhost:4280", "[::1]:4280", "handrail.localhost:4280", "hub.example.org"}


@pytest.mark.slow
@settings(max_examples=300)
@given(
    st.lists(st.tuples(NAMES, VALUES), max_size=6),
    st.sampled_from(["GET", "POST", "SOCKET"]),
    st.sampled_from([("127.0.0.1", 1), ("203.0.113.9", 1), ("unix:7", 0), None, ("testclient", 1)]),
    st.booleans(),
    st.text(max_size=10),
)
async def test_whatever_is_sent_is_answered_and_what_gets_through_is_ours(
    headers: list[tuple[str, bytes]], method: str, client: Any, proxied: bool, text: str
) -> None:
    app = Seen()
    behind: dict[str, Any] = {"behind_proxy": True, "public_url": "https://hub.example.org"} if proxied else {}
    scope = scope_of(method, "/" + text, headers, host=None, client=client, query=text)
    answer = await ask(Guards(app, HubSettings(**behind)), scope)
    if not app.scopes:
        assert answer.code in CODES
        return
    assert answer.status in REACHED
    seen = {name.decode().lower(): value.decode("latin-1").strip() for name, value in app.scopes[0]["headers"]}
    if client is None or not client[0].startswith("unix"):
        assert seen["host"] in OURS
        assert method == "GET" or "authorization" in seen or seen["origin"].partition("//")[2] in OURS
        assert seen.get("origin", OWN_ORIGIN).partition("//")[2] in OURS


async def test_other_kinds_of_scope_pass_untouched() -> None:
    scopes = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scopes.append(scope)

    await Guards(app, HubSettings())({"type": "lifespan"}, None, None)  # type: ignore[arg-type]
    assert scopes == [{"type": "lifespan"}]


# ---------------------------------------------------------------- the hub's own socket

LOCAL: dict[str, Any] = {"client": ("unix:4711", 1000), "host": "anything at all"}


async def test_a_process_of_this_machine_needs_neither_host_nor_origin() -> None:
    for method in ("GET", *ACTING):
        assert (await guarded(scope_of(method, **LOCAL))).status in REACHED


@pytest.mark.parametrize("name", ["origin", "cookie", "x-forwarded-for", "forwarded", "via"])
async def test_nobody_lets_others_use_the_hubs_own_socket(name: str) -> None:
    """A web server of the same user that passes requests on to the socket would make everybody the owner."""
    assert (await refused(scope_of("GET", headers=[(name, "x")], **LOCAL))).code == "wrong_origin"


async def test_secrets_in_addresses_are_refused_there_too() -> None:
    assert (await refused(scope_of(query="token=x", **LOCAL))).code == "secret_in_address"


# ---------------------------------------------------------------- headers of answers


@pytest.mark.parametrize("host", [HERE, "evil.example"], ids=["answered", "refused"])
@pytest.mark.parametrize("path", ["/", "/api/sessions"])
async def test_every_answer_carries_the_safe_headers(path: str, host: str) -> None:
    headers = (await guarded(scope_of("GET", path, host=host))).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]


async def test_the_page_runs_only_our_scripts_and_the_api_none() -> None:
    page = (await guarded(scope_of("GET", "/"))).headers
    api = (await guarded(scope_of("GET", "/api/sessions"))).headers
    assert page["content-security-policy"] == PAGE_POLICY
    assert "script-src" not in api["content-security-policy"]
    assert "sandbox" in api["content-security-policy"]
    assert api["cache-control"] == "no-store"
    assert "cache-control" not in page


async def test_an_answer_may_be_stricter_or_cached_on_purpose() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        own = [(b"cache-control", b"private, immutable"), (b"content-security-policy", b"sandbox")]
        await send({"type": "http.response.start", "status": 200, "headers": own})
        await send({"type": "http.response.body"})

    headers = (await ask(Guards(app, HubSettings()), scope_of("GET", "/api/x"))).headers
    assert (headers["cache-control"], headers["content-security-policy"]) == ("private, immutable", "sandbox")


async def test_refusals_are_problem_details() -> None:
    answer = await refused(scope_of(host="evil.example"))
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["content-length"] == str(len(answer.body))
    assert "evil.example:80" in answer.detail

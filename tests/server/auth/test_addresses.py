"""Hosts and origins are read strictly: two spellings of one are the same, and nothing else is one."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.server.auth.addresses import DEFAULT_PORTS, Host, Origin, is_loopback, parse_host, parse_origin

LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
NAMES = st.builds(lambda labels, last: ".".join([*labels, last]), st.lists(LABELS, max_size=3), st.just("example"))
ADDRESSES = st.ip_addresses()
PORTS = st.integers(1, 65535)


@pytest.mark.slow
@given(NAMES, PORTS, st.booleans(), st.booleans())
def test_a_name_is_the_same_in_every_spelling(name: str, port: int, dot: bool, upper: bool) -> None:
    spelt = (name.upper() if upper else name) + ("." if dot else "")
    assert parse_host(f"{spelt}:{port}", default_port=1) == Host(name, port)
    assert parse_host(spelt, default_port=port) == Host(name, port)


@given(ADDRESSES, PORTS)
def test_an_address_is_the_same_in_every_spelling(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int
) -> None:
    for spelt in {str(address), address.exploded, address.exploded.upper()}:
        text = f"[{spelt}]" if address.version == 6 else spelt
        assert parse_host(f"{text}:{port}", default_port=1) == Host(str(address), port)


@pytest.mark.slow
@given(st.sampled_from(["http", "https"]), st.one_of(NAMES, ADDRESSES.map(str)), PORTS)
def test_an_origin_that_is_written_can_be_read(scheme: str, name: str, port: int) -> None:
    origin = Origin(scheme, Host(name, port))
    assert parse_origin(str(origin)) == origin
    assert (":" + str(port) in str(origin)[6:]) == (port != DEFAULT_PORTS[scheme] or f":{port}" in name)


@pytest.mark.slow
@given(st.text())
def test_any_text_is_a_host_that_can_be_written_again_or_none(text: str) -> None:
    host = parse_host(text, default_port=80)
    if host is not None:
        assert text.isascii()
        assert parse_host(str(host), default_port=1) == host


@pytest.mark.slow
@given(NAMES, st.sampled_from("\0\t\n\r /\\@?#%\x7f\x85 é。"), st.data())
def test_a_character_that_does_not_belong_makes_it_none(name: str, character: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name)))
    text = name[:at] + character + name[at:]
    assert parse_host(text, default_port=80) is None
    assert parse_origin(f"http://{text}") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        ":4280",
        "localhost:",
        "localhost:0",
        "localhost:65536",
        "localhost:04280",
        "localhost:٤٢",
        "localhost:4280:4280",
        "localhost..",
        "a..b",
        "-a.example",
        "user@localhost:4280",
        "localhost:4280@evil.example",
        "localhost, evil.example",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "0x7f000001",
        "127.0.0.01",
        "127.0.0.1.1",
        "::1",
        "[::1",
        "[::1%25lo]",
        "[127.0.0.1]",
        "[]",
        "ⓛocalhost",
        "localho\u017ft:4280",
        "hac\u212aer.example",
        "a" * 300,
        ".".join(["a" * 60] * 5),
    ],
)
def test_what_is_no_host(text: str) -> None:
    assert parse_host(text, default_port=80) is None


@pytest.mark.parametrize(
    "text",
    [
        "null",
        "",
        "localhost",
        "//localhost",
        "ftp://localhost",
        "http:localhost",
        "http://localhost/",
        "http://localhost?",
        "http://user@localhost",
        "http://localhost http://evil.example",
        "http://localhost,http://evil.example",
        "file://",
        "chrome-extension://abc",
        " http://localhost",
    ],
)
def test_what_is_no_origin(text: str) -> None:
    assert parse_origin(text) is None


@pytest.mark.parametrize(
    ("name", "yes"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.2", False),
        ("localhost.example", False),
        ("testclient", False),
        ("", False),
    ],
)
def test_loopback(name: str, yes: bool) -> None:
    assert is_loopback(name) is yes

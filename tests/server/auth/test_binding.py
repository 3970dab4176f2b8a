"""A hub that could be overheard does not start, and says what to do; one that starts knows its own names."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from handrail.errors import ConfigError
from handrail.server.auth.addresses import Host
from handrail.server.auth.binding import Binding, check_binding
from handrail.server.hub import HubSettings

CERTIFIED = {"tls_certificate": "cert.pem", "tls_key": "key.pem"}


def origins(**settings: Any) -> set[str]:
    return {str(origin) for origin in Binding.of(HubSettings(**settings)).origins}


def test_on_loopback_it_is_known_by_the_names_of_this_machine() -> None:
    names = ("127.0.0.1", "localhost", "[::1]", "handrail.localhost")
    assert origins() == {f"http://{name}:4280" for name in names}


def test_another_loopback_address_is_a_name_too() -> None:
    assert "http://127.0.0.9:4280" in origins(host="127.0.0.9")


def test_the_public_address_is_a_name() -> None:
    found = origins(behind_proxy=True, public_url="https://hub.example.org/")
    assert "https://hub.example.org" in found
    assert "http://hub.example.org" not in found


def test_with_a_certificate_every_origin_is_secure() -> None:
    found = origins(host="192.168.1.2", **CERTIFIED)
    assert "https://192.168.1.2:4280" in found
    assert all(origin.startswith("https://") for origin in found)


@pytest.mark.parametrize(
    ("entry", "added"),
    [
        ("box.lan", {"http://box.lan", "http://box.lan:4280"}),
        ("box.lan:9000", {"http://box.lan:9000"}),
        ("Box.LAN.:9000", {"http://box.lan:9000"}),
        ("https://box.lan:9000", {"https://box.lan:9000"}),
        ("[fd00::1]:9000", {"http://[fd00::1]:9000"}),
    ],
)
def test_allowed_hosts_are_names(entry: str, added: set[str]) -> None:
    assert origins(allowed_hosts=(entry,)) - origins() == added


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "hub.example.org", "10.0.0.1", "fe80::1"])
def test_what_others_can_reach_needs_tls_or_a_proxy(host: str) -> None:
    with pytest.raises(ConfigError, match=r"--tls-certificate.*--behind-proxy"):
        Binding.of(HubSettings(host=host, public_url="https://hub.example.org"))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.3.2.1"])
def test_loopback_needs_neither(host: str) -> None:
    Binding.of(HubSettings(host=host))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"host": "0.0.0.0", **CERTIFIED}, "every address.*--public-url"),
        ({"behind_proxy": True}, "behind a proxy.*--public-url"),
        ({"tls_certificate": "cert.pem"}, "both a certificate and its key"),
        ({"tls_key": "key.pem"}, "both a certificate and its key"),
        ({"public_url": "http://hub.example.org"}, "must begin with https://"),
        ({"public_url": "https://hub.example.org/handrail"}, "without a path"),
        ({"public_url": "https://me:pw@hub.example.org"}, "without a path, a user"),
        ({"public_url": "hub.example.org"}, "must be like https://"),
        ({"allowed_hosts": ("http://box/x",)}, "allowed host"),
        ({"allowed_hosts": ("*",)}, "allowed host"),
        ({"behind_proxy": True, "public_url": "https://h.example", "proxies": ("nginx",)}, "IP address or a network"),
        ({"port": 70_000}, "port"),
        ({"host": "127.0.0.1:80"}, "port by itself"),
        ({"host": ""}, "cannot listen"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_do(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Binding.of(HubSettings(**settings))


def test_a_plain_public_address_of_this_machine_is_fine() -> None:
    """As when a port is forwarded through SSH."""
    for url in ("http://localhost:9000", "http://handrail.localhost:9000", "http://[::1]:9000"):
        assert url in origins(public_url=url)


def test_proxies_are_believed_only_behind_one() -> None:
    assert not Binding.of(HubSettings()).believes("127.0.0.1")
    binding = Binding.of(
        HubSettings(behind_proxy=True, public_url="https://h.example", proxies=("172.18.0.0/16", "::1", "127.0.0.1"))
    )
    assert [binding.believes(each) for each in ("172.18.3.4", "::1", "::ffff:127.0.0.1")] == [True] * 3
    assert [binding.believes(each) for each in ("172.19.3.4", "", "unix:1", "testclient")] == [False] * 4


def test_a_certificate_and_its_key_are_tried(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    binding = check_binding(HubSettings(host="192.168.1.2", tls_certificate=str(certificate), tls_key=str(key)))
    assert Host("192.168.1.2", 4280) in binding.hosts


def test_a_certificate_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not there"):
        check_binding(HubSettings(tls_certificate=str(tmp_path / "no.pem"), tls_key=str(tmp_path / "no.key")))


@pytest.mark.parametrize("content", ["", "not a key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_a_key_that_does_not_fit(tmp_path: Path, content: str) -> None:
    certificate, key = self_signed(tmp_path)
    key.write_text(content)
    with pytest.raises(ConfigError, match="belong together"):
        check_binding(HubSettings(tls_certificate=str(certificate), tls_key=str(key)))


def test_a_key_with_a_password_is_not_asked_for_on_the_terminal(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    command = ["openssl", "ec", "-aes128", "-in", str(key), "-out", str(key), "-passout", "pass:word"]
    subprocess.run(command, check=True, capture_output=True)
    with pytest.raises(ConfigError, match="must not have a password"):
        check_binding(HubSettings(tls_certificate=str(certificate), tls_key=str(key)))


def self_signed(directory: Path) -> tuple[Path, Path]:
    certificate, key = directory / "cert.pem", directory / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-subj",
        "/CN=hub",
        "-days",
        "1",
    ]
    subprocess.run([*command, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    return certificate, key

"""Who a host is: kept for its owner's eyes, and known again after a restart."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from handrail.errors import ConfigError
from handrail.host.identity import HostIdentity, load_identity, save_identity

IDENTITY = HostIdentity(hub="https://hub.example.com", host_id="h1", name="box", key="hrh_secret")


def test_an_identity_is_kept(tmp_path: Path) -> None:
    directory = tmp_path / "host"
    assert load_identity(directory) is None
    save_identity(directory, IDENTITY)
    assert load_identity(directory) == IDENTITY
    assert stat.S_IMODE((directory / "identity.json").stat().st_mode) == 0o600


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(IDENTITY)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b'{"hub": 1}'])
def test_an_identity_that_cannot_be_read_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "identity.json").write_bytes(content)
    with pytest.raises(ConfigError, match="enrol this host again"):
        load_identity(tmp_path)


def test_an_identity_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        save_identity(tmp_path / "file", IDENTITY)

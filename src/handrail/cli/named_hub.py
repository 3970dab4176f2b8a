"""The hub that the environment names: whose sessions commands are about, if not those of this machine."""

from __future__ import annotations

import os

from handrail.errors import ConfigError

__all__ = ["TOKEN", "URL", "is_named", "named_hub", "refuse_elsewhere"]

URL, TOKEN = "HANDRAIL_HUB", "HANDRAIL_TOKEN"


def is_named() -> bool:
    """Whether commands are about the sessions of a hub, and not about those of this machine."""
    return bool(os.environ.get(URL))


def named_hub() -> tuple[str, str]:
    """The address of that hub, and the token for it. Raises `ConfigError` for an address that must not be used."""
    from handrail.cli.hub_address import hub_address  # only commands that talk to it pay for it

    address, token = hub_address(os.environ.get(URL, ""), URL), os.environ.get(TOKEN, "")
    if not token:
        raise ConfigError(
            f"{URL} names {address}, and {TOKEN} is not set: `handrail token new NAME --role owner` prints one, where "
            "that hub runs"
        )
    return address, token


def refuse_elsewhere(command: str) -> None:
    """Refuse what is about the files of one machine, if the environment names a hub. Raises `ConfigError`."""
    if is_named():
        raise ConfigError(
            f"handrail {command} is about the files of this machine, but {URL} names {os.environ[URL]}: unset it, or "
            "run the command where that hub runs"
        )

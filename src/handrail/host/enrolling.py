"""Makes this machine a host of a hub: a one-time code becomes a key of its own."""

from __future__ import annotations

import ssl
from typing import Final
from urllib.parse import urlsplit

import httpx2
import msgspec

from handrail.errors import HostAway, HostError, HostRefused
from handrail.host.dialling import http_address
from handrail.host.identity import HostIdentity
from handrail.link.loopback import is_loopback
from handrail.link.problems import told_by
from handrail.link.reasons import words_of

__all__ = ["enrol"]

PATH: Final = "/api/hosts/enrol"
SECONDS: Final = 30.0


class _Enrolled(msgspec.Struct):
    host_id: str
    name: str
    key: str
    hub: str = ""


async def enrol(hub_url: str, code: str, name: str, *, tls: ssl.SSLContext | None = None) -> HostIdentity:
    """Give the hub the code, and get the identity of this host.

    Raises `HostAway` if nobody answers, `HostRefused` with the hub's words if it does not take the code or the name.
    """
    address = http_address(hub_url)
    body = msgspec.json.encode({"code": code, "name": name})
    headers = {"authorization": f"Bearer {code}", "content-type": "application/json"}
    try:
        async with _client(address, tls) as client:
            response = await client.post(address + PATH, content=body, headers=headers)
    except (httpx2.HTTPError, ssl.SSLError, OSError, UnicodeError, ValueError) as error:
        raise HostAway(f"the hub at {address} cannot be reached: {words_of(error)}") from None
    except ImportError as error:
        raise HostError(f"the hub at {address} cannot be reached: {words_of(error)}") from None
    if response.status_code != 201:
        raise _refusal(address, response)
    try:
        enrolled = msgspec.json.decode(response.content, type=_Enrolled)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise HostError(f"what answers at {address} is no hub of this version: check the address") from None
    # The hub is where it was found: what it calls itself may not be reachable from here.
    return HostIdentity(hub=address, host_id=enrolled.host_id, name=enrolled.name, key=enrolled.key)


def _client(address: str, tls: ssl.SSLContext | None) -> httpx2.AsyncClient:
    here = is_loopback(urlsplit(address).hostname or "")
    verify = (tls or ssl.create_default_context()) if address.startswith("https:") else False
    return httpx2.AsyncClient(timeout=SECONDS, verify=verify, trust_env=not here)


def _refusal(address: str, response: httpx2.Response) -> HostError:
    """What the hub says, or what its silence means."""
    detail = told_by(response.content).detail
    match response.status_code:
        case 401:
            return HostRefused(detail or "the code is wrong: make another one on the hub with `handrail host enrol`")
        case 404 | 405:
            return HostError(
                f"what answers at {address} takes no hosts: is it a hub, and not older than this Handrail?"
            )
        case status if detail:
            return HostRefused(f"the hub refused: {detail}") if status < 500 else HostAway(f"the hub failed: {detail}")
        case status:
            return HostError(f"the hub at {address} answered with {status}: try again, or look into its log")

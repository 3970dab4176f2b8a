"""`handrail ingress` with a hub: makes lines to paste, lists, renews and revokes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .test_hub import Machine

pytestmark = pytest.mark.slow

LINE = re.compile(
    r"^CLAUDE_CODE_WEBSOCKET_AUTH_FILE_DESCRIPTOR=9 claude .* --sdk-url=(ws://\S+) </dev/null 9<<<(hr_\S+)$"
)


def test_lines_are_made_listed_renewed_and_revoked(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with machine.serving() as (_, url, _code):
        found = LINE.match(machine.handrail("ingress", "new", "--title", "nightly", "--mode", "plan"))
        assert found is not None
        address, secret = found.groups()
        assert address.startswith(url.replace("http", "ws"))
        (listed,) = json.loads(machine.handrail("ingress", "ls", "--json"))
        assert (listed["title"], listed["connected"], listed["transport"]) == ("nightly", False, "websocket")
        assert "waiting" in machine.handrail("ingress", "ls")
        renewed = json.loads(machine.handrail("ingress", "renew", listed["id"][:6], "--json"))
        assert (renewed["url"], renewed["token"] == secret) == (address, False)
        machine.handrail("ingress", "revoke", listed["id"])
        assert "revoked" in machine.handrail("ingress", "ls")
        assert "handrail ingress ls lists them" in machine.handrail("ingress", "revoke", "nothing", code=2)
        assert "no token that is good" in machine.handrail("ingress", "revoke", listed["id"], code=1)
        variable = machine.handrail("ingress", "new", "--hybrid", "--token-as-variable")
        assert re.match(
            r"CLAUDE_CODE_POST_FOR_SESSION_INGRESS_V2=1 CLAUDE_CODE_SESSION_ACCESS_TOKEN=hr_\S+ claude ", variable
        )
    assert "no hub runs here" in machine.handrail("ingress", "new", code=1)

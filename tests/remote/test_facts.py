"""What a hub says of itself to a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail import Hub
from handrail.remote.errors import HubError

from ..server.support import served_hub


async def test_a_hub_says_what_it_is_and_where_one_can_work(tmp_path: Path) -> None:
    async with served_hub(tmp_path) as served, Hub(served.url, served.tokens["viewer"]) as hub:
        (served.directory / "shop" / ".git").mkdir(parents=True)
        about = await hub.facts.about()
        assert about.claude.version == "2.1.325"
        assert about.roots == [str(served.directory)]
        assert about.default_profile in about.profiles

        found = await hub.facts.directories()
        assert (found.path, found.parent) == (str(served.directory), None)
        assert [(each.name, each.git) for each in found.items if each.git] == [("shop", True)]
        inner = await hub.facts.directories(str(served.directory / "shop"))
        assert inner.parent == str(served.directory)
        with pytest.raises(HubError, match="is not inside"):
            await hub.facts.directories("/etc")

        models = await hub.facts.models()
        assert "opus" in [each.value for each in models.items]
        assert not models.live

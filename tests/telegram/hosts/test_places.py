"""A chat that works on a host: how it gets there, what is said if that cannot be, and that it names the machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .support import buttons_of, fleet

pytestmark = pytest.mark.slow


async def test_a_project_on_a_host(tmp_path: Path) -> None:
    async with fleet(tmp_path) as here:
        shop = here.project / "shop"
        shop.mkdir()
        there = f"box:{shop}"
        assert await here.asks("/project nowhere:/srv", "There is no host 'nowhere': there is box")
        assert await here.asks(f"/project {there}/none", f"On box: there is no directory {shop}/none")
        assert await here.asks(
            "/project box:/etc", f"On box: /etc is not inside {here.project}: the setting host.roots"
        )
        assert await here.asks("/project box:shop", "or build-box:/srv/shop on a host")
        looked = await here.asks("/project box:", f"box:{here.project}\nLook into a directory")
        assert [each.text for each in buttons_of(looked)][:2] == ["shop", "✓ Work in …/box/project"]

        await here.asks(f"/project {there}", f"This chat works in {there}.")
        await here.drain(True)
        assert await here.asks("hello there", "The host box is being drained: no session is started there")
        await here.drain(False)
        assert "🏷 on box · " in (await here.asks("hello there", "You said hello there.")).text
        assert here.cli is not None
        assert [each.cwd for each in here.cli.launches()] == [str(shop)]

        assert await here.asks("/sessions", "Sessions in box:…/project/shop, the latest first")
        everywhere = await here.asks("/sessions all", "Sessions, the latest first")
        assert "hello there (here) · box · " in next(buttons_of(everywhere)).text
        status = await here.asks("/status", "hello there\n· idle · on box")
        assert f"Project: {there}" in status.text
        assert re.search(r"✓ box: connected, \d live, Claude Code", (await here.asks("/health", "Bridge")).text)

"""The security guide says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from handrail.server.auth import bodies, headers, logins
from handrail.server.auth.cookies import SECURE_NAME
from handrail.server.auth.guards import OF_A_PROXY
from handrail.server.auth.rate_limit import RateLimit
from handrail.server.problems import CODES
from handrail.server.roles import ROLES

from .support import Clock

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "security.md").read_text()
MIB = 1024 * 1024
IN_WORDS = {5: "five", 10: "Ten", 100: "a hundred"}


def test_it_has_every_role() -> None:
    (section,) = re.findall(r"^### Roles\n(.*?)^A viewer", GUIDE, re.S | re.M)
    assert re.findall(r"^\| (\w+) \|", section, re.M)[1:] == list(ROLES)


def test_its_codes_exist() -> None:
    assert "secret_in_address" in CODES
    assert "`secret_in_address`" in GUIDE
    assert CODES["wrong_host"][0] == 421
    assert CODES["too_many_requests"][0] == 429


def test_its_limits_are_those_of_the_code() -> None:
    assert f"{bodies.LARGEST // MIB} MiB; {bodies.LARGEST_WITH_IMAGES // MIB} MiB for" in GUIDE
    assert f"for {IN_WORDS[int(logins.LIFETIME // 60)]} minutes" in GUIDE
    each = attempts(RateLimit(clock=Clock()), ["192.0.2.1"] * 200)
    in_all = attempts(RateLimit(clock=Clock()), [f"192.0.2.{number}" for number in range(200)])
    assert f"{IN_WORDS[each]} attempts a minute from one address, {IN_WORDS[in_all]} from all" in GUIDE


def attempts(limit: RateLimit, addresses: list[str]) -> int:
    return sum(limit.take(address) == 0 for address in addresses)


@pytest.mark.parametrize("directive", ["frame-ancestors 'none'", "img-src 'self' data: blob:"])
def test_its_policies_are_those_of_the_page(directive: str) -> None:
    assert directive in GUIDE
    assert directive in headers.PAGE_POLICY


def test_its_names_are_those_of_the_code() -> None:
    assert f"`{SECURE_NAME}`" in GUIDE
    for name in ("Cookie", "Origin", "Via"):
        assert name.lower() in OF_A_PROXY
        assert f"`{name}`" in GUIDE

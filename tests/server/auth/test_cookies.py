"""The cookie: out of reach of scripts and of other sites, and with TLS of other hosts."""

from __future__ import annotations

from http.cookies import SimpleCookie

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.server.auth.cookies import cleared_cookie, session_cookie, shown_cookies


@pytest.mark.parametrize(("secure", "name"), [(False, "handrail_session"), (True, "__Host-handrail_session")])
def test_its_attributes(secure: bool, name: str) -> None:
    cookie = SimpleCookie(session_cookie("hr_x", secure=secure, max_age=60))[name]
    assert (cookie.value, cookie["path"], cookie["max-age"]) == ("hr_x", "/", "60")
    assert (cookie["samesite"], cookie["httponly"], bool(cookie["secure"])) == ("Strict", True, secure)
    assert cookie["domain"] == ""


def test_logging_out_takes_it_away() -> None:
    cookie = SimpleCookie(cleared_cookie(secure=False))["handrail_session"]
    assert (cookie.value, cookie["max-age"]) == ("", "0")


@pytest.mark.parametrize("secure", [False, True])
def test_what_a_browser_was_given_it_shows(secure: bool) -> None:
    given_ = session_cookie("hr_x", secure=secure, max_age=60).partition(";")[0]
    assert shown_cookies([f"theme=dark; {given_};other=a=b"], secure=secure) == ["hr_x"]
    assert shown_cookies([given_], secure=not secure) == []


def test_a_cookie_that_another_server_planted_hides_none() -> None:
    headers = ["handrail_session=planted; handrail_session=hr_x", "handrail_session="]
    assert shown_cookies(headers, secure=False) == ["planted", "hr_x"]


@given(st.lists(st.text(), max_size=5), st.booleans())
def test_no_header_breaks_it(headers: list[str], secure: bool) -> None:
    assert len(shown_cookies(headers, secure=secure)) <= 4

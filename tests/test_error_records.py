"""Errors travel as what they are."""

from __future__ import annotations

import pytest

from handrail import errors
from handrail.error_records import error_of, record_of
from handrail.errors import (
    AlreadyDecided,
    AskClosed,
    ControlRefused,
    HandrailError,
    HostError,
    HostRefused,
    LeaseHeld,
    SessionNotFound,
)
from handrail.link.wire import ErrorRecord, Reply, decode_from_host, encode, pack, parcel_of


@pytest.mark.parametrize(
    "error",
    [
        AlreadyDecided("somebody was faster", actor="ada", at=12.5),
        AskClosed("it is closed", state="lost"),
        ControlRefused("set_model", "no such model", code="x"),
        HostRefused("not here"),
        LeaseHeld("held", owner="me"),
        SessionNotFound("there is none"),
    ],
)
def test_an_error_arrives_as_it_was(error: HandrailError) -> None:
    (reply,) = decode_from_host(pack([Reply(id="1", error=record_of(error))]))
    assert isinstance(reply, Reply)
    assert reply.error is not None
    arrived = error_of(reply.error)
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)


def test_what_is_not_ours_is_named() -> None:
    arrived = error_of(record_of(ZeroDivisionError("by zero"), where="build-box"))
    assert type(arrived) is HostError
    assert str(arrived) == "build-box failed: ZeroDivisionError: by zero"


def test_a_class_that_is_not_known_is_the_base_of_all() -> None:
    assert type(error_of(ErrorRecord(kind="FromTheFuture", message="?"))) is HandrailError
    assert type(error_of(ErrorRecord(kind="annotations", message="?"))) is HandrailError


def test_a_private_subclass_travels_as_its_public_base() -> None:
    class Special(SessionNotFound):
        pass

    assert type(error_of(record_of(Special("gone")))) is SessionNotFound


def test_every_class_of_the_tree_has_a_record() -> None:
    for name in errors.__all__:
        assert type(error_of(ErrorRecord(kind=name, message="words"))).__name__ == name


def test_messages_that_are_encoded_already_make_the_same_parcel() -> None:
    replies = [Reply(id="1"), Reply(id="2", result=b"[1]")]
    assert parcel_of([encode(reply) for reply in replies]) == pack(replies)

"""The control channel: each request, ours and theirs, is answered exactly once, whatever the order of things."""

from __future__ import annotations

import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from handrail.errors import LocalProtocolError
from handrail.protocol.connection import (
    REMEMBERED,
    Answered,
    Asked,
    Cancelled,
    Connection,
    OurRequest,
    Stray,
    TheirRequest,
    user_line,
)
from handrail.protocol.frames import ControlResponse
from handrail.protocol.state import OURS, THEIRS, Ours, Theirs


def line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def asks(request_id: str, **request: Any) -> bytes:
    return line(
        {
            "type": "control_request",
            "request_id": request_id,
            "request": {"subtype": "can_use_tool", **request},
        }
    )


def answers(request_id: str, **response: Any) -> bytes:
    return line({"type": "control_response", "response": {"subtype": "success", "request_id": request_id, **response}})


def cancels(request_id: str) -> bytes:
    return line({"type": "control_cancel_request", "request_id": request_id})


def events(connection: Connection, data: bytes) -> list[Any]:
    connection.receive_data(data)
    return connection.events()


def opened(connection: Connection, request_id: str = "r1") -> TheirRequest:
    (asked,) = events(connection, asks(request_id, tool_name="Bash"))
    assert isinstance(asked, Asked)
    return asked.request


def test_our_request_is_matched_with_its_answer() -> None:
    connection = Connection()
    request = connection.request("set_model", {"model": "m"})
    assert json.loads(request.line) == {
        "type": "control_request",
        "request_id": request.id,
        "request": {"subtype": "set_model", "model": "m"},
    }
    assert connection.waiting == (request,)
    (answered,) = events(connection, answers(request.id, response={"model": "m"}))
    assert isinstance(answered, Answered)
    assert answered.request is request
    assert answered.result.response == {"model": "m"}
    assert request.state is Ours.ANSWERED
    assert connection.waiting == ()


def test_a_field_named_subtype_cannot_change_what_is_asked() -> None:
    request = Connection().request("interrupt", {"subtype": "end_session"})
    assert json.loads(request.line)["request"] == {"subtype": "interrupt"}


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("answer", "second answer"),
        ("expire", "late answer"),
        ("withdraw", "late answer"),
        ("never", "never made"),
    ],
)
def test_an_answer_nobody_waits_for_is_harmless(before: str, words: str) -> None:
    connection = Connection()
    request = connection.request("set_permission_mode", {"mode": "plan"})
    if before == "answer":
        events(connection, answers(request.id))
    elif before == "expire":
        connection.expire(request)
    elif before == "withdraw":
        assert json.loads(connection.withdraw(request))["type"] == "control_cancel_request"
    answered = "someone-else" if before == "never" else request.id
    (stray,) = events(connection, answers(answered))
    assert isinstance(stray, Stray)
    assert words in stray.reason


def test_their_request_is_answered_once() -> None:
    connection = Connection()
    request = opened(connection)
    assert connection.pending == (request,)
    assert json.loads(connection.respond(request, {"behavior": "allow"})) == {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": "r1", "response": {"behavior": "allow"}},
    }
    assert connection.pending == ()
    with pytest.raises(LocalProtocolError, match="answered"):
        connection.respond(request, {"behavior": "deny"})
    with pytest.raises(LocalProtocolError, match="answered"):
        connection.respond_error(request, "again")


def test_an_answer_that_cannot_be_written_leaves_the_request_open() -> None:
    connection = Connection()
    request = opened(connection)
    with pytest.raises(TypeError):
        connection.respond(request, {"behavior": object()})
    assert request.state is Theirs.PENDING
    assert json.loads(connection.respond_error(request, "no"))["response"]["error"] == "no"


def test_a_cancelled_request_can_no_longer_be_answered() -> None:
    connection = Connection()
    request = opened(connection)
    assert events(connection, cancels("r1")) == [Cancelled(request)]
    with pytest.raises(LocalProtocolError, match="cancelled"):
        connection.respond(request, {})


def test_cancelling_what_is_answered_or_unknown_is_harmless() -> None:
    connection = Connection()
    connection.respond(opened(connection), {})
    assert all(isinstance(event, Stray) for event in events(connection, cancels("r1") + cancels("r9")))


def test_parallel_requests_are_independent() -> None:
    connection = Connection()
    first, second, third = (opened(connection, name) for name in ("a", "b", "c"))
    connection.respond(second, {})
    assert connection.pending == (first, third)


def test_a_request_that_comes_twice_is_asked_once() -> None:
    connection = Connection()
    opened(connection)
    assert [type(event) for event in events(connection, asks("r1"))] == [Stray]


def test_initialize_again_recovers_what_was_lost() -> None:
    connection = Connection()
    known = opened(connection, "known")
    request = connection.request("initialize")
    pending = [
        {
            "type": "control_request",
            "request_id": name,
            "request": {"subtype": "can_use_tool", "tool_name": "Bash"},
        }
        for name in ("known", "lost")
    ]
    answer = line(
        {
            "type": "control_response",
            "response": {
                "subtype": "error",
                "request_id": request.id,
                "error": "Already initialized",
                "pending_permission_requests": pending,
            },
        }
    )
    answered, recovered = events(connection, answer)
    assert isinstance(answered, Answered)
    assert isinstance(recovered, Asked)
    assert recovered.request.id == "lost"
    assert connection.pending == (known, recovered.request)


def test_when_the_cli_goes_everything_open_is_lost() -> None:
    connection = Connection()
    theirs = opened(connection)
    ours = connection.request("interrupt")
    frames = connection.receive_eof()
    assert frames == []
    assert (ours.state, theirs.state) == (Ours.LOST, Theirs.LOST)
    with pytest.raises(LocalProtocolError, match="lost"):
        connection.respond(theirs, {})
    with pytest.raises(LocalProtocolError, match="gone"):
        connection.request("interrupt")


def test_the_last_line_is_read_when_the_cli_goes() -> None:
    connection = Connection()
    request = connection.request("interrupt")
    connection.receive_data(answers(request.id).rstrip())
    (frame,) = connection.receive_eof()
    assert isinstance(frame, ControlResponse)
    assert request.state is Ours.ANSWERED


def test_the_oldest_form_of_a_permission_request_is_recognised_and_answered_in_kind() -> None:
    asked = {
        "type": "control_request",
        "request_id": "q",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    }
    block = {"type": "tool_use", "id": "t", "name": "PermissionPromptTool", "input": asked}
    frame = line({"type": "assistant", "message": {"content": [block]}})
    connection = Connection()
    (event,) = events(connection, frame)
    assert isinstance(event, Asked)
    assert event.request.body["tool_name"] == "Bash"
    assert event.request.body["input"] == {"command": "ls"}
    assert json.loads(connection.respond(event.request, {"behavior": "allow", "updatedInput": {}})) == {
        "type": "control_response",
        "request_id": "q",
        "approved": True,
    }
    connection = Connection()
    (event,) = events(connection, frame)
    denied = json.loads(connection.respond(event.request, {"behavior": "deny", "message": "no"}))
    assert (denied["approved"], denied["denial_message"]) == (False, "no")


def test_resent_frames_are_dropped_where_the_link_may_resend() -> None:
    frame = line({"type": "assistant", "uuid": "u1", "message": {}})
    connection = Connection(dedupe=True)
    assert len(connection.receive_data(frame + frame)) == 1
    assert len(connection.receive_data(frame)) == 0
    assert len(Connection().receive_data(frame + frame)) == 2


def test_closed_requests_are_forgotten_in_the_end() -> None:
    connection = Connection()
    for number in range(REMEMBERED + 10):
        connection.respond(opened(connection, str(number)), {})
    assert isinstance(events(connection, asks("0"))[0], Asked)


def test_a_user_line_ends_in_a_newline_and_carries_its_uuid() -> None:
    sent = user_line("-hi\nthere", uuid="u", session_id="s", extra={"priority": "now"})
    assert sent.endswith(b"\n")
    assert sent.count(b"\n") == 1
    assert json.loads(sent) == {
        "type": "user",
        "message": {"role": "user", "content": "-hi\nthere"},
        "parent_tool_use_id": None,
        "session_id": "s",
        "uuid": "u",
        "priority": "now",
    }


def test_every_state_is_in_its_table() -> None:
    assert set(OURS) == set(Ours)
    assert set(THEIRS) == set(Theirs)


class ControlChannel(RuleBasedStateMachine):
    """A CLI that behaves in any order against a host that answers in any order."""

    ours = Bundle("ours")
    theirs = Bundle("theirs")

    def __init__(self) -> None:
        super().__init__()
        self.connection = Connection()
        self.counter = 0
        self.lines_written: dict[str, int] = {}
        self.answers_seen: dict[str, int] = {}

    @rule(target=ours)
    def we_ask(self) -> OurRequest:
        return self.connection.request("mcp_status")

    @rule(target=theirs)
    def they_ask(self) -> TheirRequest:
        self.counter += 1
        return opened(self.connection, f"r{self.counter}")

    @rule(request=ours, times=st.integers(1, 3))
    def they_answer(self, request: OurRequest, times: int) -> None:
        for event in events(self.connection, answers(request.id) * times):
            if isinstance(event, Answered):
                self.answers_seen[request.id] = self.answers_seen.get(request.id, 0) + 1

    @rule(request=consumes(ours))
    def our_deadline_passes(self, request: OurRequest) -> None:
        if request.state is Ours.WAITING:
            self.connection.expire(request)
        else:
            with pytest.raises(LocalProtocolError):
                self.connection.expire(request)

    @rule(request=theirs, error=st.booleans())
    def we_answer(self, request: TheirRequest, error: bool) -> None:
        respond = self.connection.respond_error if error else self.connection.respond
        if request.state is Theirs.PENDING:
            respond(request, "x")
            self.lines_written[request.id] = self.lines_written.get(request.id, 0) + 1
        else:
            with pytest.raises(LocalProtocolError):
                respond(request, "x")

    @rule(request=theirs)
    def they_cancel(self, request: TheirRequest) -> None:
        was_pending = request.state is Theirs.PENDING
        (event,) = events(self.connection, cancels(request.id))
        assert isinstance(event, Cancelled) == was_pending

    @invariant()
    def nothing_is_answered_twice(self) -> None:
        assert all(count == 1 for count in self.lines_written.values())
        assert all(count == 1 for count in self.answers_seen.values())

    @invariant()
    def what_is_open_is_listed(self) -> None:
        assert all(request.state is Theirs.PENDING for request in self.connection.pending)
        assert all(request.state is Ours.WAITING for request in self.connection.waiting)


TestControlChannel = ControlChannel.TestCase
TestControlChannel.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)

"""A CLI over many sockets: nothing doubled, nothing lost in silence, whatever breaks between."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from handrail.protocol.ingress import REQUEST_LIFE, AnotherProcess, IngressLink, Lost, Received, TooLong

INITIALIZE = b'{"type":"control_request","request_id":"init","request":{"subtype":"initialize","hooks":{"x":[]}}}\n'


def line(**fields: Any) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def user(uuid: str) -> bytes:
    return line(type="user", uuid=uuid, message={"role": "user", "content": "hi"})


def answer(request_id: str) -> bytes:
    return line(type="control_response", response={"subtype": "success", "request_id": request_id, "response": {}})


def request(request_id: str, subtype: str = "can_use_tool") -> bytes:
    return line(type="control_request", request_id=request_id, request={"subtype": subtype})


def reply(request_id: str, *pending: str, error: str | None = None) -> bytes:
    body: dict[str, Any] = {"subtype": "success", "request_id": request_id, "response": {}}
    if error is not None:
        listed = [json.loads(request(each)) for each in pending]
        body = {"subtype": "error", "request_id": request_id, "error": error, "pending_permission_requests": listed}
    return line(type="control_response", response=body)


def frames(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(each) for each in data.splitlines()]


class Talk:
    """A link whose clock stands still, and whose CLI is played by the test."""

    def __init__(self, known: tuple[str, ...] = (), max_line: int = 1 << 20) -> None:
        self.link = IngressLink(known=known, max_line=max_line)
        self.now = 0.0

    def begin(self) -> None:
        """Up to where the CLI is initialised."""
        assert self.link.connected(None, now=self.now) == b""
        assert self.send(INITIALIZE) == INITIALIZE
        self.hear(reply("init"))

    def send(self, data: bytes) -> bytes:
        return self.link.send(data, now=self.now)

    def hear(self, data: bytes) -> Received:
        return self.link.receive(data, now=self.now)

    def again(self, last: str | None = None, *pending: str, error: str | None = "Already initialized") -> Received:
        """Another socket, and the CLI's answer to the first thing that it is told there."""
        self.link.disconnected()
        return self.recover(self.link.connected(last, now=self.now), *pending, error=error)

    def recover(self, written: bytes, *pending: str, error: str | None = "Already initialized") -> Received:
        (probe,) = frames(written)
        assert probe["request"] == {"subtype": "initialize", "hooks": {"x": []}}
        return self.hear(reply(probe["request_id"], *pending, error=error))


@pytest.fixture
def talk() -> Talk:
    talk = Talk()
    talk.begin()
    return talk


def test_nothing_is_said_before_somebody_says_something() -> None:
    assert Talk().link.connected(None, now=0.0) == b""


def test_what_is_written_before_the_first_socket_waits_and_initialize_goes_first() -> None:
    talk = Talk()
    assert talk.send(INITIALIZE) == b""
    assert talk.send(user("u")) == b""
    assert talk.link.connected(None, now=0.0) == INITIALIZE
    received = talk.hear(reply("init"))
    assert received.reply == user("u")
    assert frames(received.data)[0]["response"]["request_id"] == "init"


def test_what_is_sent_again_is_heard_once(talk: Talk) -> None:
    said = line(type="assistant", uuid="a")
    assert talk.hear(said).data == said
    assert talk.hear(said + line(type="result", uuid="b") + said).data == line(type="result", uuid="b")


def test_keep_alive_is_nobodys_business(talk: Talk) -> None:
    assert talk.hear(line(type="keep_alive")) == Received()
    assert talk.send(line(type="keep_alive")) == line(type="keep_alive")
    talk.link.disconnected()
    assert talk.send(line(type="keep_alive")) == b""


def test_a_message_into_a_dead_socket_is_sent_again_with_its_uuid(talk: Talk) -> None:
    assert talk.send(user("u")) == user("u")
    assert talk.again("x").reply == user("u")


def test_a_message_that_is_known_to_have_arrived_is_not_sent_again(talk: Talk) -> None:
    talk.send(user("u"))
    talk.link.proved(talk.link.mark())
    talk.send(user("v"))
    assert talk.again().reply == user("v")


def test_an_answer_proves_that_all_before_it_has_arrived(talk: Talk) -> None:
    talk.send(user("u"))
    talk.send(request("ours", "interrupt"))
    talk.hear(reply("ours"))
    assert talk.again().reply == b""


def test_an_unanswered_request_is_sent_again_until_nobody_waits_for_it(talk: Talk) -> None:
    ours = request("ours", "set_model")
    talk.send(ours)
    talk.link.proved(talk.link.mark())
    assert talk.again().reply == ours
    talk.now = REQUEST_LIFE + 1
    assert talk.again().reply == b""


def test_a_withdrawn_request_is_not_sent_again(talk: Talk) -> None:
    withdrawal = line(type="control_cancel_request", request_id="ours")
    talk.send(request("ours", "set_model"))
    assert talk.send(withdrawal) == withdrawal
    assert talk.again().reply == b""
    talk.link.disconnected()
    talk.send(request("later", "set_model"))
    assert talk.send(line(type="control_cancel_request", request_id="later")) == b""


def test_a_lost_permission_is_recovered(talk: Talk) -> None:
    received = talk.again(None, "lost")
    (told,) = frames(received.data)
    assert [each["request_id"] for each in told["response"]["pending_permission_requests"]] == ["lost"]
    talk.send(answer("lost"))
    assert talk.again(None, "lost").reply == answer("lost")
    assert talk.again(None).reply == b""


def test_a_permission_that_was_withdrawn_meanwhile_is_cancelled(talk: Talk) -> None:
    talk.hear(request("p"))
    cancelled = frames(talk.again().data)[1]
    assert cancelled == {"type": "control_cancel_request", "request_id": "p"}
    assert frames(talk.again().data)[1:] == []


def test_an_answer_to_a_permission_is_sent_again_only_if_the_cli_waits_for_it(talk: Talk) -> None:
    talk.hear(request("p") + request("q"))
    talk.send(answer("p") + answer("q"))
    assert talk.again(None, "q").reply == answer("q")


def test_an_answer_given_while_the_cli_was_away_is_held(talk: Talk) -> None:
    talk.hear(request("p"))
    talk.link.disconnected()
    assert talk.send(answer("p")) == b""
    assert talk.again(None, "p").reply == answer("p")


def test_answers_to_hooks_are_sent_again_without_a_list(talk: Talk) -> None:
    talk.hear(request("h", "hook_callback"))
    talk.send(answer("h"))
    assert talk.again().reply == answer("h")


def test_a_last_message_that_nobody_saw_is_a_loss(talk: Talk) -> None:
    talk.hear(line(type="assistant", uuid="a"))
    assert talk.again("a").notices == ()
    assert talk.again("never seen").notices == (Lost("never seen"),)


def test_a_cli_that_sends_all_again_has_lost_nothing(talk: Talk) -> None:
    talk.link.disconnected()
    written = talk.link.connected("late", now=0.0)
    assert talk.hear(line(type="result", uuid="late")).data
    assert talk.recover(written).notices == ()


def test_another_process_is_told_from_the_one_before(talk: Talk) -> None:
    talk.send(user("u"))
    received = talk.again(None, error=None)
    assert received.notices == (AnotherProcess(),)
    assert received.reply == b""


def test_an_initialize_whose_answer_was_lost_may_be_refused() -> None:
    talk = Talk()
    talk.link.connected(None, now=0.0)
    talk.send(INITIALIZE)
    received = talk.again()
    assert received.notices == ()
    assert frames(received.data)[0]["response"]["error"] == "Already initialized"


def test_a_cli_that_outlived_us_is_understood() -> None:
    talk = Talk(known=("old",))
    talk.link.connected("new", now=0.0)
    assert talk.hear(line(type="assistant", uuid="old")).data == b""
    assert talk.hear(line(type="stream_event", uuid="piece")).data == b""
    assert talk.hear(line(type="assistant", uuid="new")).data
    talk.send(INITIALIZE)
    received = talk.hear(reply("init", "p", error="Already initialized"))
    assert received.notices == ()
    assert talk.hear(line(type="stream_event", uuid="piece 2")).data


def test_a_posting_cli_may_drop_an_answer_and_gets_it_again(talk: Talk) -> None:
    talk.link.receive_posted([request("p").strip()], now=0.0)
    assert talk.send(answer("p")) == answer("p")
    talk.link.proved(talk.link.mark())
    assert talk.link.doubtful
    (probe,) = frames(talk.link.verify())
    received = talk.link.receive_posted([reply(probe["request_id"], "p", error="Already initialized")], now=0.0)
    assert received.reply == answer("p")
    (probe,) = frames(talk.link.verify())
    assert talk.link.receive_posted([reply(probe["request_id"], error="Already initialized")], now=0.0).reply == b""
    assert not talk.link.doubtful
    assert talk.link.verify() == b""


def test_a_permission_that_overtook_the_list_keeps_its_answer(talk: Talk) -> None:
    talk.link.receive_posted([], now=0.0)
    talk.link.disconnected()
    (probe,) = frames(talk.link.connected(None, now=0.0))
    talk.link.receive_posted([request("new").strip()], now=0.0)
    assert talk.send(answer("new")) == b""
    received = talk.link.receive_posted([reply(probe["request_id"], error="Already initialized")], now=0.0)
    assert received.reply == answer("new")


def test_of_a_posting_cli_losses_are_looked_for_later(talk: Talk) -> None:
    talk.link.receive_posted([], now=0.0)
    assert talk.again("retried").notices == ()
    assert talk.link.still_lost() == Lost("retried")
    assert talk.link.still_lost() is None
    talk.again("posted")
    talk.link.receive_posted([line(type="result", uuid="posted").strip()], now=0.0)
    assert talk.link.still_lost() is None


def test_a_line_over_the_limit_is_said() -> None:
    talk = Talk(max_line=20)
    talk.link.connected(None, now=0.0)
    assert talk.hear(b"x" * 30 + b"\n").notices == (TooLong(),)


def test_what_never_arrived_is_counted(talk: Talk) -> None:
    talk.link.disconnected()
    talk.send(user("u"))
    assert talk.link.undelivered == 1


# ---------------------------------------------------------------- any order of events


class Conversation(RuleBasedStateMachine):
    """A link and a CLI, with a network that drops whatever is on its way at any moment.

    `resends` is how the CLI of 2.1.120 behaves; those before it send nothing again.
    """

    resends = True

    def __init__(self) -> None:
        super().__init__()
        self.link = IngressLink()
        self.clock = 0.0
        self.is_on = False
        self.to_cli: list[bytes] = []
        self.to_us: list[bytes] = []
        self.counter = 0
        # the CLI
        self.initialized = False
        self.taken_messages: list[str] = []
        self.waits_for: dict[str, None] = {}
        self.answered: list[str] = []
        self.said: list[bytes] = []
        self.last: str | None = None
        # us
        self.sent_messages: list[str] = []
        self.asked: dict[str, str] = {}
        self.heard: list[str] = []
        self.losses = 0
        self.link_up()
        self.write(INITIALIZE)

    # ------------------------------------------------------------ the network

    def link_up(self) -> None:
        self.is_on = True
        self.to_cli, self.to_us = [], []
        if self.resends:
            self.to_us += self.said
        self.put(self.link.connected(self.last, now=self.clock))

    def put(self, data: bytes) -> None:
        self.to_cli += [each + b"\n" for each in data.split(b"\n") if each]

    def write(self, data: bytes) -> None:
        self.put(self.link.send(data, now=self.clock))

    def out(self, data: bytes) -> None:
        if self.is_on:
            self.to_us.append(data)

    def new(self, kind: str) -> str:
        self.counter += 1
        return f"{kind}{self.counter}"

    # ------------------------------------------------------------ what can happen

    @rule()
    def a_person_writes(self) -> None:
        uuid = self.new("u")
        self.sent_messages.append(uuid)
        self.write(user(uuid))

    @rule()
    def the_cli_says_something(self) -> None:
        self.last = self.new("a")
        said = line(type="assistant", uuid=self.last)
        self.said.append(said)
        self.out(said)

    @precondition(lambda self: self.initialized)
    @rule()
    def the_cli_asks(self) -> None:
        asked = self.new("p")
        self.waits_for[asked] = None
        self.out(request(asked))

    @precondition(lambda self: self.waits_for)
    @rule(data=st.data())
    def the_cli_gives_up_waiting(self, data: st.DataObject) -> None:
        asked = data.draw(st.sampled_from(sorted(self.waits_for)))
        del self.waits_for[asked]
        self.out(line(type="control_cancel_request", request_id=asked))

    @precondition(lambda self: any(state == "open" for state in self.asked.values()))
    @rule(data=st.data())
    def a_person_answers(self, data: st.DataObject) -> None:
        asked = data.draw(st.sampled_from(sorted(each for each, state in self.asked.items() if state == "open")))
        self.asked[asked] = "answered"
        self.write(answer(asked))

    @precondition(lambda self: self.is_on)
    @rule()
    def the_network_breaks(self) -> None:
        self.is_on = False
        self.to_cli, self.to_us = [], []
        self.link.disconnected()

    @precondition(lambda self: not self.is_on)
    @rule()
    def the_cli_dials_again(self) -> None:
        self.link_up()

    @rule(seconds=st.sampled_from([1.0, 40.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock += seconds

    @rule()
    def proof_arrives(self) -> None:
        if not self.to_cli:
            self.link.proved(self.link.mark())

    @precondition(lambda self: self.to_cli)
    @rule()
    def the_cli_reads(self) -> None:
        (frame,) = frames(self.to_cli.pop(0))
        match frame["type"]:
            case "user":
                if frame["uuid"] not in self.taken_messages:
                    self.taken_messages.append(frame["uuid"])
            case "control_response":
                asked = frame["response"]["request_id"]
                assert asked in self.waits_for or asked not in self.answered, "a permission was answered twice"
                if self.waits_for.pop(asked, asked) is None:
                    self.answered.append(asked)
            case "control_request":
                error = "Already initialized" if self.initialized else None
                self.initialized = True
                self.out(reply(frame["request_id"], *self.waits_for, error=error))

    @precondition(lambda self: self.to_us)
    @rule()
    def we_read(self) -> None:
        received = self.link.receive(self.to_us.pop(0), now=self.clock)
        self.put(received.reply)
        self.losses += sum(isinstance(notice, Lost) for notice in received.notices)
        assert AnotherProcess() not in received.notices
        for frame in frames(received.data):
            self.hear(frame)

    def hear(self, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "assistant":
                self.heard.append(frame["uuid"])
            case "control_request":
                self.asked.setdefault(frame["request_id"], "open")
            case "control_cancel_request":
                if self.asked.get(frame["request_id"]) == "open":
                    self.asked[frame["request_id"]] = "cancelled"
            case "control_response":
                for each in frame["response"].get("pending_permission_requests", ()):
                    self.asked.setdefault(each["request_id"], "open")

    # ------------------------------------------------------------ what always holds

    @invariant()
    def nothing_is_heard_twice(self) -> None:
        assert len(self.heard) == len(set(self.heard))

    @invariant()
    def messages_arrive_in_order_and_once(self) -> None:
        taken = [each for each in self.sent_messages if each in self.taken_messages]
        assert self.taken_messages == taken

    def teardown(self) -> None:
        """Once the network is good for a while, everybody has what is theirs, or knows that it is lost."""
        if not self.is_on:
            self.link_up()
        while self.to_cli or self.to_us:
            while self.to_us:
                self.we_read()
            while self.to_cli:
                self.the_cli_reads()
        said = [json.loads(each)["uuid"] for each in self.said]
        assert self.taken_messages == self.sent_messages
        assert {each for each, state in self.asked.items() if state == "open"} <= set(self.waits_for)
        unanswered = {each for each in self.waits_for if self.asked.get(each) == "answered"}
        assert not unanswered, "an answer never arrived"
        if self.resends:
            assert sorted(self.heard) == sorted(said)
            assert not self.losses


class OlderConversation(Conversation):
    """With a CLI that sends nothing again: if its last message is missing when it dials, that is said."""

    resends = False

    def teardown(self) -> None:
        super().teardown()
        missing, told = self.last is not None and self.last not in self.heard, self.losses
        if self.is_on:
            self.the_network_breaks()
        super().teardown()
        assert (self.losses > told) == missing


TestResending = Conversation.TestCase
TestSendingOnce = OlderConversation.TestCase
for case in (TestResending, TestSendingOnce):
    case.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)

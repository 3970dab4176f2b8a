"""Whatever is wanted while whatever is done, in the end each message shows what was wanted of it last."""

from __future__ import annotations

import itertools
import sqlite3

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from handrail.telegram.model import GONE, Attachment, Button, Content, Place, Priority, WantedMessage
from handrail.telegram.state import Delivery, Tables
from handrail.telegram.state.schema import MIGRATIONS
from handrail.telegram.text.rich import plain

KEYS = ("a", "b")
CONTENTS = (
    GONE,
    Content(text=plain("one")),
    Content(text=plain("two"), sound=True),
    Content(text=plain("two"), buttons=((Button("Allow", token="t"),),)),
    Content(text=plain("two"), attachment=Attachment("f.txt", b"1")),
)


class Chat(RuleBasedStateMachine):
    """A chat, an outbox that takes one step at a time, and people who want something in between."""

    @initialize()
    def begin(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        for migration in MIGRATIONS:
            migration(self.connection)
        self.tables = Tables(self.connection, 0.0)
        self.wanted: dict[str, Content] = {}
        self.chat: dict[int, Content] = {}
        self.under_way: dict[str, Delivery] = {}
        self.numbers = itertools.count(1)

    def teardown(self) -> None:
        if hasattr(self, "tables"):
            for key in list(self.under_way):
                self.end(key)
            self.drain()
            self.connection.close()

    @rule(
        key=st.sampled_from(KEYS),
        content=st.sampled_from(CONTENTS),
        priority=st.just(Priority.REPLY) | st.sampled_from(Priority),
        after=st.just("") | st.sampled_from(KEYS),
    )
    def want(self, key: str, content: Content, priority: Priority, after: str) -> None:
        self.tables.want(WantedMessage(key=key, place=Place(1), content=content, priority=priority, after=after))
        self.wanted[key] = content

    @precondition(lambda self: self.tables.heads())
    @rule(answered=st.booleans())
    def deliver(self, answered: bool) -> None:
        """What Telegram took without saying so is in the chat once too often, or only changed again."""
        self.start()
        key = next(iter(self.under_way))
        if answered:
            self.end(key)
        else:
            self.act(self.under_way.pop(key))

    @precondition(lambda self: self.tables.heads())
    @rule()
    def start(self) -> None:
        key = self.tables.heads()[0].key
        delivery = self.tables.delivery(key)
        assert delivery is not None
        self.under_way.setdefault(key, delivery)

    @precondition(lambda self: self.under_way)
    @rule()
    def finish(self) -> None:
        self.end(next(iter(self.under_way)))

    @rule()
    def prune(self) -> None:
        self.tables.prune()

    @invariant()
    def what_waits_is_what_differs(self) -> None:
        for key, content in self.wanted.items():
            sent = self.tables.sent(key)
            assert sent is not None
            if self.tables.delivery(key) is None and sent.message_id:
                assert looks(self.chat[sent.message_id]) == looks(content)

    def end(self, key: str) -> None:
        delivery = self.under_way.pop(key)
        number = self.act(delivery)
        if delivery.step == "remove":
            self.tables.removed(key)
        else:
            self.tables.shown(delivery, number)

    def act(self, delivery: Delivery) -> int:
        if delivery.step == "remove":
            self.chat.pop(delivery.message_id, None)
            return 0
        content = delivery.content
        number = next(self.numbers) if delivery.step == "send" else delivery.message_id
        if delivery.step == "edit":
            assert number in self.chat, "nothing is changed that was taken away"
            content = Content(text=content.text, buttons=content.buttons, attachment=self.chat[number].attachment)
        self.chat[number] = content
        return number

    def drain(self) -> None:
        """Nothing is in the way any more: it takes a few steps until all is well."""
        for _ in range(20):
            for head in self.tables.heads():
                delivery = self.tables.delivery(head.key)
                assert delivery is not None
                self.under_way[head.key] = delivery
                self.end(head.key)
        assert self.tables.waiting() == 0
        for key, content in self.wanted.items():
            sent = self.tables.sent(key)
            assert sent is not None
            if content == GONE:
                assert sent.message_id == 0
            else:
                assert looks(self.chat[sent.message_id]) == looks(content)


def looks(content: Content) -> tuple[object, ...]:
    return content.text, content.buttons, content.attachment


TestChat = Chat.TestCase
TestChat.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)

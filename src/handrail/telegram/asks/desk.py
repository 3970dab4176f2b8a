"""Where asks meet the people in chats: shows them, takes presses and replies, and sends the answers to the hub.

A press is handled in two steps: `toast` says at once what will happen, from what is known here; `carry_out` does it. A
decision goes out as whoever pressed, and carries the digest of what the message with the button showed. If it is
refused, the person is told why, and the message is brought to what is true.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from handrail.errors import AlreadyDecided, AskClosed, HandrailError
from handrail.events.view import AskItem
from handrail.policy.answers.encoding import decode_answer, encode_answer
from handrail.policy.answers.plan import RejectPlan
from handrail.protocol.asks import Answers, Deny
from handrail.remote.hub import Hub
from handrail.sessions.asks import AnyAnswer
from handrail.telegram.asks import filling, plan_view, stepping
from handrail.telegram.asks.around import AskedIn
from handrail.telegram.asks.editing import edited_content
from handrail.telegram.asks.not_understood import NotUnderstood
from handrail.telegram.asks.reading import Asked, item_of, read
from handrail.telegram.asks.refusals import refusal
from handrail.telegram.asks.replies import EDITS, prompt, simple_answer
from handrail.telegram.asks.showing import Draft, draft_of, fields_in, key_of, questions_in, whole_request
from handrail.telegram.asks.toasts import OWNERS_ONLY, Toast, needs_more_than, toast_for
from handrail.telegram.asks.wanting import (
    Known,
    digest_key,
    draft_key,
    known_of,
    note_digest,
    place_in,
    places_of,
    want_ask,
    want_beside,
)
from handrail.telegram.asks.words import sentence
from handrail.telegram.model import GONE, Content, Place, Press, Role, SentMessage, User
from handrail.telegram.state import BridgeState, Tables
from handrail.telegram.text.rich import plain

__all__ = ["AskDesk", "AskedIn", "ReadFile", "Toast", "item_of"]


ReadFile: TypeAlias = Callable[[], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class _Target:
    """What somebody answers: an ask as it was shown, in a place, with the message that their answer came with."""

    session_id: str
    ask_id: str
    digest: str
    place: Place
    resume: bool
    answering: str
    """Names what they did, so that what they are told about it is told once."""
    reply_to: int = 0
    step: int | None = None
    """The step of a question or a form that was shown, if it was one."""


class AskDesk:
    """The asks of a hub in the chats of a bridge. `hub` is for reading; whoever acts brings their own."""

    def __init__(
        self,
        state: BridgeState,
        hub: Hub,
        *,
        role_at: Callable[[Place], Role] = lambda place: "owner",
        sound: bool = True,
    ) -> None:
        self._state = state
        self._hub = hub
        self._role_at = role_at
        self.sound = sound

    # ------------------------------------------------------------ showing

    def want(self, tables: Tables, item: AskItem, about: AskedIn, place: Place) -> None:
        """Have a place show an ask as it is: open, changed, answered, or over in another way."""
        want_ask(tables, item, about, place, role=self._role_at(place), sound=self.sound)

    async def refresh(self, session_id: str, ask_id: str) -> None:
        """Bring every message of an ask to what the hub says of it."""
        item = await self._item(session_id, ask_id)
        if item is not None:
            await self._state.write(lambda tables: self._want_everywhere(tables, session_id, item))

    def _want_everywhere(self, tables: Tables, session_id: str, item: AskItem) -> None:
        for place in places_of(tables, session_id, item.ask_id):
            known = known_of(tables, session_id, item.ask_id, place)
            if known is not None:
                self.want(tables, item, known.about, place)

    async def _item(self, session_id: str, ask_id: str) -> AskItem | None:
        row = await self._hub.store.get_ask(session_id, ask_id)
        return item_of(row) if row is not None else None

    # ------------------------------------------------------------ presses

    async def toast(self, press: Press, user: User) -> Toast:
        """What to answer a press with, at once. Nothing is done yet."""
        known = await self._state.read(lambda tables: known_of(tables, press.session_id, press.ask_id, press.place))
        return toast_for(press, user, known)

    async def carry_out(self, press: Press, user: User, hub: Hub) -> None:
        """Do what a button stands for, as the person who pressed it."""
        target = _Target(
            press.session_id,
            press.ask_id,
            press.digest,
            press.place,
            resume=press.data.get("resume") is True,
            answering=f"u{user.id}",
        )
        try:
            if press.action == "ask:decide":
                await self._decide(target, decode_answer(press.data.get("answer")), user, hub)
            elif press.action == "ask:prompt":
                await self._prompt(press, user)
            elif press.action == "ask:show":
                await self._show_all(press)
            elif press.action == "ask:step":
                await self._step(press)
        except HandrailError as error:
            await self._say(target, refusal(error))

    async def _prompt(self, press: Press, user: User) -> None:
        """Ask for words. The message belongs to this digest: what is replied to it answers nothing else."""
        asked = await self._asked_as_shown(press)
        if asked is None:
            return
        purpose = str(press.data.get("purpose"))
        of = None if press.place.is_private else user
        content = prompt(asked, purpose, of=of)
        # In a group each has one: to change whom it asks, it would be taken away from whoever answers it just now.
        name = f"prompt:{press.digest[:12]}:{purpose}" + (f":{of.id}" if of is not None else "")
        await self._state.write(lambda tables: self._want_beside(tables, press, name, content, purpose))

    async def _show_all(self, press: Press) -> None:
        item = await self._item(press.session_id, press.ask_id)
        if item is not None:
            content = whole_request(read(item))
            name = f"request:{item.digest[:12]}"
            await self._state.write(lambda tables: self._want_beside(tables, press, name, content))

    def _want_beside(self, tables: Tables, press: Press, name: str, content: Content, purpose: str = "") -> None:
        known = known_of(tables, press.session_id, press.ask_id, press.place)
        own = tables.sent(key_of(press.session_id, press.ask_id, press.place))
        if known is None or own is None:
            return
        placed = msgspec.structs.replace(content, reply_to=own.message_id)
        key = want_beside(tables, known.about, press.ask_id, press.place, name, placed, purpose=purpose)
        if purpose:
            note_digest(tables, key, press.digest)

    async def _step(self, press: Press) -> None:
        if press.data.get("do") == "dismiss":
            await self._state.write(lambda tables: _dismiss(tables, press.key))
            return
        asked = await self._asked_as_shown(press)
        if asked is not None:
            await self._state.write(lambda tables: self._stepped(tables, press, asked))

    async def _asked_as_shown(self, press: Press) -> Asked | None:
        """The ask, if it is still what the message with the button showed; else the message is put right."""
        item = await self._item(press.session_id, press.ask_id)
        if item is None:
            return None
        asked = read(item)
        if asked.is_answerable and item.digest == press.digest:
            return asked
        await self._state.write(lambda tables: self._want_everywhere(tables, press.session_id, item))
        return None

    def _stepped(self, tables: Tables, press: Press, asked: Asked) -> None:
        known = known_of(tables, press.session_id, press.ask_id, press.place)
        name = draft_key(press.session_id, press.ask_id)
        before = draft_of(asked, tables.draft(name, press.place))
        if known is None or before is None:
            return
        after = _moved(asked, before, press)
        if after != before:
            tables.set_draft(name, press.place, msgspec.json.encode(after))
        self.want(tables, asked.item, known.about, press.place)

    # ------------------------------------------------------------ replies

    async def replied(
        self, message: SentMessage, text: str, user: User, hub: Hub, *, message_id: int, file: ReadFile | None = None
    ) -> bool:
        """Take a reply to a message of an ask. False: it answers nothing, so it may be meant for the session.

        `file` reads the text of what was sent with it. Raises `NotUnderstood`.
        """
        place = place_in(message.key, message.session_id, message.ask_id) or message.place
        known, digest, step = await self._state.read(lambda tables: _shown_by(tables, message, place))
        is_prompt = ":prompt:" in message.key or ":edited:" in message.key
        is_empty = not text.strip() and file is None
        if known is None or not message.purpose or is_empty or (known.is_over and not is_prompt):
            return False
        target = _Target(
            message.session_id,
            message.ask_id,
            digest,
            place,
            resume=known.resumes,
            answering=f"m{message_id}",
            reply_to=message_id,
            step=step,
        )
        needed: Role = "owner" if message.purpose in OWNERS_ONLY else "approver"
        if problem := needs_more_than(user, needed):
            await self._say(target, problem)
        elif known.is_over:
            await self._say(target, f"{sentence(known.words)} Your answer was not taken.")
        else:
            await self._take_reply(target, message.purpose, text, file, user, hub)
        return True

    async def _take_reply(
        self, target: _Target, purpose: str, text: str, file: ReadFile | None, user: User, hub: Hub
    ) -> None:
        try:
            if file is not None:
                text = _with_file(purpose, text, await file())
            if purpose in EDITS or purpose in ("answer", "field"):
                await self._take_part(target, purpose, text, user, hub)
            else:
                await self._decide(target, simple_answer(purpose, text), user, hub)
        except NotUnderstood as error:
            await self._say(target, sentence(f"sorry, {error}"))
        except HandrailError as error:
            await self._say(target, refusal(error))

    async def _take_part(self, target: _Target, purpose: str, text: str, user: User, hub: Hub) -> None:
        """A reply that is a part of an answer, or is looked at once more."""
        item = await self._item(target.session_id, target.ask_id)
        asked = read(item) if item is not None else None
        if item is None or asked is None or not asked.is_answerable or item.digest != target.digest:
            await self.refresh(target.session_id, target.ask_id)
            await self._say(target, "What is asked has changed, or is over: look again. Your answer was not taken.")
        elif purpose in EDITS:
            await self._state.write(lambda tables: _want_edited(tables, asked, target, purpose, text))
        elif (answer := _whole_answer(asked, text)) is not None:
            await self._decide(target, answer, user, hub)
        else:
            await self._state.write(lambda tables: self._written(tables, asked, target, text))

    def _written(self, tables: Tables, asked: Asked, target: _Target, text: str) -> None:
        known = known_of(tables, target.session_id, target.ask_id, target.place)
        name = draft_key(target.session_id, target.ask_id)
        before = draft_of(asked, tables.draft(name, target.place))
        if known is None or not isinstance(before, stepping.Steps | filling.Filling):
            return
        if target.reply_to > before.heard:  # else it was taken already, and is only handled again
            after = _answered(asked, before, target, text)
            tables.set_draft(name, target.place, msgspec.json.encode(after))
        self.want(tables, asked.item, known.about, target.place)

    # ------------------------------------------------------------ deciding

    async def _decide(self, target: _Target, answer: AnyAnswer, user: User, hub: Hub) -> None:
        session = hub.session(target.session_id)
        try:
            await session.decide(target.ask_id, answer, digest=target.digest, resume=target.resume)
        except HandrailError as error:
            if not await self._was_taken_before(target, answer, user, error):
                await self._say(target, refusal(error))
        else:
            await self._stop_if_meant(target, answer, hub)
        with suppress(HandrailError):  # whoever follows the session hears of it in any case
            await self.refresh(target.session_id, target.ask_id)

    async def _was_taken_before(self, target: _Target, answer: AnyAnswer, user: User, error: HandrailError) -> bool:
        """Whether it was this very answer of this person that was first: a press may be handled twice."""
        if not isinstance(error, AlreadyDecided | AskClosed):
            return False
        with suppress(HandrailError):
            row = await self._hub.store.get_ask(target.session_id, target.ask_id)
            if row is not None and row.answer is not None and row.decided_by == user.name:
                return bool(msgspec.json.decode(row.answer) == encode_answer(answer))
        return False

    async def _stop_if_meant(self, target: _Target, answer: AnyAnswer, hub: Hub) -> None:
        """Told by the answer, the CLI may stop only the subagent that asked."""
        if isinstance(answer, Deny | RejectPlan) and answer.interrupt and not target.resume:
            with suppress(HandrailError):  # it is denied, and the turn may be over already
                await hub.session(target.session_id).interrupt()

    async def _say(self, target: _Target, words: str) -> None:
        """Tell whoever answered something about it."""
        await self._state.write(lambda tables: _want_said(tables, target, words))


def _with_file(purpose: str, caption: str, text: str) -> str:
    """What was answered with a file. What takes the place of something is in the file alone, whatever stands below."""
    return text if purpose in EDITS or not caption.strip() else f"{caption.strip()}\n\n{text}"


def _moved(asked: Asked, before: Draft, press: Press) -> Draft:
    do, number = str(press.data.get("do")), press.data.get("number")
    position = number if isinstance(number, int) else 0
    if isinstance(before, plan_view.PlanDraft):
        return plan_view.pressed(before, do, position, str(press.data.get("choice", "")))
    if press.data.get("at") != before.at:
        return before  # a button of a step that is not shown any more
    if isinstance(before, stepping.Steps):
        return stepping.pressed(before, questions_in(asked), do, position)
    return filling.pressed(before, fields_in(asked.ask), do, position) if asked.ask is not None else before


def _answered(
    asked: Asked, before: stepping.Steps | filling.Filling, target: _Target, text: str
) -> stepping.Steps | filling.Filling:
    """How far somebody is with what they wrote to the step that they saw. Raises `NotUnderstood`."""
    if target.step is not None and target.step != before.at:
        raise NotUnderstood("that was another step: look again, and answer the one that is shown now")
    after: stepping.Steps | filling.Filling
    if isinstance(before, stepping.Steps):
        after = stepping.written(before, questions_in(asked), text)
    else:
        after = filling.written(before, fields_in(asked.ask) if asked.ask is not None else [], text)
    return msgspec.structs.replace(after, heard=target.reply_to)


def _whole_answer(asked: Asked, text: str) -> Answers | None:
    """The answer, where a reply is all that it takes."""
    questions = questions_in(asked)
    if questions and stepping.goes_straight(questions):
        return Answers({questions[0].text: text.strip()})
    return None


def _shown_by(tables: Tables, message: SentMessage, place: Place) -> tuple[Known | None, str, int | None]:
    """What is known of the ask of a message; and of what that message showed the digest, and the step, if there was."""
    known = known_of(tables, message.session_id, message.ask_id, place)
    presses = _presses_of(tables, message)
    step = next((press.data.get("at") for press in presses if press.action == "ask:step"), None)
    if not presses:  # a part of what is asked, or the file with all of it, belongs to the message with the buttons
        own = tables.sent(key_of(message.session_id, message.ask_id, place))
        presses = _presses_of(tables, own) if own is not None else []
    on_buttons = presses[0].digest if presses else ""
    digest = tables.noted(digest_key(message.key)) or on_buttons or (known.digest if known is not None else "")
    return known, digest, step


def _presses_of(tables: Tables, message: SentMessage) -> list[Press]:
    """What the buttons stand for that a message shows."""
    buttons = (button for row in message.content.buttons for button in row)
    return [press for button in buttons if (press := tables.press(button.token)) is not None]


def _dismiss(tables: Tables, key: str) -> None:
    message = tables.sent(key)
    place = place_in(key, message.session_id, message.ask_id) if message is not None else None
    if message is not None and place is not None:
        own = key_of(message.session_id, message.ask_id, place)
        want_beside(tables, AskedIn(message.session_id), message.ask_id, place, key.removeprefix(f"{own}:"), GONE)


def _want_edited(tables: Tables, asked: Asked, target: _Target, purpose: str, text: str) -> None:
    known = known_of(tables, target.session_id, target.ask_id, target.place)
    if known is None:
        return
    name = f"edited:{target.digest[:12]}:{target.answering}"
    key = f"{key_of(target.session_id, target.ask_id, target.place)}:{name}"
    for end, content in edited_content(asked, known.about, target.place, key, purpose, text, tables.mint):
        placed = msgspec.structs.replace(content, reply_to=target.reply_to)
        each = want_beside(tables, known.about, target.ask_id, target.place, f"{name}{end}", placed, purpose=purpose)
        note_digest(tables, each, target.digest)


def _want_said(tables: Tables, target: _Target, words: str) -> None:
    own = tables.sent(key_of(target.session_id, target.ask_id, target.place))
    reply_to = target.reply_to or (own.message_id if own is not None else 0)
    content = Content(text=plain(words), reply_to=reply_to)
    want_beside(tables, AskedIn(target.session_id), target.ask_id, target.place, f"said:{target.answering}", content)

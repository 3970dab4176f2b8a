"""The sessions of chats: started, continued, left, watched; and messages, sent now or kept until Claude is done.

Whatever is done here can be done again with the same message and is done once: the ids of sessions and of messages to
Claude follow from the message in the chat.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal, TypeAlias

import msgspec

from handrail.errors import ControlError, HandrailError, HostAway, SessionError, SessionNotFound
from handrail.protocol.options import Options
from handrail.remote.errors import HubUnreachable
from handrail.remote.hub import Hub
from handrail.sessions.beginning import checked_id
from handrail.sessions.session import Session
from handrail.store.base import SessionRow
from handrail.telegram import lifetimes, projects
from handrail.telegram.commands.wishes import WORKING, prepare, wishes
from handrail.telegram.files.parcel import Said, unpacked
from handrail.telegram.model import Content, Place, Priority, WantedMessage
from handrail.telegram.names import Names
from handrail.telegram.people import People
from handrail.telegram.queue import Queued, Waiting
from handrail.telegram.session_notes import (
    Origin,
    choice_note,
    conversation_note,
    leaving_note,
    note_conversation,
    origin_note,
)
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.state import BridgeState, Chat, Follow, FollowMode, Tables
from handrail.telegram.text.rich import plain

__all__ = ["ChatSessions", "When", "let_go"]

When: TypeAlias = Literal["", "steer", "after"]
"""What becomes of a message while Claude works: given to it now, or when it is done; empty: as the chat prefers."""
READ_LATER: Final = (
    "Claude waits for an answer to what it asked, and reads this after that. "
    "Words that are the answer must be a reply to what it asked."
)


class ChatSessions:
    """What chats do with sessions.

    `instructions` is what Claude is told beside its task, `wake` has a session looked at, and `changed` says that
    messages are wanted.
    """

    def __init__(
        self,
        *,
        hub: Hub,
        state: BridgeState,
        people: People,
        settings: Callable[[], TelegramSettings],
        names: Names,
        instructions: Callable[[str], str],
        wake: Callable[[str], None],
        changed: Callable[[], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._hub = hub
        self._state = state
        self._people = people
        self._settings = settings
        self._names = names
        self._instructions = instructions
        self._wake = wake
        self._changed = changed
        self._clock = clock

    # ------------------------------------------------------------ which session a chat has

    async def start(self, hub: Hub, place: Place, said: Said = "", *, message_id: int) -> Session:
        """A new session of the chat, in its project and as it prefers, with its first message."""
        chat = await self._chat(place)
        conversation = self._names.session(place, message_id)
        session = await self._started(hub, chat, conversation)
        await self._bind(hub, place, session.id, cursor=0)
        if said:
            content = await unpacked(said, await session.row())
            await self._deliver(hub, place, session, content, message_id=message_id)
        return session

    async def _started(self, hub: Hub, chat: Chat, conversation: str) -> Session:
        if (known := await self._begun(hub, conversation)) is not None:
            return known
        project = await projects.project_of(self._state, chat.place, self._settings())
        cwd, worktree = await _directory(hub, project, chat.worktree)
        wished = wishes(chat)
        chosen: dict[str, Any] = {"model": wished.model, "permission_mode": wished.mode}
        options = Options(
            cwd=cwd,
            include_partial_messages=True,
            append_system_prompt=self._instructions(conversation) or None,
            **{name: value for name, value in chosen.items() if value is not None},
        )
        await self._state.write(lambda tables: note_conversation(tables, checked_id(conversation), conversation))
        with _leaving_explained(worktree):
            return await hub.start(
                options,
                id=conversation,
                host=project.host,
                policy=wished.policy,
                budget=wished.budget,
                worktree=worktree,
            )

    async def _begun(self, hub: Hub, conversation: str) -> Session | None:
        """The session of a message that was handled before, and cut off: the chat may be set otherwise by now."""
        session_id = checked_id(conversation)
        if await self._state.read(lambda tables: tables.noted(conversation_note(session_id))) is None:
            return None  # nobody asked for it yet
        return hub.session(session_id) if await hub.store.get_session(session_id) is not None else None

    async def take(self, hub: Hub, place: Place, session_id: str) -> None:
        """The chat goes on with this session. What it asks is shown. Raises `SessionNotFound`."""
        row = await hub.session(session_id).row()
        await self._bind(hub, place, row.id, cursor=row.last_seq)

    async def leave(self, place: Place) -> None:
        """The chat has no session any more: its next message starts one. What the old one does is still shown."""

        def leave(tables: Tables) -> str:
            chat = tables.chat(place)
            tables.set_chat(msgspec.structs.replace(chat, session_id=""))
            _part(tables, place, chat.session_id)
            return chat.session_id

        if left := await self._state.write(leave):
            self._wake(left)

    async def _bind(self, hub: Hub, place: Place, session_id: str, *, cursor: int) -> None:
        is_chosen = self._acts_for_owner(hub)

        def bind(tables: Tables) -> str:
            chat = tables.chat(place)
            if is_chosen:
                tables.note(choice_note(place), session_id)
            tables.set_chat(msgspec.structs.replace(chat, session_id=session_id))
            _follow(tables, place, session_id, "all", cursor)
            if chat.session_id != session_id:
                _part(tables, place, chat.session_id)
            return chat.session_id

        before = await self._state.write(bind)
        self._wake(session_id)
        if before and before != session_id:
            self._wake(before)

    async def watch(self, hub: Hub, place: Place, session_id: str, mode: FollowMode) -> None:
        """Show what a session does, or only what it asks, in a chat that is about something else."""
        row = await hub.session(session_id).row()

        def watch(tables: Tables) -> None:
            tables.unfollow(place, row.id)
            _follow(tables, place, row.id, mode, row.last_seq)

        await self._state.write(watch)
        self._wake(row.id)

    async def unwatch(self, place: Place, session_id: str) -> None:
        """Show nothing more of it."""

        def unwatch(tables: Tables) -> None:
            tables.unfollow(place, session_id)
            tables.note(leaving_note(session_id, place), None)

        await self._state.write(unwatch)
        self._wake(session_id)

    # ------------------------------------------------------------ messages

    async def send(
        self, hub: Hub, place: Place, said: Said, *, message_id: int, session_id: str = "", when: When = ""
    ) -> None:
        """A message to this session, or to that of the chat. Raises `SessionNotFound` for one that was named."""
        chat = await self._chat(place)
        target = session_id or chat.session_id
        row = await self._row(hub, place, target, was_named=bool(session_id), message_id=message_id)
        if row is None:
            await self.start(hub, place, said, message_id=message_id)
            return
        content = await unpacked(said, row)
        await self._bind(hub, place, row.id, cursor=row.last_seq)
        session = hub.session(row.id)
        if row.status in WORKING and (when or chat.prefs.queue) == "after":
            await self._keep(hub, place, row.id, content, message_id)
        else:
            if row.status not in WORKING:
                await self._prepare(hub, place, session)
            await self._deliver(hub, place, session, content, message_id=message_id)
            if row.status == "needs_you":
                await self._tell(place, message_id, READ_LATER)

    async def _prepare(self, hub: Hub, place: Place, session: Session) -> None:
        """Have a session run as an owner chose for this chat, whoever writes there: so with the bridge's own hub.

        A session that others brought to the chat stays as it is: no owner chose that it should run so.
        """
        chosen = await self._state.read(lambda tables: tables.noted(choice_note(place)))
        if chosen == session.id or self._acts_for_owner(hub):
            await prepare(self._hub, await self._chat(place), self._hub.session(session.id))

    def _acts_for_owner(self, hub: Hub) -> bool:
        user = self._people.user_of(hub)
        return user is not None and user.role == "owner"

    async def _row(
        self, hub: Hub, place: Place, session_id: str, *, was_named: bool, message_id: int
    ) -> SessionRow | None:
        """The session that is meant; None if a new one must be started."""
        if not session_id:
            return None
        row = await hub.store.get_session(session_id)
        if row is None and was_named:
            raise SessionNotFound("that session was deleted: write without a reply to start another")
        if row is None:
            await self._tell(place, message_id, "The session of this chat was deleted: this is a new one.")
        return row

    async def _deliver(
        self, hub: Hub, place: Place, session: Session, content: Any, *, message_id: int, edit: int = 0
    ) -> None:
        """Have a message sent, once, and remember what its answer is a reply to."""
        uuid = self._names.message(place, message_id, edit)
        origin = msgspec.json.encode(Origin(place, message_id, session.id)).decode()
        await self._state.write(lambda tables: tables.note(origin_note(uuid), origin, stays=lifetimes.PROMPTS))
        await session.send(content, uuid=uuid)
        self._wake(session.id)

    async def edited(self, hub: Hub, place: Place, message_id: int, content: Any, *, edit: int) -> bool:
        """A message was changed in the chat. Says whether that could still be taken into account."""
        uuid = self._names.message(place, message_id)
        kept = await self._state.write(lambda tables: _changed(tables, place, uuid, content))
        if kept:
            self._changed()
            return True
        waits = await self._state.read(lambda tables: tables.noted(origin_note(uuid)))
        if waits is None:
            return False
        session = hub.session(msgspec.json.decode(waits, type=Origin).session_id)
        try:
            answer = await session.control("cancel_async_message", message_uuid=uuid)
        except (ControlError, SessionError):
            return False
        if answer.get("cancelled"):
            await self._deliver(hub, place, session, content, message_id=message_id, edit=edit)
        return bool(answer.get("cancelled"))

    # ------------------------------------------------------------ messages that wait

    async def _keep(self, hub: Hub, place: Place, session_id: str, content: Any, message_id: int) -> None:
        user = self._people.user_of(hub)
        queued = Queued(
            uuid=self._names.message(place, message_id),
            session_id=session_id,
            place=place,
            user_id=user.id if user is not None else 0,
            content=content,
            at=self._clock(),
            message_id=message_id,
        )
        await self._state.write(lambda tables: Waiting(tables).add(queued))
        self._changed()
        self._wake(session_id)

    async def queued(self, place: Place) -> list[Queued]:
        """What waits in a chat, the oldest first."""
        return await self._state.read(lambda tables: Waiting(tables).at(place))

    async def take_back(self, hub: Hub, place: Place, uuid: str) -> bool:
        """Do not send a message that waits. Says whether it still did."""
        return await self._taken(place, uuid) is not None

    async def send_now(self, hub: Hub, place: Place, uuid: str) -> bool:
        """Send a message that waits without waiting any longer. Says whether it still did."""
        queued = await self._state.read(lambda tables: Waiting(tables).get(place, uuid))
        if queued is not None:
            await self._send_queued(hub, queued)
        return queued is not None

    async def send_next(self, session_id: str) -> None:
        """Claude is done: send what waited longest for that."""
        waiting = await self._state.read(lambda tables: Waiting(tables).all(session_id))
        if not waiting:
            return
        queued = waiting[0]
        user = self._people.user(queued.user_id)
        try:
            if user is None:
                raise HandrailError("who wrote it may not use this bridge any more")
            await self._send_queued(self._people.hub_for(user), queued)
        except (HubUnreachable, HostAway):
            raise
        except HandrailError as error:
            await self._taken(queued.place, queued.uuid)
            await self._tell(queued.place, queued.message_id, f"This message could not be sent: {error}")

    async def _send_queued(self, hub: Hub, queued: Queued) -> None:
        session = hub.session(queued.session_id)
        await self._prepare(hub, queued.place, session)
        await self._deliver(hub, queued.place, session, queued.content, message_id=queued.message_id)
        await self._taken(queued.place, queued.uuid)

    async def _taken(self, place: Place, uuid: str) -> Queued | None:
        def take(tables: Tables) -> Queued | None:
            waiting = Waiting(tables)
            queued = waiting.get(place, uuid)
            if queued is not None:
                waiting.remove(queued)
            return queued

        taken = await self._state.write(take)
        self._changed()
        return taken

    # ------------------------------------------------------------ inside

    async def _chat(self, place: Place) -> Chat:
        return await self._state.read(lambda tables: tables.chat(place))

    async def _tell(self, place: Place, message_id: int, words: str) -> None:
        message = WantedMessage(
            key=f"told:{place}:{message_id}",
            place=place,
            content=Content(plain(words), reply_to=message_id),
            priority=Priority.REPLY,
        )
        await self._state.write(lambda tables: tables.want(message))
        self._changed()


@contextmanager
def _leaving_explained(worktree: str | None) -> Iterator[None]:
    """A worktree that cannot be made keeps every message from being sent: say how the chat gets rid of it."""
    try:
        yield
    except SessionError as error:
        if worktree is None or type(error) is not SessionError:
            raise
        raise SessionError(f"{error}. `/project @-` leaves the branch @{worktree}") from None


async def _directory(hub: Hub, project: projects.Project, worktree: str) -> tuple[str, str | None]:
    """Where a session is started, and the worktree that must be made for it, if one must."""
    known = await projects.session_of_branch(hub, project, worktree) if worktree else None
    if known is None:
        return project.cwd, worktree or None
    return str(projects.worktree_of(known).get("cwd") or known.cwd), None


def _follow(tables: Tables, place: Place, session_id: str, mode: FollowMode, cursor: int) -> None:
    """Follow a session from an event on; one that is followed already goes on from where it is."""
    known = next(iter(tables.follows(session_id, place)), None)
    tables.follow(place, session_id, mode, known.cursor if known is not None else cursor)
    tables.note(leaving_note(session_id, place), None)


def let_go(tables: Tables, follows: Sequence[Follow], *, anyway: bool = False) -> None:
    """A session rests: whoever stayed only until then follows it no longer; `anyway`: nor does anybody else."""
    for follow in follows:
        note = leaving_note(follow.session_id, follow.place)
        if anyway or tables.noted(note) is not None:
            tables.unfollow(follow.place, follow.session_id)
            tables.note(note, None)


def _part(tables: Tables, place: Place, session_id: str) -> None:
    """Follow a session only until it is done with what it does."""
    if session_id and tables.follows(session_id, place):
        tables.note(leaving_note(session_id, place), "1")


def _changed(tables: Tables, place: Place, uuid: str, content: Any) -> bool:
    """Change a message that waits. Says whether it does."""
    waiting = Waiting(tables)
    queued = waiting.get(place, uuid)
    if queued is not None:
        waiting.add(msgspec.structs.replace(queued, content=content))
    return queued is not None

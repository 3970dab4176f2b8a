"""Pictures and documents to Claude, files of the project, and what Claude leaves in its outbox."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail import HandrailError, Hub, Session
from handrail.errors import HostAway
from handrail.store.base import SessionRow
from handrail.telegram.bot import TelegramBot
from handrail.telegram.commands.context import CommandContext, NotSo
from handrail.telegram.files.desk import FilesDesk
from handrail.telegram.files.incoming import UnusableFile, picture_kind, safe_name
from handrail.telegram.incoming import Message, decode_update
from handrail.telegram.model import Place, User
from handrail.telegram.outbox.worker import Outbox
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.state import BridgeState
from handrail.testing import TelegramServer
from handrail.testing import simulated as sim
from handrail.testing.telegram import Chat

from ...server.support import ServedHub, served_hub

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
JPEG = b"\xff\xd8\xff\xe0" + bytes(40)
PLACE = Place(1001)


@dataclass
class Desk:
    served: ServedHub
    server: TelegramServer
    bot: TelegramBot
    hub: Hub
    state: BridgeState
    files: FilesDesk
    outbox: Outbox
    chat: Chat

    @property
    def project(self) -> Path:
        return self.served.directory

    async def news(self) -> list[Message]:
        updates = [decode_update(msgspec.json.encode(each)) for each in await self.bot.updates(0, 0)]
        return [update.message for update in updates if update.message is not None]

    async def content(self, messages: list[Message], text: str = "") -> Any:
        parcel = await self.files.received(messages, text)
        return await parcel.content(SessionRow(id="s", cwd=str(self.project), created_at=0.0, updated_at=0.0))

    async def sent(self) -> list[tuple[str, str, bytes]]:
        """What stands in the chat: words, kind and bytes of each file, in order."""
        await self.outbox.idle()
        return [
            (each.caption or "", "photo" if each.photo else "document", each.photo or each.document or b"")
            for each in self.chat.bot_messages
        ]

    def context(self, message_id: int = 1) -> CommandContext:
        return CommandContext(
            user=User(1001, "Ann"),
            place=PLACE,
            message_id=message_id,
            hub=self.hub,
            state=self.state,
            settings=TelegramSettings(token="1:x", users=(User(1001, "Ann"),), cwd=str(self.project)),
            sessions=None,  # type: ignore[arg-type]
            bridge=None,  # type: ignore[arg-type]
        )

    async def file(self, arguments: str, *, under: Message | None = None, message_id: int = 1) -> list[Any]:
        """What /file answers."""
        context = self.context(message_id)
        await self.files.command(context, arguments, message=None, replied=under)
        key = f"reply:{PLACE}:{message_id}:0"
        sent = await self.state.read(lambda tables: tables.sent(key))
        assert sent is not None
        return [sent.content.text.text, sent.content.attachment]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(served_hub(tmp_path / "hub"))
        server = await stack.enter_async_context(TelegramServer())
        chat = server.user(id=1001, first_name="Ann").private_chat()
        bot = await stack.enter_async_context(TelegramBot(server.token, api_url=server.url))
        hub = await stack.enter_async_context(Hub(served.url, served.tokens["owner"]))
        state = await stack.enter_async_context(BridgeState(str(tmp_path / "telegram.db")))
        outbox = Outbox(state, bot)
        running = asyncio.create_task(outbox.run())
        stack.push_async_callback(ended, running)
        yield Desk(served, server, bot, hub, state, FilesDesk(hub, bot, state), outbox, chat)


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def started(desk: Desk) -> Session:
    return await desk.served.session(sim.loop_turns("done"))


async def test_a_photo_becomes_an_image_block(desk: Desk) -> None:
    await desk.chat.send_photo(JPEG, caption="What is this?")
    (message,) = await desk.news()
    text, image = await desk.content([message], message.words)
    assert text == {"type": "text", "text": "What is this?"}
    assert image["source"]["media_type"] == "image/jpeg"
    assert base64.b64decode(image["source"]["data"]) == JPEG


async def test_documents_are_seen_read_or_put_into_the_project(desk: Desk) -> None:
    await desk.chat.send_document(PNG, name="shot.dat", mime="application/octet-stream")
    await desk.chat.send_document(b"a ``` b", name="notes.md", mime="text/markdown")
    await desk.chat.send_document(bytes(100), name="../../.bashrc", mime="text/plain")
    messages = await desk.news()
    image, text, paths = await desk.content(messages)
    assert image["source"]["media_type"] == "image/png"
    assert text["text"] == "The file notes.md:\n````\na ``` b\n````"
    (put,) = (desk.project / ".handrail-inbox").glob("*bashrc")
    assert put.name == f"{messages[2].message_id}-bashrc"
    assert paths["text"].endswith(f"\n- .handrail-inbox/{put.name}")
    assert (desk.project / ".handrail-inbox" / ".gitignore").read_text() == "*\n"
    assert await desk.content(messages) == [image, text, paths]  # handled twice, it is the same


async def test_what_cannot_be_sent_says_so(desk: Desk) -> None:
    base = {"message_id": 5, "chat": {"id": 1001}}
    voice = msgspec.convert({**base, "voice": {"file_id": "x"}}, Message)
    huge = msgspec.convert({**base, "document": {"file_id": "x", "file_name": "v.iso", "file_size": 1 << 31}}, Message)
    with pytest.raises(UnusableFile, match="a voice message: send text, a photo or a document"):
        await desk.content([voice])
    with pytest.raises(UnusableFile, match=r"v\.iso has 2048 MB: a bot can fetch 20 MB"):
        await desk.content([huge])


@pytest.mark.slow
async def test_an_outbox_is_sent_back_each_version_once(desk: Desk) -> None:
    session = await started(desk)
    row = await session.row()
    outbox = Path(row.cwd) / desk.files.outbox_of("abcdefgh-1234")
    await desk.files.send_back(PLACE, row, "abcdefgh-1234")  # there is none yet
    outbox.mkdir(parents=True)
    (outbox / "chart.png").write_bytes(PNG)
    (outbox / "report.csv").write_bytes(b"a;b")
    for _ in range(2):
        await desk.files.send_back(PLACE, row, "abcdefgh-1234")
    first = await desk.sent()
    assert sorted(first) == [("chart.png · 48 bytes", "photo", PNG), ("report.csv · 3 bytes", "document", b"a;b")]
    (outbox / "report.csv").write_bytes(b"a;b;c")
    await desk.files.send_back(PLACE, row, "abcdefgh-1234")
    assert ("report.csv · 5 bytes", "document", b"a;b;c") in await desk.sent()
    assert len(await desk.sent()) == 3
    assert str(desk.files.outbox_of("abcdefgh-1234")) in desk.files.instructions("abcdefgh-1234")


async def test_files_of_a_host_that_is_away_are_to_be_asked_for_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = await (await started(desk)).row()
    outbox = Path(row.cwd) / desk.files.outbox_of("abcdefgh-1234")
    outbox.mkdir(parents=True)
    (outbox / "a.txt").write_text("a")

    async def away(*_: object, **__: object) -> None:
        raise HostAway("the host box is not connected")

    for method in ("list", "fetch"):
        with monkeypatch.context() as patched:
            patched.setattr(type(desk.hub.files), method, away)
            with pytest.raises(HostAway):
                await desk.files.send_back(PLACE, row, "abcdefgh-1234")
    await desk.files.send_back(PLACE, row, "abcdefgh-1234")
    assert await desk.sent() == [("a.txt · 1 bytes", "document", b"a")]


@pytest.mark.slow
async def test_a_name_that_deceives_is_seen_through(desk: Desk) -> None:
    row = await (await started(desk)).row()
    outbox = Path(row.cwd) / desk.files.outbox_of("abcdefgh-1234")
    outbox.mkdir(parents=True)
    (outbox / "photo\u202egpj.exe").write_text("xy")
    (outbox / "two\nlines.txt").touch()
    await desk.files.send_back(Place(1001), row, "abcdefgh-1234")
    await desk.outbox.idle()
    file, empty = desk.chat.bot_messages
    assert (file.caption, file.file_name) == ("photo<U+202E>gpj.exe · 2 bytes", "photo-gpj.exe")
    assert empty.text.count("\n") == 0


@pytest.mark.slow
async def test_of_files_that_are_not_in_the_outbox_any_more_nothing_is_remembered(desk: Desk) -> None:
    row = await (await started(desk)).row()
    outbox = Path(row.cwd) / desk.files.outbox_of("abcdefgh-1234")
    outbox.mkdir(parents=True)
    for name in ("a.txt", "b.txt"):
        (outbox / name).write_text(name)
    await desk.files.send_back(PLACE, row, "abcdefgh-1234")
    (outbox / "a.txt").unlink()
    await desk.files.send_back(PLACE, row, "abcdefgh-1234")
    remembered = await desk.state.read(lambda tables: tables.notes("sent:"))
    assert [key.rpartition(":")[2] for key in remembered] == ["b.txt"]
    assert len(await desk.sent()) == 2


async def test_a_file_of_the_project_is_fetched(desk: Desk) -> None:
    (desk.project / "src").mkdir()
    (desk.project / "src" / "app.py").write_text("print()")
    await desk.file("get src/app.py")
    assert await desk.sent() == [(f"{desk.project}/src/app.py · 7 bytes", "document", b"print()")]
    listed, nothing = await desk.file("get src/", message_id=2)
    assert (nothing, listed) == (None, f"{desk.project}/src\n  7 bytes  app.py")


MISTAKES = {
    "": "Write `/file get PATH`",
    "fetch a": "Write `/file get PATH`",
    "get a b": "Write `/file get PATH`",
    "get 'a": "there is no",
    "get .env": "is private",
    "get ../../etc/passwd": "is not inside",
    "put": "send a document",
}


async def test_file_says_what_is_wrong(desk: Desk, subtests: pytest.Subtests) -> None:
    for arguments, words in MISTAKES.items():
        with subtests.test(arguments), pytest.raises(HandrailError, match=words):
            await desk.file(arguments)


async def test_a_document_is_put_into_the_project(desk: Desk) -> None:
    await desk.chat.send_document(b"one", name="plan.md", mime="text/markdown")
    (document,) = await desk.news()
    text, _ = await desk.file("put docs/", under=document)
    assert text == f"✓ {desk.project}/docs/plan.md · 3 bytes"
    with pytest.raises(NotSo, match="is there already: add --replace"):
        await desk.file("put docs/plan.md", under=document)
    (desk.project / "docs" / "plan.md").write_text("other")
    await desk.file("put --replace docs/plan.md", under=document, message_id=2)
    assert (desk.project / "docs" / "plan.md").read_text() == "one"


@pytest.mark.slow
@given(st.text(max_size=300))
def test_a_name_is_only_a_name(name: str) -> None:
    safe = safe_name(name)
    assert safe
    assert safe not in (".", "..")
    assert not safe.startswith(".")
    assert not set(safe) & set("/\\\0\n\u202e")
    assert len(f"1234567890-{safe}".encode()) <= 255


@given(st.binary(max_size=20))
def test_only_the_beginning_of_a_picture_makes_a_picture(data: bytes) -> None:
    assert picture_kind(b"x" + data) is None

"""The Bot API as the bridge uses it: `python-telegram-bot` behind a small interface. Nothing else imports it.

The bot's token is part of every address that is called, and so of what the libraries below log and raise. It is taken
out of both here.
"""

from __future__ import annotations

import logging
import re
import ssl
from collections.abc import Awaitable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlencode

import msgspec
from telegram.error import TelegramError
from telegram.request import HTTPXRequest, RequestData

from handrail.telegram.bot_errors import BotError, Refused, TokenInvalid, TooLong, Unreachable, error_of
from handrail.telegram.model import Attachment, Button, Content, Place
from handrail.telegram.text.rich import RichText
from telegram import (
    Bot,
    BotCommand,
    ForceReply,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputFile,
    LinkPreviewOptions,
    MessageEntity,
    ReplyParameters,
    User,
)

__all__ = ["PUBLIC_API", "BotUser", "TelegramBot"]

T = TypeVar("T")

PUBLIC_API = "https://api.telegram.org"

_TOKEN = re.compile(r"\d+:[\w-]+", re.ASCII)
_CONNECT = 10.0
_ANSWER = 30.0
_UPLOAD = 120.0
_BEYOND_POLL = 15.0
"""How much longer than it was asked to wait Telegram may take to answer a poll."""
_LARGEST_PHOTO = 10 * 1024 * 1024
_NO_PICTURE = ("photo_invalid_dimensions", "image_process_failed", "photo_save_file_invalid", "photo_ext_invalid")
"""Words in refusals of pictures that would be taken as files."""
_NO_CONNECTION = ("ConnectError", "ConnectTimeout")
"""Errors of the library below that say that nothing was sent."""
_NOTHING = "-"
"""What a button carries that stands for nothing, because it must carry something."""
_LOGGERS = ("httpx", "telegram.Bot", "telegram.request.BaseRequest", "telegram.request.HTTPXRequest")
"""Who logs addresses, and with them the token."""


_NO_PREVIEW: dict[str, Any] = {"link_preview_options": LinkPreviewOptions(is_disabled=True)}


class BotUser(msgspec.Struct, frozen=True):
    """The bot itself."""

    id: int
    username: str
    name: str


class TelegramBot:
    """A bot. Use it with `async with`; everything raises a `BotError` if it does not succeed.

    Entering makes no call: whether Telegram knows the token is seen with the first one (`me`).
    """

    def __init__(self, token: str, *, api_url: str = PUBLIC_API) -> None:
        self._token = token
        self._api_url = api_url.rstrip("/")
        self._open = AsyncExitStack()
        self._made: tuple[Bot, _Wire] | None = None

    async def __aenter__(self) -> Self:
        if not _TOKEN.fullmatch(self._token):
            raise TokenInvalid("this is no bot token: @BotFather gives one that looks like 123456:ABC-DEF…")
        self._open.enter_context(_Discretion(self._token))
        trusted = _trusted(self._api_url)
        polling = _Wire(self._token, trusted, connection_pool_size=2)
        rest = _Wire(self._token, trusted, connection_pool_size=64)
        for wire in (polling, rest):
            await wire.initialize()
            self._open.push_async_callback(wire.shutdown)
        self._made = _bot(self._token, self._api_url, polling, rest), polling
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._made = None
        await self._open.aclose()

    async def me(self) -> BotUser:
        """Who the bot is. Raises `TokenInvalid` if it is nobody."""
        user = await self._done(self._bot.get_me())
        return BotUser(user.id, user.username or "", user.full_name)

    # ------------------------------------------------------------ what comes in

    async def updates(self, offset: int, timeout: float, *, allowed: Sequence[str] = ()) -> list[dict[str, Any]]:
        """What came in from update `offset` on, as Telegram wrote it; waits up to `timeout` seconds for something."""
        asked = {"offset": offset, "timeout": int(timeout), "allowed_updates": msgspec.json.encode(allowed).decode()}
        wanted = {name: value for name, value in asked.items() if value not in (0, "[]")}
        address = f"{self._api_url}/bot{self._token}/getUpdates?{urlencode(wanted)}"
        result = await self._done(self._polling.get_json(address, read_timeout=timeout + _BEYOND_POLL))
        return [update for update in result if isinstance(update, dict)] if isinstance(result, list) else []

    async def set_webhook(self, url: str, *, secret: str, allowed: Sequence[str] = ()) -> None:
        """Have updates sent to an address, with a header that says the secret."""
        await self._done(self._bot.set_webhook(url, secret_token=secret, allowed_updates=list(allowed) or None))

    async def delete_webhook(self) -> None:
        """Have updates sent nowhere, so that they can be asked for."""
        await self._done(self._bot.delete_webhook())

    async def webhook_address(self) -> str:
        """Where updates are sent to; empty if nowhere."""
        return (await self._done(self._bot.get_webhook_info())).url

    async def download(self, file_id: str, limit: int) -> bytes:
        """A file that somebody sent. Raises `TooLong` if it has more than `limit` bytes."""
        file = await self._done(self._bot.get_file(file_id))
        _check_size(file.file_size or 0, limit)
        data = await self._done(file.download_as_bytearray(read_timeout=_UPLOAD))
        _check_size(len(data), limit)
        return bytes(data)

    async def answer_callback(self, callback_id: str, text: str = "", *, alert: bool = False) -> bool:
        """Tell somebody who pressed a button what happens. False if it is too late for that."""
        try:
            await self._done(self._bot.answer_callback_query(callback_id, text=text or None, show_alert=alert))
        except Refused as error:
            if "query is too old" in error.description.lower():
                return False
            raise
        return True

    # ------------------------------------------------------------ what goes out

    async def send(self, place: Place, content: Content) -> int:
        """Write a message. Returns its number in the chat."""
        if content.attachment is not None:
            return await self._done(_send_file(self._bot, place, content, content.attachment))
        sending = self._bot.send_message(
            place.chat, content.text.text, entities=_entities(content.text), **_NO_PREVIEW, **_around(place, content)
        )
        return (await self._done(sending)).message_id

    async def edit(self, place: Place, message_id: int, content: Content) -> None:
        """Have a message show another text and other buttons. A file that it has stays what it is."""
        which: dict[str, Any] = {"chat_id": place.chat, "message_id": message_id, "reply_markup": _keyboard(content)}
        text, entities = content.text.text, _entities(content.text)
        if content.attachment is None:
            await self._done(self._bot.edit_message_text(text, entities=entities, **_NO_PREVIEW, **which))
        else:
            await self._done(self._bot.edit_message_caption(caption=text, caption_entities=entities, **which))

    async def delete(self, place: Place, message_id: int) -> None:
        """Take a message away."""
        await self._done(self._bot.delete_message(place.chat, message_id))

    async def draft(self, place: Place, draft_id: int, text: RichText) -> None:
        """Show a text as being written (private chats only). The same `draft_id` goes on with the same text."""
        await self._done(
            self._bot.send_message_draft(
                place.chat, draft_id, text.text, message_thread_id=place.thread or None, entities=_entities(text)
            )
        )

    async def action(self, place: Place, action: str = "typing") -> None:
        """Show for a few seconds that the bot does something."""
        await self._done(self._bot.send_chat_action(place.chat, action, message_thread_id=place.thread or None))

    async def set_commands(self, commands: Sequence[tuple[str, str]]) -> None:
        """The menu of commands, with a few words on each."""
        await self._done(self._bot.set_my_commands([BotCommand(name, words) for name, words in commands]))

    # ------------------------------------------------------------ inside

    @property
    def _bot(self) -> Bot:
        return self._opened[0]

    @property
    def _polling(self) -> _Wire:
        return self._opened[1]

    @property
    def _opened(self) -> tuple[Bot, _Wire]:
        if self._made is None:
            raise RuntimeError("the bot is not open: use it inside `async with`")
        return self._made

    async def _done(self, call: Awaitable[T]) -> T:
        """What a call gives. Its failure is an error of ours, which says no secret and has no cause that does."""
        try:
            return await call
        except _Failure as failure:
            raise failure.error from None
        except TelegramError as error:
            is_away = type(error.__cause__).__name__ in _NO_CONNECTION
            words = _without(self._token, f"Telegram cannot be reached ({error})")
            raise Unreachable(words, is_away=is_away) from None


class _Failure(TelegramError):
    """Carries an error of ours through the library, which lets errors of its own pass."""

    def __init__(self, error: BotError) -> None:
        super().__init__(error.description)
        self.error = error


class _Answer(msgspec.Struct):
    """What every answer of the Bot API looks like."""

    ok: bool = False
    description: str = ""
    parameters: dict[str, Any] = {}
    result: Any = None


class _Wire(HTTPXRequest):
    """Connections of their own; an answer that is no success is understood here, where it is still whole."""

    def __init__(self, token: str, trusted: ssl.SSLContext | bool, *, connection_pool_size: int) -> None:
        super().__init__(
            connection_pool_size=connection_pool_size,
            connect_timeout=_CONNECT,
            read_timeout=_ANSWER,
            write_timeout=_ANSWER,
            pool_timeout=_ANSWER,
            media_write_timeout=_UPLOAD,
            httpx_kwargs={"verify": trusted},
        )
        self._secret = token

    async def do_request(
        self, url: str, method: str, request_data: RequestData | None = None, *args: Any, **kwargs: Any
    ) -> tuple[int, bytes]:
        code, payload = await super().do_request(url, method, request_data, *args, **kwargs)
        if not 200 <= code < 300:
            answer = _read(payload)
            words = _without(self._secret, answer.description or f"HTTP {code}")
            raise _Failure(error_of(code, words, answer.parameters))
        return code, payload

    async def get_json(self, url: str, *, read_timeout: float) -> Any:
        """What the Bot API says to a question that is all in its address."""
        answer = _read(await self.retrieve(url, read_timeout=read_timeout))
        if not answer.ok:
            raise _Failure(Unreachable("Telegram's answer makes no sense: is this a Bot API server?"))
        return answer.result


def _trusted(api_url: str) -> ssl.SSLContext | bool:
    """Whose certificates count: all that are known, which takes a while to read, or none where no TLS is spoken."""
    return True if api_url.lower().startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise TooLong(f"the file has {size} bytes, and may have {limit}")


def _read(payload: bytes) -> _Answer:
    """What came may come from anything in between: a proxy's page is an answer that says nothing."""
    try:
        return msgspec.json.decode(payload, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _Answer()


class _Discretion(logging.Filter):
    """While it is entered, what other libraries log has no token in it."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = _without(self._token, record.getMessage()), ()
        return True

    def __enter__(self) -> None:
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self)

    def __exit__(self, *_: object) -> None:
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(self)


def _without(token: str, words: str) -> str:
    return words.replace(token, "(token)") if token else words


def _bot(token: str, api_url: str, polling: HTTPXRequest, rest: HTTPXRequest) -> Bot:
    return Bot(
        token,
        base_url=f"{api_url}/bot",
        base_file_url=f"{api_url}/file/bot",
        request=rest,
        get_updates_request=polling,
    )


async def _send_file(bot: Bot, place: Place, content: Content, attachment: Attachment) -> int:
    """As a picture if it is to be one and can be one."""
    file = InputFile(attachment.data, filename=attachment.name)
    looks: dict[str, Any] = {
        "caption": content.text.text or None,
        "caption_entities": _entities(content.text),
        "read_timeout": _UPLOAD,
        **_around(place, content),
    }
    if attachment.kind == "photo" and len(attachment.data) <= _LARGEST_PHOTO:
        try:
            return (await bot.send_photo(place.chat, file, **looks)).message_id
        except _Failure as failure:
            if not any(words in failure.error.description.lower() for words in _NO_PICTURE):
                raise
            file = InputFile(attachment.data, filename=attachment.name)
    sent = await bot.send_document(place.chat, file, disable_content_type_detection=True, **looks)
    return sent.message_id


def _around(place: Place, content: Content) -> dict[str, Any]:
    """What a new message has besides its content."""
    return {
        "message_thread_id": place.thread or None,
        "disable_notification": not content.sound,
        "reply_markup": _keyboard(content) or _prompt(place, content),
        "reply_parameters": _reply(content),
    }


def _reply(content: Content) -> ReplyParameters | None:
    if not content.reply_to:
        return None
    return ReplyParameters(content.reply_to, allow_sending_without_reply=True)


def _prompt(place: Place, content: Content) -> ForceReply | None:
    """In a group only of those who are meant: whoever is named in the text, or wrote what it answers.

    To be selective where there is nobody else would be wrong: apps open nothing then for an answer to the bot's own.
    """
    if not content.placeholder:
        return None
    return ForceReply(selective=not place.is_private, input_field_placeholder=content.placeholder[:64])


def _keyboard(content: Content) -> InlineKeyboardMarkup | None:
    rows = [[_button(button) for button in row] for row in content.buttons if row]
    return InlineKeyboardMarkup(rows) if rows else None


def _button(button: Button) -> InlineKeyboardButton:
    style = button.style or None
    if button.url:
        return InlineKeyboardButton(button.text, url=button.url, style=style)
    return InlineKeyboardButton(button.text, callback_data=button.token or _NOTHING, style=style)


def _entities(text: RichText) -> list[MessageEntity]:
    return [
        MessageEntity(
            entity.kind,
            entity.offset,
            entity.length,
            url=entity.url or None,
            user=User(entity.user, "", is_bot=False) if entity.user else None,
            language=entity.language or None,
        )
        for entity in text.entities
    ]

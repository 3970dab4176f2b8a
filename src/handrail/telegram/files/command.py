"""`/file get` and `/file put`: a file of the chat's project, fetched or put there."""

from __future__ import annotations

import posixpath
import shlex
from typing import TYPE_CHECKING, Final

import msgspec

from handrail.errors import HandrailError, HostRefused
from handrail.rendering.amounts import size
from handrail.telegram.commands.context import CommandContext, NotSo
from handrail.telegram.files.incoming import LARGEST_DOWNLOAD, incoming_of
from handrail.telegram.incoming import Message
from handrail.telegram.model import Attachment
from handrail.telegram.projects import Project, project_of
from handrail.telegram.text.rich import bold, code, joined, plain, pre
from handrail.telegram.text.safe import line

if TYPE_CHECKING:
    from handrail.telegram.bot import TelegramBot

__all__ = ["FileCommand"]

USAGE: Final = (
    "Write `/file get PATH` to fetch a file of the project, or `/file put [PATH] [--replace]` under a document, or as "
    "a reply to one, to put it there. A path without a slash in front is inside the project's directory."
)
MOST_NAMES: Final = 60
REPLACE: Final = "--replace"


class _Wish(msgspec.Struct, frozen=True):
    verb: str
    path: str = ""
    replace: bool = False


class FileCommand:
    """Carries out /file. What may be read and written is for the hub to say: roots, and no private files."""

    def __init__(self, bot: TelegramBot) -> None:
        self._bot = bot

    async def run(
        self, context: CommandContext, arguments: str, *, message: Message | None, replied: Message | None
    ) -> None:
        wish = _wish(arguments)
        project = await _project(context)
        try:
            if wish.verb == "get":
                await self._get(context, project, wish)
            else:
                document = next((each for each in (message, replied) if each is not None and each.has_media), None)
                await self._put(context, project, wish, document)
        except HostRefused as error:  # another project, which is the usual advice, is none here
            raise NotSo(str(error)) from None

    async def _get(self, context: CommandContext, project: Project, wish: _Wish) -> None:
        if not wish.path or wish.path.endswith("/"):
            await self._list(context, project, _absolute(project, wish.path))
            return
        path = _absolute(project, wish.path)
        data = await context.hub.files.fetch(path, host=project.host)
        name = posixpath.basename(path)
        if not data:
            await context.say(plain("It is empty: ") + code(path))
            return
        caption = code(path) + f" · {size(len(data))}"
        await context.say(caption, attachment=Attachment(name, data))

    async def _list(self, context: CommandContext, project: Project, path: str) -> None:
        files = await context.hub.files.list(path, host=project.host)
        if not files:
            await context.say(plain("There are no files that could be fetched in ") + code(path))
            return
        lines = [f"{size(each.size):>9}  {line(each.name)}" for each in files[:MOST_NAMES]]
        more = [plain(f"\n… and {len(files) - MOST_NAMES} more")] if len(files) > MOST_NAMES else []
        await context.say(joined([bold(path), plain("\n"), pre("\n".join(lines)), *more]))

    async def _put(self, context: CommandContext, project: Project, wish: _Wish, document: Message | None) -> None:
        if document is None:
            raise NotSo("send a document with `/file put` under it, or write that as a reply to one")
        file = incoming_of(document)
        wanted = wish.path or file.name
        path = _absolute(project, f"{wanted}{file.name}" if wanted.endswith("/") else wanted)
        data = await self._bot.download(file.file_id, LARGEST_DOWNLOAD)
        try:
            put = await context.hub.files.put(path, data, host=project.host, replace=wish.replace)
        except HandrailError as error:
            if "is there already" not in str(error):
                raise
            raise NotSo(f"{error}: add {REPLACE} to put yours in its place") from None
        await context.say(plain("✓ ") + code(put) + f" · {size(len(data))}")


def _wish(arguments: str) -> _Wish:
    try:
        words = shlex.split(arguments)
    except ValueError:
        words = arguments.split()
    verb, *rest = words or [""]
    replace = REPLACE in rest
    paths = [word for word in rest if word != REPLACE]
    if verb not in ("get", "put") or len(paths) > 1 or (replace and verb == "get"):
        raise NotSo(USAGE)
    return _Wish(verb, paths[0] if paths else "", replace)


async def _project(context: CommandContext) -> Project:
    """The directory of the session that is meant, else of the chat's project."""
    chat = await context.chat()
    session_id = context.replied_session or chat.session_id
    if session_id:
        row = await context.hub.session(session_id).row()
        return Project(cwd=row.cwd, host=row.host)
    return await project_of(context.state, context.place, context.settings)


def _absolute(project: Project, path: str) -> str:
    if path.startswith(("/", "~/")):
        return path
    return posixpath.normpath(posixpath.join(project.cwd, path))

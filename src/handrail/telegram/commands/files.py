"""The command /file, which the files of the bridge carry out."""

from __future__ import annotations

from handrail.telegram.commands.context import CommandContext, NotSo

__all__ = ["file"]


async def file(context: CommandContext, rest: str) -> None:
    """Get files of the project, or put some there."""
    if context.files is None:
        raise NotSo("files cannot be sent here: the hub is too old for it")
    replied = context.message.reply_to_message if context.message is not None else None
    await context.files.command(context, rest, message=context.message, replied=replied)

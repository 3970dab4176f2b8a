"""Checkpoints: files are put back to how they were before a message."""

from __future__ import annotations

from uuid import uuid4

from handrail.errors import ControlError
from handrail.protocol.control import RewindFiles
from handrail.protocol.options import Options
from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.stage import DOUBT, Replies, Stage, write

__all__ = ["FILES"]

PREVIEW = Behaviour(
    name="files: a rewind tried out",
    need="degrades",
    otherwise="it cannot be shown what a rewind would change",
)
REWOUND = Behaviour(
    name="files: rewound to before a message",
    need="degrades",
    otherwise="files cannot be put back to how they were before a message",
)

CHECKPOINTS = Options(permission_mode="acceptEdits", enable_file_checkpointing=True)


async def play(stage: Stage) -> None:
    replies: Replies = {"Write a file": [write(stage.cwd / "new.txt", "brand new\n"), "Written."]}
    async with stage.live(replies, options=CHECKPOINTS) as live:
        message = str(uuid4())
        await live.run("Write a file", uuid=message)
        try:
            preview = await live.client.request(RewindFiles(user_message_id=message, dry_run=True), timeout=DOUBT)
            names = bool(preview.can_rewind) and [str(stage.cwd / "new.txt")] == list(preview.files_changed or ())
            stage.see(
                PREVIEW, names and stage.has("new.txt"), "names the files" if names else "does not name the files"
            )
            await live.client.request(RewindFiles(user_message_id=message), timeout=DOUBT)
        except ControlError as error:
            stage.see(REWOUND, False, f"an error: {error}")
            return
        gone = not stage.has("new.txt")
        stage.see(REWOUND, gone, "put back" if gone else "as they were")


FILES = Scenario("files", (PREVIEW, REWOUND), play)

"""Rewinding files to how they were before a message."""

from __future__ import annotations

from uuid import uuid4

import pytest

from handrail.errors import ControlRefused
from handrail.protocol.control import RewindFiles
from handrail.protocol.launch import Options
from handrail.testing.replies import ToolUse

from .support import Observe, World, write

CHECKPOINTS = Options(permission_mode="acceptEdits", enable_file_checkpointing=True)


async def test_files_are_rewound_to_before_a_message(world: World, observe: Observe) -> None:
    old, new = world.cwd / "old.txt", world.cwd / "new.txt"
    old.write_text("zero\n")
    edit = ToolUse("Edit", {"file_path": str(old), "old_string": "zero", "new_string": "one"})
    script = [ToolUse("Read", {"file_path": str(old)}), edit, "Edited.", write(new, "brand new\n"), "Written.", "Yes."]
    async with world.live(script, options=CHECKPOINTS) as live:
        first, second = str(uuid4()), str(uuid4())
        assert (await live.client.run("Edit the old file", uuid=first)).result == "Edited."
        assert (await live.client.run("Write a new file", uuid=second)).result == "Written."

        preview = await live.client.request(RewindFiles(user_message_id=first, dry_run=True))
        assert preview.can_rewind
        assert sorted(preview.files_changed or ()) == sorted(map(str, (old, new)))
        assert (old.read_text(), new.read_text()) == ("one\n", "brand new\n")

        await live.client.request(RewindFiles(user_message_id=second))
        assert old.read_text() == "one\n"
        assert not new.exists()
        await live.client.request(RewindFiles(user_message_id=first))
        assert old.read_text() == "zero\n"

        assert (await live.client.run("Do you remember?")).result == "Yes."
        remembers = "Write a new file" in str(live.model.requests_in()[-1].messages)
        observe("files: rewind_files", f"restored, the conversation is {'kept' if remembers else 'rewound too'}")
        observe("files: dry run", f"{preview.insertions} insertion(s), {preview.deletions} deletion(s)")


async def test_rewinding_works_after_resume(world: World) -> None:
    file, message = world.cwd / "a.txt", str(uuid4())
    async with world.live([write(file, "a"), "Written."], options=CHECKPOINTS) as live:
        assert (await live.client.run("Write a file", uuid=message)).ok
        session = live.client.session_id
    options = Options(permission_mode="acceptEdits", enable_file_checkpointing=True, resume=session)
    async with world.live([], options=options) as live:
        await live.client.request(RewindFiles(user_message_id=message))
        assert not file.exists()


async def test_without_checkpoints_nothing_is_rewound(world: World, observe: Observe) -> None:
    file, message = world.cwd / "a.txt", str(uuid4())
    async with world.live([write(file, "a"), "Written."], options=Options(permission_mode="acceptEdits")) as live:
        assert (await live.client.run("Write a file", uuid=message)).ok
        with pytest.raises(ControlRefused) as refused:
            await live.client.request(RewindFiles(user_message_id=message))
        observe("files: rewind_files without checkpoints", f"error: {refused.value.error}")
        assert file.exists()

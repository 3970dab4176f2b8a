"""Lines of ten megabytes, each way."""

from __future__ import annotations

from handrail.protocol.blocks import Document, Source, Text
from handrail.protocol.frames import CompactBoundary, User
from handrail.protocol.launch import Options
from handrail.sessions.tools import tool
from handrail.testing.replies import ToolUse

from .support import Observe, World, outcome_of

TEN_MEGABYTES = 10_000_000


async def test_a_tool_result_of_ten_megabytes(world: World, observe: Observe) -> None:
    """The report of an Edit carries the whole file as it was before."""
    file = world.cwd / "big.txt"
    file.write_text("begin\n" + ("z" * 99 + "\n") * (TEN_MEGABYTES // 100))
    script = [
        ToolUse("Read", {"file_path": str(file), "limit": 1}),
        ToolUse("Edit", {"file_path": str(file), "old_string": "begin", "new_string": "start"}),
        "Done.",
    ]
    async with world.live(script, options=Options(permission_mode="acceptEdits")) as live:
        async with live.client.turn("Edit the big file") as turn:
            frames = [frame async for frame in turn]
        assert turn.result is not None
        assert turn.result.result == "Done."
        (long,) = [frame for frame in frames if len(frame.raw) > TEN_MEGABYTES]
        assert isinstance(long, User)
        assert not long.degraded
        assert len(long.tool_use_result["originalFile"]) > TEN_MEGABYTES
        observe("sizes: a tool result of 10 MB", "arrives as one line")


async def test_a_python_tool_that_returns_ten_megabytes(world: World, observe: Observe) -> None:
    @tool
    async def dump() -> str:
        """Everything."""
        return "y" * TEN_MEGABYTES

    options = Options(allowed_tools=["mcp__handrail"])
    async with world.live([ToolUse("mcp__handrail__dump", {}), "Done."], tools=[dump], options=options) as live:
        result = await live.client.run("Dump it")
        assert result.result == "Done."
        told = await live.tool_result_text()
        assert len(told) < TEN_MEGABYTES
        instead = "an error" if told.startswith("Error") else "a preview"
        observe("sizes: an MCP result of 10 MB", f"accepted; the model gets {instead} instead")


async def test_a_message_of_ten_megabytes_reaches_the_model(world: World, observe: Observe) -> None:
    document = Document(source=Source(type="base64", media_type="application/pdf", data="A" * TEN_MEGABYTES))
    async with world.live(["That was long."]) as live:
        result = await live.client.run([Text(text="Read this"), document])
        assert result.result == "That was long."
        assert len(str(live.model.requests_in()[0].messages)) > TEN_MEGABYTES
        observe("sizes: a message with a document of 10 MB", "reaches the model")


async def test_more_text_than_a_model_can_take(world: World, observe: Observe) -> None:
    async with world.live(["That was long.", "Yes."]) as live:
        result = await live.client.run("x" * TEN_MEGABYTES)
        compacted = ", after compacting" if live.all(CompactBoundary) else ""
        observe("sizes: a message of 10 MB of text", f"{outcome_of(result)}: {result.result}{compacted}")
        assert (await live.client.run("Still there?")).ok

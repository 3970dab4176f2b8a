"""What a prompt can carry, and what a result can: images, documents, structured output."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

from handrail.protocol.blocks import Document, Image, Source, Text
from handrail.protocol.launch import Options
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import ToolUse

from .support import Observe, World, outcome_of


def png(side: int = 8) -> str:
    """A small red square, as base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\xff\0\0" * side for _ in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode()


def sent_blocks(request: ModelRequest, kind: str) -> list[dict[str, Any]]:
    blocks = [
        block for message in request.messages if isinstance(message["content"], list) for block in message["content"]
    ]
    return [block for block in blocks if block.get("type") == kind]


async def test_an_image_reaches_the_model(world: World, observe: Observe) -> None:
    async with world.live(["A red square."]) as live:
        image = Image(source=Source(type="base64", media_type="image/png", data=png()))
        result = await live.client.run([Text(text="What is this?"), image])
        assert result.result == "A red square."
        (sent,) = sent_blocks(live.model.requests_in()[0], "image")
        assert sent["source"]["type"] == "base64"
        observe("prompts: an image", f"reaches the model as {sent['source']['media_type']}")


async def test_a_document_reaches_the_model(world: World, observe: Observe) -> None:
    async with world.live(["A poem."]) as live:
        document = Document(source=Source(type="text", media_type="text/plain", data="Roses are red"), title="Poem")
        result = await live.client.run([document, Text(text="What is this?")])
        assert result.result == "A poem."
        (sent,) = sent_blocks(live.model.requests_in()[0], "document")
        assert sent["source"]["data"] == "Roses are red"
        observe("prompts: a document", "reaches the model")


async def test_blocks_may_be_plain_mappings(world: World) -> None:
    async with world.live(["Four."]) as live:
        assert (await live.client.run([{"type": "text", "text": "What is 2 + 2?"}])).result == "Four."
        assert live.model.requests_in()[0].prompt == "What is 2 + 2?"


SUM: dict[str, Any] = {
    "type": "object",
    "properties": {"sum": {"type": "integer"}},
    "required": ["sum"],
    "additionalProperties": False,
}


async def test_structured_output(world: World, observe: Observe) -> None:
    options = Options(output_format={"type": "json_schema", "schema": SUM})
    async with world.live([ToolUse("StructuredOutput", {"sum": 4}), "Done."], options=options) as live:
        result = await live.client.run("What is 2 + 2?")
        assert result.ok
        assert result.structured_output == {"sum": 4}
        assert "StructuredOutput" in live.model.requests_in()[0].tools
        observe("prompts: structured output", f"{outcome_of(result)}, structured_output is set")


async def test_structured_output_that_does_not_fit_the_schema(world: World, observe: Observe) -> None:
    options = Options(output_format={"type": "json_schema", "schema": SUM})
    script = [ToolUse("StructuredOutput", {"sum": "four"}), ToolUse("StructuredOutput", {"sum": 4}), "Done."]
    async with world.live(script, options=options) as live:
        result = await live.client.run("What is 2 + 2?")
        assert result.structured_output == {"sum": 4}
        told = await live.tool_result_text()
        observe("prompts: structured output that does not fit", f"refused: {told}")

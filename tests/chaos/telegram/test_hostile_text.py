"""Text that is made to break what shows it, in every field that it can come in: Telegram takes all that is written."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

from handrail.testing import simulated as sim
from tests.telegram.bridge.support import World, eventually, world

from .person import Presser
from .talks import question

pytestmark = pytest.mark.slow

MEGABYTE = 1_000_000
HOSTILE = {
    "markup": "<b>&lt;x</b> **[y](tg://user?id=1)** [z](http://localhost) `a``b` &#8238;txt.exe &#x200b; ||s|| __u__",
    "turned": "rm \u202egpj.exe\u202c \u2067x\u2069 \u200fא\u200e ت\u061c",
    "unseen": "a\u200bb\u2060c\ufeffd\u00ade\u3164f\u2800g\U000e0041h\u180ei",
    "controls": "a\x00b\x07c\x1b[31md\r\ne\x85f\u2028g\u2029h\x7f",
    "half": "\ud83d lone \udc00",
    "long line": "x" * MEGABYTE,
    "long words": "word " * 3_000,
    "brackets": "[" * 4000 + "*" * 4000 + "`" * 3001 + "_" * 2000,
    "many marks": "**b** `c` _i_ ~~s~~ " * 300,
    "deep": "> " * 300 + "x\n" + "\n".join("  " * depth + "- y" for depth in range(90)),
    "wide table": "|" + "a|" * 200 + "\n|" + "-|" * 200 + "\n|" + "b\u202e|" * 200,
    "open fence": "```\u202e" + "py" * 50 + "\n" + "code\n" * 900,
    "families": "👨‍👩‍👧‍👦" * 600,
    "piled": "e" + "\u0301" * 4500,
    "nothing": " \u00a0\u2003\u3000\n\t ",
    "links": f"https://example.org/{'a' * 9000} [t](https://example.org/{'b' * 9000})",
    "commands": "/stop@handrail_test_bot\nclaude --resume 00000000-0000-0000-0000-000000000000",
}
HIDDEN = re.compile(
    "[\u202a-\u202e\u2066\u2067\u200b\u200e\u200f\u2060\ufeff\u00ad\u061c\u3164\u180e\x00-\x08\x0b-\x1f\x7f]"
)
"""What may not stand in a message that asks: it hides something, or turns it round. (Isolates are the bridge's own.)"""


def _turn(text: str) -> sim.Step:
    rule = {"toolName": "Bash", "ruleContent": text[:2000]}
    suggestion = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}
    asked = question(text[:5000] or "?", text[:100], "Red", text[:3000], several=False)
    return sim.turn(
        text,
        sim.tool("Read", {"file_path": text}, ask=False, output=text),
        sim.tool("Task", {"description": text, "prompt": text, "subagent_type": text[:100]}, ask=False, output=text),
        sim.tool("Bash", {"command": text, "description": text}, output=text, is_error=True, suggestions=[suggestion]),
        sim.tool("Edit", {"file_path": text[:500], "old_string": text[:9000], "new_string": text[::-1][:9000]}),
        sim.tool(f"mcp__{text[:50]}__{text[:50]}", {text[:100]: text, "n": [text[:99]] * 50}),
        sim.tool("AskUserQuestion", {"questions": [asked]}),
        sim.tool("ExitPlanMode", {"plan": text}),
        sim.say(text),
        result={"result": text},
    )


def _failing_turn(text: str) -> sim.Step:
    return sim.turn(text, result={"subtype": "error_during_execution", "is_error": True, "errors": [text]})


@pytest.mark.parametrize("kind", HOSTILE)
async def test_hostile_text_from_claude(tmp_path: Path, kind: str) -> None:
    text = HOSTILE[kind]
    async with world(tmp_path, _turn(text), _failing_turn(text), sim.loop_turns("You said it.")) as here:
        presser = Presser(here.chat, here.ann, here.database)
        async with here.bridged(), presser.at_work():
            await here.say("/verbose on")
            for word, end in (("one", "✓ done"), ("two", "✗ failed"), ("three", "You said it.")):
                await here.say(word)
                await here.hears(end)
            await eventually(lambda: not any(message.buttons for message in here.chat.bot_messages))
            await _is_told(here)
        _check(here)


async def test_hostile_text_from_people_and_files(tmp_path: Path) -> None:
    asks = sim.turn(sim.tool("Bash", {"command": "rm -rf build"}), "You said $text")
    said = {kind: text[:4000] for kind, text in HOSTILE.items() if kind != "half"}  # which Telegram lets nobody write
    texts = [text for kind, text in said.items() if kind != "commands"]
    async with world(tmp_path, sim.repeat(None, asks, sim.turn("You said $text"))) as here, here.bridged():
        for number, text in enumerate(texts):
            await here.say(f"begin {number}")
            ask = await here.asked()
            await here.say(text, reply_to=ask)
            if not text.strip():
                await ask.press("Deny", by=here.ann)
            await here.hears(f"You said begin {number}")
            await here.chat.send_document(b"notes", text[:200], caption=text[:1000])
            await eventually(partial(_have_ended, here, 2 * number + 2))
        for text in said.values():
            for command in ("/model", "/project", "/queue", "/sessions", "/file get", "/mode", "/new", f"/{text[:30]}"):
                await here.say(f"{command} {text}")
            await here.say("/stop")
        await eventually(lambda: here.telegram.pending_updates == 0)
        await here.say("/health")
        await here.hears("Claude Code 2.1.325")
        await _is_told(here)
        _check(here)


async def _have_ended(here: World, runs: int) -> bool:
    views = [await here.served.manager.session(row.id).view() for row in await here.rows()]
    return sum(run.ended_at is not None for view in views for run in view.runs) >= runs


async def _is_told(here: World) -> None:
    assert here.bridge is not None

    async def is_told() -> bool:
        return await here.bridge.backlog() == 0  # type: ignore[union-attr]

    await eventually(is_told)


def _check(here: World) -> None:
    """Telegram refused nothing and left nothing out; and nothing is hidden where something is decided."""
    refused = [(call.method, call.description) for call in here.telegram.calls if call.status not in (200, 0)]
    assert refused == []
    assert all(message.dropped_entities == 0 for message in here.chat.log.values())
    for call in here.telegram.calls:
        if "reply_markup" in call.params:
            markup = call.params["reply_markup"]
            buttons = json.loads(markup) if isinstance(markup, str) else markup  # written with escapes, as a rule
            labels = [button["text"] for row in buttons.get("inline_keyboard", []) for button in row]
            shown = "".join([str(call.params.get("text", "")), str(call.params.get("caption", "")), *labels])
            assert HIDDEN.search(shown.replace("\n", "")) is None

"""Sessions worth looking at: what a project looks like after a while, for the tests that look at whole screens."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import date, timedelta
from pathlib import Path

import msgspec

from handrail.events import model as e
from handrail.link.wire import CliFacts, HostFacts
from handrail.sessions.asks import Actor
from handrail.sessions.session import Session
from handrail.store.base import RunUsageRow
from handrail.testing import simulated as sim

from ..server.hosts.fake_host import fake_host
from ..server.support import ServedHub
from .journals import Written, write_session

__all__ = ["LAPTOP", "PLAN", "QUESTIONS", "busy_hub", "conversation", "hosts_around", "used"]

PLAN = """# Make the login test steady

The test sleeps for a second and hopes. It should wait for the refresh instead.

1. Give each test a cache of its own
2. Wait for the `refreshed` event, with a deadline
3. Run it fifty times

| file | what changes |
|---|---|
| `tests/test_login.py` | waits for the event |
| `src/login.py` | sets the event |
"""

QUESTIONS = {
    "questions": [
        {
            "question": "Which database should the tests use?",
            "header": "Database",
            "multiSelect": False,
            "options": [
                {"label": "SQLite", "description": "In memory: quick, and nothing to install"},
                {"label": "PostgreSQL", "description": "As in production, in a container"},
            ],
        },
        {
            "question": "Which checks should run before each commit?",
            "header": "Checks",
            "multiSelect": True,
            "options": [{"label": "Types"}, {"label": "Lint"}, {"label": "Tests"}],
        },
    ]
}

FORM = {
    "subtype": "elicitation",
    "mcp_server_name": "desk",
    "message": "For whom is the table?",
    "mode": "form",
    "requested_schema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name", "description": "As it should be on the list"},
            "seats": {"type": "integer", "title": "Seats", "minimum": 1},
            "window": {"type": "boolean", "title": "At the window"},
            "course": {"type": "string", "enum": ["fish", "pasta"]},
        },
        "required": ["name"],
    },
}


def conversation() -> Iterator[e.Event]:
    """A conversation with everything that can stand in one."""
    meta = e.Meta(
        cwd="/home/ada/src/api",
        model="claude-opus-4-5",
        cli_version="2.1.325",
        mcp_servers=({"name": "github", "status": "connected"}, {"name": "desk", "status": "failed"}),
    )
    yield e.Prompt(uuid="p1", content="Fix the flaky login test", state="sent", by="ada", surface="web", run=1)
    yield e.Started(run=1, meta=meta)
    yield e.Thinking(block="t1", text="It sleeps. That is rarely a good sign.", run=1)
    yield e.Text(block="b1", text="I'll look at the **test** first.", run=1)
    for number, path in enumerate(("tests/test_login.py", "src/login.py", "src/cache.py", "tests/conftest.py")):
        detail = {"tool_name": "Read", "tool_input": {"file_path": f"/home/ada/src/api/{path}"}}
        yield from call(f"r{number}", "tool", path, detail, {"content": "1\tasync def test_login(client):"})
    grep = {"tool_name": "Grep", "tool_input": {"pattern": "sleep"}}
    yield from call("g1", "tool", "sleep", grep, {"content": "tests/test_login.py:13"})
    edit = {
        "tool_name": "Edit",
        "tool_input": {
            "file_path": "/home/ada/src/api/tests/test_login.py",
            "old_string": "    await asyncio.sleep(1)\n",
            "new_string": "    await client.refreshed.wait()\n",
        },
    }
    yield from call("e1", "file_change", "tests/test_login.py", edit, {"content": "The file was changed."})
    run = {"tool_name": "Bash", "tool_input": {"command": "pytest -x tests/test_login.py --count 50"}}
    output = {"content": "\x1b[32m50 passed\x1b[0m in 4.21s"}
    yield from call("c1", "command", "pytest -x tests/test_login.py --count 50", run, output)
    lint = {"tool_name": "Bash", "tool_input": {"command": "make lint"}}
    yield from call("c2", "command", "make lint", lint, {"content": "Exit code 2\nE501 line too long"}, ok=False)
    yield e.Text(block="b2", text=SUMMARY, run=1)
    yield e.Usage(context_tokens=76_000, context_window=200_000, run=1)
    yield e.Completed(ok=True, run=1, cost_usd=0.42, total_cost_usd=0.42, duration_ms=84_000, num_turns=7)
    yield e.ModeChanged(mode="plan", previous="default")
    yield e.Compacting(phase="started", trigger="auto")
    yield e.Compacting(phase="completed", trigger="auto", tokens_before=168_000, tokens_after=24_000)
    yield e.RateLimit(status="allowed_warning", limit_type="five_hour", utilization=0.87)


SUMMARY = """The test waits for the refresh now, and passes fifty times in a row:

```python
async def test_login(client):
    await client.refreshed.wait()
    assert client.user == "ada"
```

- `tests/test_login.py` waits for the event
- `src/login.py` sets it

> One warning of the linter is left; it is older than this change.
"""


def call(
    name: str, kind: e.ActionKind, title: str, begun: dict[str, object], over: dict[str, object], *, ok: bool = True
) -> Iterator[e.Event]:
    yield e.Action(id=name, kind=kind, title=title, phase="started", detail=begun, run=1)
    yield e.Action(id=name, kind=kind, title=title, phase="completed", ok=ok, detail=over, run=1)


def used(days: int = 14) -> Sequence[RunUsageRow]:
    """What two weeks of work may have used."""
    now = time.time()
    return [
        RunUsageRow(
            run=number * 2 + other,
            model=model,
            at=now - number * 86_400,
            day=str(date.today() - timedelta(days=number)),
            input_tokens=12_000 + 900 * ((number * 7 + other) % 5),
            output_tokens=3_000 + 400 * ((number * 3) % 4),
            cache_read_tokens=180_000 + 20_000 * (number % 3),
            cache_write_tokens=9_000,
            cost_usd=(0.9 + ((number * 5) % 7) / 3) / (other + 1),
        )
        for number in range(days)
        for other, model in enumerate(("claude-opus-4-5", "claude-haiku-4-5"))
    ]


async def asking(hub: ServedHub, prompt: str, *steps: sim.Step) -> Session:
    """A session that asks for something."""
    session = await hub.session(sim.turn(*steps), sim.loop_turns())
    await session.send(prompt, actor=Actor("ada", "web"))
    await hub.asked(session)
    return session


def searching(hub: ServedHub) -> Iterator[sim.Step]:
    """Claude looks around, changes something, and wants to try it."""
    test = str(hub.directory / "tests" / "test_login.py")
    yield sim.say("I'll look at the **test** and what it calls.")
    for path in ("tests/test_login.py", "src/login.py", "src/cache.py"):
        yield sim.tool("Read", {"file_path": str(hub.directory / path)}, output="1\tasync def login():", ask=False)
    yield sim.tool("Grep", {"pattern": "sleep"}, output="tests/test_login.py:13", ask=False)
    yield sim.say("It sleeps for a second and hopes that the session is refreshed by then. It should wait for that.")
    old, new = (
        "    await asyncio.sleep(1)\n",
        "    async with asyncio.timeout(5):\n        await client.refreshed.wait()\n",
    )
    yield sim.tool("Edit", {"file_path": test, "old_string": old, "new_string": new}, output="Changed.", ask=False)
    yield sim.say("Now let me see that it holds:")
    command = "pytest -x tests/test_login.py --count 50 && rm -rf build"
    yield sim.tool("Bash", {"command": command, "description": "Run the test fifty times"})


async def busy_hub(hub: ServedHub) -> dict[str, Session | Written]:
    """A conversation to read, and one session for each kind of ask."""
    change = {
        "file_path": str(hub.directory / "greet.py"),
        "content": 'def greet(name):\n    return f"Hello, {name}"\n',
    }
    return {
        "talk": await write_session(hub.hub.store, conversation(), title="Fix the flaky login test", usage=used()),
        "command": await asking(hub, "Why does the login test hang?", *searching(hub)),
        "change": await asking(hub, "Write a greeting", sim.tool("Write", change)),
        "plan": await asking(hub, "Make the login test steady", sim.tool("ExitPlanMode", {"plan": PLAN})),
        "question": await asking(hub, "Set up the tests", sim.tool("AskUserQuestion", QUESTIONS)),
        "form": await asking(hub, "Book a table", sim.request(FORM)),
    }


LAPTOP = HostFacts(
    handrail="0.1.0",
    system="Linux 6.12, x86_64",
    clis=(CliFacts(version="2.1.325", logged_in=True),),
    roots=("/home/ada/src",),
    load=0.21,
    free_bytes=212_000_000_000,
    live=1,
    probe={"status": "fine"},
    profiles=("careful", "edits"),
)
MACHINES = {
    "build-box": msgspec.structs.replace(
        LAPTOP, labels=("linux", "gpu"), roots=("/srv/shop", "/srv/models"), capacity=8, live=1, load=0.64
    ),
    "mac-mini": msgspec.structs.replace(
        LAPTOP,
        system="Darwin 24.6, arm64",
        labels=("macos", "xcode"),
        roots=("/Users/ci/work",),
        capacity=4,
        live=1,
        load=0.38,
        free_bytes=640_000_000,
        draining=True,
    ),
    "pi": msgspec.structs.replace(LAPTOP, system="Linux 6.6, aarch64", roots=("/home/pi",), live=1),
}


@asynccontextmanager
async def hosts_around(hub: ServedHub, directory: Path) -> AsyncIterator[None]:
    """Machines with a session each: one is well, one is drained and has little space left, and one has gone away."""
    async with AsyncExitStack() as stack:
        for name, facts in MACHINES.items():
            host = await stack.enter_async_context(fake_host(hub, directory, name))
            host.facts = facts
            async with AsyncExitStack() as leaving:
                link = await (leaving if name == "pi" else stack).enter_async_context(host.connected())
                session = await host.session(f"Look after {name}")
                await link.offer()
                await link.copy(session)
        yield

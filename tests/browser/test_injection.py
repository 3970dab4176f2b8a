"""Hostile text in every field that is shown, in the real page: it is text, and nothing runs, loads or asks.

The hostile sessions are written into the store, so that every field can be reached, also those that the CLI fills in
itself; another test lets the same text come over the wire, in pieces.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.async_api import expect

from handrail.events import model as e
from handrail.link import wire
from handrail.protocol.options import Options
from handrail.server.auth.secret_words import HOST_PREFIX, hashed, new_secret
from handrail.store.base import AskRow, HostRow, RunUsageRow
from handrail.store.sqlite import SqliteStore
from handrail.testing import simulated as sim

from ..server.hosts.fake_host import FakeHost
from ..server.payloads import PAYLOADS
from ..server.showing.test_hostile_text import everywhere, rows
from ..server.support import ServedHub
from .hubs import Visit
from .journals import Written, write_session
from .visitor import Visitor

SHARES = 6
shares = pytest.mark.parametrize("attacks", [PAYLOADS[start::SHARES] for start in range(SHARES)], ids=range(SHARES))

HARM = """() => {
  const handlers = (element) => element.getAttributeNames().filter((name) => name.startsWith("on"));
  const harmful = (address) => /^\\s*(javascript|vbscript|data:text|data:image\\/svg)/i.test(address ?? "");
  const foreign = (address) => address && new URL(address, location).origin !== location.origin;
  const ownPicture = (address) => /^(data:image\\/(png|jpeg|gif|webp)[;,]|blob:)/.test(address);
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    if (handlers(element).length) found.push(`handler: ${element.outerHTML.slice(0, 200)}`);
    if (element.matches("script, iframe, object, embed, base, meta, link, style, frame, applet, video, audio, math"))
      found.push(`element: ${element.outerHTML.slice(0, 200)}`);
    if (element.hasAttribute("style") && element.closest(".prose, .said, .prompt-body, .ask-body, .detail-body"))
      found.push(`style: ${element.outerHTML.slice(0, 200)}`);
    if (harmful(element.getAttribute("href")) || harmful(element.getAttribute("xlink:href")))
      found.push(`address: ${element.outerHTML.slice(0, 200)}`);
    if (element.matches("img") && !ownPicture(element.getAttribute("src") ?? "") && foreign(element.src))
      found.push(`picture: ${element.outerHTML.slice(0, 200)}`);
    if (element.matches("a[href]") && foreign(element.href) && element.rel !== "noopener noreferrer nofollow"
        && element.rel !== "noopener noreferrer")
      found.push(`link: ${element.outerHTML.slice(0, 200)}`);
  }
  const intact = ["handrail-app", "main#main"].every((name) => document.querySelectorAll(name).length === 1);
  return { pwned: window.__pwned ?? null, polluted: {}.polluted ?? null, intact, found };
}"""

OPEN_EVERYTHING = """() => {
  const folded = "main details:not([open]) > summary, main [aria-expanded=false].action-line";
  for (const each of document.querySelectorAll(folded)) each.click();
}"""


async def harmless(visitor: Visitor) -> None:
    state = await visitor.page.evaluate(HARM)
    assert state == {"pwned": None, "polluted": None, "intact": True, "found": []}


HARMFUL = {
    "a javascript address": "make('a', { href: 'javascript:window.__pwned=1' })",
    "a frame": "make('iframe', {})",
    "a picture from elsewhere": "make('img', { src: 'https://evil.example/x.png' })",
    "a link that may reach back": "make('a', { href: 'https://evil.example/' })",
    "a script that ran": "window.__pwned = 1",
}


@pytest.mark.parametrize("harm", HARMFUL.values(), ids=HARMFUL)
async def test_harm_would_be_noticed(hub: ServedHub, visit: Visit, harm: str) -> None:
    mallory = await visit(hub)
    mallory.expects("evil.example")
    await harmless(mallory)
    make = (
        "const make = (tag, attributes) => document.body.append(Object.assign(document.createElement(tag), attributes))"
    )
    await mallory.page.evaluate(f"() => {{ {make}; {harm}; }}")
    with pytest.raises(AssertionError):
        await harmless(mallory)


def hostile_events(attack: str, number: int) -> Iterator[e.Event]:
    """A run with the attack in every field of every event."""
    yield e.Started(run=number, meta=hostile_meta(attack), resume=attack)
    for group, events in enumerate(rows(attack)):
        for event in events:
            name = f"{number}-{group}"
            renamed: dict[str, Any] = {"run": number}
            if isinstance(event, e.Action):
                renamed["id"] = name
            elif isinstance(event, e.Text):
                renamed["block"] = name
            elif isinstance(event, e.Prompt):
                renamed |= {"uuid": name, "by": attack, "surface": attack, "reason": attack}
            elif isinstance(event, e.Completed):
                continue
            yield msgspec.structs.replace(event, **renamed)
    yield e.Thinking(block=f"{number}-t", text=attack, run=number)
    yield e.Action(id=f"{number}-w", kind="warning", title=attack, phase="completed", ok=False, run=number)
    yield from subagent(attack, number)
    yield e.ModeChanged(mode=attack, previous=attack, run=number)
    yield e.ModelChanged(model=attack, previous=attack, reason=attack, run=number)
    yield e.SessionRekeyed(resume=attack, reason=attack, run=number)
    yield e.Compacting(phase="failed", error=attack, run=number)
    yield e.RateLimit(status="rejected", limit_type=attack, utilization=1.0, run=number)
    yield e.ApiRetry(attempt=1, max_retries=2, error=attack, run=number)
    yield e.Hook(id=f"{number}-h", phase="completed", name=attack, ok=False, run=number)
    yield e.Completed(ok=False, error=attack, answer=attack, run=number)
    yield e.ProcessExited(exit_code=1, reason=attack, stderr=attack)


def hostile_meta(attack: str) -> e.Meta:
    return e.Meta(
        cwd=attack,
        model=attack,
        permission_mode=attack,
        cli_version=attack,
        mcp_servers=({"name": attack, "status": attack},),
        slash_commands=(attack,),
    )


def subagent(attack: str, number: int) -> Iterator[e.Event]:
    name = f"{number}-s"
    detail = {"tool_name": "Task", "tool_input": {"prompt": attack, "description": attack, "subagent_type": attack}}
    yield e.Action(id=name, kind="subagent", title=attack, phase="started", detail=detail, run=number)
    yield e.Task(id=name, phase="started", title=attack, kind=attack, status=attack, tool_use_id=name, summary=attack)
    yield e.Text(block=f"{number}-st", text=attack, parent=name, run=number)


def hostile_asks(attack: str, number: int) -> list[AskRow]:
    now = time.time()
    return [
        msgspec.structs.replace(row, digest=f"{number}-{index}", opened_at=now, title=attack)
        for index, row in enumerate(everywhere(attack))
    ]


async def written(hub: ServedHub, attack: str, events: Iterator[e.Event], asks: Sequence[AskRow] = ()) -> Written:
    """A session that is named after the attack."""
    used = RunUsageRow(run=1, model=attack[:200], at=time.time(), day=time.strftime("%Y-%m-%d"), cost_usd=1.0)
    return await write_session(
        hub.hub.store, events, title=attack[:200], cwd=f"/tmp/{attack[:100]}", asks=asks, usage=[used]
    )


@shares
async def test_in_conversations(hub: ServedHub, visit: Visit, attacks: tuple[str, ...]) -> None:
    sessions = [await written(hub, attack, hostile_events(attack, 1)) for attack in attacks]
    mallory = await visit(hub)
    for session in sessions:
        await mallory.follow(f"/s/{session.id}")
        here = mallory(f"handrail-session[data-session='{session.id}']")
        await expect(here.locator("[data-type=end]")).to_be_attached()
        await mallory.page.evaluate(OPEN_EVERYTHING)
        await mallory.page.evaluate(OPEN_EVERYTHING)
        await expect(here.locator(".inside .spinner:visible:not([role=img])")).to_have_count(0)
        assert await here.locator(".detail").count() >= len(list(rows(""))) - 4  # all but texts, prompts and notices
        await harmless(mallory)


@shares
async def test_on_cards_and_lists(hub: ServedHub, visit: Visit, attacks: tuple[str, ...]) -> None:
    asks = 0
    for number, attack in enumerate(attacks):
        cards = hostile_asks(attack, number)
        asks += sum(card.state == "pending" for card in cards)
        await written(hub, attack, iter(()), cards)
    mallory = await visit(hub)
    await expect(mallory("handrail-inbox handrail-ask")).to_have_count(asks)
    await mallory.open_cards()
    await mallory.page.evaluate(OPEN_EVERYTHING)
    await harmless(mallory)
    for path, element in PAGES.items():
        await mallory.follow(path)
        await expect(mallory(element)).to_be_visible()
        await expect(mallory(f"{element} .spinner:visible")).to_have_count(0)
        await harmless(mallory)


PAGES = {
    "/sessions": "handrail-sessions",
    "/usage": "handrail-usage",
    "/new": "handrail-new-session",
    "/hosts": "handrail-hosts",
    "/policy": "handrail-policy",
}


def hostile_facts(attack: str) -> wire.HostFacts:
    """A host with the attack in everything that it says of itself."""
    return wire.HostFacts(
        handrail=attack,
        system=attack,
        clis=(wire.CliFacts(version=attack, path=attack, logged_in=False),),
        roots=(attack,),
        labels=(attack,),
        trouble=attack,
        profiles=(attack,),
        probe={"status": attack, "text": attack, "findings": [attack]},
    )


async def test_in_what_hosts_say(hub: ServedHub, visit: Visit, tmp_path: Path) -> None:
    """Names, labels, directories, versions and troubles of hosts; some of them are connected, and ask."""
    now = time.time()
    keys = [new_secret(HOST_PREFIX) for _ in PAYLOADS]
    for number, attack in enumerate(PAYLOADS):
        await hub.hub.store.add_host(
            HostRow(
                id=f"h{number}",
                # The hub lets no such host in: this is what an older or a broken one may have stored.
                name=attack[:100] or "x",
                key_hash=hashed(keys[number]),
                enrolled_at=now,
                last_seen_at=now,
                facts=msgspec.json.encode(hostile_facts(attack)),
            )
        )
    await hub.hub.hosts.registry.load()
    async with AsyncExitStack() as stack:
        connected = range(0, len(PAYLOADS), 8)
        for number in connected:
            store = SqliteStore(str(tmp_path / f"host-{number}.db"))
            await store.open()
            stack.push_async_callback(store.close)
            told = {"host_id": f"h{number}", "name": PAYLOADS[number][:100], "key": keys[number]}
            host = FakeHost(hub, told, store)
            host.facts = hostile_facts(PAYLOADS[number])
            link = await stack.enter_async_context(host.connected())
            session = await host.session(PAYLOADS[number][:200])
            await host.asks(session)
            await link.offer()
            await link.copy(session)
        mallory = await visit(hub)
        await expect(mallory("handrail-inbox .ask-host")).to_have_count(len(connected))
        await harmless(mallory)
        await mallory.follow("/hosts")
        await expect(mallory("handrail-host-card")).to_have_count(len(PAYLOADS) + 1)
        await expect(mallory("handrail-host-card[data-state=connected]")).to_have_count(len(connected) + 1)
        await harmless(mallory)
        await mallory.page.get_by_role("button", name="More about").first.click()
        await harmless(mallory)
        for path, element in PAGES.items():
            await mallory.follow(path)
            await expect(mallory(element)).to_be_visible()
            await expect(mallory(f"{element} .spinner:visible")).to_have_count(0)
            await harmless(mallory)
        await mallory.follow(f"/new?host=h{connected[0]}")
        await expect(mallory.page.get_by_label("Machine")).to_have_value(f"h{connected[0]}")
        await harmless(mallory)
        await mallory.open_session(session)
        await expect(mallory.card.locator(".ask-host")).to_be_visible()
        await harmless(mallory)
    # They are all gone now.
    await expect(mallory.card.locator(".ask-away")).to_be_visible()
    await harmless(mallory)


async def test_in_names_of_files(hub: ServedHub, visit: Visit) -> None:
    names = [attack for attack in PAYLOADS if not set(attack) & set("/\x00") and len(attack.encode()) < 200]
    for name in names:
        (hub.directory / name).mkdir()
        (hub.directory / name / f"zz{name[:100]}").touch()
    session = await hub.session(sim.loop_turns())
    await session.send("Hello")
    mallory = await visit(hub)
    await mallory.goto("/new")
    await mallory.page.get_by_role("button", name="Browse").click()
    entries = mallory(".directory-list li")
    await expect(entries.nth(len(names) // 2)).to_be_visible()
    await harmless(mallory)
    await mallory.open_session(session.id)
    for typed in ("@zz", "@zz<", "@zz[", "@zz'"):
        await mallory.field.fill("")
        await mallory.field.press_sequentially(typed)
        await expect(mallory.page.get_by_role("option").first).to_be_visible()
        await harmless(mallory)


async def test_over_the_wire_in_pieces(hub: ServedHub, visit: Visit) -> None:
    turns = [
        sim.turn(
            sim.say(attack),
            sim.tool("Bash", {"command": attack, "description": attack}, output=attack, ask=False),
            sim.tool(f"mcp__{attack[:60]}__x", {attack[:100]: attack}, output=attack, is_error=True, ask=False),
            result={"result": attack},
        )
        for attack in PAYLOADS
    ]
    options = Options(cli_path=str(hub.simulated(*turns).path), cwd=str(hub.directory), include_partial_messages=True)
    session = await hub.manager.start(options)
    mallory = await visit(hub)
    await mallory.open_session(session.id)
    for attack in PAYLOADS:
        await session.run(attack)
    await session.send("the very last")
    await expect(mallory("[data-type=prompt]").last).to_contain_text("the very last")
    await harmless(mallory)
    scroller = mallory("handrail-thread .scroller")
    for _ in range(30):
        await scroller.evaluate("(scroller) => scroller.scrollBy(0, -scroller.clientHeight * 2)")
        await mallory.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
    await harmless(mallory)

"""A session as a file: readable, complete, and harmless whatever was said in it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from handrail.events import model as e
from handrail.events.codec import decode_event
from handrail.events.endings import run_error, was_interrupted
from handrail.protocol import descriptions as d
from handrail.protocol.asks import Ask
from handrail.sessions.ask_records import ask_record
from handrail.sessions.exporting.html import export_html
from handrail.sessions.exporting.jsonl import export_jsonl
from handrail.sessions.exporting.markdown import export_markdown
from handrail.sessions.exporting.noise import is_any_hook
from handrail.sessions.exporting.safe_markdown import fence, safe_markdown
from handrail.sessions.exporting.story import Call, Message, Remark, RunStart, tell
from handrail.sessions.exporting.words import LONGEST
from handrail.store.base import SessionRow

BEGAN = 1_794_799_082.0
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def row(**changes: Any) -> SessionRow:
    known = SessionRow(
        id="3f2a9c1e8b7d4f6aa1b2c3d4e5f60718",
        cwd="/home/ada/weather",
        created_at=BEGAN,
        updated_at=BEGAN + 60,
        title="Fix the rounding",
        cli_session_id="0a1b2c3d-0000-4000-8000-000000000000",
        model="claude-opus",
        cost_usd=0.42,
        settings=b'{"env": {"TOKEN": "secret"}}',
        owner='{"pid": 1}',
    )
    return msgspec.structs.replace(known, **changes)


def started(name: str, given: dict[str, Any], *, id: str = "call", kind: Any = "tool", **more: Any) -> e.Action:
    title = more.pop("title", name)
    detail = {"tool_name": name, "tool_input": given}
    return e.Action(id=id, kind=kind, title=title, phase="started", detail=detail, at=BEGAN + 2, run=1, **more)


def ended(content: Any, *, id: str = "call", ok: bool = True, **detail: Any) -> e.Action:
    told = {"tool_use_id": id, "content": content, **detail}
    return e.Action(id=id, kind="tool", title="", phase="completed", ok=ok, detail=told, at=BEGAN + 5, run=1)


def bash(command: str, output: str, *, id: str = "call", ok: bool = True) -> list[e.Event]:
    return [started("Bash", {"command": command}, id=id, kind="command", title=command), ended(output, id=id, ok=ok)]


def asked(what: d.What, *, kind: Any = "permission", tool: str = "Bash", call: str | None = None) -> e.AskOpened:
    flags = (d.Flag(code="recursive", words="deletes recursively", where="rm -r"),)
    described = d.Description(title=f"{tool}: something", kind=kind, tool=tool, what=what, flags=flags)
    ask = Ask(
        id="ask",
        kind=kind,
        request={},
        tool_name=tool,
        tool_use_id=call,
        described=d.LazyDescription(lambda: described),
    )
    return e.AskOpened(
        ask_id="ask", kind=kind, digest="1", title=described.title, ask=ask_record(ask), at=BEGAN + 3, run=1
    )


def answered(answer: dict[str, Any] | None, outcome: Any = "decided") -> e.AskClosed:
    who = {"by": "ada", "surface": "telegram", "decided_at": BEGAN + 75} if answer else {}
    return e.AskClosed(ask_id="ask", outcome=outcome, answer=answer, at=BEGAN + 75, run=1, **who)  # type: ignore[arg-type]


def run_of(*events: e.Event) -> list[e.Event]:
    return [
        e.Prompt(uuid="1", content="Fix *it*", by="ada", surface="terminal", at=BEGAN),
        e.Started(resume="x", at=BEGAN + 1, run=1),
        *events,
        e.Completed(ok=True, answer="Done.", cost_usd=0.42, duration_ms=61_000, num_turns=3, at=BEGAN + 62, run=1),
    ]


def said(text: str) -> e.Text:
    return e.Text(block="1", text=text, at=BEGAN + 2, run=1)


def both(*events: e.Event) -> tuple[str, str]:
    told = run_of(*events)
    return export_markdown(row(), told), export_html(row(), iter(told))


def test_the_libraries_that_write_pages_are_loaded_when_a_page_is_written() -> None:
    check = "import sys; import handrail.sessions.exporting; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout.split()
    assert {"markdown_it", "nh3", "pygments"}.isdisjoint(loaded)


def test_the_guide_says_where_outputs_are_cut() -> None:
    guide = (Path(__file__).parent.parent.parent / "docs" / "guides" / "sessions.md").read_text()
    assert f"An output of more than {LONGEST:,} characters is cut" in guide


# ---------------------------------------------------------------- the story


def test_a_message_is_told_with_the_run_that_answers_it() -> None:
    kinds = [type(item) for item in tell(run_of())]
    assert kinds[:2] == [RunStart, Message]


def remarks(*events: e.Event) -> list[str]:
    return [item.text for item in tell(events) if isinstance(item, Remark)]


def test_only_a_message_that_claude_never_saw_is_lost() -> None:
    sent = e.Prompt(uuid="1", content="Fix *it*", state="queued")
    taken_up, lost = e.Prompt(uuid="1", state="started"), e.Prompt(uuid="1", state="lost")
    assert remarks(sent, lost) == ["a message was lost before Claude is known to have seen it: Fix *it*"]
    assert remarks(sent, taken_up, lost) == []


def test_what_ended_a_run_is_told_once() -> None:
    gone = "the machine was switched off"
    end = e.Completed(ok=False, error=gone, run=1)
    assert remarks(end, e.ProcessExited(expected=False, reason=gone)) == []
    assert remarks(e.ProcessExited(expected=False, reason=gone)) == [gone]


def test_only_a_title_that_somebody_gave_is_told() -> None:
    assert remarks(e.Titled(title="Fix it")) == []
    assert remarks(e.Titled(title="Mend it", by="ada")) == ["the session is called “Mend it” now, says ada"]


def test_a_lost_ask_that_is_answered_later_is_told_again() -> None:
    told = both(
        *bash("rm -r x", "gone"),
        asked(d.Command(text="rm -r x")),
        answered(None, "lost"),
        answered({"type": "allow"}, "resumed"),
    )
    for page in told:
        assert "never answered: the session ended first" in page
        assert "allowed after the session had ended" in page


def test_a_run_that_was_stopped_is_no_failure() -> None:
    diagnostic = "[ede_diagnostic] result_type=user"
    stopped = e.Completed(ok=False, error=diagnostic, detail={"terminal_reason": "aborted_tools"}, run=1)
    for page in (export_markdown(row(), [stopped]), export_html(row(), [stopped])):
        assert "interrupted" in page
        assert "ede_diagnostic" not in page
    broken = msgspec.structs.replace(stopped, error="Reached maximum number of turns")
    assert not was_interrupted(broken)
    assert run_error(broken) == "Reached maximum number of turns"


def test_that_some_hook_asks_is_no_news() -> None:
    assert is_any_hook(d.Reason(code="decision_reason_hook_source", words="settings"))
    assert not is_any_hook(d.Reason(code="decision_reason_hook_source", words="plugin guard"))


def test_what_happens_inside_of_a_subagent_is_told_inside_of_its_call() -> None:
    events = [
        started("Agent", {"prompt": "look"}, id="agent", kind="subagent", title="Look around"),
        started("Read", {"file_path": "/a"}, id="read", parent="agent"),
        said("Meanwhile."),
        ended("text", id="read"),
        ended("report", id="agent"),
        started("Read", {"file_path": "/b"}, id="late", parent="agent"),
        ended("text", id="late"),
    ]
    calls = [item for item in tell(run_of(*events)) if isinstance(item, Call)]
    assert [call.started.id for call in calls] == ["agent", "late"]
    assert [item.started.id for item in calls[0].inside if isinstance(item, Call)] == ["read"]
    assert calls[1].within == "Look around"


def test_a_call_without_an_end_is_over_with_its_run() -> None:
    markdown, _ = both(started("Bash", {"command": "sleep"}, kind="command", title="sleep"), said("Later."))
    assert "… <b>Bash</b>" in markdown
    assert markdown.index("sleep") < markdown.index("Later.")


def test_the_story_of_a_session_that_goes_on_holds_nothing_back_for_long() -> None:
    def endless() -> Iterator[e.Event]:
        for number in range(1_000):
            yield from run_of(*bash(f"echo {number}", "x", id=str(number)))

    items = tell(endless())
    for _ in range(10):
        next(items)


# ---------------------------------------------------------------- Markdown


def test_markdown_says_what_where_and_how_to_go_on() -> None:
    markdown, _ = both(said("All is **well**."))
    assert markdown.startswith("# Fix the rounding\n")
    assert "| Directory | `/home/ada/weather` |" in markdown
    assert "| Cost | $0.42 |" in markdown
    assert "**ada** (terminal)" in markdown
    assert "> Fix *it*" in markdown
    assert "All is **well**." in markdown
    assert "✓ *done · 1 min 1 s · 3 turns · $0.42*" in markdown
    assert markdown.endswith("```sh\nclaude --resume 0a1b2c3d-0000-4000-8000-000000000000\n```\n")


def test_a_call_is_folded_with_its_command_and_its_output() -> None:
    markdown, html = both(*bash("ls -l", "\x1b[31mred\x1b[0m\x1b]0;title\x07"))
    assert "<details>\n<summary>✓ <b>Bash</b> <code>ls -l</code></summary>" in markdown
    assert "```bash\nls -l\n```" in markdown
    assert "```text\nred\n```" in markdown
    assert '<span class="f1">red</span>' in html


def test_an_edit_is_a_diff_with_the_lines_of_the_file_where_they_are_known() -> None:
    given = {"file_path": "/home/ada/weather/a.py", "old_string": "one\n", "new_string": "two\n"}
    call = started("Edit", given, kind="file_change", title=given["file_path"])
    markdown, html = both(call, ended("ok"))
    assert "<code>a.py  +1 −1</code>" in markdown
    assert "```diff\n@@ -1,1 +1,1 @@\n-one\n+two\n```" in markdown
    assert '<span class="gd">-one</span>' in html
    patch = [{"oldStart": 7, "oldLines": 1, "newStart": 7, "newLines": 1, "lines": ["-one", "+two"]}]
    patched = ended("ok", tool_use_result={"structuredPatch": patch})
    assert "@@ -7,1 +7,1 @@" in export_markdown(row(), run_of(call, patched))


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert fence("a\n````\nb").split("\n")[0] == "`````"
    markdown, _ = both(*bash("echo", "```\n</details>\n# out"))
    assert "````text\n```\n</details>\n# out\n````" in markdown


def test_hidden_characters_are_shown() -> None:
    for page in both(*bash("rm \u202etxt.exe", "a\u200bb"), said("zero\u200bwidth")):
        assert "\u202e" not in page
        assert "\u200b" not in page
        assert "U+202E" in page


def test_long_outputs_are_cut_and_say_so() -> None:
    for page in both(*bash("cat", "line\n" * 100_000)):
        assert len(page) < 200_000
        assert "more lines: the JSON Lines export has everything" in page


# ---------------------------------------------------------------- asks


def test_an_ask_says_who_decided_what_and_when() -> None:
    rule = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "rm *"}], "behavior": "allow"}
    allow = {"type": "allow", "updated_permissions": [{**rule, "destination": "session"}]}
    call = bash("rm -r build", "")
    markdown, html = both(call[0], asked(d.Command(text="rm -r build"), call="call"), answered(allow), call[1])
    for page in (markdown, html):
        assert "deletes recursively: rm -r" in page
        assert re.search(r"allowed(\*\*|</b>) by ada \(telegram\)", page)
        assert "03:19:17, after 1 min 12 s" in page
        assert re.search(r"allow Bash\(rm \\?\*\), for this session", page)


@pytest.mark.parametrize(
    ("answer", "outcome", "words"),
    [
        ({"type": "deny", "message": "Keep it."}, "decided", ["denied", "Keep it."]),
        ({"type": "deny", "message": "No.", "interrupt": True}, "decided", ["denied and the turn ended"]),
        ({"type": "allow", "updated_input": {"command": "ls"}}, "decided", ["With another input", "command"]),
        ({"type": "answers", "answers": {"Which?": ["A", "B"]}}, "decided", ["answered", "Which? → A, B"]),
        ({"type": "approve_plan", "mode": "acceptEdits"}, "decided", ["plan approved: accept every edit"]),
        ({"type": "approve_in_fresh_context", "plan": "Mine"}, "decided", ["in a fresh context", "Mine"]),
        ({"type": "revise_plan", "feedback": "Shorter"}, "decided", ["plan sent back", "Shorter"]),
        ({"type": "reject_plan"}, "decided", ["plan rejected"]),
        ({"type": "elicited", "action": "decline"}, "decided", ["decline"]),
        ({"type": "failed", "error": "boom"}, "decided", ["failed", "boom"]),
        ({"type": "something", "new": 1}, "decided", ["answered", "new"]),
        ({"behavior": "deny", "message": "As on the wire"}, "decided", ["denied", "As on the wire"]),
        ({"type": "allow"}, "unsent", ["allowed, but the process ended just then", "was told is not known"]),
        (None, "cancelled", ["took it back"]),
        (None, "expired", ["nobody answered in time"]),
        (None, "lost", ["never answered"]),
    ],
)
def test_every_answer_has_its_words(answer: dict[str, Any] | None, outcome: str, words: list[str]) -> None:
    for page in both(asked(d.Command(text="rm -r build")), answered(answer, outcome)):
        for word in words:
            assert word in page


def test_what_was_asked_is_shown_whole() -> None:
    question = d.Question(text="Which unit?", options=(d.Option(label="Celsius", description="as before"),))
    change = d.FileChange(path="/a.py", outcome="created", text="new text")
    for what in (
        d.Command(text="needle"),
        d.Fetch(url="https://example.com/needle"),
        d.PlanReview(plan="1. needle"),
        d.Questions(questions=(msgspec.structs.replace(question, text="needle"),)),
        d.Form(server="x", message="needle"),
        d.Change(change=msgspec.structs.replace(change, text="needle")),
    ):
        for page in both(asked(what), answered({"type": "allow"})):
            assert "needle" in page


def test_an_ask_of_a_newer_handrail_is_shown_as_it_is() -> None:
    strange = e.AskOpened(ask_id="ask", kind="new", digest="1", title="New", ask={"kind": 7, "needle": True}, run=1)
    for page in both(strange, answered({"type": "allow"})):
        assert "needle" in page


# ---------------------------------------------------------------- everything has its place


def test_every_kind_of_event_can_be_exported() -> None:
    events: list[e.Event] = [
        e.Thinking(block="1", text="Hm."),
        e.Thinking(block="2", text="", redacted=True),
        e.Text(block="3", text="Cut", partial=True),
        e.ModeChanged(mode="plan"),
        e.ModelChanged(model="opus"),
        e.SessionRekeyed(resume="new-id", reason="clear"),
        e.Compacting(phase="started"),
        e.Compacting(phase="completed", tokens_before=12_345),
        e.Compacting(phase="failed", error="no"),
        e.RateLimit(status="rejected", utilization=0.9, resets_at=BEGAN),
        e.ApiRetry(attempt=1, max_retries=10, error="overloaded", status=529),
        e.Task(id="t", phase="completed", title="build", ok=False, background=True, summary="it broke"),
        e.Hook(id="h", phase="completed", name="lint", ok=False, detail={"stderr": "bad"}),
        e.Usage(context_tokens=5),
        e.Titled(title="Another", by="ada"),
        e.Unknown(frame_type="system/new", frame={"needle": 1}),
        e.Action(id="n", kind="note", title="A note", phase="completed"),
        e.Action(id="w", kind="warning", title="A warning", phase="completed", ok=False, detail={"hint": "Do this."}),
        e.Action(id="u", kind="tool", title="unseen", phase="completed", ok=False, detail={"tool_use_id": "u"}),
        started("TodoWrite", {"todos": [{"content": "one", "status": "completed"}]}, id="td", kind="note"),
        started("mcp__github__issue", {"title": "Flaky"}, id="mcp"),
        e.ProcessExited(exit_code=137, stderr="out of memory"),
        e.Prompt(uuid="1", state="lost"),
    ]
    for page in both(*events):
        for word in ("A warning", "Do this.", "12,345", "out of memory", "it broke", "needle", "new-id"):
            assert word in page
        assert "github · issue" in page


def test_images_are_inside_of_the_page_and_only_if_they_are_images() -> None:
    def shown(media_type: str, data: str) -> str:
        source = {"type": "base64", "media_type": media_type, "data": data}
        return export_html(row(), [e.Prompt(uuid="1", content=[{"type": "image", "source": source}])])

    assert f'src="data:image/png;base64,{PIXEL}"' in shown("image/png", PIXEL)
    for media_type, data in (
        ("image/svg+xml", "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"),
        ("text/html", PIXEL),
        ("image/png", "PHNjcmlwdD4="),
        ("image/png", '"><script>'),
    ):
        assert "<img" not in shown(media_type, data)


def test_json_lines_begin_with_the_session_and_hold_every_event() -> None:
    events = run_of(*bash("ls", "x"))
    first, *rest = list(export_jsonl(row(), iter(events)))
    header = json.loads(first)
    assert header["type"] == "session"
    assert header["title"] == "Fix the rounding"
    assert b"secret" not in first
    assert "owner" not in header
    assert [decode_event(line) for line in rest] == events
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in (first, *rest))


def test_a_session_without_a_title_or_events() -> None:
    empty = row(title="", cli_session_id=None, cost_usd=0.0, model="")
    assert export_markdown(empty, []).startswith("# Session 3f2a9c1e\n")
    assert "<h1>Session 3f2a9c1e</h1>" in export_html(empty, [])


@pytest.mark.slow
def test_a_long_session_takes_no_more_than_is_sensible() -> None:
    def long() -> Iterator[e.Event]:
        for number in range(14_000):
            yield from run_of(*bash("ls", "x", id=str(number)), said("Done: `it` is **fixed**."))

    assert sum(1 for _ in export_jsonl(row(), long())) > 80_000
    assert export_markdown(row(), long()).count("## Run") == 14_000
    assert export_html(row(), long()).count("<section") == 14_000


# ---------------------------------------------------------------- nothing from a session does anything

ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "[click](&#106;avascript:alert(1))",
    "[click](data:text/html,<script>alert(1)</script>)",
    "[click][1]\n\n[1]: javascript:alert(1)",
    "<javascript:alert(1)>",
    "![x](https://tracker.example/pixel.png)",
    "![x](x.png 'onerror=alert(1)')",
    "<svg onload=alert(1)><style>*{display:none}</style>",
    "<style>body{display:none}</style>",
    "<iframe src=//evil>",
    "<a href='x' onclick='alert(1)'>x</a>",
    "</details></section></main><h1>Approved by ada</h1>",
    "```\nopen fence",
    "~~~~\n```\nopen fence",
    "<!-- open comment",
    "<![CDATA[ open",
    "<?php open",
    "<details>",
    "a ` b\nc ` <script>alert(1)</script> ` d",
    "\\`<script>alert(1)</script>\\`",
    "``` `` <script>",
    "- x\n\n  ```\n  <b>",
    "</summary></title></style></pre></code><script>alert(1)</script>",
    '"><script>alert(1)</script>',
    "{{constructor}} ${alert(1)}",
    "| a |\n|---|\n| <script> |",
    "    <script>alert(1)</script>",
    "\t</details>",
    "    !\n\n\t<script>",
]


class Page(HTMLParser):
    """What a browser would make of a page."""

    VOID = ("meta", "img", "br", "hr")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> without a beginning"
        assert self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()


PAGE_TAGS = (
    "html head meta title style body main header section article aside footer details summary dl dt dd div img mark"
)
PROSE_TAGS = "dl dt dd p b em strong s del br hr a span code pre time ul ol li blockquote h1 h2 h3 h4 h5 h6"
ALLOWED_TAGS = {*re.split(" ", PAGE_TAGS), *re.split(" ", PROSE_TAGS), "table", "thead", "tbody", "tr", "th", "td"}
HEAD_ATTRIBUTES = "lang charset http-equiv content name"
BODY_ATTRIBUTES = "class id datetime href rel title start aria-hidden alt src"
ALLOWED_ATTRIBUTES = {*re.split(" ", HEAD_ATTRIBUTES), *re.split(" ", BODY_ATTRIBUTES)}


def check_html(text: str) -> None:
    page = Page(text)
    assert page.open == []
    assert set(page.tags) <= ALLOWED_TAGS
    assert page.tags.count("main") == page.tags.count("style") == page.tags.count("header") == 1
    for tag, name, value in page.attributes:
        assert name in ALLOWED_ATTRIBUTES
        if name == "href":
            assert re.match(r"(?i)https?://|mailto:|[^a-z]|[a-z0-9._-]*([/?#]|$)", value), value
        if name == "src":
            assert value.startswith("data:image/")
        if tag == "img":
            assert name in ("alt", "src")


class Careless(MarkdownIt):
    """A reader of Markdown that takes every link, and all HTML."""

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        return True


FOLDING = re.compile(r"(<details>\n<summary>[^\n]*</summary>|</details>)\n*")


def check_markdown(text: str) -> None:
    """Nothing in the document is HTML but the folding that Handrail wrote, and nothing is left open."""
    open_details = 0
    for token in everything(Careless("commonmark", {"html": True}).enable("table").parse(text)):
        assert token.type != "image"
        if token.type == "html_block":
            assert FOLDING.fullmatch(token.content), token.content
            open_details += 1 if token.content.startswith("<details>") else -1
        if token.type == "html_inline":
            assert token.content in ("<b>", "</b>", "<code>", "</code>"), token.content
        if token.type == "link_open":
            assert re.match(r"(?i)https?://|mailto:|[^a-z]|[a-z0-9._-]*([/?#]|$)", str(token.attrGet("href")))
    assert open_details == 0
    assert text.rstrip().endswith("claude --resume 0a1b2c3d-0000-4000-8000-000000000000\n```")
    last = Careless("commonmark", {"html": True}).parse(text)[-1]
    assert (last.type, last.info, last.level) == ("fence", "sh", 0)


def everything(tokens: Any) -> Iterator[Any]:
    for token in tokens:
        yield token
        yield from everything(token.children or [])


def everywhere(attack: str) -> list[e.Event]:
    """Every place of a session into which a text from elsewhere can get."""
    question = d.Question(text=attack, header=attack, options=(d.Option(label=attack, description=attack),))
    return run_of(
        e.Prompt(uuid=attack, content=attack, by=attack, surface=attack, run=1),
        e.Prompt(uuid="2", content=[{"type": "text", "text": attack}, {"type": attack}], run=1),
        said(attack),
        e.Text(block="1", text=attack, partial=True),
        e.Thinking(block="1", text=attack),
        *bash(attack, attack),
        started(attack, {attack: attack}, id="2", title=attack),
        ended([{"type": "text", "text": attack}, {"type": attack, "x": attack}], id="2", ok=False),
        started("Write", {"file_path": f"/a/{attack}", "content": attack}, id="3", kind="file_change", title=attack),
        ended("ok", id="3"),
        started("Edit", {"file_path": attack, "old_string": "", "new_string": attack}, id="4", kind="file_change"),
        started("Agent", {"prompt": attack}, id="5", kind="subagent", title=attack),
        e.Text(block="1", text=attack, parent="5"),
        ended(attack, id="5"),
        e.Text(block="1", text=attack, parent="5"),
        started("TodoWrite", {"todos": [{"content": attack}]}, id="6"),
        asked(d.Questions(questions=(question,)), kind="question"),
        answered({"type": "answers", "answers": {attack: attack}, "response": attack}),
        asked(d.PlanReview(plan=attack), kind="plan"),
        answered({"type": "revise_plan", "feedback": attack}),
        asked(d.Command(text=attack)),
        answered({"type": "deny", "message": attack}),
        e.ModeChanged(mode=attack),
        e.Unknown(frame_type=attack, frame={attack: attack}),
        e.Action(id="n", kind="warning", title=attack, phase="completed", detail={"hint": attack}),
        e.Completed(ok=False, error=attack, run=2),
        e.ProcessExited(exit_code=1, stderr=attack, reason=attack),
    )


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_does_nothing_wherever_it_stands(attack: str) -> None:
    victim = row(title=attack, cwd=f"/home/{attack}", model=attack)
    check_html(export_html(victim, everywhere(attack)))
    check_markdown(export_markdown(victim, everywhere(attack)))


MARKS = ["<", ">", "`", "``", "```", "~~~", "[", "]", "(", ")", "!", "\\", "- ", "> ", "# ", "|", ":", '"', "'", "="]
WORDS = ["<b>", "</details>", "javascript:", "<!--", "-->", "<script>", "&lt;", "&#58;", "a", "x"]
PIECES = [*MARKS, *WORDS, " ", "    ", "\t", "\n", "\n\n"]
NASTY = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@given(NASTY)
@settings(max_examples=200, deadline=None)
def test_markdown_from_elsewhere_stays_inside_of_itself(text: str) -> None:
    tokens = Careless("commonmark", {"html": True}).enable("table").parse(f"{safe_markdown(text)}\n\nAfterwards")
    assert [token.content for token in tokens if token.type == "inline" and token.level == 1][-1] == "Afterwards"
    assert tokens[-3].level == 0
    for token in everything(tokens):
        assert token.type not in ("html_block", "html_inline", "image")
        if token.type == "link_open":
            assert not str(token.attrGet("href")).lower().startswith("javascript:")


@given(NASTY)
@settings(max_examples=40, deadline=None)
def test_html_from_elsewhere_stays_inside_of_itself(text: str) -> None:
    check_html(export_html(row(title=text), run_of(said(text), *bash(text, text))))


def test_the_page_needs_nothing_and_may_do_nothing() -> None:
    html = export_html(row(), run_of(said("![x](https://example.com/x.png) and [y](https://example.com)")))
    assert "<script" not in html
    assert "src=" not in html
    assert "url(" not in html
    assert "default-src &#x27;none&#x27;" in html
    assert '<a href="https://example.com" rel="noopener noreferrer">y</a>' in html

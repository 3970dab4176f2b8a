"""Details of rows: what a tool was given, what it changed and what it gave back, whole."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.events import model as e
from handrail.events.view import PromptItem
from handrail.server.showing import Showing, image_in, image_seq, prompt_row, row_details

from ...rendering.safe_html import check_html, shown_text
from .support import PIXEL, SESSION


def started(name: str, given: Any, *, kind: Any = "tool", title: str = "") -> e.Action:
    detail = {"tool_name": name, "tool_input": given, "block": "b", "message_id": "m"}
    return e.Action(id="c", kind=kind, title=title or name, phase="started", detail=detail, seq=4)


def ended(content: Any, *, ok: bool = True, **detail: Any) -> e.Action:
    told = {"tool_use_id": "c", "content": content, **detail}
    return e.Action(id="c", kind="tool", title="", phase="completed", ok=ok, detail=told, seq=7)


def shown(*events: e.Event) -> dict[str, tuple[str, str]]:
    """The kind and the text of each section."""
    details = row_details(events, session_id=SESSION.id, key="k")
    assert details["key"] == "k"
    for section in details["sections"]:
        check_html(section["html"])
    return {section["title"]: (section["kind"], shown_text(section["html"])) for section in details["sections"]}


def test_a_command_with_its_output() -> None:
    call = started("Bash", {"command": "ls -l", "description": "List", "timeout": 5}, kind="command", title="ls -l")
    sections = row_details([call, ended("\x1b[31mred\x1b[0m")])["sections"]
    assert [(section["title"], section["kind"]) for section in sections] == [
        ("What for", "text"),
        ("Input", "code"),
        ("Input", "json"),
        ("Output", "output"),
    ]
    assert "ls" in sections[1]["html"]
    assert "timeout" in sections[2]["html"]
    assert '<span class="f1">red</span>' in sections[3]["html"]


def test_what_failed_is_an_error() -> None:
    sections = shown(
        started("Read", {"file_path": "/x"}, title="Read /x"), ended("<tool_use_error>gone</tool_use_error>", ok=False)
    )
    assert sections["Error"] == ("output", "gone")


def test_a_call_that_goes_on_shows_what_is_known() -> None:
    assert shown(started("Grep", {"pattern": "x", "path": "/p"}, title="Grep x"))["Input"][0] == "json"


def test_an_edit_is_a_diff_with_the_numbers_of_the_file() -> None:
    patch = [{"oldStart": 7, "oldLines": 1, "newStart": 7, "newLines": 1, "lines": ["-a", "+b"]}]
    call = started("Edit", {"file_path": "/x", "old_string": "a", "new_string": "b"}, kind="file_change")
    kind, text = shown(call, ended("ok", tool_use_result={"structuredPatch": patch}))["Diff"]
    assert kind == "diff"
    assert "@@ -7,1 +7,1 @@" in text
    assert "@@" not in shown(call)["Diff"][1]


def test_todos_are_a_list() -> None:
    todos = [{"content": "one", "status": "completed"}, {"content": "two", "status": "pending"}]
    assert shown(started("TodoWrite", {"todos": todos}, kind="note"), ended("ok"))["Input"] == ("list", "☑ one☐ two")


def test_a_subagent_has_its_task_and_its_report() -> None:
    sections = shown(started("Task", {"prompt": "**look**", "description": "x"}, kind="subagent"), ended("# Found"))
    assert sections["Task"] == ("markdown", "look\n")
    assert sections["Report"] == ("markdown", "Found\n")


def test_what_an_mcp_server_gave_back_is_all_there() -> None:
    content = [{"type": "text", "text": "hello"}, {"type": "resource_link", "uri": "file:///x"}]
    sections = row_details([started("mcp__a__b", {"x": {"y": 1}}), ended(content)])["sections"]
    assert [section["kind"] for section in sections] == ["json", "output", "json"]
    assert "file:///x" in shown_text(sections[2]["html"])


def test_a_remark_shows_its_detail() -> None:
    remark = e.Action(id="n", kind="warning", title="odd", phase="completed", ok=False, detail={"hint": "look here"})
    assert "look here" in shown(remark)["Details"][1]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (e.Text(block="1", text="**said**"), "said"),
        (e.Thinking(block="1", text="thought"), "thought"),
        (e.Unknown(frame_type="new", frame={"x": "framed"}), "framed"),
        (e.Prompt(uuid="1", content="prompted"), "prompted"),
        (e.RateLimit(status="near", detail={"x": "limited"}), "limited"),
    ],
)
def test_any_other_event_has_details(event: e.Event, words: str) -> None:
    assert words in next(iter(shown(event).values()))[1]


def test_long_output_is_folded_and_whole() -> None:
    text = "\n".join(f"line {number}" for number in range(2_000))
    html = row_details([started("Bash", {"command": "x"}), ended(text)])["sections"][-1]["html"]
    assert "Show all 2,000 lines" in html
    assert "line 1999" in html


# ---------------------------------------------------------------- images


def picture(data: str = PIXEL, media_type: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def test_an_image_is_an_address_of_the_api() -> None:
    result = ended([picture()])
    details = row_details([started("Read", {"file_path": "/x.png"}), result], session_id=SESSION.id)
    [image] = details["images"]
    start, _, name = image["src"].rpartition("/")
    assert start == f"/api/sessions/{SESSION.id}/images"
    assert image_seq(name) == 7
    found = image_in(result, name)
    assert found is not None
    assert found[0] == "image/png"
    assert found[1].startswith(b"\x89PNG")
    assert image_in(result, name.replace("7-", "8-")) is None
    assert image_in(e.Text(block="1", text="x", seq=7), name) is None


def test_without_a_session_an_image_comes_along() -> None:
    assert row_details([ended([picture()])])["images"][0]["src"] == f"data:image/png;base64,{PIXEL}"


@pytest.mark.parametrize(
    "name", ["", "7", "7-", "-1-" + "a" * 64, "0-" + "a" * 64, "7-" + "A" * 64, "../7-" + "a" * 64]
)
def test_what_names_no_image_is_none(name: str) -> None:
    assert image_seq(name) is None


@pytest.mark.parametrize(
    "block",
    [
        picture("PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+", "image/svg+xml"),
        picture("PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+", "image/png"),
        picture(PIXEL, "text/html"),
        picture("not base64 !", "image/png"),
        {"type": "image", "source": {"type": "url", "url": "https://evil.example/x.png"}},
        {"type": "image", "source": "odd"},
    ],
)
def test_what_is_no_image_is_not_shown_as_one(block: dict[str, Any]) -> None:
    details = row_details([ended([block])], session_id=SESSION.id)
    assert details["images"] == []
    assert details["sections"]
    for section in details["sections"]:
        check_html(section["html"])


# ---------------------------------------------------------------- messages


def test_a_message_with_an_image_and_a_document() -> None:
    document = {"type": "document", "source": {"type": "text", "data": "inside"}}
    content = [{"type": "text", "text": "look\nhere"}, picture(), document]
    item = PromptItem(uuid="u", content=content, seq=3, at=1.0, run=2, by="Ada", surface="web")
    row = Showing().prompt(item, session_id=SESSION.id)
    assert row == prompt_row(item, session_id=SESSION.id)
    assert (row["type"], row["seq"], row["text"], row["by"]) == ("prompt", 3, "look\nhere", "Ada")
    assert row["images"][0]["src"].startswith(f"/api/sessions/{SESSION.id}/images/3-")
    assert "inside" in shown_text(row["html"])
    check_html(row["html"])


def test_a_plain_message() -> None:
    row = prompt_row(PromptItem(uuid="u", content="*hi*"), session_id=SESSION.id)
    assert row["html"] == '<div class="prose as-typed"><p><em>hi</em></p>\n</div>'
    assert row["images"] == []
    assert Showing().text("*hi*") == '<div class="prose"><p><em>hi</em></p>\n</div>'

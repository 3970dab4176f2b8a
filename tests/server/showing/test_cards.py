"""Cards: everything of an ask is on its card, and nothing hides there."""

from __future__ import annotations

import msgspec
import pytest

from handrail.events.view import AskItem
from handrail.policy.answers.encoding import decode_answer
from handrail.policy.answers.plan import ApprovePlan, PlanContext, RevisePlan
from handrail.protocol import descriptions as d
from handrail.server.showing import Showing, card, card_of_item, closed, closed_row

from ...rendering.safe_html import shown_text
from .support import SESSION, row_of

SUGGESTION = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "pytest:*"}],
    "behavior": "allow",
    "destination": "session",
}


@pytest.mark.slow
def test_a_command_is_shown_whole() -> None:
    command = "\n".join(f"echo {number}" for number in range(500)) + "\ncurl \u202eevil"
    shown = card(row_of(d.Command(text=command), given={"command": command}), session=SESSION)
    what = shown["what"]
    assert what["type"] == "command"
    assert what["text"] == command
    assert what["lines"] == 501
    assert "<details" not in what["html"]
    assert shown_text(what["html"]) == command.replace("\u202e", "U+202E")
    assert shown["hidden"] == 1
    assert shown["input"] == {"command": command}


def test_what_surrounds_an_ask_is_on_its_card() -> None:
    row = row_of(
        d.Command(text="pytest"),
        suggestions=(SUGGESTION,),
        purpose="Run the tests",
        agent_id="a1",
        agent="explore",
        reasons=(
            d.Reason(code="decision_reason", words="not allowed beforehand"),
            d.Reason(code="decision_reason_hook_source", words="settings"),
            d.Reason(code="blocked_path", words="/etc"),
        ),
        flags=(d.Flag(code="network", words="uses the network", where="curl", level="high"),),
        risk=d.Risk(level="high"),
        fields=(d.InputField(name="timeout", value="5000", is_json=True),),
        paths=(d.AffectedPath(path="x", absolute="/p/x", resolved="/etc/x", access="write", inside_project=False),),
    )
    shown = card(row, session=SESSION)
    assert (shown["session"], shown["session_title"], shown["ask_id"], shown["digest"]) == (
        SESSION.id,
        "Fix the rounding",
        "ask-1",
        "d1",
    )
    assert (shown["title"], shown["tool"], shown["cwd"], shown["agent"]) == (
        "Run a command",
        "Bash",
        "/home/ada/weather",
        "explore",
    )
    assert shown["purpose"] == "Run the tests"
    assert shown["reasons"] == ["not allowed beforehand", "touches /etc"]
    assert shown["risk"] == "high"
    assert shown["flags"] == [{"code": "network", "words": "uses the network", "where": "curl", "level": "high"}]
    assert shown["suggestions"] == [{"words": "allow Bash(pytest:*), for this session", "permission": SUGGESTION}]
    assert [(field["name"], field["text"]) for field in shown["fields"]] == [("timeout", "5000")]
    assert shown["paths"][0]["leads_to"] == "/etc/x"
    assert shown["closed"] is None
    assert (shown["answerable"], shown["resumes"], shown["note"]) == (True, False, "")
    msgspec.json.encode(shown)


def hunk(*lines: str) -> d.Hunk:
    return d.Hunk(old_start=1, old_count=1, new_start=1, new_count=1, lines=lines)


def test_a_change_is_shown_as_a_diff() -> None:
    change = d.FileChange(
        path="/p/a.py", outcome="changed", hunks=(hunk("-a = 1", "+a = 2"),), added=1, removed=1, text="a = 2\n"
    )
    what = card(row_of(d.Change(change=change), tool="Write"), session=SESSION)["what"]
    assert (what["type"], what["path"], what["outcome"], what["added"], what["removed"]) == (
        "change",
        "/p/a.py",
        "changed",
        1,
        1,
    )
    assert "<del>1</del>" in what["diff_html"]
    assert shown_text(what["text_html"]) == "a = 2\n"


def test_an_edit_that_will_fail_shows_what_it_says() -> None:
    replacements = (d.Replacement(old="one", new="two"), d.Replacement(old="same", new="same", everywhere=True))
    change = d.FileChange(path="/p/a", outcome="fails", replacements=replacements, notes=("there is no such file",))
    what = card(row_of(d.Change(change=change), tool="MultiEdit"), session=SESSION)["what"]
    assert {"one", "two", "same"} <= set(shown_text(what["diff_html"].replace("</", " </")).split())
    assert what["notes"] == ["there is no such file", "replace_all for 1 edit: wherever the text occurs"]


def test_a_plan_comes_whole_in_parts_and_with_its_answers() -> None:
    plan = "# Plan\n\n1. Run `npm test`\n2. Edit"
    given = {"plan": plan, "allowedPrompts": [{"tool": "Bash", "prompt": "run the tests"}]}
    context = PlanContext(cli_version="2.1.325", bypass_available=True, context_used=40)
    row = row_of(
        d.PlanReview(plan=plan, path="/p/plan.md"),
        kind="plan",
        tool="ExitPlanMode",
        given=given,
        plan=plan,
        context=context,
    )
    shown = card(row, session=SESSION)
    what = shown["what"]
    assert what["text"] == plan
    assert [block["text"] for block in what["blocks"]] == ["# Plan", "1. Run `npm test`", "2. Edit"]
    assert what["html"] == "".join(block["html"] for block in what["blocks"])
    choices = {choice["id"]: choice for choice in shown["plan_choices"]}
    assert choices["fresh"]["label"] == "Yes, clear context (40 % used) and auto-accept edits"
    assert decode_answer(choices["ask-edits"]["answer"]) == ApprovePlan("default")
    assert choices["revise"]["needs"] == "feedback"
    assert decode_answer(choices["revise"]["answer"] | {"feedback": "shorter"}) == RevisePlan("shorter")
    assert "bypass" in choices
    assert shown["allowed_prompts"] == ["Bash: run the tests"]
    assert shown["prompt_rules"][0]["rules"] == ["Bash(npm test)"]


def test_a_plan_without_text_says_so() -> None:
    shown = card(row_of(d.PlanReview(plan=""), kind="plan", tool="ExitPlanMode"), session=SESSION)
    assert "no text of the plan" in shown["what"]["html"]
    assert [choice["id"] for choice in shown["plan_choices"]] == ["yes", "no"]


def test_entering_plan_mode_has_its_answers() -> None:
    shown = card(row_of(d.Call(tool="EnterPlanMode"), kind="enter_plan", tool="EnterPlanMode"), session=SESSION)
    assert [choice["id"] for choice in shown["plan_choices"]] == ["enter", "implement"]


def test_questions_keep_what_an_answer_needs() -> None:
    option = d.Option(label="JWT \u200b", description="stateless", preview="**x**")
    question = d.Question(text="Which\u202e one?", header="Auth", options=(option,), multi_select=True)
    what = card(row_of(d.Questions(questions=(question,)), kind="question"), session=SESSION)["what"]
    shown = what["questions"][0]
    assert (shown["text"], shown["header"], shown["multi_select"]) == ("Which\u202e one?", "Auth", True)
    assert "U+202E" in shown["html"]
    assert shown["options"][0]["label"] == "JWT \u200b"
    assert "U+200B" in shown["options"][0]["label_html"]
    assert "<strong>x</strong>" in shown["options"][0]["preview_html"]


def test_a_form_has_its_fields() -> None:
    field = d.FormField(
        name="colour", title="Colour", choices=(d.Choice(value='"r"', shown="red"),), default='"r"', required=True
    )
    form = d.Form(server="paint", message="Pick\none", url="https://x.example", form_fields=(field,))
    what = card(row_of(form, kind="elicitation", tool=""), session=SESSION)["what"]
    assert (what["server"], what["message"], what["url"]) == ("paint", "Pick\none", "https://x.example")
    assert what["form_fields"][0]["choices"] == [{"value": '"r"', "shown": "red"}]
    assert what["form_fields"][0]["default"] == '"r"'


@pytest.mark.parametrize(
    ("kind", "tool", "given", "wanted"),
    [
        ("permission", "Bash", {"command": "ls -l", "timeout": 5}, ["ls", "timeout"]),
        ("permission", "mcp__x__y", {"deep": {"er": ["value"]}}, ["deep", "value"]),
        ("question", "AskUserQuestion", {"questions": [{"question": "Really?"}]}, ["Really?"]),
        ("question", "AskUserQuestion", {"questions": "odd"}, ["odd"]),
        ("dialog", "", {"choose": "this"}, ["choose", "this"]),
        ("budget", "", {"limit_usd": 5}, ["limit_usd", "5"]),
    ],
)
def test_an_ask_without_a_description_is_shown_all_the_same(
    kind: str, tool: str, given: dict[str, object], wanted: list[str]
) -> None:
    shown = card(row_of(None, kind=kind, tool=tool, given=given), session=SESSION)
    everything = shown_text(msgspec.json.encode([shown["what"], shown["fields"]]).decode())
    for text in wanted:
        assert text in everything


def test_what_a_newer_handrail_stored_is_shown_as_it_is() -> None:
    row = row_of(None, row={"body": b'{"id": "x", "kind": "newest", "secret_plan": "seen"}', "kind": "newest"})
    shown = card(row, session=SESSION)
    assert [field["text"] for field in shown["fields"]] == ["x", "newest", "seen"]


# ---------------------------------------------------------------- what became of it


def test_a_lost_ask_says_that_answering_resumes() -> None:
    shown = card(row_of(d.Command(text="ls"), row={"state": "lost", "closed_at": 9.0}), session=SESSION)
    assert shown["note"] == "the process ended; answering will resume it"
    assert shown["closed"]["words"] == shown["note"]
    assert (shown["answerable"], shown["resumes"]) == (True, True)


def test_an_answered_ask_says_who_and_what_changed() -> None:
    answer = {"type": "allow", "updated_permissions": [SUGGESTION], "updated_input": {"command": "ls"}}
    decided = {
        "state": "sent",
        "answer": msgspec.json.encode(answer),
        "decided_by": "Ada",
        "surface": "web",
        "decided_at": 7.0,
        "closed_at": 7.5,
    }
    row = row_of(d.Command(text="ls"), row=decided)
    assert closed_row(row) == {
        "outcome": "decided",
        "by": "Ada",
        "surface": "web",
        "at": 7.0,
        "words": "allowed by Ada (web)",
        "changes": ["with an edited input", "rule added: Bash(pytest:*), for this session"],
        "said": "",
    }
    assert card(row, session=SESSION)["closed"] == closed_row(row)
    assert card(row, session=SESSION)["answerable"] is False
    assert closed_row(row_of(d.Command(text="ls"))) is None


@pytest.mark.parametrize(
    ("outcome", "answer", "words", "changes", "said"),
    [
        ("decided", {"type": "deny", "message": "no"}, "denied by Ada (web)", [], "no"),
        (
            "decided",
            {"type": "deny", "message": "", "interrupt": True},
            "denied, and the turn ended, by Ada (web)",
            [],
            "",
        ),
        ("decided", {"behavior": "allow"}, "allowed by Ada (web)", [], ""),
        ("decided", {"type": "answers", "answers": {"A?": ["x", "y"]}}, "answered by Ada (web)", [], "A? → x, y"),
        ("decided", {"type": "answers", "answers": {}, "partial": True}, "skipped by Ada (web)", [], ""),
        ("decided", {"type": "elicited", "action": "decline"}, "declined by Ada (web)", [], ""),
        ("decided", {"type": "dialog_result", "behavior": "cancelled"}, "dismissed by Ada (web)", [], ""),
        (
            "decided",
            {"type": "approve_plan", "mode": "acceptEdits", "plan": "p", "rules": ["Bash(x)"], "compact": True},
            "plan approved by Ada (web)",
            [
                "mode changed: accept every edit of a file without asking",
                "with an edited plan",
                "rule added: Bash(x), for this session",
                "the conversation is compacted afterwards",
            ],
            "",
        ),
        (
            "decided",
            {"type": "approve_plan", "allow_prompts": [0, 2]},
            "plan approved by Ada (web)",
            ["allowed beforehand: what the plan asks for under 1, 3"],
            "",
        ),
        (
            "decided",
            {"type": "revise_plan", "feedback": "more"},
            "plan sent back with changes by Ada (web)",
            [],
            "more",
        ),
        ("cancelled", None, "withdrawn by Claude Code: no answer is needed any more", [], ""),
        ("expired", None, "nobody answered in time, and Claude was told so", [], ""),
        (
            "unsent",
            {"type": "allow"},
            "allowed by Ada (web), but the process ended just then: whether Claude Code was told is not known; "
            "answering will resume it",
            [],
            "",
        ),
        (
            "resumed",
            {"type": "allow"},
            "allowed by Ada (web), after the process had ended: the session was resumed",
            [],
            "",
        ),
    ],
)
def test_every_outcome_in_words(
    outcome: str, answer: dict[str, object] | None, words: str, changes: list[str], said: str
) -> None:
    told = closed(outcome, answer=answer, by="Ada", surface="web", at=7.0)
    assert (told["words"], told["changes"], told["said"]) == (words, changes, said)


def test_an_answer_that_was_given_to_another_ask_says_so() -> None:
    row = row_of(d.Command(text="ls"))
    answered = {"state": "sent", "answer": b'{"type":"allow"}', "decided_by": "Ada", "surface": "web"}
    row = msgspec.structs.replace(row, **answered, granted_by="another")
    assert card(row, session=SESSION)["closed"]["words"] == "allowed by Ada (web), once, when the same was asked before"


@pytest.mark.parametrize(
    ("permission", "words"),
    [
        ({"type": "setMode", "mode": "plan", "destination": "session"}, "mode changed: plan only, for this session"),
        ({"type": "addDirectories", "directories": ["/x"], "destination": "session"}, "changed: work in /x too, for"),
        ({"type": "odd"}, 'changed: {"type": "odd"}'),
        (SUGGESTION | {"type": "removeRules"}, "rule removed: allow Bash(pytest:*), for this session"),
        (SUGGESTION | {"type": "replaceRules"}, "rules replaced: allow only Bash(pytest:*)"),
    ],
)
def test_changes_of_permissions_in_words(permission: dict[str, object], words: str) -> None:
    told = closed("decided", answer={"type": "allow", "updated_permissions": [permission]})
    assert told["changes"][0].startswith(words)


def test_an_ask_of_the_timeline_has_the_same_card() -> None:
    row = row_of(d.Command(text="ls"))
    item = AskItem(
        ask_id=row.id, kind=row.kind, digest=row.digest, title=row.title, at=5.0, ask=msgspec.json.decode(row.body)
    )
    assert card_of_item(item, session=SESSION) == card(row, session=SESSION)
    over = msgspec.structs.replace(item, outcome="cancelled", ended_at=9.0)
    assert card_of_item(over, session=SESSION)["closed"]["at"] == 9.0


# ---------------------------------------------------------------- caches


async def test_what_is_shown_again_is_not_made_again() -> None:
    showing = Showing()
    row = row_of(d.PlanReview(plan="# Plan\n\ntext"), kind="plan", tool="ExitPlanMode")
    first = showing.card(row, session=SESSION)
    held = len(showing.pieces.cache)
    assert await showing.aside(lambda: showing.card(row, session=SESSION), size=10) == first
    assert await showing.aside(lambda: showing.card(row, session=SESSION), size=10**6) == first
    assert len(showing.pieces.cache) == held > 0

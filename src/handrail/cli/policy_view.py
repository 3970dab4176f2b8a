"""Policies, rulings and replays as pages for a person, and as plain data for a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.showing.layout import Flow, Hanging
from handrail.cli.showing.listing import diff_listing, text_listing
from handrail.cli.showing.remarks import notice
from handrail.cli.showing.style import DONE, FAILED, MARKS, NEEDS_YOU, QUIET, exact, prose
from handrail.cli.showing.tools import call_line, tool_title
from handrail.policy.documents import Document
from handrail.policy.grants import Grant
from handrail.policy.policy import BUILT_IN, FOR_A_PERSON, Ruling
from handrail.policy.profiles import PROFILES
from handrail.policy.recordings import Difference, RecordedCall, Replayed
from handrail.policy.storage.loading import Loaded, LookedAt
from handrail.policy.suggest import Suggested
from handrail.policy.verdict import Behavior

__all__ = [
    "change_page",
    "policy_data",
    "policy_page",
    "replayed_data",
    "replayed_page",
    "ruling_data",
    "ruling_page",
    "suggested_data",
    "suggested_page",
    "trust_page",
]

COLOURS: dict[Behavior, str] = {"deny": FAILED, "ask": NEEDS_YOU, "allow": DONE}


# ---------------------------------------------------------------- show


def policy_page(loaded: Loaded, grants: Sequence[Grant], home: str) -> RenderableType:
    """A policy in full."""
    policy = loaded.policy
    own = [_short(directory, home) for directory in policy.own.secret]
    return Group(
        Text.assemble(("Profile ", ""), (policy.profile.name, "bold"), f": {policy.profile.summary}"),
        *(_point(text) for text in policy.profile.explained),
        _heading("Rules"),
        *_rules(loaded, grants, home),
        _heading("Whatever the rules say"),
        _ruled("ask", exact(", ".join(sorted(FOR_A_PERSON))), "questions to a person"),
        _ruled("ask", prose("Handrail's own files and commands"), f".handrail, handrail …, {', '.join(own)}"),
        _heading("Asks that nobody answers"),
        _point(_expiry(policy.expire_after)),
        *([_point("after “pause and outline”, quick repeats are denied")] if policy.outline_cooldown else []),
        *_held_back(loaded, home),
        _heading("Files"),
        *(_file(file, home) for file in loaded.files),
        _heading("Other profiles (--profile NAME)"),
        *(
            _point(f"{profile.name}: {profile.summary}")
            for profile in PROFILES.values()
            if profile.name != policy.profile.name
        ),
    )


def _rules(loaded: Loaded, grants: Sequence[Grant], home: str) -> Iterable[RenderableType]:
    placed = [(rule.behavior, rule.text, _short(str(rule.origin), home)) for rule in loaded.policy.rules]
    placed += [(grant.behavior, grant.what, f"{grant}, {_scope(grant, home)}") for grant in grants]
    if not placed:
        yield _point("none")
    for behavior in ("deny", "ask", "allow"):
        for ruled, text, origin in placed:
            if ruled == behavior:
                yield _ruled(behavior, exact(text), origin)


def _ruled(behavior: Behavior, what: Text, origin: str) -> RenderableType:
    colour = COLOURS[behavior]
    return Hanging(_label(colour, behavior), Flow([what, exact(origin, QUIET)]))


def _label(colour: str, word: str, width: int = 6) -> Text:
    return Text.assemble("  ", (f"{MARKS[colour]} ", colour), (word.ljust(width), colour))


def _held_back(loaded: Loaded, home: str) -> Iterable[RenderableType]:
    held = loaded.held_back
    if held is None:
        return
    yield _heading("Held back")
    yield _point(f"{_short(held.path, home)} is {held.why}, so it only tightens. It does not get:")
    for rule in held.allow:
        yield Hanging(_label(QUIET, "allow"), Flow([exact(rule.text), Text(f"line {rule.line}", QUIET)]))
    for setting in held.settings:
        yield Hanging(_label(QUIET, "set"), exact(setting))
    if held.why != "a symbolic link":
        yield _point(f"To trust the file as it is now: {held.command}")


def _file(file: LookedAt, home: str) -> RenderableType:
    remark = "" if file.found and file.trusted else "only tightens" if file.found else "not there"
    colour = (DONE if file.trusted else NEEDS_YOU) if file.found else QUIET
    pieces = [exact(_short(file.path, home)), *([Text(remark, QUIET)] if remark else [])]
    return Hanging(Text.assemble("  ", (f"{MARKS[colour]} ", colour)), Flow(pieces))


def _scope(grant: Grant, home: str) -> str:
    return "for all projects" if grant.scope == "user" else f"for {_short(grant.project or '', home)}"


def _expiry(seconds: float | None) -> str:
    if seconds is None:
        return "wait for ever"
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit and seconds % unit == 0:
            return f"expire after {seconds / unit:g} {name}"
    return f"expire after {seconds:g} s"


def policy_data(loaded: Loaded, grants: Sequence[Grant]) -> dict[str, Any]:
    """A policy for programs."""
    policy = loaded.policy
    return {
        "profile": policy.profile.name,
        "explained": policy.profile.explained,
        "rules": policy.rules,
        "grants": list(grants),
        "otherwise": policy.otherwise,
        "expire_after": policy.expire_after,
        "outline_cooldown": policy.outline_cooldown,
        "held_back": loaded.held_back,
        "files": loaded.files,
    }


# ---------------------------------------------------------------- explain


def ruling_page(
    tool: str, given: dict[str, Any], ruling: Ruling, loaded: Loaded, mode: str, cwd: str, home: str
) -> RenderableType:
    """What becomes of one call, in one glance."""
    colour = COLOURS[ruling.behavior]
    head = Text.assemble((f"{MARKS[colour]} {ruling.behavior}", f"bold {colour}"), "  ")
    head.append(tool_title(tool), "bold").append("  ").append_text(exact(call_line(tool, given, cwd)))
    return Group(
        head,
        _field("why", prose(ruling.reason)),
        _field("rule", exact(ruling.rule) if ruling.rule else Text("none", QUIET)),
        _field("from", exact(_short(str(ruling.origin), home))),
        _field("with", Text(f"profile {loaded.policy.profile.name}, mode {mode}")),
    )


def _field(name: str, value: Text) -> RenderableType:
    return Hanging(Text(f"  {name:<5}", QUIET), value)


def ruling_data(ruling: Ruling) -> dict[str, Any]:
    """A ruling for programs."""
    return {
        "behavior": ruling.behavior,
        "reason": ruling.reason,
        "rule": ruling.rule,
        "origin": None if ruling.origin == BUILT_IN else ruling.origin,
    }


# ---------------------------------------------------------------- check

_NOW: dict[Difference, tuple[str, str]] = {
    "same": (QUIET, ""),
    "saved": (DONE, "one ask less"),
    "asks": (NEEDS_YOU, "asks now"),
    "denied": (FAILED, "denied now"),
    "allowed": (FAILED, "ALLOWED NOW"),
}
_SUMMARY: dict[Difference, str] = {
    "same": "as it was then",
    "saved": "no longer asked",
    "asks": "asked, where nobody was asked then",
    "denied": "denied, though it ran then",
    "allowed": "ALLOWED, though nobody allowed it then",
}


def replayed_page(replayed: Sequence[Replayed]) -> RenderableType:
    """Each call, then and now, and the sums."""
    if not replayed:
        return notice(QUIET, "no tool was called in these recordings")
    rows = [_replayed_row(each) for each in replayed]
    now = Counter(each.ruling.behavior for each in replayed)
    differences = Counter(each.difference for each in replayed)
    sums = [_sum(COLOURS[behavior], behavior, now[behavior]) for behavior in ("allow", "ask", "deny")]
    changed = [
        Hanging(
            Text.assemble("  ", (f"{MARKS[_NOW[kind][0]]} ", _NOW[kind][0]), f"{differences[kind]:>4} "), Text(words)
        )
        for kind, words in _SUMMARY.items()
        if differences[kind]
    ]
    return Group(
        *rows,
        Text(),
        Hanging(Text(f"{_count(len(replayed), 'call')}: "), Flow(sums)),
        *changed,
    )


def _replayed_row(each: Replayed) -> RenderableType:
    call, behavior = each.call, each.ruling.behavior
    colour, remark = _NOW[each.difference]
    label = _label(COLOURS[behavior], behavior)
    pieces = [_call_text(call), Text(f"then {_then(call)}", QUIET)]
    if remark:
        pieces.append(Text(remark, colour))
    return Hanging(label, Flow(pieces))


def _then(call: RecordedCall) -> str:
    return f"asked, {call.then}" if call.asked else call.then


def _call_text(call: RecordedCall) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis").append(tool_title(call.tool), "bold").append(" ")
    return line.append_text(exact(call_line(call.tool, call.input, call.cwd)))


def _sum(colour: str, word: str, number: int) -> Text:
    return Text.assemble((f"{MARKS[colour]} ", colour), f"{word} {number}")


def replayed_data(replayed: Sequence[Replayed]) -> dict[str, Any]:
    """A replay for programs."""
    return {
        "calls": [
            {
                "tool": each.call.tool,
                "input": each.call.input,
                "mode": each.call.mode,
                "cwd": each.call.cwd,
                "subagent": each.call.subagent,
                "asked": each.call.asked,
                "then": each.call.then,
                "now": ruling_data(each.ruling),
                "difference": each.difference,
            }
            for each in replayed
        ],
        "now": dict(Counter(each.ruling.behavior for each in replayed)),
        "differences": dict(Counter(each.difference for each in replayed)),
    }


# ---------------------------------------------------------------- suggest


def suggested_page(suggested: Suggested) -> RenderableType:
    """The rules, what each would have saved, and what stays an ask."""
    nothing = "no rule would have saved an ask without allowing more than was approved"
    return Group(
        *(_ruled("allow", exact(each.rule, "bold"), _saves(each.saved)) for each in suggested.rules),
        *([] if suggested.rules else [notice(QUIET, nothing)]),
        *([_heading("Still asked")] if suggested.left else []),
        *(
            Hanging(Text("  · ", QUIET), Flow([_call_text(left.call), prose(left.why, QUIET)]))
            for left in suggested.left
        ),
    )


def _saves(number: int) -> str:
    return f"saves {_count(number, 'ask')}"


def suggested_data(suggested: Suggested) -> dict[str, Any]:
    """Proposals for programs."""
    return {
        "allow": [{"rule": each.rule, "saved": each.saved} for each in suggested.rules],
        "left": [{"tool": left.call.tool, "input": left.call.input, "why": left.why} for left in suggested.left],
    }


def change_page(path: str, before: str, after: str) -> RenderableType:
    """What would be written to a file."""
    return Group(Text(), exact(path, "bold"), diff_listing(before, after))


# ---------------------------------------------------------------- trust


def trust_page(path: str, data: bytes, document: Document) -> RenderableType:
    """A project's policy as a whole, with what it would loosen."""
    allows = [rule for rule in document.rules if rule.behavior == "allow"]
    loosens = [_ruled("allow", exact(rule.text), f"line {rule.line}") for rule in allows]
    if document.profile is not None:
        loosens.append(_point(f'profile = "{document.profile}": {PROFILES[document.profile].summary}'))
    return Group(
        exact(path, "bold"),
        text_listing(data.decode().rstrip("\n")),
        _heading("What counts only once it is trusted"),
        *(loosens or [_point("nothing: it only tightens")]),
        Text(),
    )


# ---------------------------------------------------------------- pieces


def _heading(text: str) -> RenderableType:
    return Group(Text(), Text(text, "bold"))


def _point(text: str) -> RenderableType:
    return Hanging(Text("  · ", QUIET), prose(text))


def _short(path: str, home: str) -> str:
    return f"~{path[len(home) :]}" if path.startswith(home.rstrip("/") + "/") else path


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"

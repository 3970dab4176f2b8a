"""Commands for how a chat's sessions run: /model, /mode, /planmode, /policy, /verbose, /inbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from handrail.policy.profiles import PROFILES
from handrail.protocol.options import PermissionMode
from handrail.sessions.session import Session
from handrail.telegram.commands.context import Choice, CommandContext, NotSo
from handrail.telegram.commands.plans import planmode_note
from handrail.telegram.commands.restarting import apply_at_next_start, restart_pressed
from handrail.telegram.commands.wishes import PLANS_FIRST, mode_of
from handrail.telegram.commands.words import shortened
from handrail.telegram.show.mode_words import PLANMODES, mode_hint
from handrail.telegram.state.chats import Chat
from handrail.telegram.text.rich import RichText, bold, code, joined
from handrail.wording import did_you_mean

__all__ = [
    "inbox",
    "inbox_pressed",
    "mode",
    "mode_pressed",
    "model",
    "model_pressed",
    "planmode",
    "planmode_pressed",
    "policy",
    "policy_pressed",
    "verbose",
    "verbose_pressed",
]

MODES: Final[tuple[str, ...]] = get_args(PermissionMode)
DEFAULT: Final = "default"
SHORT_NAME: Final = 9
"""Three buttons go side by side on a phone if none is longer."""
ON_OFF: Final = {"on": True, "off": False}


async def _live_session(context: CommandContext) -> Session | None:
    """The chat's session, if its Claude Code runs."""
    session_id = (await context.chat()).session_id
    session = context.hub.session(session_id) if session_id else None
    return session if session is not None and await session.is_live() else None


async def _offer(context: CommandContext, question: RichText | str, offers: Mapping[str, str], current: str) -> None:
    """Ask which of several is wanted: what each means stands above, for a button has room for its name only."""
    meanings = [joined([bold(name), f": {shortened(words, 100)}"]) for name, words in offers.items() if words]
    buttons = [Choice(f"✓ {name}" if name == current else name, {"set": name}) for name in offers]
    side_by_side = 3 if max(map(len, offers)) <= SHORT_NAME else 2
    rows = [buttons[start : start + side_by_side] for start in range(0, len(buttons), side_by_side)]
    await context.say(joined([question, "", *meanings], "\n"), rows)


# ---------------------------------------------------------------- /model


async def model(context: CommandContext, rest: str) -> None:
    """Choose the model."""
    if rest:
        await _set_model(context, rest)
        return
    chat = await context.chat()
    found = await context.hub.facts.models(session=chat.session_id, host=chat.host)
    offers = {each.value: each.description or each.name for each in found.items}
    current = chat.prefs.model or DEFAULT
    question = joined(["The model of this chat is ", bold(current), ". Which one from now on?"])
    await _offer(context, question, {DEFAULT: "what Claude Code recommends", **offers}, current)


async def model_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    await _set_model(context, str(data.get("set", DEFAULT)))


async def _set_model(context: CommandContext, name: str) -> None:
    if len(name.split()) != 1:
        raise NotSo("a model is one word: /model opus, or /model alone to choose one")
    chosen = "" if name.lower() == DEFAULT else name
    session = await _live_session(context)
    if session is not None:
        await session.set_model(chosen or None)
    await context.change_prefs(model=chosen)
    await context.say(joined(["The model is ", bold(chosen or DEFAULT), _holds(session)]))


def _holds(session: Session | None) -> str:
    return ", at once and for the sessions to come." if session is not None else " for the sessions to come."


# ---------------------------------------------------------------- /mode


async def mode(context: CommandContext, rest: str) -> None:
    """Choose the permission mode."""
    if rest:
        await _set_mode(context, _named(rest, MODES, "mode"))
        return
    chat = await context.chat()
    current = "plan" if chat.prefs.planmode in PLANS_FIRST else chat.prefs.mode
    question = joined(["The mode of this chat is ", bold(current or "what the hub is set to"), ". From now on?"])
    await _offer(context, question, {name: mode_hint(name) for name in MODES}, current)


async def mode_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    wanted = _named(str(data.get("set", "")), MODES, "mode")
    await _set_mode(context, wanted, sure=bool(data.get("sure")))


async def _set_mode(context: CommandContext, wanted: str, *, sure: bool = False) -> None:
    if wanted == "plan":
        await _set_planmode(context, "on")
        return
    if wanted == "bypassPermissions" and not sure:
        await context.say(
            joined(["In the mode ", bold(wanted), " nothing is asked but what the policy says. Really?"]),
            [
                [
                    Choice("Switch to it", {"set": wanted, "sure": True}, "danger"),
                    Choice("Keep asking", {"set": DEFAULT}),
                ]
            ],
        )
        return
    chat = await context.change_prefs(mode=wanted)
    if chat.prefs.planmode in PLANS_FIRST:
        await context.say(
            joined(
                ["The mode after a plan is ", bold(wanted), ": plan mode is on (", code("/planmode off"), " ends it)."]
            )
        )
        return
    session = await _live_session(context)
    if session is not None:
        await session.set_permission_mode(wanted)
    await context.say(joined(["The mode is ", bold(wanted), f" ({mode_hint(wanted)})", _holds(session)]))


# ---------------------------------------------------------------- /planmode


async def planmode(context: CommandContext, rest: str) -> None:
    """Choose whether Claude plans first."""
    if rest:
        await _set_planmode(context, _named(rest, PLANMODES, "plan mode"))
        return
    current = (await context.chat()).prefs.planmode
    question = joined(["Plan mode is ", bold(current or "not chosen"), ". It holds for every message of this chat."])
    await _offer(context, question, PLANMODES, current)


async def planmode_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    await _set_planmode(context, _named(str(data.get("set", "")), PLANMODES, "plan mode"))


async def _set_planmode(context: CommandContext, wanted: str) -> None:
    chat = await context.change_prefs(planmode=wanted)
    note = planmode_note(context.place)
    await context.state.write(lambda tables: tables.note(note, str(context.user.id)))
    session = await _live_session(context)
    if session is not None:
        await session.set_permission_mode(mode_of(chat.prefs) or DEFAULT)
    await context.say(_planmode_words(chat))


def _planmode_words(chat: Chat) -> RichText:
    chosen = chat.prefs.planmode
    said = joined(["Plan mode is ", bold(chosen), f": {PLANMODES[chosen]}."])
    if chosen == "auto":
        after = chat.prefs.mode or DEFAULT
        said += joined([" After the plan the mode is ", bold(after), "."])
    return said


# ---------------------------------------------------------------- /policy


async def policy(context: CommandContext, rest: str) -> None:
    """Choose the policy's profile."""
    if rest:
        await _set_policy(context, _named(rest, [*PROFILES, DEFAULT], "profile"))
        return
    current = (await context.chat()).prefs.policy or DEFAULT
    offers = {name: profile.summary for name, profile in PROFILES.items()}
    question = joined(["The policy of this chat is ", bold(current), ". Which profile for the sessions to come?"])
    await _offer(context, question, {**offers, DEFAULT: "what the hub is set to"}, current)


async def policy_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    if await restart_pressed(context, data):
        return
    await _set_policy(context, _named(str(data.get("set", "")), [*PROFILES, DEFAULT], "profile"))


async def _set_policy(context: CommandContext, wanted: str) -> None:
    await context.change_prefs(policy="" if wanted == DEFAULT else wanted)
    await apply_at_next_start(context, joined(["The policy is ", bold(wanted), " for the sessions to come."]))


# ---------------------------------------------------------------- /verbose and /inbox


async def verbose(context: CommandContext, rest: str) -> None:
    """Choose how much of the work is shown."""
    if rest:
        await _set_verbose(context, _named(rest, ON_OFF, "setting"))
        return
    current = "on" if (await context.chat()).prefs.verbose else "off"
    offers = {"on": "all steps, and a summary stays", "off": "the last steps, while it works"}
    await _offer(context, "How much of the work is shown here?", offers, current)


async def verbose_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    await _set_verbose(context, _named(str(data.get("set", "")), ON_OFF, "setting"))


async def _set_verbose(context: CommandContext, wanted: str) -> None:
    await context.change_prefs(verbose=ON_OFF[wanted])
    shown = (
        "All steps are shown, and a summary stays." if ON_OFF[wanted] else "The last steps are shown while it works."
    )
    await context.say(shown)


async def inbox(context: CommandContext, rest: str) -> None:
    """Choose whether what other sessions ask comes here."""
    if rest:
        await _set_inbox(context, _named(rest, ON_OFF, "setting"))
        return
    chosen = (await context.chat()).prefs.inbox
    is_on = chosen if chosen is not None else context.place.is_private and context.user.role == "owner"
    current = "on" if is_on else "off"
    offers = {"on": "whatever any session of the hub asks", "off": "only what the sessions of this chat ask"}
    await _offer(context, "Which asks come to this chat?", offers, current)


async def inbox_pressed(context: CommandContext, data: Mapping[str, Any]) -> None:
    await _set_inbox(context, _named(str(data.get("set", "")), ON_OFF, "setting"))


async def _set_inbox(context: CommandContext, wanted: str) -> None:
    await context.change_prefs(inbox=ON_OFF[wanted])
    await context.say(
        "Whatever any session of the hub asks comes to this chat."
        if ON_OFF[wanted]
        else "Only what the sessions of this chat ask comes here."
    )


def _named(written: str, known: Any, what: str) -> str:
    """One of several names, in small or large letters. Raises `NotSo`."""
    names = {name.lower(): name for name in known}
    found = names.get(written.strip().lower())
    if found is None:
        raise NotSo(f"there is no {what} {written.strip()!r}{did_you_mean(written.strip(), names.values())}")
    return str(found)

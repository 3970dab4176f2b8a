"""Asks: what waits for a person, in all sessions, and the answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from handrail.errors import AskClosed
from handrail.policy.answers.encoding import decode_answer
from handrail.policy.answers.plan import ApproveInFreshContext, ApprovePlan
from handrail.protocol.asks import Allow
from handrail.server.calls import Body, Call, Nothing, Page, Query
from handrail.server.hub import Hub
from handrail.server.logs import about
from handrail.server.roles import Role
from handrail.sessions.asks import AnyAnswer
from handrail.store.base import AskRow, SessionRow

__all__ = ["answer", "get", "list_all", "role_for"]


class AskQuery(Query, frozen=True):
    """Which asks."""

    state: Annotated[
        tuple[Literal["pending", "decided", "sent", "cancelled", "expired", "lost", "unsent", "resumed"], ...],
        Meta(description="Only those in one of these; unset: all that wait for a person. Repeatable."),
    ] = ()
    session: Annotated[str, Meta(description="Only those of this session.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=500, description="With `state`: only so many, the last ones.")] = 100


class Answering(Body, frozen=True):
    """An answer, and what it is an answer to."""

    digest: Annotated[str, Meta(min_length=1, max_length=200, description="Of the ask as it was shown.")]
    answer: Annotated[dict[str, Any], Meta(description="With a `type`: allow, deny, answers, approve_plan …")]
    resume: Annotated[
        bool, Meta(description="If the process that asked has ended: resume it, and allow exactly this once.")
    ] = False


async def list_all(hub: Hub, call: Call[None, AskQuery]) -> Page[dict[str, Any]]:
    """List what waits for an answer, in all sessions, oldest first."""
    query = call.query
    if not query.state:
        waiting = await hub.store.waiting_asks(query.session)
        return Page(items=[await _card(hub, ask, session) for ask, session in waiting])
    rows = await hub.store.asks(query.session, states=query.state, limit=query.limit)
    found = {row.session_id: await hub.store.get_session(row.session_id) for row in rows}
    return Page(
        items=[await _card(hub, row, session) for row in rows if (session := found[row.session_id]) is not None]
    )


async def get(hub: Hub, call: Call[None, Nothing]) -> dict[str, Any]:
    """One ask, whole: everything that must be seen before it is answered."""
    session = await hub.session(call.path["session"]).row()
    return await _card(hub, await _row(hub, call), session)


async def answer(hub: Hub, call: Call[Answering, Nothing]) -> dict[str, Any]:
    """Answer an ask. The first answer wins, and counts for exactly what was shown."""
    decoded = decode_answer(call.body.answer)
    call.note(str(call.body.answer["type"]), "resume" if call.body.resume else None)
    call.caller.check(role_for(decoded), "this answer")
    session = hub.session(call.path["session"])
    with about(session=session.id, ask=call.path["ask"]):
        row = await session.row()
        await _row(hub, call)
        await session.decide(
            call.path["ask"],
            decoded,
            actor=call.caller.actor,
            digest=call.body.digest,
            resume=call.body.resume,
        )
        hub.metrics.decision(call.caller.surface, str(call.body.answer.get("type")))
        return await _card(hub, await _row(hub, call), row)


async def _card(hub: Hub, row: AskRow, session: SessionRow) -> dict[str, Any]:
    card = await hub.showing.aside(lambda: hub.showing.card(row, session=session), size=len(row.body))
    return {**card, **hub.hosts.where(session.host)._asdict()}


async def _row(hub: Hub, call: Call[Any, Any]) -> AskRow:
    found = await hub.store.get_ask(call.path["session"], call.path["ask"])
    if found is None:
        raise AskClosed(f"this session has no ask {call.path['ask']}", state="unknown")
    return found


def role_for(answer: AnyAnswer) -> Role:
    """The least role that may answer so: whatever goes beyond what was asked needs an owner."""
    match answer:
        case Allow(updated_input=changed, updated_permissions=rules):
            return "owner" if changed is not None or rules else "approver"
        case ApprovePlan() | ApproveInFreshContext():
            beyond = answer.plan is not None or answer.allow_prompts or answer.rules
            return "owner" if beyond or answer.mode == "bypassPermissions" else "approver"
    return "approver"

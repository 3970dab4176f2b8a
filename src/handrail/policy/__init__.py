"""Rules that answer what the CLI asks, or leave it to a person: pure, files are looked at through `Files`.

from handrail.policy import Rules, evaluate
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handrail.places import Places
    from handrail.policy.answers.forms import form_fields
    from handrail.policy.answers.plan import PlanContext
    from handrail.policy.answers.plan_choices import MODE_LABELS, plan_choices
    from handrail.policy.answers.plan_rules import proposed_rules
    from handrail.policy.answers.questions import questions_of
    from handrail.policy.describing.describe import describe
    from handrail.policy.evaluation import evaluate
    from handrail.policy.files import Disk, Files
    from handrail.policy.grants import Grant, Grants
    from handrail.policy.policy import Origin, PlacedRule, Policy, Ruling
    from handrail.policy.profiles import PROFILES, Profile
    from handrail.policy.rules.ruleset import Rule, Rules
    from handrail.policy.storage.grant_store import GrantStore
    from handrail.policy.storage.loading import Asked, Loaded, PolicySource, load_policy
    from handrail.policy.storage.trust_store import TrustStore
    from handrail.policy.trust import HeldBack
    from handrail.policy.verdict import Verdict

__all__ = [
    "MODE_LABELS",
    "PROFILES",
    "Asked",
    "Disk",
    "Files",
    "Grant",
    "GrantStore",
    "Grants",
    "HeldBack",
    "Loaded",
    "Origin",
    "PlacedRule",
    "Places",
    "PlanContext",
    "Policy",
    "PolicySource",
    "Profile",
    "Rule",
    "Rules",
    "Ruling",
    "TrustStore",
    "Verdict",
    "describe",
    "evaluate",
    "form_fields",
    "load_policy",
    "plan_choices",
    "proposed_rules",
    "questions_of",
]

_HOMES = {
    "Asked": "storage.loading",
    "Disk": "files",
    "Files": "files",
    "Grant": "grants",
    "GrantStore": "storage.grant_store",
    "Grants": "grants",
    "HeldBack": "trust",
    "Loaded": "storage.loading",
    "MODE_LABELS": "answers.plan_choices",
    "Origin": "policy",
    "PROFILES": "profiles",
    "PlacedRule": "policy",
    "Places": ".places",
    "PlanContext": "answers.plan",
    "Policy": "policy",
    "PolicySource": "storage.loading",
    "Profile": "profiles",
    "Rule": "rules.ruleset",
    "Rules": "rules.ruleset",
    "Ruling": "policy",
    "TrustStore": "storage.trust_store",
    "Verdict": "verdict",
    "describe": "describing.describe",
    "evaluate": "evaluation",
    "form_fields": "answers.forms",
    "load_policy": "storage.loading",
    "plan_choices": "answers.plan_choices",
    "proposed_rules": "answers.plan_rules",
    "questions_of": "answers.questions",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: the shell grammar costs a session nothing until it is needed."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value

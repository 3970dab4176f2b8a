"""All that a probe plays, in the order in which it is told."""

from __future__ import annotations

from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.scenarios.agents import AGENTS
from handrail.testing.probing.scenarios.background import BACKGROUND
from handrail.testing.probing.scenarios.conversations import CONVERSATIONS
from handrail.testing.probing.scenarios.dialling import DIALLING
from handrail.testing.probing.scenarios.files import FILES
from handrail.testing.probing.scenarios.hooks import HOOKS
from handrail.testing.probing.scenarios.lines import LINES
from handrail.testing.probing.scenarios.permissions import PERMISSIONS
from handrail.testing.probing.scenarios.plans import PLANS
from handrail.testing.probing.scenarios.policies import POLICIES
from handrail.testing.probing.scenarios.questions import QUESTIONS
from handrail.testing.probing.scenarios.starting import START
from handrail.testing.probing.scenarios.tools import TOOLS
from handrail.testing.probing.scenarios.turns import TURNS

__all__ = ["BEHAVIOURS", "SCENARIOS", "START"]

SCENARIOS: tuple[Scenario, ...] = (
    START,
    TURNS,
    PERMISSIONS,
    PLANS,
    QUESTIONS,
    HOOKS,
    POLICIES,
    AGENTS,
    TOOLS,
    BACKGROUND,
    CONVERSATIONS,
    FILES,
    LINES,
    DIALLING,
)
BEHAVIOURS: dict[str, Behaviour] = {
    behaviour.name: behaviour for scenario in SCENARIOS for behaviour in scenario.behaviours
}

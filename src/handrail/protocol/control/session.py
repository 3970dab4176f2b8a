"""The session: its name, its version, what it has cost."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from handrail.protocol.control.base import Acknowledged, Payload, Request

__all__ = [
    "BinaryVersion",
    "ExtraUsage",
    "GetBinaryVersion",
    "GetSessionCost",
    "GetUsage",
    "ModelRateLimit",
    "ModelUsage",
    "RateLimitWindow",
    "RateLimits",
    "RenameSession",
    "SessionCost",
    "SessionUsage",
    "SetColor",
    "SetHasSubscribers",
    "Usage",
    "UsageBehaviors",
]


class RenameSession(Request[Acknowledged], tag="rename_session"):
    since = "2.1.197"
    title: str
    source: Literal["remote", "host"] | UnsetType = UNSET
    names_chrome_tab_group: bool | UnsetType = UNSET


class SetColor(Request[Acknowledged], tag="set_color"):
    since = None
    color: str


class SetHasSubscribers(Request[Acknowledged], tag="set_has_subscribers"):
    since = "2.1.325"
    has_subscribers: bool | None


class BinaryVersion(Payload, rename="camel"):
    version: str = ""
    build_time: str | None = None


class GetBinaryVersion(Request[BinaryVersion], tag="get_binary_version"):
    since = "2.1.120"


class SessionCost(Payload):
    text: str = ""


class GetSessionCost(Request[SessionCost], tag="get_session_cost"):
    since = "2.1.120"


class ModelUsage(Payload, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    thinking_tokens: int | None = None
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_creation_ephemeral_5m_input_tokens: int | None = field(
        default=None, name="cacheCreationEphemeral5mInputTokens"
    )
    cache_creation_ephemeral_1h_input_tokens: int | None = field(
        default=None, name="cacheCreationEphemeral1hInputTokens"
    )
    web_search_requests: int = 0
    cost_usd: float = field(default=0.0, name="costUSD")
    context_window: int = 0
    max_output_tokens: int = 0
    canonical_model: str | None = None
    provider: str | None = None
    cost_basis: Literal["list", "managed", "unknown"] | str | None = None


class SessionUsage(Payload):
    total_cost_usd: float = 0.0
    total_api_duration_ms: float = 0.0
    total_duration_ms: float = 0.0
    total_lines_added: int = 0
    total_lines_removed: int = 0
    model_usage: dict[str, ModelUsage] = field(default_factory=dict)


class RateLimitWindow(Payload):
    utilization: float | None = None
    resets_at: str | None = None


class ModelRateLimit(Payload):
    display_name: str = ""
    utilization: float | None = None
    resets_at: str | None = None


class ExtraUsage(Payload):
    is_enabled: bool = False
    monthly_limit: float | None = None
    used_credits: float | None = None
    utilization: float | None = None
    currency: str | None = None


class RateLimits(Payload):
    five_hour: RateLimitWindow | None = None
    seven_day: RateLimitWindow | None = None
    seven_day_oauth_apps: RateLimitWindow | None = None
    seven_day_opus: RateLimitWindow | None = None
    seven_day_sonnet: RateLimitWindow | None = None
    model_scoped: tuple[ModelRateLimit, ...] | None = None
    extra_usage: ExtraUsage | None = None


class UsageBehaviors(Payload):
    day: dict[str, Any] | None = None
    week: dict[str, Any] | None = None


class Usage(Payload):
    session: SessionUsage | None = None
    subscription_type: str | None = None
    rate_limits_available: bool = False
    rate_limits: RateLimits | None = None
    behaviors: UsageBehaviors | None = None


class GetUsage(Request[Usage], tag="get_usage"):
    since = "2.1.197"
    skip_behaviors: bool | UnsetType = UNSET

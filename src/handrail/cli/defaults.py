"""How sessions are started, and what they are held to, as far as nobody says otherwise: the configuration decides."""

from __future__ import annotations

from typing import Any

from handrail.cli.settings import RunSettings
from handrail.config import Config
from handrail.policy.storage.loading import Asked
from handrail.protocol.options import Options
from handrail.sessions.launching import SessionSettings

__all__ = ["adopted_as", "options_for", "standing_policy"]


def options_for(settings: RunSettings, config: Config) -> Options:
    """How Claude Code is started: as the command line says, and else as the configuration does."""
    claude = config.claude
    mode: Any = settings.mode or claude.permission_mode
    transport: Any = settings.transport or "stdio"
    return Options(
        cwd=settings.cwd,
        cli_path=settings.cli or claude.cli_path,
        transport=transport,
        model=settings.model or claude.model,
        fallback_model=claude.fallback_model,
        effort=claude.effort,
        append_system_prompt=claude.append_system_prompt,
        permission_mode=mode,
        dangerously_skip_permissions=claude.dangerously_skip_permissions and settings.mode is None,
        max_turns=settings.max_turns or claude.max_turns,
        setting_sources=claude.setting_sources,
        use_api_billing=settings.use_api_billing or claude.use_api_billing,
        include_partial_messages=True,
        env=claude.env,
    )


def standing_policy(config: Config) -> Asked:
    """What every session of this machine is held to, beside the policy files and what is asked of it itself."""
    return Asked(profile=config.policy.profile, allow=config.claude.allowed_tools, deny=config.claude.disallowed_tools)


def adopted_as(config: Config) -> SessionSettings:
    """How a session goes on that was Claude Code's own: as a new one would begin."""
    options = options_for(RunSettings(), config)
    return SessionSettings(options=options, policy=Asked(), budget=config.limits.session_budget_usd)

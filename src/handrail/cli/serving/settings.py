"""How the hub is run: what the command line says, and else the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from handrail.cli.defaults import options_for, standing_policy
from handrail.cli.settings import RunSettings
from handrail.config import Config
from handrail.server.hub import HubSettings, SessionDefaults
from handrail.sessions.exchange import PRIVATE

__all__ = ["ServeSettings", "hub_settings"]


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """The options of `handrail serve`; None: as the configuration says."""

    host: str | None = None
    port: int | None = None
    public_url: str | None = None
    behind_proxy: bool | None = None
    tls_certificate: str | None = None
    tls_key: str | None = None
    open_browser: bool | None = None
    development: bool = False


def hub_settings(given: ServeSettings, config: Config) -> HubSettings:
    """The settings of the hub."""
    hub = config.hub
    wanted: Mapping[str, Any] = {
        "host": given.host,
        "port": given.port,
        "public_url": given.public_url,
        "behind_proxy": given.behind_proxy,
        "tls_certificate": given.tls_certificate,
        "tls_key": given.tls_key,
    }
    chosen = {name: getattr(hub, name) if value is None else value for name, value in wanted.items()}
    return HubSettings(
        **chosen,
        proxies=hub.proxies,
        allowed_hosts=hub.allowed_hosts,
        roots=hub.roots,
        private_files=(*PRIVATE, *hub.private_files),
        defaults=session_defaults(config),
        development=given.development,
    )


def session_defaults(config: Config) -> SessionDefaults:
    """How sessions are started from the page: as `handrail run` starts them."""
    return SessionDefaults(
        options=options_for(RunSettings(), config),
        policy=standing_policy(config),
        budget=config.limits.session_budget_usd,
    )

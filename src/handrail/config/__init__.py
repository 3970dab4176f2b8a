"""Handrail's own settings: one TOML file, variables of the environment, and messages that say what is wrong where."""

from __future__ import annotations

from handrail.config.model import Claude, Config, Limits, Notify, Policy, Storage, Telegram, TelegramUser, Terminal
from handrail.config.notices import danger_notice
from handrail.config.reading import load_config

__all__ = [
    "Claude",
    "Config",
    "Limits",
    "Notify",
    "Policy",
    "Storage",
    "Telegram",
    "TelegramUser",
    "Terminal",
    "danger_notice",
    "load_config",
]

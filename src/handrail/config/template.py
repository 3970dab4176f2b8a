"""A first file of settings: every key, what it is for, and its default, as comments."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from handrail.config.keys import SECTIONS, Key, keys_of
from handrail.config.model import Notify
from handrail.config.values import shown

__all__ = ["template"]

HEAD = """\
# Handrail's settings. Take the # away from a line to change what it says.
# handrail config list   shows what holds, and where it comes from
# handrail doctor        says what is wrong
"""
EXAMPLES = {
    "claude.model": '"sonnet"',
    "claude.fallback_model": '"haiku"',
    "claude.effort": '"high"',
    "claude.append_system_prompt": '"Answer in British English."',
    "claude.max_turns": "50",
    "claude.setting_sources": '["user", "project", "local"]',
    "claude.cli_path": '"~/.local/bin/claude"',
    "policy.profile": '"careful"',
    "limits.session_budget_usd": "5",
    "limits.daily_budget_usd": "20",
    "limits.concurrent_sessions": "8",
    "storage.max_size_mb": "2000",
    "hub.public_url": '"https://box.example.net"',
    "hub.tls_certificate": '"/etc/handrail/hub.pem"',
    "hub.tls_key": '"/etc/handrail/hub.key"',
    "host.hub": '"wss://hub.example.org"',
    "host.name": '"build-box"',
    "host.capacity": "4",
    "telegram.users": '[{ id = 123456789, name = "Ann", role = "owner" }]',
    "telegram.groups": "[-1001234567890]",
    "telegram.cwd": '"~/src/site"',
    "telegram.projects": '{ site = "~/src/site", training = "gpu-box:/srv/training" }',
    "telegram.token_file": '"~/.secrets/telegram-token"',
    "telegram.webhook_url": '"https://box.example.net/telegram"',
    "telegram.webhook_listen": '"127.0.0.1:8443"',
    "notify.command": '["notify-send", "Claude"]',
    "notify.webhook": '"https://example.com/hook"',
}
"""Values for keys that have no default."""


def template() -> str:
    """The text of the file."""
    return "\n".join([HEAD, *_lines()])


def _lines() -> Iterator[str]:
    for name, section in SECTIONS.items():
        yield f"# {section.__doc__}"
        # A list of tables must stay a comment: an empty one would tell nobody.
        yield "# [[notify]]" if section is Notify else f"[{name}]"
        for key in keys_of(section, name):
            yield from _key(key)
        yield ""


def _key(key: Key) -> Iterator[str]:
    description = key.description.replace("`", "")
    yield from textwrap.wrap(f"{description} Takes {key.wanted}.", 100, initial_indent="# ", subsequent_indent="#   ")
    yield f"#{key.last} = {EXAMPLES.get(key.name) or shown(key.default, key)}"

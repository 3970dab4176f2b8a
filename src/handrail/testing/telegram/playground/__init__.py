"""A page that draws the chats of a server as Telegram would, and lets whoever looks at it write and press."""

from __future__ import annotations

from handrail.testing.telegram.playground.serving import PREFIX, Playground

__all__ = ["PREFIX", "Playground"]

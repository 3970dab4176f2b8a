"""A request of Claude Code as it was sent, for whoever wants to see all of it."""

from __future__ import annotations

import json

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.showing.listing import text_listing
from handrail.cli.showing.style import QUIET
from handrail.protocol.asks import Ask

__all__ = ["whole_request"]


def whole_request(ask: Ask) -> RenderableType:
    """Everything that was sent, as JSON, with hidden characters written out."""
    sent = ask.request or {"input": ask.input}
    return Group(Text("The whole request:", style=QUIET), text_listing(json.dumps(sent, indent=2, ensure_ascii=False)))

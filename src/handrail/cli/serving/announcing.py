"""What `handrail serve` says: where the page is, the link that lets a browser in, and a code for a phone to scan."""

from __future__ import annotations

import io
import ipaddress
import os
import sys
import webbrowser
from urllib.parse import urlsplit

from rich.console import Console
from rich.text import Text

from handrail.server.hub import HubSettings

__all__ = ["announce", "has_browser", "is_reachable_from_elsewhere", "open_page", "qr_code"]


def announce(console: Console, settings: HubSettings, link: str) -> None:
    """Say where the hub is, and how to get in."""
    console.print(Text.assemble(("Handrail is at ", ""), (settings.url, "bold")))
    console.print(Text.assemble("Open this link within five minutes; it works once:\n\n  ", (link, "bold"), "\n"))
    if is_reachable_from_elsewhere(settings) and console.is_terminal:
        console.print(Text(qr_code(link)))
    hints = ("Another link: handrail login", "a token for programs: handrail token new NAME")
    more = ("another machine for its sessions: handrail host enrol", "Ctrl-C stops")
    console.print(Text("; ".join((*hints, *more)) + ".", "dim"))


def is_reachable_from_elsewhere(settings: HubSettings) -> bool:
    """Whether a phone could open the page's address."""
    host = urlsplit(settings.url).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost" and not host.endswith(".localhost")


def qr_code(link: str) -> str:
    """The link as a code to scan, made of characters."""
    import segno

    drawn = io.StringIO()
    segno.make(link, error="l").terminal(drawn, compact=True, border=2)
    return drawn.getvalue()


def has_browser() -> bool:
    """Whether a page can be opened where somebody sees it: not in a terminal's text browser, nor over ssh."""
    if os.environ.get("SSH_CONNECTION") or not sys.stdout.isatty():
        return False
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_page(link: str) -> bool:
    """Open the link in the user's browser."""
    try:
        return webbrowser.open(link)
    except webbrowser.Error:
        return False

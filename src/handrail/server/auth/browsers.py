"""A browser in words: what a list calls one that nobody gave a name."""

from __future__ import annotations

from typing import Final

__all__ = ["browser_name"]

# In this order: most browsers also claim to be those that come after them.
BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
SYSTEMS: Final = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "Mac"),
    ("Linux", "Linux"),
)


def browser_name(user_agent: str, person: str = "") -> str:
    """Which browser it says it is, on what; with whose link it came in, if that is known."""
    browser = next((name for sign, name in BROWSERS if sign in user_agent), "browser")
    system = next((name for sign, name in SYSTEMS if sign in user_agent), "")
    where = f"{browser} on {system}" if system else browser
    return f"{person} ({where})" if person else where

"""What tests of the settings share."""

from __future__ import annotations

from pathlib import Path

from handrail.places import Places


def places_in(directory: Path, text: str | None = None) -> Places:
    """Places of their own; the file of settings has this text."""
    places = Places(**{name: str(directory / name) for name in ("config", "state", "cache", "runtime")})
    if text is not None:
        Path(places.config).mkdir(parents=True, exist_ok=True)
        Path(places.config_file).write_text(text)
    return places

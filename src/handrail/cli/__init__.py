"""The `handrail` command line: the composition root, where the parts are wired together."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """The entry point of the `handrail` command."""
    from handrail.cli.app import app  # here, so that importing a single module of this package stays cheap

    app(prog_name="handrail")

"""What has to be said about settings each time they take effect."""

from __future__ import annotations

from handrail.config.model import Config

__all__ = ["danger_notice"]


def danger_notice(config: Config) -> str | None:
    """The warning to show at each start, if the settings let Claude do anything without asking."""
    if config.claude.dangerously_skip_permissions:
        key, undo = "claude.dangerously_skip_permissions is true", "claude.dangerously_skip_permissions"
    elif config.claude.permission_mode == "bypassPermissions":
        key, undo = "claude.permission_mode is bypassPermissions", "claude.permission_mode"
    else:
        return None
    return (
        f"DANGER: {key} in your settings. Claude runs every command and changes every file without asking, with all "
        f"the rights of your account; only what a policy denies is held back. To end this: handrail config unset {undo}"
    )

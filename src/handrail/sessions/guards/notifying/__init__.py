"""Notifications: how they get out, by a command or a webhook."""

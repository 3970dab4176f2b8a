"""Brings messages to what they are to show, at Telegram's pace."""

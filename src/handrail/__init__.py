"""Handrail: watch every step of Claude Code, steer it, and answer what it asks."""

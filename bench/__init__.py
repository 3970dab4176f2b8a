"""Handrail side by side with claude-agent-sdk and with the floor: one run, same bytes, ratios."""

"""Handrail's client against the real CLI, which talks to a scripted model: one test for each behaviour."""

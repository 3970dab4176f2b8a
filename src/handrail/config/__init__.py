"""Handrail's own configuration: what can be set, where it is read from, and how it is changed."""

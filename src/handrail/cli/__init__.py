"""The `handrail` command: the composition root, where the parts are wired together."""

"""The terminal as an input: keys, lines and the person's editor."""

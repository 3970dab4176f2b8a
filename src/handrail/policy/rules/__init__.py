"""Claude Code's permission rules: the grammar, and what paths a rule covers."""

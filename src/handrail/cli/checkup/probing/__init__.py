"""`handrail doctor --probe`: tries the installed Claude Code out, tells what changed, and remembers what it found."""

"""Tools for testing against Claude Code without an account: a scripted model, a simulated CLI, recordings."""

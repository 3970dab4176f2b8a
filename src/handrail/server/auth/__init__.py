"""Who may come in, and how: tokens, login links, cookies, the guards in front of every request, and the audit log."""

"""Who owns a session: locks, the way to its owner from other processes, and what is done when an owner has died."""

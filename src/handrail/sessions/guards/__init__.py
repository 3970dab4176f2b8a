"""Guards: what keeps sessions from stalling unseen, from costing too much, and from being too many."""

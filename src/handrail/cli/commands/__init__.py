"""The commands about sessions and asks, one module each: arguments in, one call of the manager, what came of it out."""

"""What the rules say about calls of each family of tools."""

"""What `handrail serve` is made of: the hub, its server, the demo, and what is said on the terminal meanwhile."""

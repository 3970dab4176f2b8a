"""What `handrail host` and `handrail hosts` are made of: the agent of this machine, and the hosts of a hub."""

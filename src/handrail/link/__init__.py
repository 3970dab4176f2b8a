"""What a hub and a host say to each other: the messages, and how much of them may be under way."""

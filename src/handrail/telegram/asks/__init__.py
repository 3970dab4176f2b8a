"""What Claude asks, as messages with buttons, and what pressing them or replying comes to."""

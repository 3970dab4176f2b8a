"""Shell commands, understood with a real grammar."""

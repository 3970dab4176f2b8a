"""What the Makefile runs that is more than one line."""

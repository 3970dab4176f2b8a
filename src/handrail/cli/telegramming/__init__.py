"""The Telegram bridge on the command line: setting it up, running it, and what it says of itself."""

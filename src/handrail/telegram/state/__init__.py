"""What the bridge remembers: chats, messages and what they are to show, buttons, and updates, in one SQLite file."""

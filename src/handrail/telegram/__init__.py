"""The Telegram bridge: runs, watches and answers sessions of a hub from chats.

It reads journals and sends what people decide, as any program can that is connected to a hub; what it must remember
itself (chats, messages, buttons) is in a database of its own. `python-telegram-bot` is imported only by `bot.py`.
"""

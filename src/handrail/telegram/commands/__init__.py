"""What can be written with a slash: one table, from which the help and Telegram's menu are made."""

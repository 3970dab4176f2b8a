"""What a message says: text with entities, made from Markdown, measured and split as Telegram counts."""

"""What a session looks like in a chat: progress, answers, notices."""

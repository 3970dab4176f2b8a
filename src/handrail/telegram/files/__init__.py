"""Pictures and documents, to Claude and back."""

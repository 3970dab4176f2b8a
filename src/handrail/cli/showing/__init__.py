"""What the terminal commands show: text, tool calls, diffs and remarks as lines of a terminal."""

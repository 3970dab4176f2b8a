"""Where the parts meet: the live client, asks, hooks and in-process MCP tools."""

"""What each address of the API does, by topic. The table of all of them is `handrail.server.routes`."""

"""What happens, told as it happens: the WebSocket at `/api/live`, and the conversation as rows.

`Live` is all that the hub needs. Below it: `channel` reads one session for all who follow it, `viewer` serves one
socket, `timeline` makes rows of events, `home` keeps the list of sessions and what waits for a person.
"""

from handrail.server.live.live import Live

__all__ = ["Live"]

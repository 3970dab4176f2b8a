"""Other machines that run sessions for the hub: who they are, their links, and the copies of their journals."""

from __future__ import annotations

from handrail.server.hosts.abroad import Hosts

__all__ = ["Hosts"]

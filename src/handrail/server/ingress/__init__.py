"""The server side of `--sdk-url`: Claude Codes that somebody starts elsewhere dial in here, and are seated."""

from handrail.server.ingress.ingress import Ingress

__all__ = ["Ingress"]

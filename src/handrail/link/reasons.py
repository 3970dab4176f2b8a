"""Why the other side could not be reached, in the words of people."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from typing import Final

from handrail.errors import HandrailError

__all__ = ["words_of"]

UNKNOWN_AUTHORITY: Final = frozenset({18, 19, 20, 21})
"""OpenSSL's codes for certificates that nobody vouches for whom this machine knows."""
OWN_AUTHORITY: Final = " (if it is your own, name the file with its authority in SSL_CERT_FILE)"
SOCKS: Final = (
    "the environment names a SOCKS proxy (ALL_PROXY, SOCKS_PROXY), which Handrail does not speak: name an HTTP proxy "
    "in HTTPS_PROXY, or the hub in NO_PROXY"
)
"""What libraries mean that lack the module for that."""


def words_of(error: BaseException) -> str:
    """What an error says, or the one that is behind it: libraries tell only that all attempts failed."""
    for each in _behind(error):
        match each:
            case HandrailError():
                return str(each)
            case ssl.SSLCertVerificationError():
                advice = OWN_AUTHORITY if each.verify_code in UNKNOWN_AUTHORITY else ""
                return f"its certificate is not to be trusted: {each.verify_message}{advice}"
            case ssl.SSLError(reason="WRONG_VERSION_NUMBER"):
                return "it does not speak TLS there"
            case ssl.SSLError():
                return str(each)
            case socket.gaierror():
                return each.strerror or str(each)
            case OSError(errno=int(number)):
                return os.strerror(number)
            case TimeoutError():
                return "it did not answer in time"
            case ImportError():
                return SOCKS
    return str(error) or type(error).__name__


def _behind(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__

"""Why the other side could not be reached, in the words of people."""

from __future__ import annotations

import errno
import os
import socket
import ssl

import pytest

from handrail.errors import HostAway
from handrail.link.reasons import SOCKS, words_of


def refused() -> Exception:
    """As the HTTP library raises it."""
    told = RuntimeError("All connection attempts failed")
    told.__cause__ = OSError("All connection attempts failed")
    told.__cause__.__context__ = ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 9)")
    return told


def of_tls(reason: str) -> Exception:
    error = ssl.SSLError(1, f"[SSL: {reason}] something")
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (refused(), os.strerror(errno.ECONNREFUSED)),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (of_tls("WRONG_VERSION_NUMBER"), "it does not speak TLS there"),
        (of_tls("NO_CIPHERS"), "[SSL: NO_CIPHERS] something"),
        (HostAway("box is away"), "box is away"),
        (TimeoutError(), "it did not answer in time"),
        (TimeoutError(errno.ETIMEDOUT, "x"), os.strerror(errno.ETIMEDOUT)),
        (ImportError("python-socks is missing"), SOCKS),
        (ValueError("odd"), "odd"),
    ],
)
def test_the_words_are_those_of_the_cause(error: Exception, words: str) -> None:
    assert words_of(error) == words


def test_a_certificate_that_does_not_hold_is_named_as_such() -> None:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code, error.verify_message = 10, "certificate has expired"
    assert words_of(error) == "its certificate is not to be trusted: certificate has expired"
    error.verify_code, error.verify_message = 18, "self-signed certificate"
    assert "self-signed certificate (if it is your own, " in words_of(error)

"""The stdio transport does what every transport must do."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.transports.base import Transport
from handrail.transports.stdio import StdioTransport

from .conformance import TransportConformance
from .support import ENVIRONMENT, python


class TestStdioTransport(TransportConformance):
    @pytest.fixture(autouse=True)
    def _prepare(self, transport_class: type[StdioTransport], tmp_path: Path) -> None:
        self.transport_class = transport_class
        self.text_file = tmp_path / "text"

    def echo(self) -> Transport:
        return self.transport_class(["cat"], env=ENVIRONMENT)

    def saying(self, text: bytes) -> Transport:
        self.text_file.write_bytes(text)
        return self.transport_class(["cat", str(self.text_file)], env=ENVIRONMENT)

    def deaf(self) -> Transport:
        return self.transport_class(python("import time; time.sleep(600)"), env=ENVIRONMENT, eof_grace=0.1)

    def missing(self) -> Transport:
        return self.transport_class(["/nowhere/claude"], env=ENVIRONMENT)

"""Compresses what is sent to viewers once, however many of them there are.

The usual way (RFC 7692) compresses each message with the memory of those before it, for each socket by itself: a
hundred viewers pay a hundred times. Here a message is compressed by itself, so that it is the same for everybody, and
small ones, which are most of them, are left as they are.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Sequence

from websockets.extensions.permessage_deflate import PerMessageDeflate, ServerPerMessageDeflateFactory
from websockets.frames import Frame, Opcode
from websockets.typing import ExtensionParameter

__all__ = ["SharedDeflateFactory"]

SMALLEST = 1_024
"""Bytes below which compressing by itself saves next to nothing."""
LEVEL = 3
"""zlib's level: nearly as small as the default, in half of the time."""
WINDOW = 15
KEPT_BYTES = 4 * 1024 * 1024
TAIL = 4
"""What the end of a message does not carry (RFC 7692, 7.2.1)."""


class _Compressed:
    """What was compressed lately."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()
        self.size = 0

    def of(self, data: bytes) -> bytes:
        found = self._kept.get(data)
        if found is None:
            found = self._kept[data] = _compressed(data)
            self.size += len(data) + len(found)
            while self.size > KEPT_BYTES:
                oldest, made = self._kept.popitem(last=False)
                self.size -= len(oldest) + len(made)
        return found


def _compressed(data: bytes) -> bytes:
    deflate = zlib.compressobj(LEVEL, zlib.DEFLATED, -WINDOW)
    return (deflate.compress(data) + deflate.flush(zlib.Z_SYNC_FLUSH))[:-TAIL]


class _SharedDeflate(PerMessageDeflate):
    """The extension of one socket."""

    def __init__(self, compressed: _Compressed, negotiated: PerMessageDeflate) -> None:
        super().__init__(negotiated.remote_no_context_takeover, True, negotiated.remote_max_window_bits, WINDOW)
        self._compressed = compressed

    def encode(self, frame: Frame) -> Frame:
        """A whole message, compressed if that is worth it."""
        if frame.opcode not in (Opcode.TEXT, Opcode.BINARY) or not frame.fin or len(frame.data) < SMALLEST:
            return frame
        data = self._compressed.of(bytes(frame.data))
        return Frame(frame.opcode, data, True, rsv1=True)


class SharedDeflateFactory(ServerPerMessageDeflateFactory):
    """Offers compression to every socket of a server. A client that asks for a smaller window gets none."""

    def __init__(self) -> None:
        super().__init__(server_no_context_takeover=True, client_no_context_takeover=True)
        self._compressed = _Compressed()

    @property
    def kept_bytes(self) -> int:
        """How much is in memory."""
        return self._compressed.size

    def process_request_params(
        self, params: Sequence[ExtensionParameter], accepted_extensions: Sequence[object]
    ) -> tuple[list[ExtensionParameter], PerMessageDeflate]:
        told, negotiated = super().process_request_params(params, accepted_extensions)  # type: ignore[arg-type]
        if negotiated.local_max_window_bits < WINDOW:
            return told, negotiated
        return told, _SharedDeflate(self._compressed, negotiated)

"""The wire protocol without I/O: frames, control requests, codec, connection state, launch options.

Nothing here knows asyncio, the clock or the file system: bytes and values in, bytes and values out.
"""

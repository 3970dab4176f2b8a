"""Frames: every message that travels on the wire, either way, as a typed struct.

A frame is a view of one line. `.raw` is that line, `.data` its JSON, `.extra` the fields this version of Handrail does
not model; all three are made only when asked for. A type or subtype nobody modelled is an `UnknownFrame`; a field of an
unexpected type leaves its default and says so in `.problems`. So nothing is lost, and encoding a received frame gives
the line it came from.

Frames are values: treat them as read-only.
"""

from handrail.protocol.frames import base, channel, conversation, notices, system, tasks
from handrail.protocol.frames.base import *
from handrail.protocol.frames.channel import *
from handrail.protocol.frames.conversation import *
from handrail.protocol.frames.notices import *
from handrail.protocol.frames.system import *
from handrail.protocol.frames.tasks import *

__all__ = base.__all__ + channel.__all__ + conversation.__all__ + notices.__all__ + system.__all__ + tasks.__all__

"""What a Claude Code process is started with, as one frozen struct that refuses contradictions.

Names follow `ClaudeAgentOptions` of claude-agent-sdk where it has one. `handrail.protocol.launch` and
`handrail.protocol.environment` say what each option becomes. Whatever is wrong with the options is said when they are
made (`InvalidOptions`), because the CLI itself ignores some contradictions in silence and answers others with a bare
exit code.
"""

from handrail.protocol.options.fields import is_sdk_server
from handrail.protocol.options.flags import FLAGS_TAKEN
from handrail.protocol.options.model import Options
from handrail.protocol.options.words import Effort, PermissionMode, SettingSource, StrPath, TokenBy, TransportKind

__all__ = [
    "FLAGS_TAKEN",
    "Effort",
    "Options",
    "PermissionMode",
    "SettingSource",
    "StrPath",
    "TokenBy",
    "TransportKind",
    "is_sdk_server",
]

"""What the codec reads a line into: one union by `type`, and one by `subtype` for what is a `system` line."""

from __future__ import annotations

from typing import TypeAlias

from handrail.protocol.frames import channel, conversation, notices, system, tasks
from handrail.protocol.frames.base import Frame

__all__ = ["SystemEnvelope", "SystemFrame", "WireFrame"]

SystemFrame: TypeAlias = (
    system.Init
    | system.Status
    | system.CompactBoundary
    | system.ApiRetry
    | system.ControlRequestProgress
    | system.ModelRefusalFallback
    | system.ModelRefusalNoFallback
    | system.LocalCommandOutput
    | system.HookStarted
    | system.HookProgress
    | system.HookResponse
    | system.PluginInstall
    | tasks.TaskStarted
    | tasks.TaskProgress
    | tasks.TaskUpdated
    | tasks.TaskNotification
    | tasks.BackgroundTasksChanged
    | system.ThinkingTokens
    | system.SessionStateChanged
    | system.WorkerShuttingDown
    | system.CommandsChanged
    | system.Notification
    | system.FilesPersisted
    | system.MemoryRecall
    | system.ElicitationComplete
    | system.PermissionDenied
    | system.MirrorError
    | system.Informational
    | system.SessionWritesLost
    | system.SessionTitleChanged
)


class SystemEnvelope(Frame, tag="system"):
    """First look at a `system` line: just enough to know which struct reads it. Never leaves the codec."""

    subtype: str = ""


WireFrame: TypeAlias = (
    conversation.StreamEvent
    | conversation.Assistant
    | conversation.User
    | conversation.Result
    | SystemEnvelope
    | conversation.ApiError
    | notices.ToolProgress
    | notices.ToolUseSummary
    | notices.AuthStatus
    | notices.RateLimitEvent
    | notices.PromptSuggestion
    | notices.ConversationReset
    | notices.ActiveGoal
    | notices.CommandLifecycle
    | notices.TranscriptMirror
    | notices.Attachment
    | notices.Progress
    | notices.StreamlinedText
    | notices.StreamlinedToolUseSummary
    | channel.ControlRequest
    | channel.ControlResponse
    | channel.ControlCancelRequest
    | channel.KeepAlive
    | channel.UpdateEnvironmentVariables
)

"""Options that cannot hold together: `CONTRADICTIONS` raise `InvalidOptions`, and say which one to leave out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from handrail.errors import InvalidOptions

if TYPE_CHECKING:
    from handrail.protocol.options.model import Options

__all__ = ["CONTRADICTIONS"]


def _session_contradictions(options: Options) -> None:
    continues = options.continue_conversation or options.resume is not None
    if options.continue_conversation and options.resume is not None:
        raise InvalidOptions(
            "continue_conversation and resume name two conversations: leave out resume for the latest one in cwd, "
            "or continue_conversation for the one that resume names"
        )
    if options.fork_session and not continues:
        raise InvalidOptions("fork_session needs a conversation to fork: set resume or continue_conversation")
    if options.session_id is not None and continues and not options.fork_session:
        raise InvalidOptions(
            "session_id names a new conversation, but an old one is resumed: set fork_session to fork it under "
            "the new id, or leave session_id out"
        )
    if options.resume_at is not None and options.resume is None:
        raise InvalidOptions("resume_at needs resume: it says up to which message that conversation is loaded")
    if options.resume_drops_turn is not None and options.resume_at is None:
        raise InvalidOptions("resume_drops_turn needs resume_at: it says which turn that point cuts off")


def _permission_contradictions(options: Options) -> None:
    # The CLI's flag wins over every mode without a word: a session meant to plan would run everything.
    if options.dangerously_skip_permissions and options.permission_mode not in ("default", "bypassPermissions"):
        raise InvalidOptions(
            f"dangerously_skip_permissions starts the session in bypassPermissions, not in {options.permission_mode}: "
            "leave permission_mode out, or set allow_dangerously_skip_permissions instead to be able to switch later"
        )


def _model_contradictions(options: Options) -> None:
    if options.fallback_model is not None and options.fallback_model == options.model:
        raise InvalidOptions("fallback_model must be another model than model: older CLIs refuse to start")
    if options.thinking is not None and options.max_thinking_tokens is not None:
        raise InvalidOptions("thinking and max_thinking_tokens say the same twice: leave max_thinking_tokens out")


def _prompt_contradictions(options: Options) -> None:
    prompt = options.system_prompt
    if options.append_system_prompt is not None and isinstance(prompt, Mapping) and "append" in prompt:
        raise InvalidOptions("append_system_prompt and system_prompt['append'] say the same twice: leave one out")


def _settings_contradictions(options: Options) -> None:
    if options.sandbox is not None and isinstance(options.settings, (str, PurePath)):
        raise InvalidOptions(
            "sandbox becomes part of settings, and settings is a file or a string: write the sandbox key there, or "
            "give settings as a mapping"
        )
    if options.sandbox is not None and isinstance(options.settings, Mapping) and "sandbox" in options.settings:
        raise InvalidOptions("sandbox and settings['sandbox'] say the same twice: leave one out")


CONTRADICTIONS: Final = (
    _session_contradictions,
    _permission_contradictions,
    _model_contradictions,
    _prompt_contradictions,
    _settings_contradictions,
)

"""Files: reading, finding and rewinding them."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType, field

from handrail.protocol.control.base import SLOW, Acknowledged, Payload, Request

__all__ = [
    "FileAnchor",
    "FileContents",
    "FileSuggestion",
    "FileSuggestions",
    "ReadFile",
    "RegisterRepoRoot",
    "RepoRootRegistered",
    "RewindFiles",
    "RewindResult",
    "SeedReadState",
    "SuggestedFiles",
]


class RewindResult(Payload, rename="camel"):
    can_rewind: bool = False
    error: str | None = None
    files_changed: tuple[str, ...] = ()
    insertions: int | None = None
    deletions: int | None = None
    skipped_links: int | None = None


class RewindFiles(Request[RewindResult], tag="rewind_files"):
    """Back to before the user message with this uuid; needs file checkpointing, switched on at launch."""

    timeout = SLOW
    user_message_id: str
    dry_run: bool | UnsetType = UNSET


class FileContents(Payload):
    contents: str = ""
    abs_path: str = field(default="", name="absPath")
    requested_path: str | None = None
    truncated: bool = False
    encoding: Literal["base64"] | str | None = None
    lossy: bool | None = None
    anchor: Literal["workspace_root", "diff_root", "repo", "as_written"] | str | None = None
    offset: int | None = None
    read_bytes: int | None = None
    total_bytes: int | None = None
    etag: str | None = None
    upload_screened: bool = False


class FileAnchor(Payload):
    kind: str


class ReadFile(Request[FileContents], tag="read_file"):
    since = "2.1.120"
    path: str
    max_bytes: int | UnsetType = UNSET
    encoding: Literal["utf-8", "base64"] | UnsetType = UNSET
    anchor: FileAnchor | UnsetType = UNSET
    offset: int | UnsetType = UNSET
    for_upload: bool | UnsetType = UNSET
    live_reply: bool | UnsetType = field(default=UNSET, name="liveReply")


class SeedReadState(Request[Acknowledged], tag="seed_read_state"):
    since = "2.1.120"
    path: str
    mtime: float


class FileSuggestion(Payload):
    path: str = ""
    score: float | None = None


class SuggestedFiles(Payload):
    suggestions: tuple[FileSuggestion, ...] = ()
    cwd: str | None = None


class FileSuggestions(Request[SuggestedFiles], tag="file_suggestions"):
    since = "2.1.197"
    query: str


class RepoRootRegistered(Payload):
    directory: str = ""


class RegisterRepoRoot(Request[RepoRootRegistered], tag="register_repo_root"):
    since = "2.1.197"
    directory: str
    reload_claude_md: bool | UnsetType = UNSET
    reload_plugins: bool | UnsetType = UNSET
    reload_skills: bool | UnsetType = UNSET

"""Files that decide what runs next: no allow rule and no mode but bypassPermissions lets an edit of them pass."""

from __future__ import annotations

__all__ = ["is_protected"]

_DIRECTORIES = {
    ".git", ".vscode", ".idea", ".claude", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn",
}  # fmt: skip

_FILES = {
    ".gitconfig", ".gitmodules",
    ".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".bash_logout", ".profile", ".envrc",
    ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
    ".mcp.json", ".claude.json", ".ripgreprc", ".devcontainer.json", "pyrightconfig.json",
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".pnp.loader.mjs", ".pnpmfile.cjs", "bunfig.toml", ".bunfig.toml",
    ".bazelrc", ".bazelversion", ".bazeliskrc", "gradle-wrapper.properties", "maven-wrapper.properties",
    ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", "lefthook.yaml", ".lefthook.yaml",
}  # fmt: skip


def is_protected(path: str) -> bool:
    """Whether an edit of the absolute `path` is never allowed by rule."""
    names = path.lower().split("/")
    if names[-1] in _FILES:
        return True
    return any(_is_protected_directory(names, index) for index in range(len(names)))


def _is_protected_directory(names: list[str], index: int) -> bool:
    following = names[index + 1] if index + 1 < len(names) else ""
    if names[index] == ".config" and following == "git":
        return True
    is_worktree = names[index] == ".claude" and following == "worktrees"
    return names[index] in _DIRECTORIES and not is_worktree

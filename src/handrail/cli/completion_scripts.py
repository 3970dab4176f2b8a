"""Scripts that teach shells to complete `handrail`, and where each shell looks for them.

Each passes the words of the command line to `handrail complete-words`, which answers with a candidate on each line, a
tab and a few words about it. Nothing of the answer is ever evaluated: titles of sessions are written by others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from handrail.whole_files import write_whole

__all__ = ["installed", "script"]

SCRIPTS = {
    "bash": """\
# Completion of handrail for bash.
_handrail() {
    local line
    COMPREPLY=()
    while IFS=$'\\t' read -r line _; do
        COMPREPLY+=("$line")
    done < <("$1" complete-words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _handrail handrail
""",
    "zsh": """\
#compdef handrail
# Completion of handrail for zsh.
_handrail() {
    local -a candidates
    local value about
    while IFS=$'\\t' read -r value about; do
        candidates+=("${value//:/\\\\:}:${about}")
    done < <("${words[1]}" complete-words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#candidates} )); then
        _describe handrail candidates
    else
        _files
    fi
}
if [[ "${funcstack[1]}" == _handrail ]]; then
    _handrail "$@"
else
    compdef _handrail handrail
fi
""",
    "fish": """\
# Completion of handrail for fish.
function __handrail_candidates
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l last (commandline --current-token --cut-at-cursor)
    command handrail complete-words -- $words[2..-1] "$last" 2>/dev/null
end
complete --command handrail --arguments '(__handrail_candidates)'
""",
}


def script(shell: str) -> str:
    """The script for a shell."""
    return SCRIPTS[shell]


def installed(shell: str, environ: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Write the script to where the shell looks for it; returns where, and what is left to do."""
    path, remark = _place(shell, os.environ if environ is None else environ)
    write_whole(str(path), script(shell).encode())
    return str(path), remark


def _place(shell: str, environ: Mapping[str, str]) -> tuple[Path, str]:
    home = Path(environ.get("HOME") or Path.home())
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local/share")
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    if shell == "bash":
        path = data / "bash-completion/completions/handrail"
        return path, f"Without the package bash-completion, add this to ~/.bashrc: source {path}"
    if shell == "zsh":
        path = data / "zsh/site-functions/_handrail"
        return path, f"Add this to ~/.zshrc before compinit, if it is not there: fpath=({path.parent} $fpath)"
    return config / "fish/completions/handrail.fish", "It works in every new shell."

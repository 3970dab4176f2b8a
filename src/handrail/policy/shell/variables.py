"""Variables that change how later commands run, in bash or in zsh."""

from __future__ import annotations

import re

__all__ = ["changes_the_shell"]

_SPECIAL_PREFIXES = (
    "BASH",
    "COMP_",
    "DYLD_",
    "FUNC",
    "GIT_",
    "HIST",
    "LC_",
    "LD_",
    "LESS",
    "OPT",
    "PROMPT",
    "PYTHON",
    "SSH_",
    "ZSH",
)
_SPECIAL_NAMES = frozenset([
    "_", "ALIASES", "ARGC", "ARGV0", "BAUD", "BROWSER", "CDPATH", "COLUMNS", "CPUTYPE", "DIRSTACK", "DIRSTACKSIZE",
    "DISPLAY", "EDITOR", "EGID", "ENV", "EPOCHSECONDS", "ERRNO", "EUID", "EXECIGNORE", "FIGNORE", "FPATH", "GID",
    "GLOBIGNORE", "GROUPS", "HOME", "HOST", "HOSTNAME", "HOSTTYPE", "IFS", "INPUTRC", "KEYTIMEOUT", "LANG",
    "LANGUAGE", "LINENO", "LINES", "LISTMAX", "LOGCHECK", "LOGNAME", "MACHTYPE", "MAIL", "MAILCHECK", "MAILPATH",
    "MANPATH", "MATCH", "NODE_OPTIONS", "NODE_PATH", "NO_PROXY", "NULLCMD", "OLDPWD", "OSTYPE", "PAGER", "PATH",
    "PERL5LIB", "PERL5OPT", "PIPESTATUS", "PPID", "PWD", "RANDOM", "READNULLCMD", "REPLY", "RPROMPT", "RUBYLIB",
    "RUBYOPT", "SAVEHIST", "SECONDS", "SHELL", "SHELLOPTS", "SHLVL", "SPROMPT", "STATUS", "TERM", "TMOUT", "TMPDIR",
    "TMPPREFIX", "TTYIDLE", "TZ", "UID", "USER", "USERNAME", "VISUAL", "WATCH", "ZDOTDIR", "aliases", "argv",
    "cdpath", "commands", "dirstack", "env", "fignore", "fpath", "functions", "galiases", "histchars", "home", "lang",
    "mailpath", "manpath", "match", "module_path", "options", "parameters", "path", "pipestatus", "prompt", "psvar",
    "saliases", "shell", "signals", "status", "watch",
])  # fmt: skip
_PROMPT = re.compile(r"R?PS\d")


def changes_the_shell(name: str) -> bool:
    """Whether setting this variable is more than remembering a value."""
    return name in _SPECIAL_NAMES or name.startswith(_SPECIAL_PREFIXES) or _PROMPT.fullmatch(name) is not None

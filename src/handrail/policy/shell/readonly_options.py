"""The options that keep a reading command a reading command: data, as measured on the CLI.

An option that is not named here needs a rule, also if it would be harmless.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["COMMANDS", "DOCKER", "GIT", "HELP", "Options", "Positionals"]

Positionals: TypeAlias = Literal["any", "none", "no-patterns"]
"""Arguments that are not options: any; none; or any as long as the shell does not expand them."""


@dataclass(frozen=True, slots=True, init=False)
class Options:
    """What one command may be given."""

    flags: frozenset[str]
    """Options without a value."""
    texts: frozenset[str]
    """Options with a value, as the next word or behind `=`."""
    formats: frozenset[str]
    """Options with a format of git's."""
    numbers: frozenset[str]
    """Options with a number, as the next word, behind `=`, or attached to a letter where `attached` says so."""
    positionals: Positionals
    attached: bool
    counts: bool
    """Whether `-5` is an option, for a count."""
    dashes: bool
    """Whether `--` may end the options."""

    def __init__(
        self,
        flags: str = "",
        texts: str = "",
        numbers: str = "",
        positionals: Positionals = "no-patterns",
        *,
        formats: str = "",
        attached: bool = False,
        counts: bool = False,
        dashes: bool = False,
    ) -> None:
        object.__setattr__(self, "flags", frozenset(flags.split()))
        object.__setattr__(self, "texts", frozenset(texts.split()))
        object.__setattr__(self, "formats", frozenset(formats.split()))
        object.__setattr__(self, "numbers", frozenset(numbers.split()))
        object.__setattr__(self, "positionals", positionals)
        object.__setattr__(self, "attached", attached)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "dashes", dashes)


HELP = " --help --version"

_GREP = Options(
    "-E -F -G -H -I -L -P -R -T -U -V -Z -a -b -c -h -i -l -n -o -q -r -s -u -v -w -x -z --basic-regexp"
    " --binary --byte-offset --count --dereference-recursive --extended-regexp --files-with-matches"
    " --files-without-match --fixed-strings --ignore-case --initial-tab --invert-match --line-buffered"
    " --line-number --line-regexp --no-filename --no-group-separator --no-ignore-case --no-messages --null"
    " --null-data --only-matching --perl-regexp --quiet --recursive --silent --text --unix-byte-offsets"
    " --with-filename --word-regexp" + HELP,
    "-D -d -e -f --binary-files --color --colour --devices --directories --exclude --exclude-dir"
    " --exclude-from --file --group-separator --include --label --regexp",
    "-A -B -C -m --after-context --before-context --context --max-count",
    "any",
    attached=True,
    dashes=True,
)
_CHECKSUM = Options("-b -c -t -w -z --check" + HELP, positionals="any")
_FD = Options(
    "-0 -1 -F -H -I -L -V -a -g -h -i -p -q -s --absolute-path --case-sensitive --fixed-strings --follow"
    " --full-path --glob --hidden --ignore-case --no-ignore --no-ignore-vcs --one-file-system --print0"
    " --prune --quiet --regex --show-errors --strip-cwd-prefix" + HELP,
    "-E -S -c -e -o -t --changed-before --changed-within --color --exclude --extension --owner --size --type",
    "-d -j --exact-depth --max-depth --max-results --min-depth --threads",
)

COMMANDS: dict[str, Options] = {
    "base64": Options("-D -d -h --decode --ignore-garbage" + HELP, "-i", "-b -w --wrap"),
    "date": Options(
        "-I -R -u --debug --rfc-email --universal --utc" + HELP,
        "-d -r --date --iso-8601 --reference --rfc-3339",
        positionals="none",
    ),
    "egrep": _GREP,
    "fd": _FD,
    "fdfind": _FD,
    "fgrep": _GREP,
    "file": Options("-0 -L -b -c -h -i -k -l -n -p -r -s -v" + HELP, "-F"),
    "grep": _GREP,
    "help": Options(),
    "hostname": Options("-f -i -s" + HELP, positionals="none"),
    "lsof": Options("-P -R -U -V -a -b -g -h -i -l -n -o -t -v", "-c -d -p -u"),
    "md5sum": _CHECKSUM,
    "netstat": Options("-L -a -g -i -l -m -n -r -s -v"),
    "pgrep": Options("-L -V -a -c -f -i -l -n -o -v -w -x" + HELP, "-G -P -U -d -g -s -t -u"),
    "ps": Options("-A -F -H -L -N -T -V -a -c -d -e -f -j -l -m -w -y" + HELP, "-C -G -U -g -p -t -u"),
    "rg": Options(
        "-F -H -L -S -a -c -h -i -l -n -o -q -u -v -w --column --count --debug --files-with-matches"
        " --files-without-match --fixed-strings --follow --heading --hidden --ignore-case --invert-match"
        " --json --line-number --no-heading --no-ignore --only-matching --quiet --smart-case --stats --text"
        " --type-list --word-regexp" + HELP,
        "-T -e -f -g -t --color --glob --regexp --type --type-not",
        "-A -B -C -m --after-context --before-context --context --max-count --max-depth",
        attached=True,
    ),
    "sha1sum": _CHECKSUM,
    "sha256sum": _CHECKSUM,
    "sort": Options(
        "-C -M -R -V -b -c -d -f -g -h -i -m -n -r -s -u -z --check --dictionary-order"
        " --general-numeric-sort --human-numeric-sort --ignore-case --ignore-leading-blanks"
        " --ignore-nonprinting --merge --month-sort --numeric-sort --random-sort --reverse --stable --unique"
        " --version-sort --zero-terminated" + HELP,
        "-S -k -t --buffer-size --field-separator --key --sort",
        "--batch-size --parallel",
    ),
    "ss": Options(
        "-0 -E -H -M -O -S -V -Z -a -b -d -e -h -i -l -m -n -o -p -s -t -u -w -x -z" + HELP, positionals="none"
    ),
    "tree": Options(
        "-A -C -D -F -J -N -Q -S -U -X -a -c -d -f -g -h -i -l -n -p -q -r -s -t -u -v -x --device"
        " --dirsfirst --du --filesfirst --fromfile --gitignore --ignore-case --info --inodes --matchdirs"
        " --metafirst --nolinks --noreport --prune --si" + HELP,
        "-H -I -P -T --charset --sort --timefmt",
        "-L --filelimit",
    ),
    "which": Options("-V -a -p -s -v -w" + HELP),
}
"""Commands that read as long as they are given no other options."""

_LOG = (
    "--abbrev-commit --all --ancestry-path --author-date-order --boundary --branches --cherry-pick --color"
    " --date-order --decorate --first-parent --follow --full-history --graph --left-right --merges"
    " --name-only --name-status --no-color --no-decorate --no-ext-diff --no-merges --no-patch --no-walk"
    " --numstat --oneline --patch --pickaxe-all --pickaxe-regex --remotes --reverse --shortstat --source"
    " --stat --tags --topo-order --walk-reflogs -p -s"
)
_LOG_TEXTS = "-G -S --after --author --before --committer --date --diff-filter --grep --since --until"
_FORMATS = "--pretty --format"

GIT: dict[tuple[str, ...], Options] = {
    ("blame",): Options("-C -M -e -f -l -n -p -s -t -w", "-L", counts=True, dashes=True),
    ("branch",): Options(
        "--all --color --column --ignore-case --list --merged --no-abbrev --no-color --no-column --no-merged"
        " --remotes --show-current --verbose -a -i -l -r -v",
        "--contains --points-at --sort",
        positionals="none",
    ),
    ("branch", "--list"): Options(positionals="any"),
    ("branch", "--merged"): Options(),
    ("cat-file",): Options("-e -p -s -t"),
    ("config", "--get"): Options("--global"),
    ("describe",): Options("--always --tags", "", "--abbrev", counts=True),
    ("diff",): Options(
        "--binary --cached --check --color --color-words --exit-code --find-copies --find-renames"
        " --full-index --function-context --histogram --ignore-all-space --ignore-blank-lines"
        " --ignore-space-at-eol --ignore-space-change --minimal --name-only --name-status --no-color"
        " --no-ext-diff --no-index --no-renames --numstat --patience --quiet --shortstat --staged --stat"
        " --summary --word-diff -B -C -D -M -R -l -p -s -u --dirstat --pickaxe-all --pickaxe-regex",
        "-G -S --diff-algorithm --diff-filter",
        "--abbrev",
        counts=True,
        dashes=True,
    ),
    ("for-each-ref",): Options("", "--format"),
    ("grep",): Options("-E -F -G -H -L -P -c -h -i -l -n -o -q -v -w", "-e", "-A -B -C", counts=True),
    ("log",): Options(_LOG, _LOG_TEXTS, "-n --max-count --skip", formats=_FORMATS, counts=True, dashes=True),
    ("ls-files",): Options(
        "--exclude-standard --others -c -d -f -i -k -m -o -s -t -u -v -z", "-X -x", counts=True, dashes=True
    ),
    ("ls-remote",): Options("--heads", positionals="none"),
    ("merge-base",): Options(),
    ("reflog",): Options(positionals="none", counts=True),
    ("reflog", "show"): Options(),
    ("remote",): Options("-v", positionals="none"),
    ("rev-list",): Options("--count"),
    ("rev-parse",): Options("--abbrev-ref --git-dir --is-inside-work-tree --short --show-toplevel", counts=True),
    ("shortlog",): Options("-c -e -n -s --all", counts=True),
    ("show",): Options(
        "--abbrev-commit --color --color-words --decorate --first-parent --graph --name-only --name-status"
        " --no-color --no-decorate --no-ext-diff --no-patch --numstat --oneline --patch --quiet --raw"
        " --shortstat --stat --word-diff -m -p -s",
        "--date --diff-filter",
        formats=_FORMATS,
        counts=True,
    ),
    ("stash", "list"): Options("--all"),
    ("stash", "show"): Options("-p -s", counts=True),
    ("status",): Options(
        "--ahead-behind --branch --column --ignored --long --no-column --no-renames --porcelain --renames"
        " --short --verbose -b -s -v",
        "--find-renames --ignore-submodules --untracked-files -u",
        counts=True,
    ),
    ("tag",): Options("--list -i -l", "--contains", positionals="none"),
    ("tag", "--list"): Options(positionals="any"),
    ("tag", "-l"): Options(positionals="any"),
    ("worktree", "list"): Options("--porcelain"),
}
"""Subcommands of git that read."""

DOCKER: dict[tuple[str, ...], Options] = {
    ("images",): Options("-q --all --digests --no-trunc --quiet"),
    ("inspect",): Options(),
    ("logs",): Options("--details --follow --timestamps", "--since --tail --until"),
    ("ps",): Options("-a --all --latest --no-trunc --quiet --size"),
}
"""Subcommands of docker that read."""

"""The keys of the settings: what each takes, in words, and which variable of the environment sets it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from handrail.config.model import Claude, Host, Hub, Limits, Notify, Policy, Storage, Telegram, Terminal
from handrail.errors import ConfigError
from handrail.wording import did_you_mean

__all__ = [
    "HIDDEN",
    "KEYS",
    "SECTIONS",
    "TOKEN_VARIABLE",
    "Key",
    "key_named",
    "keys_of",
    "split_name",
    "unknown_variables",
    "wanted",
]

HIDDEN = "…"
"""What is printed instead of a value that may be secret."""
TOKEN_VARIABLE = "HANDRAIL_TELEGRAM_TOKEN"  # noqa: S105  # the name, not a token
"""The token of the Telegram bot: a secret, which is no setting."""
SECRETIVE = frozenset({"claude.env", "notify.command", "notify.webhook"})


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One setting. `name` is `section.key`."""

    name: str
    type: Any
    default: Any
    description: str

    @property
    def section(self) -> str:
        """The table in which it stands."""
        return self.name.split(".")[0]

    @property
    def last(self) -> str:
        """Its name in its table."""
        return self.name.split(".")[-1]

    @property
    def wanted(self) -> str:
        """The values that it takes, in words."""
        return wanted(self.type)

    @property
    def _parts(self) -> list[Any]:
        return [_without_notes(part) for part in _parts(self.type)]

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it takes, if there are only some."""
        return _choices(self.type)

    @property
    def _item(self) -> Any:
        return next((get_args(part)[0] for part in self._parts if get_origin(part) is tuple), None)

    @property
    def item_wanted(self) -> str:
        """The values that an item of its list is, in words."""
        return wanted(self._item)

    @property
    def item_choices(self) -> tuple[str, ...]:
        """The words that an item of its list is one of, if there are only some."""
        return _choices(self._item)

    @property
    def is_text(self) -> bool:
        """Whether it takes text of any kind, so that what looks like something else is text as well."""
        return str in self._parts

    @property
    def is_list(self) -> bool:
        """Whether it takes a list."""
        return any(get_origin(part) is tuple for part in self._parts)

    @property
    def is_table(self) -> bool:
        """Whether it takes names and values."""
        return any(get_origin(part) is dict for part in self._parts)

    @property
    def secretive(self) -> bool:
        """Whether its value may be a secret, and is not to be printed."""
        return self.name in SECRETIVE

    @property
    def variable(self) -> str | None:
        """The variable of the environment that overrides the file, for keys that take one value."""
        if self.is_list or self.is_table:
            return None
        return "HANDRAIL_" + self.name.replace(".", "_").upper()


def keys_of(section: type[msgspec.Struct], prefix: str) -> Iterator[Key]:
    """The keys of a table."""
    for field in msgspec.structs.fields(section):
        yield Key(
            name=f"{prefix}.{field.name}",
            type=field.type,
            default=field.default_factory() if callable(field.default_factory) else field.default,
            description=_description(field.type),
        )


def _description(kind: Any) -> str:
    return next(meta.description for meta in get_args(kind)[1:] if isinstance(meta, Meta) and meta.description)


SECTIONS: Mapping[str, type[msgspec.Struct]] = {
    "claude": Claude,
    "policy": Policy,
    "limits": Limits,
    "storage": Storage,
    "hub": Hub,
    "host": Host,
    "telegram": Telegram,
    "terminal": Terminal,
    "notify": Notify,
}
"""The tables of the file. `notify` is the one that may stand there several times."""

KEYS: Mapping[str, Key] = {
    **{key.name: key for name, kind in SECTIONS.items() if kind is not Notify for key in keys_of(kind, name)},
    "notify": Key(name="notify", type=tuple[Notify, ...], default=(), description="Whom to tell: see `[[notify]]`."),
}
"""What can be read and changed by its name."""


def key_named(name: str) -> Key:
    """The setting of that name. Raises `ConfigError` with the nearest one."""
    try:
        return KEYS[name]
    except KeyError:
        pass
    section, dot, last = name.partition(".")
    inside = [key.last for key in KEYS.values() if key.section == section != "notify"]
    if section in SECTIONS and not dot:
        raise ConfigError(f"{name} is a table: name one of its keys, such as {name}.{inside[0]}")
    if inside:
        raise ConfigError(f"there is no {last!r} in {section}{did_you_mean(last, inside)}")
    same_last = [key.name for key in KEYS.values() if key.last == name]
    raise ConfigError(f"there is no setting {name!r}{did_you_mean(name, same_last) if same_last else _nearest(name)}")


def _nearest(name: str) -> str:
    near = get_close_matches(name, KEYS, n=1, cutoff=0.5)
    return f": did you mean {near[0]!r}?" if near else ": handrail config list shows them all"


def split_name(name: str) -> tuple[Key, str | None]:
    """The setting, and the name inside it if it is a table: `claude.env.LANG`."""
    for key in KEYS.values():
        if key.is_table and name.startswith(f"{key.name}."):
            return key, name.removeprefix(f"{key.name}.")
    return key_named(name), None


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Variables that look like settings and are none: mistyped, most likely."""
    known = {*(key.variable for key in KEYS.values()), TOKEN_VARIABLE}
    prefixes = tuple(f"HANDRAIL_{section.upper()}_" for section in SECTIONS)
    return sorted(name for name in environ if name.startswith(prefixes) and name not in known)


# ---------------------------------------------------------------- types in words


def wanted(kind: Any) -> str:
    """The values of a type, in words."""
    return ", or ".join(_part_in_words(part) for part in _parts(kind))


def _parts(kind: Any) -> list[Any]:
    """The alternatives of a type, without None: a key that is left out is unset."""
    inner = _without_notes(kind)
    if get_origin(inner) in (Union, UnionType):
        return [part for each in get_args(inner) if each is not NoneType for part in _parts(each)]
    return [kind]


def _choices(kind: Any) -> tuple[str, ...]:
    parts = (_without_notes(part) for part in _parts(kind))
    return tuple(value for part in parts if get_origin(part) is Literal for value in get_args(part))


def _without_notes(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _part_in_words(part: Any) -> str:
    bare = _without_notes(part)
    notes = [meta for meta in get_args(part)[1:] if isinstance(meta, Meta)] if bare is not part else []
    if title := next((note.title for note in notes if note.title), None):
        return title
    if get_origin(bare) is Literal:
        quoted = [f'"{value}"' for value in get_args(bare)]
        return quoted[0] if len(quoted) == 1 else f"one of {', '.join(quoted)}"
    if get_origin(bare) is tuple:
        return f"a list, each item {wanted(get_args(bare)[0])}"
    if get_origin(bare) is dict:
        return "a table of names and texts"
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return names.get(bare, "a table") + "".join(_bounds(notes))


def _bounds(notes: list[Meta]) -> Iterator[str]:
    for note in notes:
        if note.ge is not None:
            yield f", at least {note.ge:g}"
        if note.gt is not None:
            yield f", more than {note.gt:g}"

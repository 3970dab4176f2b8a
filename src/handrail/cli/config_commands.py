"""What the `handrail config` commands do."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import typer

from handrail.cli.inside_session import refuse_inside_session
from handrail.config.keys import HIDDEN, KEYS, Key, split_name
from handrail.config.notices import danger_notice
from handrail.config.reading import Origin, Settings, load_settings, value_of
from handrail.config.values import shown
from handrail.errors import ConfigError
from handrail.places import Places

__all__ = ["Desk"]

NOT_SET = 1


class Desk:
    """The commands, with what they all need: Handrail's places, and the environment."""

    def __init__(self, places: Places, environ: Mapping[str, str]) -> None:
        self._places = places
        self._environ = environ

    @classmethod
    def here(cls) -> Desk:
        """Those of this process."""
        return cls(Places.of_user(os.environ), os.environ)

    # ------------------------------------------------------------ looking

    def list(self, *, as_json: bool) -> None:
        settings = load_settings(self._places, self._environ)
        if as_json:
            rows = {key.name: self._row(key, settings) for key in KEYS.values()}
            typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
            return
        from handrail.cli.config_view import settings_page
        from handrail.cli.showing.style import make_console

        make_console(sys.stdout).print(settings_page(settings, self._places.config_file))

    def get(self, name: str, *, as_json: bool) -> int:
        key, inside = split_name(name)
        value = value_of(load_settings(self._places, self._environ).config, key)
        if inside is not None:
            value = HIDDEN if inside in value else None
        if as_json:
            typer.echo(json.dumps(HIDDEN if inside and value else _public(value, key), ensure_ascii=False))
        elif isinstance(value, str):
            typer.echo(value)
        elif value is not None:
            typer.echo(shown(value, key))
        return NOT_SET if value is None else 0

    def path(self) -> None:
        typer.echo(self._places.config_file)

    # ------------------------------------------------------------ changing

    def set(self, name: str, texts: Sequence[str]) -> None:
        refuse_inside_session()
        from handrail.config.editing import set_value  # brings tomlkit, which reading does not need

        key, inside = split_name(name)
        set_value(self._places, name, texts)
        settings = load_settings(self._places, self._environ)
        value = HIDDEN if inside else shown(value_of(settings.config, key), key)
        self._remark(f"{name} = {value}, in {self._places.config_file}")
        self._say_if_overridden(key, settings.origins.get(key.name))
        if (danger := danger_notice(settings.config)) and key.name.startswith("claude."):
            self._remark(danger)

    def unset(self, name: str) -> None:
        refuse_inside_session()
        from handrail.config.editing import unset_value

        key, inside = split_name(name)
        if not unset_value(self._places, name):
            self._remark(f"{name} is not set in {self._places.config_file}")
            return
        default = "nothing" if inside or key.default is None else shown(key.default, key)
        self._remark(f"{name} is unset: its default holds ({default})")
        self._say_if_overridden(key, load_settings(self._places, self._environ).origins.get(key.name))

    def edit(self) -> int:
        refuse_inside_session()
        from handrail.config.editing import edit_settings

        changed = edit_settings(self._places, self._run_editor, self._edit_again)
        self._remark("saved" if changed else "nothing was changed")
        if changed and (danger := danger_notice(load_settings(self._places, {}).config)):
            self._remark(danger)
        return 0

    def _run_editor(self, path: str) -> None:
        command = self._environ.get("VISUAL") or self._environ.get("EDITOR") or "vi"
        try:
            code = subprocess.run([*shlex.split(command), path], check=False).returncode
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ConfigError(f"the editor {command!r} could not be started ({reason}): set EDITOR") from error
        if code != 0:
            raise ConfigError(f"the editor {command!r} ended with code {code}: nothing was changed")

    def _edit_again(self, error: ConfigError) -> bool:
        self._remark(str(error))
        if sys.stdin is None or not sys.stdin.isatty():
            raise ConfigError("this is not valid, so nothing was changed")
        typer.echo("Edit again? Otherwise your changes are dropped. [Y/n] ", nl=False, err=True)
        answer = sys.stdin.readline()
        return bool(answer) and answer.strip().lower() not in ("n", "no")

    def _say_if_overridden(self, key: Key, origin: Origin | None) -> None:
        if origin == "environment":
            self._remark(f"{key.variable} in the environment counts more, and is set")

    def _remark(self, text: str) -> None:
        typer.echo(text, err=True)

    def _row(self, key: Key, settings: Settings) -> dict[str, Any]:
        return {
            "value": _public(value_of(settings.config, key), key),
            "from": settings.origins.get(key.name, "default"),
            "default": _public(key.default, key),
            "variable": key.variable,
        }


def _public(value: Any, key: Key) -> Any:
    """A value for programs, without what may be secret."""
    if key.name == "notify":
        return [{"on": list(each.on), "kind": "command" if each.command else "webhook"} for each in value]
    return dict.fromkeys(value, HIDDEN) if key.secretive else msgspec.to_builtins(value)

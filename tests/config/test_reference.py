"""The page about the settings says what the model says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from handrail.config.keys import KEYS
from handrail.config.reading import parse_config

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "reference" / "config.md"


def test_the_tables_are_those_of_the_model() -> None:
    spec = importlib.util.spec_from_file_location("generate_config", DOCS / "generate_config.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    written = PAGE.read_text()
    assert written == generator.page(written), "run: python docs/generate_config.py"


def test_every_variable_is_named() -> None:
    page = PAGE.read_text()
    assert [key.name for key in KEYS.values() if key.variable and f"`{key.variable}`" not in page] == []


def test_the_example_is_valid() -> None:
    for example in re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.S):
        parse_config(example.encode(), "config.md")

"""The page's files fit together, and hold nothing that its content security policy forbids."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.server.page import MEDIA_TYPES, SCREENS

from .files import FILES, MODULES, STYLES, WEB, code_of, exports, loads, name_of, target

INDEX = WEB / "index.html"
BEGINNINGS = {WEB / "js" / "main.js", WEB / "service-worker.js"}
FOR_TOOLS = {"jsconfig.json", "jsconfig.worker.json", "package.json", "js/types.d.ts"}
"""What editors, the type checker and node read, and no browser."""

AS_MARKUP = re.compile(
    r"\.(?:inner|outer)HTML\s*=|insertAdjacentHTML|setHTMLUnsafe|parseFromString|createContextualFragment"
    r"|\bdocument\.write|\beval\s*\(|new Function\b|set(?:Timeout|Interval)\(\s*[\"'`]"
    r"|[\"'](?:style|script)[\"']\s*[,:)]|\bstyle\s*(?:=|:\s*[\"'`])|\bcssText\b"
)
"""Text that becomes elements, scripts or styles."""
THE_DOOR = "element.innerHTML = policy.createHTML(html);"
ADDRESSES = re.compile(
    r"(?:\b(?:fetch|WebSocket|EventSource|import|importScripts|sendBeacon)\(|\b(?:src|href|action)\b\s*[:=])"
    r"\s*[\"'`]([^\"'`]*)"
)
ELSEWHERE = re.compile(r"(?:https?:)?//[\w.-]+\.\w", re.I)
SVG = "http://www.w3.org/2000/svg"
"""The name of a language, from which nothing is loaded."""


def missing_from(path: Path) -> Iterator[str]:
    """What a module imports and is not there: modules, and names in them."""
    for address, names in loads(path):
        found = target(path, address)
        if found not in MODULES or not address.startswith("."):
            yield f"{name_of(path)}: {address}"
        else:
            yield from (f"{name_of(path)}: {name} of {address}" for name in names - exports(found))


@pytest.mark.slow
def test_what_a_module_imports_is_there() -> None:
    assert [each for path in MODULES for each in missing_from(path)] == []


def test_every_module_is_reached_from_the_page() -> None:
    reached: set[Path] = set()
    left = list(BEGINNINGS)
    while left:
        path = left.pop()
        if path not in reached:
            reached.add(path)
            left += [target(path, address) for address, _ in loads(path)]
    assert [name_of(path) for path in MODULES if path not in reached] == []


def test_what_the_page_itself_loads_is_there() -> None:
    loaded = re.findall(r'(?:href|src)="([^"]+)"', INDEX.read_text(encoding="utf-8"))
    assert [address for address in loaded if target(INDEX, address) not in FILES] == []
    assert "/web/js/main.js" in loaded


def test_every_style_sheet_is_loaded_and_what_it_loads_is_there() -> None:
    loaded = {target(INDEX, each) for each in re.findall(r'href="([^"]+[.]css)"', INDEX.read_text(encoding="utf-8"))}
    for path in STYLES:
        for address in re.findall(r"(?:@import\s+(?:url\()?|url\()[\"']?([^\"')\s]+)", code_of(path)):
            assert target(path, address) in FILES, f"{name_of(path)}: {address}"
            loaded.add(target(path, address))
    assert [name_of(path) for path in STYLES if path not in loaded] == []


def test_the_manifest_names_files_and_screens_that_there_are() -> None:
    manifest = json.loads((WEB / "manifest.webmanifest").read_text(encoding="utf-8"))
    assert [icon["src"] for icon in manifest["icons"] if target(INDEX, icon["src"]) not in FILES] == []
    assert manifest["start_url"] in SCREENS


def test_every_file_is_served_or_for_tools() -> None:
    assert {name_of(path) for path in FILES if path.suffix not in MEDIA_TYPES} == FOR_TOOLS


@pytest.mark.slow
def test_markup_enters_the_page_through_one_door() -> None:
    door = "js/html.js: " + THE_DOOR
    found = [
        f"{name_of(path)}: {line.strip()}"
        for path in MODULES
        for line in code_of(path).splitlines()
        if AS_MARKUP.search(line)
    ]
    assert found == [door]


def test_the_page_itself_has_neither_scripts_nor_styles_in_it() -> None:
    page = INDEX.read_text(encoding="utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=|javascript:", page, re.I) == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    loading = [INDEX, *STYLES, WEB / "icons" / "icon.svg", WEB / "manifest.webmanifest"]
    assert [name_of(path) for path in loading if ELSEWHERE.search(code_of(path).replace(SVG, ""))] == []


def test_no_module_calls_anybody_but_the_hub() -> None:
    assert [
        f"{name_of(path)}: {address}"
        for path in MODULES
        for address in ADDRESSES.findall(code_of(path))
        if ELSEWHERE.match(address)
    ] == []

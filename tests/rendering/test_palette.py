"""The 256 colours: the nearest one is found, and each can be read on a light and on a dark page."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from handrail.rendering.palette import NAMED, Colour, contrast, nearest, palette_css

CSS = files("handrail.web").joinpath("css")
RENDERED = CSS.joinpath("rendered.css").read_text("utf-8")
PAIR = re.compile(r"light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)")
TOKENS = {
    name: (light, dark)
    for sheet in (CSS.joinpath("tokens.css").read_text("utf-8"), RENDERED)
    for name, light, dark in re.findall(rf"--([a-z-]+): {PAIR.pattern};", sheet)
}
AA = 4.5


def colour(text: str) -> Colour:
    red, green, blue = bytes.fromhex(text)
    return red, green, blue


def test_the_nearest_colour_is_found() -> None:
    assert nearest((0, 0, 0)) == 16
    assert nearest((255, 255, 255)) == 231
    assert nearest((255, 135, 0)) == 208
    assert nearest((129, 128, 127)) == 244


def test_the_stylesheet_has_the_palette() -> None:
    assert palette_css(within="  .output ") in RENDERED


def test_each_colour_can_be_read() -> None:
    for number in range(NAMED, 256):
        text, ground = palette_css([number]).splitlines()
        for page in ("page", "raised", "surface"):
            for shade, on in zip(PAIR.findall(text)[0], TOKENS[page], strict=True):
                assert contrast(colour(shade), colour(on)) >= AA, number
        below, above = re.findall(r"#([0-9a-f]{6})", ground)
        assert contrast(colour(below), colour(above)) >= AA, number


RULES = re.findall(r"([^{}]+)\{([^{}]*)\}", RENDERED)


@pytest.mark.parametrize("name", ["quiet", "plan", "done", "needs-you", "running", "failed", "text"])
def test_words_in_code_can_be_read(name: str) -> None:
    for ground in ("raised", "page", "surface"):
        for shade, on in zip(TOKENS[name], TOKENS[ground], strict=True):
            assert contrast(colour(shade), colour(on)) >= AA, (name, ground)


@pytest.mark.parametrize(
    ("text", "ground"),
    [
        *(("text", f"rendered-{which}{part}") for which in ("added", "removed") for part in ("", "-part")),
        ("quiet", "rendered-added"),
        ("quiet", "rendered-removed"),
        ("failed", "rendered-removed"),
        ("done", "rendered-added"),
        ("needs-you", "needs-you-soft"),
        ("rendered-cyan", "raised"),
        ("rendered-white", "raised"),
        ("rendered-black", "raised"),
    ],
)
def test_what_stands_on_a_ground_can_be_read(text: str, ground: str) -> None:
    for shade, on in zip(TOKENS[text], TOKENS[ground], strict=True):
        assert contrast(colour(shade), colour(on)) >= AA


def test_grounds_with_names_bring_readable_text() -> None:
    grounds = [body for selector, body in RULES if re.search(r"\.b([0-9]|1[0-5])\b", selector)]
    assert len(grounds) == 8
    for body in grounds:
        below, above = re.findall(r"#([0-9a-f]{6})", body)
        assert contrast(colour(below), colour(above)) >= AA

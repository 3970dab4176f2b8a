"""Plans are rendered, and whatever rendering would keep out of sight is shown all the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from handrail.policy.describing.visible import hiding
from handrail.telegram.asks.reviewing import SOURCE_FOLLOWS, reviewed

from ...rendering.hostile import NASTY
from .support import check_text


@pytest.mark.parametrize(
    "text",
    [
        "# Round\n\n1. Change `round.py`\n1. Run `pytest -q`\n\n- [x] done\n- [ ] open\n\n> quoted **words**",
        "```python\nprint(1 < 2)\n```\n\nand\n\n```sh\nls\n```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "See [the docs](https://example.org/x) &amp; more",
        "a * b\\* c_d_e ~~gone~~",
        "Some text\n\n    indented code",
    ],
)
def test_what_is_all_to_be_seen_is_only_rendered(text: str) -> None:
    shown = reviewed(text)
    check_text(shown)
    assert SOURCE_FOLLOWS not in shown.text
    assert "```" not in shown.text


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ('[the docs](https://example.org "then run rm -rf")', "then run rm -rf"),
        ("fine &#8238;txt.exe", "<U+202E>"),
        ("[//]: # (then push to main)", "then push to main"),
        ("<!-- then push to main -->", "then push to main"),
        ("a\u202eb", "<U+202E>"),
    ],
)
def test_what_would_not_be_seen_is_shown_as_it_was_written(text: str, hidden: str) -> None:
    shown = reviewed(text)
    check_text(shown)
    assert hidden in shown.text


def test_addresses_are_shown_and_looks_stay_where_they_were() -> None:
    shown = reviewed("**see [a](https://a.example) or [b](https://b.example)** and `code`")
    check_text(shown)
    assert shown.text == "see a (https://a.example) or b (https://b.example) and code"
    looks = {entity.kind: shown.text[entity.offset : entity.offset + entity.length] for entity in shown.entities}
    assert looks == {"bold": "see a (https://a.example) or b", "text_link": "b", "code": "code"}


@settings(max_examples=60)
@given(text=NASTY)
def test_nothing_hides(text: str) -> None:
    assert not list(hiding(reviewed(text).text))

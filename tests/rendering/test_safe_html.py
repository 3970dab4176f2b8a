"""The check of HTML that the other tests rely on: it notices what it should."""

from __future__ import annotations

import pytest

from .safe_html import check_html

WRONG = [
    "<script>x</script>",
    "<p onclick=x>x</p>",
    '<p style="color:red">x</p>',
    "<img src=x>",
    '<a href="javascript:x">x</a>',
    '<a href="data:text/html,x">x</a>',
    '<a href="java\tscript:x">x</a>',
    "<p>x",
    "x</p>",
    "<p><b>x</p></b>",
    "<!-- x -->",
    "<pre><div>x</pre></div>",
    '<div class="X onload=1">x</div>',
    "<table><p>x</p></table>",
    "<svg>x</svg>",
]


@pytest.mark.parametrize("html", WRONG)
def test_what_is_wrong_is_noticed(html: str) -> None:
    with pytest.raises(AssertionError):
        check_html(html)


def test_what_is_right_passes() -> None:
    check_html('<div class="prose"><p>x <a href="https://x.example" rel="noopener noreferrer">y</a></p></div>')

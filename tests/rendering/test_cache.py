"""What was rendered is kept, up to a number of bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handrail.rendering.cache import LARGEST_SHARE, RenderedCache


class Kitchen:
    """Makes things, and counts them."""

    def __init__(self, cache: RenderedCache) -> None:
        self.cache = cache
        self.made = 0

    def get(self, *content: str, size: int = 10) -> str:
        def make() -> str:
            self.made += 1
            return "x" * size

        return self.cache.get(make, *content)


def test_the_same_is_made_once() -> None:
    kitchen = Kitchen(RenderedCache(100_000))
    assert kitchen.get("a") == kitchen.get("a")
    assert kitchen.made == 1


def test_content_is_not_mixed_up() -> None:
    kitchen = Kitchen(RenderedCache(100_000))
    for content in (("a", "b"), ("ab",), ("ab", ""), ("", "ab"), ("a\ud800",)):
        kitchen.get(*content)
    assert kitchen.made == 5


def test_the_longest_unused_goes_first() -> None:
    kitchen = Kitchen(RenderedCache(10_000))
    for name in "abcdefghi":
        kitchen.get(name, size=1_000)
        kitchen.get("a", size=1_000)
    before = kitchen.made
    kitchen.get("a", size=1_000)
    assert kitchen.made == before
    kitchen.get("b", size=1_000)
    kitchen.get("j", size=1_000)
    kitchen.get("c", size=1_000)
    assert kitchen.made > before


def test_what_is_too_large_is_not_kept() -> None:
    kitchen = Kitchen(RenderedCache(8_000))
    kitchen.get("a", size=8_000 // LARGEST_SHARE + 1)
    assert len(kitchen.cache) == kitchen.cache.bytes_held == 0
    assert Kitchen(RenderedCache(0)).get("a")


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2_000)), max_size=60))
def test_it_never_holds_more_than_it_may(asked: list[tuple[int, int]]) -> None:
    kitchen = Kitchen(RenderedCache(8_000))
    for name, size in asked:
        kitchen.get(str(name), size=size)
        assert kitchen.cache.bytes_held <= 8_000

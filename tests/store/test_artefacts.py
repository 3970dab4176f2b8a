"""What is cut out of JSON comes back to the byte, whatever the JSON is."""

from __future__ import annotations

import json
import zlib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.store.artefacts import LARGE, pack, unpack

pieces = st.text(max_size=6) | st.sampled_from(['"', "\\", '\\"', "\\u0000", "ä", "😀", "\n"])
long_strings = st.builds(lambda piece, times: piece * times, pieces, st.sampled_from([1, LARGE // 6, LARGE, 2 * LARGE]))
values = st.recursive(
    long_strings | st.integers() | st.none(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(long_strings, children, max_size=3),
    max_leaves=5,
)


def came_back(body: bytes) -> bool:
    packed = pack(body)
    contents = {name: data for name, (_, data) in packed.artefacts.items()}

    def fetch(name: str) -> bytes:
        return zlib.decompress(contents[name])

    return unpack(packed.body, packed.cuts, fetch) == body


@settings(max_examples=60)
@given(values, st.booleans())
def test_json_comes_back(value: Any, ascii_only: bool) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert came_back(body)
    packed = pack(body)
    assert packed.cuts is None or len(packed.body) < len(body) - LARGE


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=20) | st.sampled_from([b'"', b"\\", b'\\"', b"x" * (LARGE + 1)]), max_size=12))
def test_what_is_no_json_comes_back_too(parts: list[bytes]) -> None:
    assert came_back(b"".join(parts))


def test_only_large_strings_are_cut() -> None:
    small, large = "s" * LARGE, "l" * (LARGE + 1)
    packed = pack(json.dumps({"small": small, "large": [large, large]}).encode())
    assert len(packed.artefacts) == 1
    assert small.encode() in packed.body
    assert large.encode() not in packed.body

"""Answers as Claude writes them, made up: prose, lists, code, tables, a diff, and one that is long."""

from __future__ import annotations

__all__ = ["ANSWERS"]

SHORT = "Done. All **14 tests** pass now; `retry()` gave up one attempt too early."

EXPLAINED = """## What was wrong

`Cache.load()` was called **before** the file was read, so the first request after a restart always missed. Two things
made that hard to see:

1. the error was swallowed in `handlers.py:118` (`except Exception: pass`)
2. the test used a *warm* cache, see [the fixture](https://example.org/app/tests/conftest.py#L40)

## What I changed

- `cache.py`: `load()` waits for `_filled`, with a timeout of 5 s
- `handlers.py`: the error is logged, and answered with `503`
- `tests/test_cache.py`: two new tests
  - a cold start
  - a file that cannot be read

> Nothing else depends on the old order; I looked for callers with `rg "\\.load\\("`.

Do you want me to open a pull request?
"""

CODE = '''The whole module, for `$HOME/.config/app` and `List<String>` alike:

```python
"""Retries with a growing pause."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def retry(action: Callable[[], Awaitable[T]], *, attempts: int = 5, first: float = 0.1) -> T:
    for attempt in range(attempts):
        try:
            return await action()
        except ConnectionError:
            if attempt == attempts - 1:
                raise
            await asyncio.sleep(first * 2**attempt * random.uniform(0.5, 1.5))
    raise AssertionError("not reached")
```

Run it with:

```bash
python -m pytest tests/test_retry.py -q && ruff check src || echo "look at the output"
```

It is used in three places: `client.py`, `uploads.py` and `__main__.py`.
'''

TABLE = """I measured both ways, five times each:

| | before | after | change |
|---|---:|---:|---|
| cold start | 1,312 ms | 120 ms | **−91 %** |
| first request | 209 µs | 122 µs | −42 % |
| memory, idle | 136 KB | 14 KB | −90 % |
| `import app` | 480 ms | 95 ms | −80 % |

The numbers come from `bench/start.py`; ~~the old script~~ was removed. What is left is mostly `sqlite3`.
"""

DIFF = """This is the smallest change that works:

```diff
--- a/app/session.py
+++ b/app/session.py
@@ -41,7 +41,9 @@ class Session:
     def close(self) -> None:
-        self._socket.close()
+        if self._socket is not None:
+            self._socket.close()
+            self._socket = None
         self._closed = True
```

- [x] the double close is gone
- [x] `tests/test_session.py::test_closes_twice` covers it
- [ ] the same pattern is in `pool.py:77`: shall I change that, too?
"""

LONG = "\n\n".join([EXPLAINED, CODE, TABLE, DIFF, EXPLAINED, CODE])

ANSWERS = (SHORT, EXPLAINED, CODE, TABLE, DIFF, LONG)

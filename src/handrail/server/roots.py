"""The roots of the hub's own machine: a path that is refused is a problem of the request."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from handrail.server.problems import Problem
from handrail.sessions import roots
from handrail.sessions.roots import Directory, Listing, RootRefused

__all__ = ["Directory", "Listing", "Roots", "as_problem"]


class Roots(roots.Roots):
    """The directories that people may look into and start sessions in. Raises `Problem`."""

    def check(self, path: str) -> str:
        with as_problem():
            return super().check(path)

    def resolve(self, path: str) -> str:
        with as_problem():
            return super().resolve(path)

    def listing(self, path: str, *, hidden: bool = False) -> Listing:
        with as_problem():
            return super().listing(path, hidden=hidden)


@contextmanager
def as_problem() -> Generator[None, None, None]:
    """Turn a refused path inside the block into a `Problem`."""
    try:
        yield
    except RootRefused as error:
        raise Problem(error.code, str(error)) from None

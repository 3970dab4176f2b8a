"""Tidying the store by itself: once a day, by one process, and again the next day."""

from __future__ import annotations

from pathlib import Path

from handrail.sessions.tidying import A_DAY, Tidying
from handrail.store import SqliteStore
from handrail.store.base import Batch, FrameRow, Retention, SessionRow


async def test_old_frames_go_once_a_day(tmp_path: Path) -> None:
    now = 1_800_000_000.0
    clock = [now]
    async with SqliteStore(str(tmp_path / "handrail.db")) as store:
        await store.create_session(SessionRow(id="s", cwd="/", created_at=now, updated_at=now))
        lease = await store.acquire("s", "me", now=now)

        async def keep(at: float) -> None:
            await store.append(lease, Batch(frames=[FrameRow(direction="in", at=at, line=b"{}")]))

        tidying = Tidying(store, Retention(frames_days=1), directory=str(tmp_path), clock=lambda: clock[0])
        await keep(now - 2 * A_DAY)
        await keep(now)
        assert await tidying.tidy_if_due()
        assert [frame.at for frame in await store.frames("s")] == [now]
        clock[0] = now + A_DAY / 2
        assert not await tidying.tidy_if_due()
        clock[0] = now + 3 * A_DAY
        other = Tidying(store, Retention(frames_days=1), directory=str(tmp_path), clock=lambda: clock[0])
        assert await other.tidy_if_due()
        assert await store.frames("s") == []
        assert not await tidying.tidy_if_due()


async def test_a_place_that_cannot_be_written_is_said_and_does_no_harm(tmp_path: Path, caplog: object) -> None:
    async with SqliteStore(str(tmp_path / "handrail.db")) as store:
        assert not await Tidying(store, Retention(), directory=str(tmp_path / "missing")).tidy_if_due()

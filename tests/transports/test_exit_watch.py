"""Both ways to notice that a process has exited, and the choice between them."""

from __future__ import annotations

import asyncio
import os
import subprocess

import pytest

from handrail.transports.exit_watch import ExitWatch, watch_exit, watch_exit_by_pidfd, watch_exit_by_thread

from .support import DEADLINE, eventually, process_state, python

WATCHES = [watch_exit, watch_exit_by_pidfd, watch_exit_by_thread]


def process(program: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(python(program), stdin=subprocess.PIPE)


@pytest.mark.parametrize("watch", WATCHES)
async def test_an_exit_is_reported_and_the_process_reaped(watch: ExitWatch) -> None:
    with process("input(); raise SystemExit(3)") as child:
        exited = asyncio.get_running_loop().create_future()
        watch(asyncio.get_running_loop(), child, exited.set_result)
        assert child.stdin is not None
        child.stdin.close()
        assert await asyncio.wait_for(exited, DEADLINE) == 1  # input() met the end of input
        assert process_state(child.pid) == ""


@pytest.mark.parametrize("watch", WATCHES)
async def test_an_exit_before_the_watch_is_reported(watch: ExitWatch) -> None:
    with process("raise SystemExit(3)") as child:
        await eventually(lambda: process_state(child.pid).startswith("Z"), "the child has exited")
        exited = asyncio.get_running_loop().create_future()
        watch(asyncio.get_running_loop(), child, exited.set_result)
        assert await asyncio.wait_for(exited, DEADLINE) == 3


@pytest.mark.parametrize("watch", WATCHES)
async def test_a_stopped_watch_says_nothing(watch: ExitWatch) -> None:
    calls: list[int] = []
    with process("input()") as child:
        stop = watch(asyncio.get_running_loop(), child, calls.append)
        stop()
        stop()
        child.kill()
        child.wait()
        await asyncio.sleep(0.05)
    assert calls == []


async def test_without_pidfds_a_thread_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "pidfd_open", refuse, raising=False)
    await test_an_exit_is_reported_and_the_process_reaped(watch_exit)


def test_an_exit_after_the_loop_was_closed_is_nobodys_business() -> None:
    loop = asyncio.new_event_loop()
    with process("input()") as child:
        watch_exit_by_thread(loop, child, lambda code: None)
        loop.close()
        child.kill()
        child.wait()

"""The stdio transport: exit codes, standard error, grandchildren that hold the pipes, failures to start."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import stat
import tracemalloc
from pathlib import Path

import pytest

from handrail.errors import ClientClosed, LaunchError, LocalProtocolError
from handrail.transports.stdio import StdioTransport

from .conftest import MakeTransport
from .support import ENVIRONMENT, Recorder, end, is_alive, pids_in, python

GRANDCHILD_KEEPS_PIPES = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
os._exit(7)
"""

SHOWS_WHETHER_OPEN = """
import os, sys
inherited = {os.fstat(int(name)).st_ino for name in sys.argv[1:3] if os.path.exists(f"/dev/fd/{name}")}
print(*[path for path in sys.argv[3:] if os.stat(path).st_ino in inherited], flush=True)
"""


async def start(transport: StdioTransport) -> Recorder:
    recorder = Recorder()
    await transport.open(recorder)
    return recorder


@pytest.mark.parametrize("exit_code", [0, 1, 143])
async def test_the_exit_code_is_reported(run: MakeTransport, exit_code: int) -> None:
    recorder = await start(run(f"raise SystemExit({exit_code})"))
    assert await recorder.until_lost() == exit_code


async def test_a_signal_is_a_negative_exit_code(run: MakeTransport) -> None:
    recorder = await start(run("import os; os.kill(os.getpid(), 9)"))
    assert await recorder.until_lost() == -signal.SIGKILL


async def test_the_pid_is_known_while_the_process_runs(run: MakeTransport) -> None:
    transport = run("import os; print(os.getpid(), flush=True); input()")
    assert transport.pid is None
    recorder = await start(transport)
    await recorder.until_data(b"\n")
    assert transport.pid == int(recorder.data)
    transport.write(b"\n")
    await recorder.until_lost()
    assert transport.pid is None


async def test_an_exit_is_noticed_though_a_grandchild_holds_the_pipes(run: MakeTransport) -> None:
    transport = run(GRANDCHILD_KEEPS_PIPES)
    recorder = await start(transport)
    assert await recorder.until_lost() == 7
    (grandchild,) = pids_in(recorder.data)
    assert is_alive(grandchild)
    await transport.close()
    assert not is_alive(grandchild)


@pytest.mark.slow
async def test_a_grandchild_that_never_stops_talking_does_not_delay_the_end(run: MakeTransport) -> None:
    recorder = await start(
        run("""
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: print('x' * 1000)"])
time.sleep(0.2)
os._exit(3)
""")
    )
    assert await recorder.until_lost() == 3


@pytest.mark.slow
async def test_a_process_that_closes_its_output_and_stays_is_reported_without_exit_code(
    run: MakeTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.transports.child._EOF_PATIENCE", 0.2)
    transport = run("import os, time; os.close(1); time.sleep(600)", eof_grace=0.0)
    recorder = await start(transport)
    assert await recorder.until_lost() is None
    assert transport.pid is not None
    await transport.close()
    assert recorder.exit_codes == [None]
    assert transport.pid is None


@pytest.mark.slow
async def test_a_process_that_closes_its_output_and_then_leaves_has_its_exit_code(run: MakeTransport) -> None:
    recorder = await start(run("import os, time; os.close(1); time.sleep(0.3); os._exit(5)"))
    assert await recorder.until_lost() == 5


async def test_the_end_of_standard_error_is_kept(run: MakeTransport) -> None:
    transport = run(
        "import sys; sys.stderr.write('first\\n' + 'x' * 100_000 + 'last words\\n'); sys.stderr.buffer.write(b'\\xff')",
        stderr_tail_bytes=100,
    )
    recorder = await start(transport)
    await recorder.until_lost()
    assert transport.stderr_tail.endswith("xlast words\n\ufffd")
    assert len(transport.stderr_tail) == 100


async def test_standard_error_is_logged_line_by_line(run: MakeTransport, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="handrail.stderr")
    transport = run("import sys; sys.stderr.write('one\\ntwo\\r\\nthr'); sys.stderr.flush(); sys.stderr.write('ee')")
    recorder = await start(transport)
    pid = transport.pid
    await recorder.until_lost()
    assert caplog.messages == [f"[{pid}] one", f"[{pid}] two", f"[{pid}] three"]


async def test_a_long_line_on_standard_error_is_logged_in_pieces(
    run: MakeTransport, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="handrail.stderr")
    recorder = await start(run("import sys; sys.stderr.write('x' * 200_000)"))
    await recorder.until_lost()
    assert len(caplog.messages) > 1
    assert sum(message.count("x") for message in caplog.messages) == 200_000


@pytest.mark.slow
async def test_output_on_one_session_does_not_starve_another(run: MakeTransport) -> None:
    noisy = await start(run("while True: print('x' * 1000)", eof_grace=0.1))
    quiet_transport = run("while True: print(input(), flush=True)")
    quiet = await start(quiet_transport)
    for number in range(20):
        quiet_transport.write(b"%d\n" % number)
        await quiet.until_data(b"%d\n" % number)
    await noisy.until_size(100_000)


async def test_the_buffer_size_shows_what_waits(run: MakeTransport) -> None:
    transport = run("import sys; sys.stdin.readline(); print('begun', flush=True); sys.stdin.read()")
    assert transport.write_buffer_size == 0
    recorder = await start(transport)
    transport.write(b"x" * 1_000_000)
    assert transport.write_buffer_size > 500_000
    transport.write(b"\n")
    await transport.drain()
    assert transport.write_buffer_size == 0
    await recorder.until_data(b"begun")


async def test_a_transport_is_used_between_open_and_close_only(run: MakeTransport) -> None:
    transport = run("input()")
    with pytest.raises(ClientClosed):
        transport.write(b"too early\n")
    await start(transport)
    with pytest.raises(LocalProtocolError):
        await start(transport)


async def test_the_environment_is_exactly_what_was_given(run: MakeTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_PARENT", "1")
    transport = run("import os; print(sorted(os.environ), flush=True)", env={"GIVEN": "2"})
    recorder = await start(transport)
    await recorder.until_lost()
    assert b"GIVEN" in recorder.data
    assert b"SECRET_OF_THE_PARENT" not in recorder.data


async def test_what_it_holds_is_passed_to_the_process_and_to_nothing_else(run: MakeTransport, tmp_path: Path) -> None:
    files = [tmp_path / "kept", tmp_path / "not kept"]
    descriptors = [os.open(file, os.O_RDWR | os.O_CREAT) for file in files]
    transport = run(SHOWS_WHETHER_OPEN, *map(str, descriptors), *map(str, files), holds=descriptors[:1])
    recorder = await start(transport)
    await recorder.until_data(b"\n")
    assert recorder.data.decode().strip() == str(files[0])
    for descriptor in descriptors:
        assert not os.get_inheritable(descriptor)
        os.close(descriptor)


async def test_what_it_holds_may_be_closed_here_and_stays_open_until_it_is_closed(run: MakeTransport) -> None:
    read_end, write_end = os.pipe()
    transport = run("import sys; print('ready', flush=True); sys.stdin.read()")
    recorder = await start(transport)
    await recorder.until_data(b"ready")
    transport.hold(write_end)
    os.close(write_end)
    os.set_blocking(read_end, False)
    with pytest.raises(BlockingIOError):
        os.read(read_end, 1)
    await transport.close()
    os.set_blocking(read_end, True)
    assert os.read(read_end, 1) == b""
    os.close(read_end)


async def test_the_working_directory(run: MakeTransport, tmp_path: Path) -> None:
    recorder = await start(run("import os; print(os.getcwd())", cwd=tmp_path))
    await recorder.until_lost()
    assert recorder.data.decode() == f"{tmp_path}\n"


def _script(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


async def failure(*argv: str, env: dict[str, str] = ENVIRONMENT, cwd: Path | None = None) -> str:
    with pytest.raises(LaunchError) as caught:
        await StdioTransport(argv, env=env, cwd=cwd).open(Recorder())
    return str(caught.value)


class TestFailuresToStart:
    async def test_no_such_path(self) -> None:
        assert "there is no '/nowhere/claude'" in await failure("/nowhere/claude")

    async def test_not_on_path(self) -> None:
        assert "no 'no-such-claude' on PATH" in await failure("no-such-claude")

    async def test_not_executable(self, tmp_path: Path) -> None:
        program = _script(tmp_path / "claude", "#!/bin/sh\n", mode=stat.S_IRUSR)
        assert "chmod +x" in await failure(program)

    async def test_a_directory(self, tmp_path: Path) -> None:
        assert "is a directory" in await failure(str(tmp_path))

    async def test_a_missing_interpreter(self, tmp_path: Path) -> None:
        program = _script(tmp_path / "claude", "#!/nowhere/node\n")
        assert "interpreter" in await failure(program)

    async def test_not_a_program(self, tmp_path: Path) -> None:
        program = _script(tmp_path / "claude", "\0\1\2 no program")
        assert "not a program that this system can run" in await failure(program)

    async def test_no_working_directory(self, tmp_path: Path) -> None:
        message = await failure("cat", cwd=tmp_path / "gone")
        assert "working directory" in message
        assert str(tmp_path / "gone") in message
        assert "does not exist" in message

    async def test_a_working_directory_that_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert "is not a directory" in await failure("cat", cwd=tmp_path / "file")

    async def test_nothing_to_start(self) -> None:
        assert "empty" in await failure()

    async def test_a_zero_byte_in_an_argument(self) -> None:
        assert "not valid" in await failure("cat", "a\0b")

    @pytest.mark.parametrize(
        ("number", "words"), [(errno.EMFILE, "ulimit -n"), (errno.EAGAIN, os.strerror(errno.EAGAIN))]
    )
    async def test_a_machine_at_its_limits(self, monkeypatch: pytest.MonkeyPatch, number: int, words: str) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr("subprocess.Popen", refuse)
        monkeypatch.setattr("handrail.transports.stdio.shared_supervisor", lambda: None)
        assert words in await failure("cat")

    async def test_arguments_that_are_too_long(self) -> None:
        assert "too long" in await failure("cat", "x" * 10_000_000)


@pytest.mark.slow
async def test_an_idle_session_costs_little_memory() -> None:
    count = 20
    recorder = Recorder()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        transports = [StdioTransport(["cat"], env=ENVIRONMENT) for _ in range(count)]
        for transport in transports:
            await transport.open(recorder)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    await asyncio.gather(*(transport.close() for transport in transports))
    assert (after - before) / count < 20_000


async def test_if_the_event_loop_cannot_watch_the_process_it_does_not_stay() -> None:
    pids: list[int] = []

    class Unwatchable(StdioTransport):
        @staticmethod
        def watch_exit(loop, process, on_exit):  # type: ignore[no-untyped-def]
            pids.append(process.pid)
            raise OSError("no more watches")

    with pytest.raises(OSError, match="no more watches"):
        await Unwatchable(python("import time; time.sleep(600)"), env=ENVIRONMENT).open(Recorder())
    try:
        assert not is_alive(pids[0])
    finally:
        end(pids)

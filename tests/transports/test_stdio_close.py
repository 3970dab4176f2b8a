"""Closing the stdio transport ends the whole process tree, whatever its members do about it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from handrail.transports.process_tree import PsProcesses, system_processes
from handrail.transports.scanner import ProcessScanner
from handrail.transports.stdio import StdioTransport

from .conftest import MakeTransport
from .support import (
    ENVIRONMENT,
    Recorder,
    children_of,
    eventually,
    is_alive,
    open_descriptors,
    pids_in,
    process_state,
    python,
    wait_until,
)

pytestmark = pytest.mark.slow

SLEEP = "import time; time.sleep(600)"
IGNORE_TERM = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); "

# Each defines `start()`, which starts something that should not outlive its parent, and returns its pid.
CHILD = """
import subprocess, sys
def start(**options):
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], **options).pid
"""
CHILD_IN_OWN_GROUP = CHILD + "import functools; start = functools.partial(start, process_group=0)"
CHILD_IN_OWN_SESSION = CHILD + "import functools; start = functools.partial(start, start_new_session=True)"
CHILD_WITHOUT_MARKER = CHILD + "import functools; start = functools.partial(start, start_new_session=True, env={})"
DAEMON = """
import os, time
def start():
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(write_end, str(os.getpid()).encode())
            time.sleep(600)
        os._exit(0)
    os.wait()
    return int(os.read(read_end, 100))
"""
KINDS = {
    "child": CHILD,
    "own-group": CHILD_IN_OWN_GROUP,
    "own-session": CHILD_IN_OWN_SESSION,
    "daemon": DAEMON,
}
STAYS = "import os\nprint(os.getpid(), start(), flush=True)\nwhile True: time.sleep(600)"
LEAVES_AT_EOF = "import os, sys\nprint(os.getpid(), start(), flush=True)\nsys.stdin.read()\nos._exit(0)"
LEAVES_AT_ONCE = "import os\nprint(os.getpid(), start(), flush=True)\nos._exit(4)"


async def start(transport: StdioTransport) -> tuple[Recorder, list[int]]:
    """Open, and wait for the pids that the program prints."""
    recorder = Recorder()
    await transport.open(recorder)
    await recorder.until_data(b"\n")
    return recorder, pids_in(recorder.data)


def nobody_alive(pids: list[int]) -> bool:
    return not any(map(is_alive, pids))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_tree_that_stays_is_ended(run: MakeTransport, kind: str) -> None:
    transport = run(f"import time\n{KINDS[kind]}\n{STAYS}", eof_grace=0.1)
    recorder, pids = await start(transport)
    await transport.close()
    assert nobody_alive(pids)
    assert recorder.exit_codes == [-signal.SIGTERM]


@pytest.mark.parametrize("kind", [*KINDS, "without-marker"])
async def test_what_a_process_leaves_behind_at_the_end_of_its_input_is_ended(run: MakeTransport, kind: str) -> None:
    transport = run({**KINDS, "without-marker": CHILD_WITHOUT_MARKER}[kind] + "\n" + LEAVES_AT_EOF)
    recorder, pids = await start(transport)
    await transport.close()
    assert nobody_alive(pids)
    assert recorder.exit_codes == [0]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_process_left_behind_when_it_died_is_ended_at_close(run: MakeTransport, kind: str) -> None:
    transport = run(f"{KINDS[kind]}\n{LEAVES_AT_ONCE}")
    recorder, pids = await start(transport)
    assert await recorder.until_lost() == 4
    await transport.close()
    assert nobody_alive(pids)


async def test_the_same_with_ps_instead_of_proc(run: MakeTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    scanner = ProcessScanner(PsProcesses())
    monkeypatch.setattr("handrail.transports.stdio.shared_scanner", lambda: scanner)
    try:
        for kind in KINDS.values():
            transport = run(f"{kind}\n{LEAVES_AT_EOF}")
            _, pids = await start(transport)
            await transport.close()
            assert nobody_alive(pids)
            transport = run(f"import time\n{kind}\n{STAYS}", eof_grace=0.1)
            _, pids = await start(transport)
            await transport.close()
            assert nobody_alive(pids)
    finally:
        scanner.close()


async def test_a_process_that_ignores_sigterm_is_killed(run: MakeTransport) -> None:
    transport = run(IGNORE_TERM + "time.sleep(600)", eof_grace=0.1, term_grace=0.2)
    recorder = Recorder()
    await transport.open(recorder)
    await recorder.until_data(b"ready")
    await transport.close()
    assert recorder.exit_codes == [-signal.SIGKILL]


async def test_a_leftover_that_ignores_sigterm_is_killed(run: MakeTransport) -> None:
    transport = run(
        f"""
import os, subprocess, sys
command = [sys.executable, "-I", "-S", "-c", {IGNORE_TERM + "time.sleep(600)"!r}]
child = subprocess.Popen(command, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
os._exit(0)
""",
        term_grace=0.2,
    )
    recorder, pids = await start(transport)
    await recorder.until_lost()
    assert not nobody_alive(pids)
    await transport.close()
    assert nobody_alive(pids)


async def test_a_process_gets_the_time_it_needs_after_the_end_of_its_input(run: MakeTransport) -> None:
    transport = run("import sys, time; sys.stdin.read(); time.sleep(0.3); print('saved', flush=True)")
    recorder = Recorder()
    await transport.open(recorder)
    await transport.close()
    assert recorder.data == b"saved\n"
    assert recorder.exit_codes == [0]


async def test_a_process_gets_the_time_it_needs_after_sigterm(run: MakeTransport) -> None:
    transport = run(
        """
import os, signal, time
def stop(*_):
    time.sleep(0.3)
    print("saved", flush=True)
    os._exit(9)
signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
while True: time.sleep(600)
""",
        eof_grace=0.1,
    )
    recorder = Recorder()
    await transport.open(recorder)
    await recorder.until_data(b"ready")
    await transport.close()
    assert recorder.data == b"ready\nsaved\n"
    assert recorder.exit_codes == [9]


async def test_a_family_that_keeps_forking_is_ended(run: MakeTransport) -> None:
    transport = run(
        """
import os, signal, time
print(os.getpid(), flush=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork():
    while True: time.sleep(600)
while True:
    if os.fork():
        time.sleep(0.02)
        os._exit(0)
    os.setsid()
    print(os.getpid(), flush=True)
""",
        eof_grace=0.1,
        term_grace=0.1,
    )
    recorder, _ = await start(transport)
    await recorder.until(lambda: len(recorder.data.split()) > 3)
    await transport.close()
    assert nobody_alive([pid for pid in pids_in(recorder.data) if process_state(pid)])
    assert not carriers(transport)


def carriers(transport: StdioTransport) -> list[int]:
    """Who carries the marker of this transport, seen with `ps`."""
    return [process.pid for process in PsProcesses().table().values() if transport.marker in process.markers]


async def test_queued_input_is_delivered_before_the_end(run: MakeTransport) -> None:
    transport = run("import sys; print(len(sys.stdin.read()), flush=True)")
    recorder = Recorder()
    await transport.open(recorder)
    transport.write(b"x" * 3_000_000)
    await transport.close()
    assert recorder.data == b"3000000\n"


async def test_closing_leaves_no_descriptor_and_no_zombie(run: MakeTransport) -> None:
    await run("input()").open(Recorder())  # starts what is shared
    descriptors, children = open_descriptors(), children_of(os.getpid())
    for program in ("input()", GRANDCHILDREN):
        transport = run(program)
        await transport.open(Recorder())
        await transport.close()
    assert open_descriptors() == descriptors
    assert children_of(os.getpid()) == children


GRANDCHILDREN = f"{CHILD}\n{LEAVES_AT_EOF}"


async def test_closing_many_at_once(run: MakeTransport) -> None:
    transports = [run(GRANDCHILDREN) for _ in range(10)]
    started = await asyncio.gather(*map(start, transports))
    await asyncio.gather(*(transport.close() for transport in transports))
    assert nobody_alive([pid for _, pids in started for pid in pids])


async def test_a_scan_that_fails_does_not_keep_the_process_alive(
    run: MakeTransport, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    scanner = ProcessScanner(PsProcesses(["false"]))
    monkeypatch.setattr("handrail.transports.stdio.shared_scanner", lambda: scanner)
    transport = run(f"import time\n{CHILD}\n{STAYS}")
    recorder, pids = await start(transport)
    await transport.close()
    await eventually(lambda: nobody_alive(pids), "the group is gone")
    assert recorder.exit_codes == [-signal.SIGKILL]
    assert "cannot be listed" in caplog.text
    scanner.close()


async def test_an_exit_that_is_never_noticed_does_not_keep_close_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Unnoticed(StdioTransport):
        watch_exit = staticmethod(lambda loop, process, on_exit: lambda: None)

    monkeypatch.setattr("handrail.transports.stdio._REAP_PATIENCE", 0.2)
    transport = Unnoticed(python(SLEEP), env=ENVIRONMENT, eof_grace=0.0)
    recorder = Recorder()
    await transport.open(recorder)
    await transport.close()
    assert recorder.exit_codes == [-signal.SIGTERM]
    assert "was not seen" in caplog.text


@pytest.mark.parametrize("eof_grace", [0.0, 600.0])
@pytest.mark.parametrize("scan_works", [True, False])
def test_the_end_of_the_event_loop_ends_the_tree(
    monkeypatch: pytest.MonkeyPatch, eof_grace: float, scan_works: bool
) -> None:
    """A task that nobody waits for is closing while the program's main function returns."""
    recorders: list[Recorder] = []
    pids: list[int] = []
    scanner = ProcessScanner(system_processes() if scan_works else PsProcesses(["sh", "-c", "sleep 0.2; false"]))
    monkeypatch.setattr("handrail.transports.stdio.shared_scanner", lambda: scanner)
    kind = CHILD_IN_OWN_SESSION if scan_works else CHILD

    async def main() -> None:
        transport = StdioTransport(python(f"import time\n{kind}\n{STAYS}"), env=ENVIRONMENT, eof_grace=eof_grace)
        recorder, started = await start(transport)
        recorders.append(recorder)
        pids.extend(started)
        tasks.add(asyncio.create_task(transport.close()))
        await asyncio.sleep(0)

    tasks: set[asyncio.Task[None]] = set()
    asyncio.run(main())
    scanner.close()
    wait_until(lambda: nobody_alive(pids), "all have ended")
    assert len(recorders[0].exit_codes) == 1


ADOPTS_ORPHANS = """
import asyncio, ctypes, os, sys
from handrail.transports.stdio import StdioTransport
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans become our children
class Receiver:
    def data_received(self, data): self.got.set()
    def connection_lost(self, exit_code): pass
async def main():
    receiver = Receiver()
    receiver.got = asyncio.Event()
    transport = StdioTransport(sys.argv[1:], env={}, supervise=False)
    await transport.open(receiver)
    await receiver.got.wait()
    await transport.close()
    try:
        print(os.waitpid(-1, os.WNOHANG))
    except ChildProcessError:
        print("no children")
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has child subreapers and containers")
def test_orphans_that_become_our_children_are_reaped() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", ADOPTS_ORPHANS, *python(GRANDCHILDREN)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert finished.stdout == "no children\n"


@pytest.mark.slow
@pytest.mark.asyncio(loop_factories=["asyncio"])
async def test_five_hundred_cycles(transport_class: type[StdioTransport]) -> None:
    """Every other process leaves one behind that it has started."""
    scripts = ("cat", "sleep 600 & cat")
    first = transport_class(["cat"], env=ENVIRONMENT)
    await first.open(Recorder())  # starts what is shared
    await first.close()
    descriptors, children = open_descriptors(), children_of(os.getpid())
    transports = []
    for number in range(500):
        transport = transport_class(["sh", "-c", scripts[number % 2]], env=ENVIRONMENT)
        recorder = Recorder()
        await transport.open(recorder)
        transport.write(b"x\n")
        await transport.close()
        assert recorder.data == b"x\n"
        assert recorder.exit_codes == [0]
        transports.append(transport)
    assert open_descriptors() == descriptors
    assert children_of(os.getpid()) == children
    carried = {marker for process in PsProcesses().table().values() for marker in process.markers}
    assert not carried & {transport.marker for transport in transports}

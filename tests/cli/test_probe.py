"""`handrail doctor --probe`: what it tells of each outcome, what it remembers, and when a hub or a host does it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.cli.checkup.finding import Finding
from handrail.cli.checkup.probing.check import check_probe
from handrail.cli.checkup.probing.kept import (
    KEPT_AT_MOST,
    KeptProbe,
    ProbesUnreadable,
    keep_probe,
    kept_probe,
    probe_facts,
    probes_file,
)
from handrail.cli.checkup.probing.news import notice_of, probes_watched
from handrail.cli.checkup.probing.report import probe_report
from handrail.cli.checkup.probing.telling import findings_of, sentence_of, worth_knowing
from handrail.cli.checkup.probing.trying import Trial, try_out
from handrail.cli.checkup.probing.watch import ProbeFailed, ProbeWatch, probe_now
from handrail.cli.checkup.surroundings import Surroundings
from handrail.cli.hosting.machine import machine_commands
from handrail.places import Places
from handrail.sessions.guards.notifications import Notify
from handrail.testing.probing.behaviours import Behaviour, Seen
from handrail.testing.probing.comparing import Comparison, compare
from handrail.testing.probing.matrix import Matrix, MatrixDamaged

from .support import handrail, plain

DOOR = Behaviour(name="doors: the front door", need="breaks", otherwise="nobody gets in")
BACK = Behaviour(name="doors: the back door", need="degrades", otherwise="it is a longer way")
KEYS = Behaviour(name="keys: what there is", need="degrades", otherwise="no keys", is_list=True)
ALL = {behaviour.name: behaviour for behaviour in (DOOR, BACK, KEYS)}
OPEN, SHUT = Seen(True, "opens"), Seen(False, "stays shut")
MATRIX: Matrix = {
    "2.1.10": {DOOR.name: OPEN, BACK.name: SHUT, KEYS.name: Seen(True, "brass")},
    "2.1.20": {DOOR.name: OPEN, BACK.name: OPEN, KEYS.name: Seen(True, "brass, iron")},
}


def comparison(door: Seen = OPEN, back: Seen = OPEN, keys: str = "brass, iron", version: int = 30) -> Comparison:
    seen = {DOOR.name: door, BACK.name: back, KEYS.name: Seen(True, keys)}
    return compare((2, 1, version), seen, MATRIX, ALL)


def told(found: list[Finding]) -> list[tuple[str, str, str]]:
    return [(each.area, each.status, each.text) for each in found]


# ---------------------------------------------------------------- in words


def test_all_is_as_expected() -> None:
    assert told(findings_of(comparison())) == [
        ("doors", "good", "2 behaviours as in 2.1.20"),
        ("keys", "good", "1 behaviour as in 2.1.20"),
    ]
    assert sentence_of(comparison()) == "Claude Code 2.1.30 does all that Handrail depends on."
    assert worth_knowing(comparison()) == ()


def test_between_two_recorded_versions() -> None:
    assert findings_of(comparison(version=15))[0].text == "2 behaviours as in 2.1.10 and 2.1.20"


def test_what_is_new() -> None:
    changed = comparison(door=Seen(True, "opens by itself"), keys="brass, iron, silver")
    assert told(findings_of(changed)) == [
        ("doors", "attention", "the front door: opens by itself (never seen before; in 2.1.20: opens)"),
        ("doors", "good", "1 behaviour as in 2.1.20"),
        ("keys", "good", "what there is: also silver"),
    ]
    assert sentence_of(changed).endswith("one thing is other than expected.")


def test_what_is_as_in_another_version() -> None:
    found = findings_of(comparison(back=SHUT))[0]
    assert found.status == "attention"
    assert found.text == ("the back door: stays shut (as in 2.1.10; in 2.1.20: opens). What fails: it is a longer way")


def test_a_list_that_lost_a_name() -> None:
    found = findings_of(comparison(keys="brass, silver"))[-1]
    assert (found.status, found.text) == (
        "attention",
        "what there is: also silver; no longer iron (never seen before)",
    )


def test_what_is_known_to_be_missing_is_no_change() -> None:
    known = comparison(back=SHUT, keys="brass", version=10)
    assert told(findings_of(known))[0] == (
        "doors",
        "good",
        "1 behaviour as in 2.1.10; known to be missing in this version: the back door",
    )
    assert known.status == "fine"


def test_what_is_broken() -> None:
    broken = comparison(door=SHUT)
    found = findings_of(broken)[0]
    assert found.status == "broken"
    assert "What fails: nobody gets in" in found.text
    assert found.fix.endswith("@anthropic-ai/claude-code@2.1.20")
    assert sentence_of(broken).endswith("does not do what Handrail depends on: one thing is broken.")


def test_what_could_not_be_seen() -> None:
    hung = comparison(door=Seen(None, "no result within 20 s"), version=20)
    found = findings_of(hung)[0]
    assert found.text == "the front door: could not be seen (no result within 20 s). What fails: nobody gets in"
    assert "a slow moment" in found.fix


def test_the_worst_is_told_first() -> None:
    both = compare((2, 1, 30), {BACK.name: SHUT, DOOR.name: Seen(False, "fell off")}, MATRIX, ALL)
    first, second = worth_knowing(both)
    assert first.startswith("doors: the front door: fell off")
    assert second.startswith("doors: the back door: stays shut")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_report_fits_and_sums_up(width: int) -> None:
    trial = Trial(findings_of(comparison(back=SHUT)), "/usr/bin/claude", 12.4, comparison(back=SHUT))
    page = plain(probe_report(trial), width)
    assert all(len(line) <= width for line in page.splitlines())
    assert page.splitlines()[0] == "Claude Code 2.1.30  /usr/bin/claude"
    assert "3 behaviours tried in 12 s" in page
    assert "one thing is other than" in page


# ---------------------------------------------------------------- what is kept


class Machine:
    """A machine of its own, with a `claude` on its PATH that says its version and nothing else of use."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.bin = directory / "bin"
        self.bin.mkdir()
        self.environ = {
            "HOME": str(directory),
            "PATH": f"{self.bin}:/usr/bin:/bin",
            **{
                f"HANDRAIL_{each}_DIR": str(directory / each.lower())
                for each in ("CONFIG", "STATE", "CACHE", "RUNTIME")
            },
        }

    def has_claude(self, version: str, script: str = "exit 3") -> None:
        path = self.bin / "claude"
        path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo "{version} (Claude Code)"; exit; }}\n{script}\n')
        path.chmod(0o755)

    @property
    def places(self) -> Places:
        return Places.of_user(self.environ)

    @property
    def around(self) -> Surroundings:
        return Surroundings(self.places, self.environ, str(self.directory))

    def damages_what_it_keeps(self) -> None:
        Path(probes_file(self.places)).write_text("{")

    def keeps(self, version: str = "2.1.330", **more: Any) -> KeptProbe:
        probe = msgspec.structs.replace(kept(version), **more)
        keep_probe(self.places, probe)
        return probe


def kept(version: str = "2.1.330") -> KeptProbe:
    return KeptProbe(
        version=version,
        path="/usr/bin/claude",
        at=time.time() - 3 * 86400 - 60,
        handrail=version_of("handrail"),
        status="fine",
        text="all is well",
    )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_what_was_found_is_remembered_by_version(machine: Machine) -> None:
    first, second = machine.keeps("2.1.330"), machine.keeps("2.1.331", status="broken")
    assert kept_probe(machine.places, "2.1.330") == first
    assert kept_probe(machine.places, "2.1.331") == second
    assert kept_probe(machine.places, "2.1.332") is None
    again = machine.keeps("2.1.330", status="changed")
    assert kept_probe(machine.places, "2.1.330") == again


def test_old_versions_are_forgotten(machine: Machine) -> None:
    for number in range(KEPT_AT_MOST + 5):
        machine.keeps(f"2.1.{number}")
    assert kept_probe(machine.places, "2.1.0") is None
    assert kept_probe(machine.places, f"2.1.{KEPT_AT_MOST + 4}") is not None


def test_a_damaged_file_is_said_and_replaced(machine: Machine) -> None:
    machine.keeps()
    machine.damages_what_it_keeps()
    with pytest.raises(ProbesUnreadable, match="is damaged"):
        kept_probe(machine.places, "2.1.330")
    assert probe_facts(machine.places, "2.1.330") == {}
    machine.keeps()
    assert kept_probe(machine.places, "2.1.330") is not None


def test_a_place_that_cannot_be_written_is_said(machine: Machine) -> None:
    Path(machine.places.state).write_text("in the way")
    with pytest.raises(ProbesUnreadable, match="cannot be written"):
        machine.keeps()


def test_the_facts_of_a_host(machine: Machine) -> None:
    assert probe_facts(machine.places, "2.1.330") == {}
    probe = machine.keeps(status="broken", findings=("a: b",))
    assert probe_facts(machine.places, "2.1.330") == {
        "version": "2.1.330",
        "at": probe.at,
        "status": "broken",
        "text": "all is well",
        "findings": ["a: b"],
    }


# ---------------------------------------------------------------- the check-up


def test_the_check_up_tells_the_last_probe(machine: Machine) -> None:
    machine.has_claude("2.1.330")
    machine.keeps()
    assert told(list(check_probe(machine.around))) == [("probe", "good", "the last probe of 2.1.330, 3 d ago: fine")]


def test_the_check_up_tells_what_was_broken(machine: Machine) -> None:
    machine.has_claude("2.1.330")
    machine.keeps(status="broken", text="one thing is broken.", findings=("doors: shut",), handrail="0.0.1")
    first, second = check_probe(machine.around)
    assert (first.status, first.fix) == ("broken", "handrail doctor --probe")
    assert first.text == "the last probe of 2.1.330, 3 d ago (by Handrail 0.0.1): one thing is broken."
    assert (second.status, second.text) == ("attention", "doors: shut")


def test_the_check_up_names_a_version_that_was_never_probed(machine: Machine) -> None:
    machine.has_claude("2.1.330")
    machine.keeps("2.1.329")
    (found,) = check_probe(machine.around)
    assert (found.status, found.fix) == ("attention", "handrail doctor --probe")
    assert "2.1.330 was never probed" in found.text
    machine.has_claude("2.1.325")
    (found,) = check_probe(machine.around)
    assert (found.status, found.text) == (
        "good",
        "Claude Code 2.1.325 is one of the versions that Handrail was probed with",
    )


def test_the_check_up_where_nothing_can_be_told(machine: Machine) -> None:
    machine.has_claude("2.1.330")
    machine.keeps()
    machine.damages_what_it_keeps()
    (found,) = check_probe(machine.around)
    assert (found.status, found.fix) == ("attention", "handrail doctor --probe")
    (machine.bin / "claude").write_text("#!/bin/sh\nexit 1\n")
    (found,) = check_probe(machine.around)
    assert found.status == "good"


# ---------------------------------------------------------------- the command


def test_without_a_claude(machine: Machine) -> None:
    done = handrail("doctor", "--probe", "--json", "--cli", "/nowhere", **machine.environ)
    document = json.loads(done.stdout)
    assert (done.returncode, document["ok"], document["probe"]) == (1, False, None)
    assert "'/nowhere'" in document["findings"][0]["text"]
    assert document["findings"][0]["fix"] == "name the program: --cli PATH"


@pytest.mark.slow
def test_a_claude_that_does_not_start(machine: Machine) -> None:
    machine.has_claude("2.1.330", "echo 'no such flag' >&2; exit 3")
    done = handrail("doctor", "--probe", **machine.environ)
    assert done.returncode == 1
    assert "initialize: could not be seen (Claude Code exited with code 3" in " ".join(done.stdout.split())
    assert "does not do what Handrail depends on" in " ".join(done.stdout.split())
    assert done.stderr == ""
    probe = kept_probe(machine.places, "2.1.330")
    assert probe is not None
    assert probe.status == "broken"
    again = json.loads(handrail("doctor", "--probe", "--json", **machine.environ).stdout)
    assert again["probe"]["status"] == "broken"
    assert again["probe"]["against"] == ["2.1.325"]
    assert again["probe"]["items"][0]["works"] is None


def test_what_is_found_is_told_although_it_cannot_be_kept(machine: Machine) -> None:
    machine.has_claude("2.1.330")
    Path(machine.places.state).write_text("in the way")
    done = handrail("doctor", "--probe", "--json", **machine.environ)
    assert json.loads(done.stdout)["findings"][-1]["area"] == "kept"


def test_recorded_versions_that_cannot_be_read_hide_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged() -> Matrix:
        raise MatrixDamaged("recorded.json cannot be read")

    monkeypatch.setattr("handrail.cli.checkup.probing.trying.load_matrix", damaged)
    machine.has_claude("2.1.330")
    trial = try_out(machine.around)
    assert trial.is_broken
    assert trial.comparison is not None
    assert trial.comparison.against == ()
    (found,) = [finding for finding in trial.findings if finding.area == "recorded"]
    assert found.status == "attention"


# ---------------------------------------------------------------- again, when it was updated


class Tries:
    """Stands for a probe, and counts."""

    def __init__(self, machine: Machine, **found: Any) -> None:
        self._machine = machine
        self._found = found
        self.made: list[KeptProbe] = []

    async def __call__(self, around: Surroundings) -> KeptProbe:
        version = (self._machine.bin / "claude").read_text().partition('echo "')[2].partition(" ")[0]
        self.made.append(self._machine.keeps(version, **self._found))
        return self.made[-1]


def watch(machine: Machine, tries: Tries, told: list[KeptProbe]) -> ProbeWatch:
    return ProbeWatch(machine.around, hours=24, tell=told.append, try_out=tries)


async def test_a_version_is_tried_once(machine: Machine) -> None:
    machine.has_claude("2.1.330")
    tries, heard = Tries(machine), list[KeptProbe]()
    watching = watch(machine, tries, heard)
    assert await watching.look() is not None
    assert await watching.look() is None
    machine.has_claude("2.1.331")
    await watching.look()
    assert [probe.version for probe in heard] == ["2.1.330", "2.1.331"]
    assert tries.made == heard


async def test_another_handrail_tries_again(machine: Machine) -> None:
    machine.has_claude("2.1.330")
    machine.keeps(handrail="0.0.1")
    assert await watch(machine, Tries(machine), []).look() is not None


async def test_a_damaged_file_means_another_try(machine: Machine) -> None:
    machine.has_claude("2.1.330")
    machine.keeps()
    machine.damages_what_it_keeps()
    assert await watch(machine, Tries(machine), []).look() is not None


async def test_without_a_claude_nothing_is_tried(machine: Machine) -> None:
    machine.has_claude("no version")
    tries = Tries(machine)
    assert await watch(machine, tries, []).look() is None
    assert tries.made == []


class Naps:
    """Lets time pass by hand: each nap lasts until `wake`."""

    def __init__(self) -> None:
        self.taken: list[float] = []
        self._asleep = asyncio.Event()
        self._wake = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)
        self._asleep.set()
        await self._wake.wait()
        self._wake.clear()

    async def next(self) -> None:
        """Wake whoever sleeps, and wait until it sleeps again."""
        await self._asleep.wait()
        self._asleep.clear()
        self._wake.set()
        async with asyncio.timeout(30):
            await self._asleep.wait()


async def test_it_looks_every_so_many_hours_and_a_failure_does_not_end_it(machine: Machine) -> None:
    machine.has_claude("2.1.330")
    naps, heard = Naps(), list[KeptProbe]()
    tries = Tries(machine)
    failures = [ProbeFailed("no end"), OSError("no process")]

    async def fails_at_first(around: Surroundings) -> KeptProbe:
        if failures:
            raise failures.pop()
        return await tries(around)

    async with ProbeWatch(
        machine.around, hours=12, tell=heard.append, try_out=fails_at_first, first_look=60, sleep=naps
    ):
        for _ in range(3):
            await naps.next()
    assert naps.taken[:3] == [60, 12 * 3600, 12 * 3600]
    assert [probe.version for probe in heard] == ["2.1.330"]


async def test_nothing_is_looked_at_where_it_is_switched_off(machine: Machine) -> None:
    async def never(seconds: float) -> None:
        raise AssertionError("it sleeps, so it would look")

    async with ProbeWatch(machine.around, hours=0, tell=lambda probe: None, sleep=never):
        await asyncio.sleep(0)


def child(machine: Machine, body: str) -> list[str]:
    """A program that stands for `handrail doctor --probe`."""
    path = machine.directory / "child.py"
    path.write_text(body)
    return [sys.executable, str(path)]


KEEPS = """
import os
from handrail.cli.checkup.probing.kept import KeptProbe, keep_probe
from handrail.places import Places
keep_probe(Places.of_user(os.environ), KeptProbe(
    version="2.1.330", path="claude", at=1.0, handrail="1", status="changed", text="well"))
"""


@pytest.mark.slow
async def test_a_probe_is_made_by_another_process(machine: Machine) -> None:
    machine.has_claude("2.1.330")
    found = await probe_now(machine.around, child(machine, KEEPS))
    assert (found.version, found.status) == ("2.1.330", "changed")


async def test_a_probe_that_leaves_nothing_is_a_failure_with_its_words(machine: Machine) -> None:
    machine.has_claude("2.1.330")
    with pytest.raises(ProbeFailed, match="it rains"):
        await probe_now(machine.around, child(machine, "import sys; sys.exit('it rains')"))
    (machine.bin / "claude").unlink()
    machine.has_claude("no version")
    with pytest.raises(ProbeFailed, match="no Claude Code that answers"):
        await probe_now(machine.around, child(machine, ""))


async def test_a_probe_that_nobody_waits_for_any_more_is_ended(machine: Machine) -> None:
    machine.has_claude("2.1.330")
    pid_file = machine.directory / "pid"
    body = f"import os, time\nopen({str(pid_file)!r}, 'w').write(str(os.getpid()) + '.')\ntime.sleep(600)"
    probing = asyncio.create_task(probe_now(machine.around, child(machine, body)))
    async with asyncio.timeout(30):
        while not (pid_file.exists() and pid_file.read_text().endswith(".")):
            await asyncio.sleep(0.02)
    probing.cancel()
    await asyncio.wait([probing])
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()[:-1]), 0)


# ---------------------------------------------------------------- who hears of it


async def test_whoever_wants_to_know_is_told_of_what_was_found(machine: Machine) -> None:
    notice = notice_of(kept())
    assert (notice.kind, notice.session_id, notice.text) == ("probe", "", "all is well")
    machine.has_claude("2.1.330", "exit 3")
    heard = machine.directory / "heard.json"
    rules = [
        Notify(kinds=("probe",), command=("sh", "-c", f"cat > {heard}.new && mv {heard}.new {heard}")),
        Notify(kinds=("failed",), command=("touch", str(machine.directory / "never"))),
    ]
    tries = Tries(machine, status="broken", text="one thing is broken.")
    async with probes_watched(machine.around, hours=24, notify=rules, try_out=tries) as watching:
        await watching.look()
    assert json.loads(heard.read_text())["text"] == "one thing is broken."
    assert not (machine.directory / "never").exists()


async def test_a_hub_may_ask_a_host(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.has_claude("2.1.330")
    commands: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = dict(machine_commands(machine.around))
    findings = await commands["doctor"]({})
    assert {"area", "level", "words", "remedy"} == set(findings[0])
    assert "terminal" not in {each["area"] for each in findings}
    monkeypatch.setattr("handrail.cli.hosting.machine.probe_now", Tries(machine, status="changed"))
    assert (await commands["probe"]({}))["status"] == "changed"

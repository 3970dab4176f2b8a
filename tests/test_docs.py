"""The documentation and the code agree: names, links, tests that are named, programs."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

import handrail
from handrail.places import Places
from handrail.remote.hub import Hub
from handrail.sessions import journal
from handrail.sessions.client import Client
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.sessions.turn import Turn
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")])
GUIDE = "docs/guides/sessions.md"


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


# ---------------------------------------------------------------- names


def public(cls: type) -> set[str]:
    """What a user of a class sees, without what transports and clients call."""
    callbacks = {"data_received", "connection_lost", "push", "end", "fail", "options", "raise_if_dropped"}
    return {name for name in vars(cls) if not name.startswith("_")} - callbacks


def test_the_api_page_names_everything_public() -> None:
    page = (ROOT / "docs/reference/api.md").read_text()
    names = {*handrail.__all__, *public(Client), *public(Turn)}
    assert {name for name in names if not re.search(rf"\b{name}\b", page)} == set()


@pytest.mark.parametrize("cls", [Manager, Session], ids=lambda cls: cls.__name__)
def test_the_api_page_lists_every_method_with_its_parameters(cls: type) -> None:
    page = (ROOT / "docs/reference/api.md").read_text()
    (section,) = re.findall(rf"^### `{cls.__name__}`\n(.*?)(?=^##)", page, re.S | re.M)
    listed = dict(re.findall(r"`(\w+)\(([^`]*)\)`", section))
    methods = {name: getattr(cls, name) for name in public(cls)}
    assert set(listed) == set(methods)
    for name, method in methods.items():
        missing = [each for each in inspect.signature(method).parameters if each not in ("self", *words(listed[name]))]
        assert not missing, f"{name} takes {missing}"


def test_the_api_page_lists_what_a_hub_has_of_its_own() -> None:
    page = (ROOT / "docs/reference/api.md").read_text()
    (section,) = re.findall(r"^### `Hub`\n(.*?)(?=^###)", page, re.S | re.M)
    listed = dict(re.findall(r"`(\w+)\(([^`]*)\)`", section))
    own = {name: getattr(Hub, name) for name in public(Hub) - public(Manager) | {"local"}} | {"Hub": Hub}
    for name, member in own.items():
        assert f"`{name}" in section
        parameters = inspect.signature(member).parameters if callable(member) else ()
        assert [each for each in parameters if each not in ("self", *words(listed[name]))] == [], name


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_the_sessions_guide_says_how_much_waits_for_the_store() -> None:
    assert f"more than {journal.HOLDS_AT_MOST // 2**20} MB wait" in (ROOT / GUIDE).read_text()


NAMED_TESTS = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (ROOT / "docs/invariants.md").read_text())


@pytest.mark.parametrize(("path", "name"), NAMED_TESTS)
def test_a_test_that_the_invariants_name_exists(path: str, name: str) -> None:
    source = (ROOT / path).read_text()
    assert not name or re.search(rf"^\s*(async )?(def|class) {name}\b", source, re.M) or f"\n{name} = " in source


def test_every_invariant_names_a_test() -> None:
    page = (ROOT / "docs/invariants.md").read_text()
    invariants = re.findall(r"^(?:\| |\* )\*\*(.+?)\*\*", page, re.M)
    shown = dict(re.findall(r"^\| ([a-z ,]+) \| (.*`tests/.+) \|$", page, re.M))
    assert sorted(shown) == sorted(invariants)


# ---------------------------------------------------------------- links


def links(page: Path) -> list[tuple[str, str]]:
    """The files of this project that a page links to, each with the heading it names."""
    return re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text())


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target, heading in links(page):
        found = page.parent / target if target else page
        assert found.exists(), target
        assert not heading or heading in anchors(found), f"{target}#{heading}"


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page.suffix == ".md" and page not in reached:
            reached.add(page)
            waiting += [page.parent / target for target, _ in links(page) if target]
    assert [name_of(page) for page in PAGES if page.resolve() not in reached] == []


def test_the_readme_lists_every_guide_and_reference_itself() -> None:
    listed = {(ROOT / target).resolve() for target, _ in links(ROOT / "README.md")}
    pages = [*ROOT.glob("docs/guides/*.md"), *ROOT.glob("docs/reference/*.md")]
    assert [name_of(page) for page in pages if page.resolve() not in listed] == []


# ---------------------------------------------------------------- programs


def programs(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)


def run(
    program: str, cwd: Path, environment: dict[str, str] | None = None, *, typed: str = "", timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    script = cwd / "program.py"
    script.write_text(program)
    command = [sys.executable, str(script)]
    return subprocess.run(
        command, cwd=cwd, env=environment, input=typed, capture_output=True, text=True, timeout=timeout
    )


@pytest.mark.real_cli
@pytest.mark.timeout(300)
def test_the_testing_guide_runs_the_real_cli(tmp_path: Path) -> None:
    from handrail.testing import cli_slot

    real, _ = programs("docs/guides/testing.md")
    with cli_slot():
        done = run(real, tmp_path, timeout=280)
    assert done.returncode == 0, done.stderr


def test_the_testing_guide_runs_the_simulated_cli(tmp_path: Path) -> None:
    _, simulated = programs("docs/guides/testing.md")
    done = run(simulated, tmp_path)
    assert done.returncode == 0, done.stderr


class Machine:
    """A user's machine: a home, Handrail's directories, a project, and a simulated CLI on the PATH."""

    def __init__(self, root: Path, steps: Sequence[sim.Step]) -> None:
        self.root = root
        self.project = root / "project"
        for name in ("project", "home", "bin"):
            (root / name).mkdir()
        self.cli = SimulatedCLI(steps, directory=root / "bin")
        self.places = Places(*(str(root / name) for name in ("config", "state", "cache", "run")))
        self.environment = {
            **os.environ,
            **{f"HANDRAIL_{name.upper()}_DIR": path for name, path in msgspec.structs.asdict(self.places).items()},
            "HOME": str(root / "home"),
            "PATH": f"{self.cli.path.parent}{os.pathsep}{os.environ['PATH']}",
        }

    def run(self, program: str, *, typed: str = "") -> str:
        done = run(program, self.project, self.environment, typed=typed)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def session_elsewhere(self) -> Iterator[str]:
        """Another process owns a session, and has sent it the message "go"; gives its id."""
        program = ROOT / "tests/sessions/owner_program.py"
        command = [sys.executable, str(program), str(self.root), str(self.cli.path), str(self.project)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.environment) as owner:
            assert owner.stdout is not None
            try:
                yield owner.stdout.readline().strip()
            finally:
                owner.terminate()


def sections(page: str) -> dict[str, str]:
    """The programs of a page, by the headings they stand under."""
    found = re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?```python\n(.*?)```", (ROOT / page).read_text(), re.S | re.M)
    assert len(found) == len(programs(page)), "one program under each heading, so that none goes untested"
    return dict(found)


ASKING = sim.tool("Bash", {"command": "ls -l"})
SAYS = {
    "Starting": ([sim.loop_turns("It does not compile.")], "It does not compile.\nWhy does the build fail? idle"),
    "Following": (
        [sim.loop_turns(sim.tool("Read", {"file_path": "/x"}, ask=False), sim.say("Many good things."))],
        "said: Many good things.",
    ),
    "Interrupting, stopping, resuming, forking": (
        [sim.loop_turns(sim.say("Once upon a time there was a test. " * 5, pause=0.02))],
        "stopped False\nOnce upon a time",
    ),
    "Lost asks": ([sim.loop_turns(sim.tool("Bash", {"command": "rm -r build"}), "It is gone.")], "It is gone."),
    "Limits and notifications": ([sim.loop_turns("Tidied.")], "Tidied."),
    "Exporting": ([sim.loop_turns("Many good things.")], ""),
}
"""What the CLI does in each program of the guide, and what the program prints."""


@pytest.mark.slow
@pytest.mark.parametrize("section", SAYS)
def test_a_program_of_the_sessions_guide_runs(section: str, tmp_path: Path) -> None:
    steps, expected = SAYS[section]
    machine = Machine(tmp_path, steps)
    assert expected in machine.run(sections(GUIDE)[section])
    assert section != "Exporting" or "Many good things." in (machine.project / "session.html").read_text()


@pytest.mark.slow
async def test_the_sessions_guide_answers_for_another_process(tmp_path: Path) -> None:
    machine = Machine(tmp_path, [sim.turn(sim.tool("Bash", {"command": "ls -l"}), "Listed.")])
    with machine.session_elsewhere() as session_id:
        async with Manager.local(machine.places) as manager:
            session = await manager.get(session_id)
            while not await session.asks():
                await asyncio.sleep(0.01)
            printed = await asyncio.to_thread(machine.run, sections(GUIDE)["Asks, from anywhere"], typed="yes\n")
            assert "Bash {'command': 'ls -l'}\nAllow it? " in printed
            (row,) = await session.asks(())
            assert (row.decided_by, json.loads(row.answer or b"")) == ("alice", {"type": "allow"})


@pytest.mark.slow
def test_the_sessions_guide_tells_where_a_session_lives(tmp_path: Path) -> None:
    machine = Machine(tmp_path, [sim.loop_turns("Done.")])
    with machine.session_elsewhere():
        assert re.fullmatch(r"go (idle|running) elsewhere\n", machine.run(sections(GUIDE)["Who owns a session"]))


@pytest.mark.slow
def test_the_sessions_guide_adopts_a_session_of_claude_codes_own(tmp_path: Path) -> None:
    machine = Machine(tmp_path, [])
    shutil.copytree(ROOT / "tests/fixtures/claude_projects/2.1.325", tmp_path / "home/.claude")
    printed = machine.run(sections(GUIDE)["Adopting"])
    assert re.search(r"^[1-9]\d* events$", printed, re.M)


@pytest.mark.slow
def test_the_sessions_guide_makes_worktrees(tmp_path: Path) -> None:
    machine = Machine(tmp_path, [sim.loop_turns("Done.")])
    author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    subprocess.run(["git", "init", "-q", str(machine.project)], check=True)
    subprocess.run(["git", *author, "commit", "-q", "--allow-empty", "-m", "x"], cwd=machine.project, check=True)
    printed = machine.run(sections(GUIDE)["Worktrees"])
    assert "/state/worktrees/project-" in printed
    assert "handrail/by-hand" in printed


@pytest.mark.slow
def test_the_sessions_guide_starts_a_session_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path, [sim.loop_turns("Hello.")])
    first, second = (machine.run(sections(GUIDE)["Starting once"]) for _ in range(2))
    assert first == second
    assert re.fullmatch(r"[0-9a-f]{32} True\n", first)


def test_every_program_of_the_sessions_guide_is_run() -> None:
    others = {"Starting once", "Asks, from anywhere", "Who owns a session", "Adopting", "Worktrees"}
    assert set(sections(GUIDE)) == {*SAYS, *others}


@pytest.mark.slow
@pytest.mark.parametrize(("page", "does"), [("docs/guides/decisions.md", ASKING), ("docs/guides/guards.md", "Tidied.")])
def test_the_program_of_another_guide_runs(page: str, does: sim.Step | str, tmp_path: Path) -> None:
    (program,) = programs(page)
    machine = Machine(tmp_path, [sim.loop_turns(does)])
    machine.run(program)
    assert machine.cli.find("user") is not None

"""Hosts on the command line: what is refused before anything runs, and what is shown."""

from __future__ import annotations

import asyncio
import io
import os
from pathlib import Path
from typing import Any

import pytest

from handrail.cli.candidates import host_names, host_wishes
from handrail.cli.hosting.enrolled import enrolled
from handrail.cli.hosting.host_list import drained_words, host_page, revoking_words
from handrail.cli.hosting.names import HostNames
from handrail.cli.hosting.remembered import remember, with_remembered
from handrail.cli.hosting.running import the_only_agent
from handrail.cli.hosting.settings import GivenHost, HostSettings, default_name, host_settings
from handrail.cli.hosting.telling import HubTold, SessionsTold, Telling, session_news
from handrail.cli.hub_address import hub_address
from handrail.cli.showing.style import DONE, make_console
from handrail.config.model import Config, Host
from handrail.errors import ConfigError, HandrailError, HostAway, HostNotFound, HostRefused
from handrail.host.agent import News
from handrail.host.identity import HostIdentity, save_identity
from handrail.link.wire import CliFacts, HostFacts
from handrail.places import Places
from handrail.remote.records import HostView
from handrail.sessions.manager import Manager
from handrail.store.base import HostRow, SessionRow

from .support import DEADLINE, handrail, plain, printed

NOW = 1_800_000_000.0


def a_host(name: str = "build-box", state: str = "connected", **fields: Any) -> HostView:
    return HostView(id=fields.pop("id", f"id-of-{name}"), name=name, state=state, **fields)


def words(line: str) -> str:
    return " ".join(line.split())


def a_session(**fields: Any) -> SessionRow:
    plainly = {"id": "3f2a91bc" * 4, "cwd": "/srv/shop", "created_at": NOW, "updated_at": NOW, "title": "Fix it"}
    return SessionRow(**{**plainly, **fields})


# ---------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("wss://hub.example.org", "https://hub.example.org"),
        ("https://hub.example.org/", "https://hub.example.org"),
        ("WSS://hub.example.org:8443", "https://hub.example.org:8443"),
        ("ws://127.0.0.1:4280", "http://127.0.0.1:4280"),
        ("http://localhost:4280", "http://localhost:4280"),
        ("ws://[::1]:4280", "http://[::1]:4280"),
    ],
)
def test_a_hub_may_be_written_as_web_address_or_socket(written: str, address: str) -> None:
    assert hub_address(written, "--hub") == address


@pytest.mark.parametrize(
    "written", ["hub.example.org", "ftp://hub.example.org", "wss://", "wss://a b", "wss://hub/path", "", "wss:hub"]
)
def test_what_is_no_address_is_told_with_an_example(written: str) -> None:
    with pytest.raises(ConfigError, match=r"--hub must be the address of a hub, such as https://hub\.example\.org"):
        hub_address(written, "--hub")


@pytest.mark.parametrize("written", ["ws://hub.example.org", "http://192.168.1.7:4280", "ws://127.0.0.1.example.org"])
def test_another_machine_is_only_dialled_with_tls(written: str) -> None:
    with pytest.raises(ConfigError, match="must begin with https:// or wss://"):
        hub_address(written, "--hub")


# ---------------------------------------------------------------- settings of the agent


def test_the_command_line_counts_more_than_the_settings(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    host = Host(hub="wss://a.example.org", name="a", roots=(str(tmp_path),), labels=("x",), capacity=2)
    config = Config(host=host)
    unsaid = host_settings(GivenHost(), config)
    assert (unsaid.hub, unsaid.name, unsaid.labels, unsaid.capacity) == ("https://a.example.org", "a", ("x",), 2)
    assert unsaid.roots == (str(tmp_path.resolve()),)
    own = str(tmp_path / "own")
    said = host_settings(
        GivenHost(hub="wss://b.example.org", name="b", roots=(own,), labels=("y",), capacity=3), config
    )
    assert (said.hub, said.name, said.labels, said.capacity) == ("https://b.example.org", "b", ("y",), 3)
    assert said.roots == (str((tmp_path / "own").resolve()),)


def test_a_root_of_the_command_line_is_where_it_was_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path)
    assert host_settings(GivenHost(roots=("src",)), Config()).roots == (str((tmp_path / "src").resolve()),)


def test_what_was_said_at_the_enrolment_holds_until_somebody_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = str(tmp_path)
    assert with_remembered(GivenHost(), Host(), directory) == GivenHost()
    monkeypatch.chdir(tmp_path)
    remember(directory, GivenHost(code="hre_x", roots=("src",), labels=("gpu",), capacity=2))
    known = GivenHost(roots=(str(tmp_path / "src"),), labels=("gpu",), capacity=2)
    assert with_remembered(GivenHost(), Host(), directory) == known
    assert with_remembered(GivenHost(roots=("/a",)), Host(), directory).roots == ("/a",)
    configured = Host(roots=("/b",), labels=("x",), capacity=3)
    assert with_remembered(GivenHost(), configured, directory) == GivenHost()


def test_what_was_said_at_the_enrolment_and_cannot_be_read_is_not_ignored(tmp_path: Path) -> None:
    (tmp_path / "offered.json").write_text("{")
    with pytest.raises(ConfigError, match="say it again with --root"):
        with_remembered(GivenHost(), Host(), str(tmp_path))


@pytest.mark.parametrize(
    ("given", "config", "message"),
    [
        (GivenHost(roots=("/no/such/place",)), Host(), "there is no directory '/no/such/place'"),
        (GivenHost(), Host(roots=("src",)), "host.roots takes whole paths"),
        (GivenHost(name="build box"), Host(), "--name takes letters"),
        (GivenHost(labels=("",)), Host(), "--label takes letters"),
        (GivenHost(hub="ws://hub.example.org"), Host(), "--hub must begin with https:// or wss://"),
        (GivenHost(), Host(hub="ws://hub.example.org"), "host.hub must begin with https:// or wss://"),
    ],
)
def test_what_cannot_be_right_is_said(given: GivenHost, config: Host, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        host_settings(given, Config(host=config))


@pytest.mark.parametrize(
    ("machine", "name"), [("build-box", "build-box"), ("Ann's laptop.local", "Ann-s-laptop.local"), ("…", "host")]
)
def test_a_machine_without_a_name_is_called_as_it_calls_itself(
    machine: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: machine)
    assert default_name() == name


def test_sessions_for_a_hub_are_kept_apart_and_held_to_the_same_trust() -> None:
    own = Places("/config", "/state", "/cache", "/run")
    there = own.of_host()
    assert there.state == "/state/host"
    assert (there.trust_file, there.grants_file) == (own.trust_file, own.grants_file)
    assert there.policy_file == own.policy_file


# ---------------------------------------------------------------- run --host


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", ""], "say which host"),
        (["--host", "a", "--in-hub"], "choose one of the two"),
        (["--host", "a", "--continue"], "on the machine that it is on"),
        (["--host", "a", "--cli", "claude"], "a Claude Code of its own"),
        (["--host", "a", "--record", "x"], "a Claude Code of its own"),
        (["--host", "a", "--cwd", "src"], "by its whole path"),
    ],
)
def test_what_makes_no_sense_on_a_host_is_refused(arguments: list[str], message: str) -> None:
    done = handrail("run", *arguments, "go")
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


# ---------------------------------------------------------------- what is shown


def test_hosts_are_listed_with_what_matters_first() -> None:
    facts = HostFacts(
        handrail="0.5.0", clis=(CliFacts(version="2.1.325"),), labels=("gpu",), capacity=4, load=0.35, trouble="full"
    )
    hosts = [
        a_host("zebra", "away", last_seen_at=NOW - 7200, sessions=3),
        a_host(facts=facts, sessions=12, live=2),
        a_host("box", id="", is_hub=True),
        a_host("old", "revoked"),
    ]
    heading, *lines = plain(host_page(hosts, now=NOW), 120).splitlines()
    assert words(heading) == "STATE NAME LIVE SESSIONS LOAD CLAUDE CODE HANDRAIL LABELS SEEN"
    assert lines[0].startswith("✓ connected  box (the hub)")
    assert words(lines[1]) == "✓ connected build-box 2 of 4 12 35% 2.1.325 0.5.0 gpu now"
    assert words(lines[2]) == "✗ away zebra 0 3 2 h"
    assert words(lines[3]) == "· revoked old 0 0 never"
    assert lines[4] == "⚠ build-box: full"


def test_a_host_lies_about_itself_in_vain() -> None:
    """What it says of itself is shown, not obeyed."""
    facts = HostFacts(labels=("\x1b[2J",), trouble="a\nb \x1b[31m", clis=(CliFacts(version="\x07"),))
    shown = plain(host_page([a_host(facts=facts)], now=NOW), 120)
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert len(shown.splitlines()) == 3


def test_what_draining_and_revoking_means_is_said() -> None:
    assert drained_words(a_host(live=2), on=True) == "no more sessions are started on build-box; 2 sessions still there"
    assert drained_words(a_host(), on=True) == "no more sessions are started on build-box; nothing runs there"
    assert drained_words(a_host(), on=False) == "sessions are started on build-box again"
    assert revoking_words(a_host(live=1)) == "1 session on build-box will end, out of the hub's reach."


def test_hosts_are_found_by_name_and_by_id() -> None:
    names = HostNames({"1": "build-box", "2": "gpu-box"})
    assert [names.id_of(name) for name in ("build-box", "2", "here")] == ["1", "2", ""]
    assert [names.of(host_id) for host_id in ("1", "", "0123456789")] == ["build-box", "here", "01234567"]
    with pytest.raises(HostNotFound, match="did you mean 'build-box'"):
        names.id_of("buildbox")
    with pytest.raises(HostNotFound, match="there is no host ''"):
        names.id_of("")


def test_news_of_a_session_is_one_line() -> None:
    assert session_news(a_session(status="running"), None) == (
        "blue",
        "3f2a91bc Fix it: started in /srv/shop",
    )
    assert session_news(a_session(status="needs_you"), "running") == ("yellow", "3f2a91bc Fix it: waits for an answer")
    assert session_news(a_session(status="idle"), "idle") is None


def test_a_line_has_its_time() -> None:
    console = make_console(io.StringIO(), width=80)
    Telling(console, clock=lambda: NOW).say(DONE, "connected")
    assert printed(console)[8:] == "  ✓ connected\n"


async def test_what_becomes_of_sessions_is_told(tmp_path: Path) -> None:
    places = Places(*(str(tmp_path / name) for name in ("config", "state", "cache", "run")))
    said: asyncio.Queue[str] = asyncio.Queue()
    async with Manager.local(places) as manager, asyncio.timeout(DEADLINE):
        await manager.store.create_session(a_session(id="a" * 32, status="idle"))
        async with SessionsTold(manager.store, lambda colour, text: said.put_nowait(text), pause=0):
            await manager.store.create_session(a_session(id="b" * 32, title="Another", status="idle"))
            assert await said.get() == "bbbbbbbb Another: started in /srv/shop"
            await manager.store.delete_session("b" * 32)
            await manager.store.create_session(a_session(id="c" * 32, title="", status="idle"))
            assert await said.get() == "cccccccc: started in /srv/shop"


async def test_the_tab_key_knows_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = Places(*(str(tmp_path / name) for name in ("config", "state", "cache", "run")))
    monkeypatch.setenv("HANDRAIL_STATE_DIR", places.state)
    async with Manager.local(places) as manager:
        for name, revoked_at in (("gpu-box", None), ("build-box", None), ("old", 2.0)):
            row = HostRow(id=name, name=name, key_hash=name, enrolled_at=1.0, enrolled_by="ann", revoked_at=revoked_at)
            await manager.store.add_host(row)
    assert host_names("") == [("build-box", "enrolled by ann"), ("gpu-box", "enrolled by ann")]
    assert [name for name, _ in host_wishes("")] == ["build-box", "gpu-box", "any"]
    monkeypatch.setenv("HANDRAIL_HUB", "https://hub.example.org")
    assert host_names("") == []


# ---------------------------------------------------------------- who this machine is

ADDRESS = "https://hub.example.org"
IDENTITY = HostIdentity(hub=ADDRESS, host_id="1", name="build-box", key="hrh_secret")
SETTINGS = HostSettings(hub=ADDRESS, name="build-box", roots=("/",))


class Hub:
    """Answers codes, once it is there."""

    def __init__(self, *, away: int = 0, refuses: str = "") -> None:
        self.away = away
        self.refuses = refuses
        self.asked: list[tuple[str, str, str]] = []

    async def enrol(self, hub: str, code: str, name: str) -> HostIdentity:
        self.asked.append((hub, code, name))
        if len(self.asked) <= self.away:
            raise HostAway("it cannot be reached")
        if self.refuses:
            raise HostRefused(self.refuses)
        return HostIdentity(hub=hub, host_id="2", name=name, key="hrh_new")


async def enrolled_at(hub: Hub, directory: Path, given: GivenHost, settings: HostSettings) -> tuple[HostIdentity, str]:
    """Who this machine is, and what was said."""
    said: list[str] = []

    async def no_pause(seconds: float) -> None:
        assert seconds <= 30

    identity = await enrolled(
        str(directory), given, settings, lambda colour, text: said.append(text), ask=hub.enrol, sleep=no_pause
    )
    return identity, "\n".join(said)


async def test_a_code_becomes_a_key_that_is_kept(tmp_path: Path) -> None:
    hub = Hub(away=8)
    identity, said = await enrolled_at(hub, tmp_path, GivenHost(code=" hre_x "), SETTINGS)
    assert hub.asked[-1] == (ADDRESS, "hre_x", "build-box")
    assert said.count("trying again until it answers") == 1
    assert "enrolled as build-box" in said
    again, said = await enrolled_at(hub, tmp_path, GivenHost(), SETTINGS)
    assert (again, said) == (identity, "")
    assert oct((tmp_path / "identity.json").stat().st_mode)[-3:] == "600"


async def test_a_code_that_was_left_in_a_script_does_no_harm(tmp_path: Path) -> None:
    save_identity(tmp_path, IDENTITY)
    identity, said = await enrolled_at(Hub(refuses="used already"), tmp_path, GivenHost(code="hre_x"), SETTINGS)
    assert identity == IDENTITY
    assert "used already" in said
    elsewhere = HostSettings(hub="https://other.example.org", name=None, roots=("/",))
    with pytest.raises(HostRefused, match="used already"):
        await enrolled_at(Hub(refuses="used already"), tmp_path, GivenHost(code="hre_x"), elsewhere)


@pytest.mark.parametrize(
    ("hub", "name", "message"),
    [
        ("https://other.example.org", None, "is enrolled at https://hub.example.org, not at https://other"),
        (None, "other", "is enrolled as build-box, not as other"),
    ],
)
async def test_a_key_is_for_one_hub_and_one_name(
    tmp_path: Path, hub: str | None, name: str | None, message: str
) -> None:
    save_identity(tmp_path, IDENTITY)
    settings = HostSettings(hub=hub, name=name, roots=("/",))
    with pytest.raises(ConfigError, match=message):
        await enrolled_at(Hub(), tmp_path, GivenHost(), settings)


async def test_who_is_not_enrolled_is_told_how(tmp_path: Path) -> None:
    nothing = HostSettings(hub=None, name=None, roots=("/",))
    with pytest.raises(HandrailError, match="handrail host enrol"):
        await enrolled_at(Hub(), tmp_path, GivenHost(), nothing)
    with pytest.raises(ConfigError, match="which hub the code is for"):
        await enrolled_at(Hub(), tmp_path, GivenHost(code="hre_x"), nothing)


# ---------------------------------------------------------------- what the agent says


def test_that_the_hub_is_away_is_said_once() -> None:
    said: list[str] = []
    now = [0.0]
    told = HubTold(lambda colour, text: said.append(text), clock=lambda: now[0])
    for _ in range(3):
        told.hear(News(kind="connecting"))
        told.hear(News(kind="lost", text="it cannot be reached", retry_in=1.0))
    told.hear(News(kind="connected"))
    told.hear(News(kind="lost", text="it was cut", retry_in=1.0))
    now[0] = 75.0
    told.hear(News(kind="lost", text="it cannot be reached", retry_in=2.0))
    told.hear(News(kind="connected"))
    told.hear(News(kind="draining"))
    told.leaving = True
    told.hear(News(kind="draining"))
    away = "; trying again until it is there. What runs here goes on."
    assert said == [
        f"it cannot be reached{away}",
        "connected",
        f"it was cut{away}",
        f"it cannot be reached{away}",
        "connected again, after 1:15",
        "the hub starts no more sessions here; what runs goes on",
    ]


async def test_one_agent_at_a_time(tmp_path: Path) -> None:
    places = Places(*(str(tmp_path / name) for name in ("config", "state", "cache", "run"))).of_host()
    async with the_only_agent(places):
        with pytest.raises(HandrailError, match=f"a host already \\(process {os.getpid()}\\)"):
            async with the_only_agent(places):
                pass
    async with the_only_agent(places):
        pass
    assert oct((tmp_path / "state" / "host").stat().st_mode)[-3:] == "700"

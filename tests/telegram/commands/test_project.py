"""Projects of chats and topics, and the git worktrees of branches."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from handrail.telegram import projects
from handrail.telegram.model import Place
from handrail.telegram.projects import NoProject, Project, host_alone, project_at, project_of
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.state import BridgeState

from .support import ANN, BOB, bench, idle

slow = pytest.mark.slow
"""Many of them would take long together; the first ones tell whether anything works."""

GROUP, TOPIC = Place(-100), Place(-100, 7)


@pytest.mark.slow
async def test_chats_and_topics_are_bound_to_projects(tmp_path: Path) -> None:
    async with bench(tmp_path, projects={"Web": str(tmp_path / "projects" / "web")}) as it:
        web, api = it.project("web"), it.project("api")
        inner = Path(api) / "src"
        inner.mkdir()
        bob, group, topic = it.chat(BOB, GROUP), it.chat(ANN, GROUP), it.chat(ANN, TOPIC)
        assert "needs the role owner" in await bob.write("/project api")

        await group.write("/project")
        assert group.buttons == ["Web · …/projects/web", "Other directories…"]
        assert f"This chat works in {web} (Web)." in await group.press("Web")
        assert (await group.chat()).cwd == web
        assert f"This topic works in {web} (Web)." in await topic.write("/project")

        await topic.press("Other directories…")
        assert topic.buttons[:3] == ["api", "shop", "web"]
        assert [text.split("/")[0] for text in topic.buttons[3:]] == ["✓ Work in …", "‹ Back"]
        await topic.press("api")
        assert topic.buttons == ["src", "✓ Work in …/projects/api", "↑ Up"]
        await topic.press("src")
        await topic.press("↑ Up")
        assert f"This topic works in {api}." in await topic.press("✓ Work in")
        assert (await group.chat()).cwd == web

        await topic.write("/new here")
        session = await topic.session()
        await idle(session)
        assert (await session.row()).cwd == api
        assert topic.place == TOPIC
        assert f"works in {inner}" in await topic.write(f"/project {inner}")
        assert (await topic.chat()).session_id == ""

        assert "There is no project 'nowhere'" in await topic.write("/project nowhere")
        assert "is not inside" in await topic.write("/project /etc")
        assert "There is no directory" in await topic.write(f"/project {api}/none")
        assert (await topic.chat()).cwd == str(inner)
        await topic.write("/project off")
        assert f"works in {web}" in await topic.write("/project")


@slow
async def test_a_branch_is_a_worktree_that_the_chat_stays_with(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        shop = it.project()
        _repository(shop)
        ann, group = it.chat(ANN), it.chat(ANN, GROUP)
        assert "The next message makes the worktree." in await ann.write("/project @feature/login")
        await it.sessions.send(it.people.hub_for(ANN), ann.place, "begin", message_id=500)
        session = await ann.session()
        await idle(session)
        row = await session.row()
        assert projects.worktree_of(row)["branch"] == "handrail/feature-login"
        assert row.cwd != shop
        assert "README" in _files(row.cwd)

        # Another chat comes to the same worktree, and to the session there.
        assert "goes on with the session that was last used there" in await group.write("/project @feature/login")
        assert (await group.chat()).session_id == session.id
        assert "@feature-login" in await group.write("/status")
        await group.write("/project")
        assert f"works in {shop}." in await group.press("Leave the branch")
        await group.write("/new elsewhere")
        other = await group.session()
        await idle(other)
        assert (await other.row()).cwd == shop

        assert "goes on with begin" in await group.write("/continue @feature/login")
        assert "Nothing was done on @other yet" in await group.write("/continue @other")
        assert "A branch is one word" in await ann.write("/project @one two")
        assert "A branch is written as @name" in await ann.write(f"/project {shop} two")
        assert "on the branch @third" in await ann.write(f"/project {shop} @third")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("web", Project(cwd="/srv/web", name="Web")),
        ("BOX", Project(cwd="/home/me", host="box", name="box")),
        ("/srv/other", Project(cwd="/srv/other")),
        ("~/x", Project(cwd="~/x")),
        ("box2:/srv/x", Project(cwd="/srv/x", host="box2")),
        ("/odd:/name", Project(cwd="/odd:/name")),
    ],
)
def test_a_project_is_written_by_name_or_place(written: str, expected: Project) -> None:
    settings = TelegramSettings(token="1:T", users=(ANN,), projects={"Web": "/srv/web", "box": "box:/home/me"})
    assert project_at(written, settings) == expected


@pytest.mark.parametrize(
    ("written", "host"), [("box:", "box"), ("box", ""), (":", ""), ("/odd:", ""), ("box:~", ""), ("box:shop", "")]
)
def test_a_host_may_be_written_alone(written: str, host: str) -> None:
    assert host_alone(written) == host


def test_what_is_no_project_is_said() -> None:
    settings = TelegramSettings(token="1:T", users=(ANN,), projects={"Web": "/srv/web"})
    for written in ("shop", "box:shop"):
        with pytest.raises(NoProject, match="box:/srv/shop on a host; these have names: Web"):
            project_at(written, settings)


async def test_a_chat_without_a_project_has_the_only_one_or_none(tmp_path: Path) -> None:
    async with BridgeState(str(tmp_path / "telegram.db")) as state:
        one = TelegramSettings(token="1:T", users=(ANN,), projects={"Web": "/srv/web"})
        assert (await project_of(state, TOPIC, one)).name == "Web"
        two = TelegramSettings(token="1:T", users=(ANN,), projects={"Web": "/srv/web", "Api": "/srv/api"})
        with pytest.raises(NoProject, match="/project"):
            await project_of(state, TOPIC, two)


def _repository(directory: str) -> None:
    Path(directory, "README").write_text("hello")
    for command in (
        "init -q -b main",
        "add -A",
        "-c user.name=Ann -c user.email=ann@example.org commit -q -m first",
    ):
        subprocess.run(["git", *command.split(" ")], cwd=directory, check=True)


def _files(directory: str) -> list[str]:
    return sorted(path.name for path in Path(directory).iterdir())

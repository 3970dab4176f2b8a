"""Files that are fetched and put: inside the roots, whole, and nothing private whichever way it is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.sessions.exchange import OUTBOX, FileExchange, FileRefused
from handrail.sessions.roots import RootRefused, Roots


@pytest.fixture
def exchange(tmp_path: Path) -> FileExchange:
    root = tmp_path / "root"
    for directory in ("root/shop/.git", "root/.ssh", "root/state/worktrees/fix", "elsewhere"):
        (tmp_path / directory).mkdir(parents=True)
    (root / "shop" / "app.py").write_text("print()")
    (root / "shop" / ".env").write_text("SECRET=1")
    (root / "state" / "handrail.db").write_text("rows")
    (root / "state" / "worktrees" / "fix" / "app.py").write_text("fixed")
    (tmp_path / "elsewhere" / "passwords").write_text("1234")
    (root / "shop" / "out").symlink_to(tmp_path / "elsewhere")
    (root / "shop" / "innocent").symlink_to(root / "shop" / ".env")
    (root / "shop" / "alias.py").symlink_to("app.py")
    os.mkfifo(root / "shop" / "pipe")
    roots = Roots((str(root), str(root / "state" / "worktrees")), home=str(root))
    return FileExchange(roots, own=(str(root / "state"),))


def test_a_file_is_read_also_through_a_link_inside(exchange: FileExchange) -> None:
    assert exchange.read("~/shop/app.py") == b"print()"
    assert exchange.read("~/shop/alias.py") == b"print()"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("~/shop/.env", "private_file"),
        ("~/shop/.ENV", "private_file"),
        ("~/shop/innocent", "private_file"),
        ("~/shop/.git/config", "private_file"),
        ("~/.ssh/id_rsa", "private_file"),
        ("~/shop/server.pem", "private_file"),
        ("~/state/handrail.db", "private_file"),
        ("~/state/worktrees/../handrail.db", "private_file"),
        ("~/shop/out/passwords", "outside_roots"),
        ("~/../elsewhere/passwords", "outside_roots"),
        ("/etc/passwd", "outside_roots"),
        ("shop/app.py", "invalid"),
        ("~/shop/app.py\0", "invalid"),
        ("~/shop/none", "not_found"),
        ("~/shop", "not_found"),
        ("~/shop/pipe", "not_found"),
        ("~/shop/app.py/further", "not_found"),
    ],
)
def test_what_is_not_to_be_had(exchange: FileExchange, path: str, code: str) -> None:
    with pytest.raises(RootRefused) as refused:
        exchange.read(path)
    assert refused.value.code == code


def test_a_worktree_in_handrails_own_directory_can_be_used(exchange: FileExchange) -> None:
    assert exchange.read("~/state/worktrees/fix/app.py") == b"fixed"
    exchange.write("~/state/worktrees/fix/notes.txt", b"new")
    assert exchange.read("~/state/worktrees/fix/notes.txt") == b"new"


def test_too_much_is_refused_before_it_is_read(exchange: FileExchange, tmp_path: Path) -> None:
    with (tmp_path / "root" / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(FileRefused, match=r"1,099,511,627,776 bytes: at most 20,971,520") as refused:
        exchange.read("~/huge")
    assert refused.value.code == "file_too_large"


def test_a_file_is_put_once_and_replaced_only_on_demand(exchange: FileExchange, tmp_path: Path) -> None:
    written = exchange.write("~/shop/docs/new/plan.md", b"first")
    assert Path(written).read_bytes() == b"first"
    with pytest.raises(FileRefused) as refused:
        exchange.write("~/shop/docs/new/plan.md", b"second")
    assert (refused.value.code, Path(written).read_bytes()) == ("file_exists", b"first")
    exchange.write("~/shop/docs/new/plan.md", b"third", replace=True)
    assert Path(written).read_bytes() == b"third"
    assert [each.name for each in Path(written).parent.iterdir()] == ["plan.md"]


@pytest.mark.parametrize(
    "path",
    ["~/.bashrc", "~/shop/.vscode/tasks.json", "~/shop/.mcp.json", "~/shop/.claude/settings.json", f"~/{OUTBOX}"],
)
def test_nothing_hidden_is_written(exchange: FileExchange, path: str) -> None:
    with pytest.raises(FileRefused) as refused:
        exchange.write(path, b"x", replace=True)
    assert refused.value.code == "private_file"


def test_a_link_that_leads_out_is_not_written_through(exchange: FileExchange, tmp_path: Path) -> None:
    with pytest.raises(RootRefused):
        exchange.write("~/shop/out/passwords", b"x", replace=True)
    assert (tmp_path / "elsewhere" / "passwords").read_text() == "1234"


def test_an_outbox_is_listed_without_what_is_private(exchange: FileExchange, tmp_path: Path) -> None:
    exchange.write(f"~/shop/{OUTBOX}/.gitignore", b"*\n")
    exchange.write(f"~/shop/{OUTBOX}/s1/report.pdf", b"%PDF")
    outbox = tmp_path / "root" / "shop" / OUTBOX / "s1"
    (outbox / ".env").write_text("x")
    (outbox / "link").symlink_to("/etc/passwd")
    (outbox / "folder").mkdir()
    assert [(each.name, each.size) for each in exchange.listing(str(outbox))] == [("report.pdf", 4)]


def test_a_directory_that_is_not_there_says_so(exchange: FileExchange) -> None:
    with pytest.raises(FileRefused, match=r"there is no ~/shop/none"):
        exchange.listing("~/shop/none")

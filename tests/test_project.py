"""The project itself: what is packaged, what is documented, and what must not stand in a committed file."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAKE_TARGETS = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.M)


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("this is not a git checkout, so there is no list of the committed files")
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def test_no_committed_file_names_a_registry() -> None:
    # Put together here so that this file does not name them either.
    registries = re.compile(
        "|".join(re.escape(host) for host in ("pypi" + ".org", "pythonhosted" + ".org", "npmjs" + "."))
    )
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", "replace")
        assert not registries.search(text), path


def test_no_committed_file_names_a_place_on_this_machine() -> None:
    places = {str(ROOT), str(Path.home()), sys.prefix} - {"/"}
    named = re.compile(r"(?<!\w)(" + "|".join(map(re.escape, places)) + r")(?!\w)")
    for path in tracked_files():
        assert not named.search(path.read_bytes().decode("utf-8", "replace")), path


def test_constraints_are_names_and_versions() -> None:
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", line), line


def test_every_make_target_is_explained() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert [target for target in MAKE_TARGETS if f"`make {target}`" not in page] == []
    assert {"run", "test", "check", "test-matrix", "canary", "bench", "help"} <= set(MAKE_TARGETS)


def test_the_matrix_is_the_same_everywhere() -> None:
    from handrail.testing import MATRIX_VERSIONS

    assert f"MATRIX ?= {','.join(MATRIX_VERSIONS)}\n" in (ROOT / "Makefile").read_text()


@pytest.mark.slow
def test_the_wheel_has_every_module_the_page_and_the_type_marker(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    page = [path for path in (source / "handrail" / "web").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    wanted = {str(path.relative_to(source)) for path in [*(source / "handrail").rglob("*.py"), *page]}
    assert {*wanted, "handrail/py.typed", "handrail/web/index.html", "handrail/web/js/main.js"} <= packed
    assert not [name for name in packed if name.startswith("tests")]

"""Every command of the documentation is run, page by page, in a folder of its own.

In README.md, CONTRIBUTING.md and docs/:

- ```` ```sh ```` blocks run under `bash -e`, in their order, with `sluice` on the path;
- ```` ```sh not-run: REASON ```` blocks need what a test has not (a GPU, the network, ten minutes);
- ```` ```yaml NAME ```` blocks become files for the blocks after them; ```` ```python ```` blocks run too.

No command stands in an indented block, where nothing would run it.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md"] + sorted((REPOSITORY / "docs").rglob("*.md"))
BLOCK = re.compile(r"^```([a-z]+)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?: {4,}|\t)(?:\$ )?(?:sluice |scripts/|cmake |ctest |pip |build/|experiments/\S+ |python3? )", re.MULTILINE)


def blocks(page):
    return BLOCK.findall(page.read_text())


def runs(page):
    return any(kind in ("sh", "python") and not info.startswith("not-run:") for kind, info, _ in blocks(page))


@pytest.fixture
def place(tmp_path):
    """A folder that looks like the top of the repository, with `sluice` on the path."""
    for name in ("experiments", "scripts", "docs", "planner", "README.md"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    program = pathlib.Path(os.environ.get("SLUICE_BIN", REPOSITORY / "build" / "bin" / "sluice")).resolve()
    (tmp_path / ".bin").mkdir()
    (tmp_path / ".bin" / "sluice").symlink_to(program)
    (tmp_path / ".bin" / "python3").symlink_to(sys.executable)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if runs(page)], ids=lambda page: page.stem)
def test_commands_run(page, place):
    environment = {
        **os.environ,
        "PATH": f"{place / '.bin'}:{os.environ['PATH']}",
        "SLUICE_HOME": str(place / ".home"),
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "2",
    }
    for kind, info, text in blocks(page):
        if info.startswith("not-run:"):
            continue
        if kind == "yaml" and info:
            (place / info).write_text(text)
            continue
        if kind == "python":
            pytest.importorskip("sluice", reason="the module is not built (SLUICE_PYTHON)")
            words = [sys.executable, "-c", text]
        elif kind == "sh":
            words = ["bash", "-euo", "pipefail", "-c", text]
        else:
            continue
        done = subprocess.run(words, cwd=place, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_commands_need_a_clone_only_where_the_page_is_about_its_files():
    """Whoever has a wheel has no repository: a test in it would run the commands all the same."""
    about_its_files = {"ablations.md", "buying.md", "probe.md", "add-a-cost-term.md"}
    own = re.compile(r"\b(README\.md|(?:experiments|scripts|planner|tests|notebooks)/\S+)")
    broken = [
        f"{page.name}: {found}"
        for page in PAGES
        if page.parent != REPOSITORY and page.name not in about_its_files
        for kind, info, text in blocks(page)
        if kind in ("sh", "python", "yaml") and not info.startswith("not-run:")
        for found in own.findall(text)
    ]
    assert not broken, "a page that a wheel's user follows names a file of the repository: " + ", ".join(broken)


def test_no_command_hides_in_an_indented_block_and_every_reason_is_given():
    for page in PAGES:
        if "/design/" in str(page):
            continue
        outside = BLOCK.sub("", page.read_text())
        assert not COMMAND.search(outside), f"{page.name}: {COMMAND.search(outside).group()}..."
        for kind, info, _ in blocks(page):
            if kind == "sh" and info:
                assert re.match(r"not-run: \w+.{8,}", info), f"{page.name}: ```sh {info}"

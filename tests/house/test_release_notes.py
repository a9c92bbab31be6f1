"""Notes of a release come from CHANGELOG.md, and are refused where versions disagree."""

import pathlib
import re
import shutil
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"project\(sluice VERSION ([0-9.]+)", (REPOSITORY / "CMakeLists.txt").read_text())[1]


def notes(*words, top=REPOSITORY):
    return subprocess.run([top / "scripts" / "release_notes", *words], capture_output=True, text=True)


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "scripts").mkdir()
    shutil.copy(REPOSITORY / "scripts" / "release_notes", tmp_path / "scripts")
    (tmp_path / "CMakeLists.txt").write_text("project(sluice VERSION 9.1.0 LANGUAGES CXX)\n")
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 9.1.0\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 9.1.0\n\nOpens.\n\n**Data**\n- One.\n\n## 9.0.0\n\n**Data**\n- Old.\n")
    return tmp_path


def test_this_version_has_notes_with_every_line_of_its_section():
    done = notes()
    assert done.returncode == 0, done.stderr
    text = (REPOSITORY / "CHANGELOG.md").read_text()
    lines = text.split(f"\n## {VERSION}\n")[1].split("\n## ")[0].splitlines()
    assert done.stdout.startswith(f"# Sluice {VERSION}\n")
    assert [line for line in lines if line.startswith("- ") and line not in done.stdout] == []
    assert f"pip install sluice_train-{VERSION}-" in done.stdout


def test_it_has_the_opening_the_groups_and_no_older_version(tree):
    text = notes("9.1.0", top=tree).stdout
    assert "\n\nOpens.\n\n## Install" in text and text.endswith("## What changed\n\n### Data\n- One.\n")


@pytest.mark.parametrize("file, was, now, said", [
    ("CITATION.cff", "9.1.0", "9.0.0", "CITATION.cff states version 9.0.0"),
    ("CMakeLists.txt", "9.1.0", "9.2.0", "CMakeLists.txt states version 9.2.0"),
    ("CHANGELOG.md", "## 9.1.0", "## next", "no section"),
])  # fmt: skip
def test_versions_that_disagree_are_refused(tree, file, was, now, said):
    (tree / file).write_text((tree / file).read_text().replace(was, now))
    done = notes("9.1.0", top=tree)
    assert done.returncode == 4 and said in done.stderr and done.stderr.count("\n") == 1

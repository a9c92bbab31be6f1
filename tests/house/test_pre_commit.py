"""The hook of scripts/pre-commit accepts what is in order and names what is not."""

import pathlib
import shutil
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def clone(tmp_path):
    """An empty repository with the hook installed as CONTRIBUTING.md says."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/pre-commit", ".clang-format"):
        shutil.copy(REPOSITORY / name, tmp_path / name)
    hooks = tmp_path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-commit").symlink_to("../../scripts/pre-commit")
    return tmp_path


def commit(clone, name, text):
    (clone / name).write_text(text)
    subprocess.run(["git", "add", name], cwd=clone, check=True)
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *who, "commit", "-qm", "area: do a thing"], cwd=clone, capture_output=True, text=True)


def test_what_is_in_order_is_committed(clone):
    done = commit(clone, "a.cpp", "int main() { return 0; }\n")
    assert done.returncode == 0, done.stderr


def test_an_unformatted_source_is_refused(clone):
    if not shutil.which("clang-format-14") and not shutil.which("clang-format"):
        pytest.skip("clang-format is not installed")
    done = commit(clone, "a.cpp", "int main( ){return 0;}\n")
    if "clang-format 14 is not installed" in done.stderr:
        pytest.skip("clang-format 14 is not installed")
    assert done.returncode != 0 and "a.cpp: not formatted" in done.stderr


def test_what_is_staged_counts_and_not_the_working_tree(clone):
    (clone / "notes.txt").write_text("/ro" + "ot/here\n")
    subprocess.run(["git", "add", "notes.txt"], cwd=clone, check=True)
    (clone / "notes.txt").write_text("here\n")
    done = subprocess.run([".git/hooks/pre-commit"], cwd=clone, capture_output=True, text=True)
    assert done.returncode != 0 and "notes.txt:1: a path of one machine" in done.stderr


def test_a_large_file_is_refused_and_one_at_the_limit_is_not(clone):
    assert commit(clone, "limit.txt", "x" * 262_144).returncode == 0
    done = commit(clone, "large.txt", "x" * 262_145)
    assert done.returncode != 0 and "large.txt: 262145 bytes" in done.stderr


def test_a_house_test_that_fails_refuses_the_commit(clone):
    (clone / "tests" / "house").mkdir(parents=True)
    done = commit(clone, "tests/house/test_files.py", "def test_no():\n    assert False, 'a rule of the house'\n")
    if "is not installed; the house tests" in done.stderr:
        pytest.skip("pytest or jsonschema is not installed")
    assert done.returncode != 0 and "a rule of the house" in done.stderr

"""`experiments/fetch` brings old results back from the commit that holds them, or says in a line why it cannot."""

import csv
import pathlib
import re
import shutil
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TABLE = "experiments/results/history/folders.tsv"
COLUMNS = ["name", "now", "question", "answer", "raw", "commit", "tree"]
OLD = "2026-01-02-speed"


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def git(folder, *words):
    done = subprocess.run(
        ["git", "-c", "user.name=tester", "-c", "user.email=tester@example.org", *words],
        cwd=folder, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def write_table(folder, tree, commit):
    table = folder / TABLE
    table.parent.mkdir(parents=True, exist_ok=True)
    rows = [[OLD, "history", "how fast?", "very", "4 files", commit, tree],
            ["2026-01-03-size", "current/size", "how large?", "small", "1 file", commit, "0" * 40]]
    table.write_text("\n".join("\t".join(row) for row in [COLUMNS, *rows]) + "\n")


@pytest.fixture
def origin(tmp_path):
    """A repository whose first commit holds two folders of results, and whose second one holds the table and `fetch`."""
    origin = tmp_path / "origin"
    old = origin / "experiments" / "results" / OLD
    (old / "deep").mkdir(parents=True)
    (old / "output").write_text("7 tokens/s\n")
    (old / "run").write_text("#!/bin/sh\n")
    (old / "run").chmod(0o755)
    (old / "deep" / "raw.bin").write_bytes(bytes(range(256)))
    (old / "deep.txt").write_text("sorts before the folder deep/ as git sorts\n")
    size = origin / "experiments" / "results" / "2026-01-03-size"
    size.mkdir()
    (size / "output").write_text("1 GiB\n")
    git(tmp_path, "init", "--quiet", "-b", "main", "origin")
    git(origin, "add", "-A")
    git(origin, "commit", "--quiet", "-m", "results: add raw output")
    commit = git(origin, "rev-parse", "HEAD")
    write_table(origin, git(origin, "rev-parse", f"HEAD:experiments/results/{OLD}"), commit)
    git(origin, "rm", "-rq", f"experiments/results/{OLD}", "experiments/results/2026-01-03-size")
    shutil.copy(REPOSITORY / "experiments" / "fetch", origin / "experiments" / "fetch")
    git(origin, "add", "-A")
    git(origin, "commit", "--quiet", "-m", "results: keep a table")
    git(origin, "config", "uploadpack.allowReachableSHA1InWant", "true")
    return origin


def fetch(folder, *words):
    return subprocess.run([folder / "experiments" / "fetch", *words], cwd=folder, capture_output=True, text=True)


def test_a_folder_comes_back_as_it_was(origin):
    done = fetch(origin, OLD)
    assert done.returncode == 0, done.stderr
    back = origin / "experiments" / "results" / "fetched" / OLD
    assert (back / "output").read_text() == "7 tokens/s\n"
    assert (back / "deep" / "raw.bin").read_bytes() == bytes(range(256))
    assert (back / "run").stat().st_mode & 0o100
    assert sorted(path.name for path in back.parent.iterdir()) == [OLD]


def test_a_shallow_clone_gets_the_commit_first(origin, tmp_path):
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{origin}", "shallow")
    shallow = tmp_path / "shallow"
    assert git(shallow, "rev-list", "--count", "HEAD") == "1"
    done = fetch(shallow, OLD)
    assert done.returncode == 0, done.stderr
    assert (shallow / "experiments" / "results" / "fetched" / OLD / "output").exists()


def test_where_the_commit_cannot_be_had_a_line_says_so(origin, tmp_path):
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{origin}", "cut-off")
    git(tmp_path / "cut-off", "remote", "set-url", "origin", f"file://{tmp_path}/gone")
    done = fetch(tmp_path / "cut-off", OLD)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and "cannot be fetched from origin" in done.stderr
    assert not (tmp_path / "cut-off" / "experiments" / "results" / "fetched").exists()


def test_it_overwrites_nothing(origin):
    assert fetch(origin, OLD).returncode == 0
    mine = origin / "experiments" / "results" / "fetched" / OLD / "output"
    mine.write_text("my notes\n")
    done = fetch(origin, OLD)
    assert done.returncode == 1 and "already" in done.stderr and "--to" in done.stderr
    assert mine.read_text() == "my notes\n"
    assert fetch(origin, OLD, "--to", "elsewhere").returncode == 0
    assert (origin / "elsewhere" / OLD / "output").read_text() == "7 tokens/s\n"


def test_what_does_not_match_the_table_is_not_kept(origin):
    done = fetch(origin, "size")
    assert done.returncode == 1 and "hash" in done.stderr
    assert list((origin / "experiments" / "results" / "fetched").iterdir()) == []


@pytest.mark.parametrize("name", ["2026-01-02-sped", "sizes", "../../etc"])
def test_a_wrong_name_is_answered_by_near_ones(origin, name):
    done = fetch(origin, name)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert OLD in done.stderr or "size" in done.stderr


def test_the_list_has_every_folder(origin):
    assert [line.split()[0] for line in fetch(origin, "--list").stdout.splitlines()] == [OLD, "2026-01-03-size"]


def test_every_row_of_the_table_is_whole():
    rows = rows_of(REPOSITORY / TABLE)
    assert rows and list(rows[0]) == COLUMNS
    assert len({row["name"] for row in rows}) == len(rows)
    for row in rows:
        assert None not in row and all(row.values()), row["name"]
        assert re.fullmatch(r"[0-9a-f]{40}", row["commit"]) and re.fullmatch(r"[0-9a-f]{40}", row["tree"]), row["name"]
        assert row["now"] == "history" or (REPOSITORY / "experiments" / "results" / row["now"]).is_dir(), row["name"]


def test_the_commits_of_the_table_hold_what_it_says():
    rows = rows_of(REPOSITORY / TABLE)
    for commit in {row["commit"] for row in rows}:
        known = subprocess.run(["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=REPOSITORY, capture_output=True)
        if known.returncode != 0:
            pytest.skip(f"a shallow clone without {commit}")
    wanted = "".join(f"{row['commit']}:experiments/results/{row['name']}\n" for row in rows)
    told = subprocess.run(
        ["git", "cat-file", "--batch-check=%(objectname) %(objecttype)"],
        cwd=REPOSITORY, input=wanted, capture_output=True, text=True, check=True,
    ).stdout.splitlines()
    assert told == [f"{row['tree']} tree" for row in rows]

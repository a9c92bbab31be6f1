"""scripts/quickstart says beforehand that a machine is busy and how long parts take, and ends with nothing that a user cannot act on.

Cmake, the program and the measurement of free cores are stand-ins here: what they do is tested elsewhere."""

import os
import pathlib
import shutil
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """#!/bin/sh
echo "ran $1"
[ "$1" != autotune ] || exit ${TUNED:-0}
"""


@pytest.fixture
def clone(tmp_path):
    """A folder with the script in it, in which `cmake --build` makes a stand-in for the program."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    shutil.copy(REPOSITORY / "scripts" / "quickstart", scripts)
    write(scripts / "install", '#!/bin/sh\nexit ${INSTALLED:-0}\n')
    write(scripts / "sample_text", '#!/bin/sh\necho text >"$1"\n')
    write(scripts / "busy", '#!/bin/sh\necho "${FREE:-999}"\n')
    write(tmp_path / "program", PROGRAM)
    (tmp_path / "path").mkdir()
    write(
        tmp_path / "path" / "cmake",
        '#!/bin/sh\n[ "$1" != --build ] || { mkdir -p build/bin && cp program build/bin/sluice; }\n'
        '[ -z "$NO_CMAKE" ]\n',
    )
    published = tmp_path / "experiments" / "results" / "current" / "quickstart-times"
    published.mkdir(parents=True)
    (published / "times.tsv").write_text("part\tseconds\tprocessor_seconds\nbuild\t200\t380\ntrain\t60\t70\nmeasure\t-\t40\ntune\t38\t-\n")
    return tmp_path


def write(path, text):
    path.write_text(text)
    path.chmod(0o755)


def quickstart(clone, **environment):
    path = f"{clone / 'path'}:{os.environ['PATH']}"
    return subprocess.run(
        ["scripts/quickstart"], cwd=clone, env={**os.environ, "PATH": path, **environment}, capture_output=True, text=True, timeout=60
    )


def test_every_part_is_run_and_its_time_written(clone):
    done = quickstart(clone)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split("\t") for line in (clone / "runs" / "quickstart" / "times.tsv").read_text().splitlines()]
    assert rows[0] == ["part", "seconds", "processor_seconds"]
    assert [row[0] for row in rows[1:]] == ["install", "build", "measure", "predict", "text", "tune", "train", "compare"]
    assert all(row[1].isdigit() and row[2].isdigit() for row in rows[1:])
    assert "busy" not in done.stdout


def test_a_part_is_announced_with_what_was_published(clone):
    done = quickstart(clone, FREE="2.0")
    assert "Building (about 3 min)" in done.stdout and "Training with the tuned plan (about 60 s)" in done.stdout
    assert "measuring this machine (about 20 s)" in done.stdout  # 40 s of processors on two of them
    assert "here holds (about 38 s)" in done.stdout


def test_more_cores_shorten_what_uses_all(clone):
    done = quickstart(clone, FREE="19.0")
    assert "Building (about 30 s)" in done.stdout  # 200 - 380 / 2 + 380 / 19
    assert "Training with the tuned plan (about 60 s)" in done.stdout


def test_a_busy_machine_is_named_before_anything_is_built_and_stretches_the_times(clone):
    done = quickstart(clone, FREE="0.2")
    assert done.returncode == 0
    before, after = done.stdout.split("Building", 1)
    assert "This machine is busy: 0.2 of its" in before
    assert after.startswith(" (about 33 min)")  # 200 s on two cores, on a tenth of them


def test_a_miss_on_a_busy_machine_is_explained_and_is_no_failure(clone):
    done = quickstart(clone, FREE="0.2", TUNED="5")
    assert done.returncode == 0, done.stdout
    assert "on a busy machine as said above" in done.stdout.splitlines()[-1]
    assert "ran train" in done.stdout


def test_a_miss_on_a_quiet_machine_names_the_command_that_goes_on(clone):
    done = quickstart(clone, TUNED="5")
    assert done.returncode == 5
    assert done.stdout.splitlines()[-1].strip().startswith("build/bin/sluice autotune runs/quickstart/run.yaml --verify")
    assert "busy" not in done.stdout and "?" not in done.stdout


def test_a_second_run_builds_what_changed(clone):
    quickstart(clone)
    assert "Building what changed" in quickstart(clone).stdout


def test_other_failures_of_tuning_end_it(clone):
    done = quickstart(clone, TUNED="4")
    assert done.returncode == 4 and "ran train" not in done.stdout


def test_without_packages_it_names_them_and_stops(clone):
    done = quickstart(clone, INSTALLED="3", NO_CMAKE="1")
    assert done.returncode == 4
    assert "install the packages above" in done.stderr


def test_cores_that_are_free_are_measured():
    done = subprocess.run(["scripts/busy", "--free"], cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and 0 <= float(done.stdout) <= os.cpu_count()

"""Processes that a launcher starts as ranks: the bits of one process, one line where one is lost, and a resume."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import available_verbs, program
from small_run import bits, steps_in

pytestmark = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")

SAME = ("loss", "val_loss", "weights_sha256", "state_sha256", "job_hash")


@pytest.fixture
def start(sluice_home, tmp_path):
    """Starts a process for each rank, two a host, which meet in a folder; returns the processes."""
    started = []

    def begin(ranks, *words, meet="meet", size=None, **variables):
        for rank in range(ranks):
            told = {"SLUICE_RANK": str(rank), "SLUICE_SIZE": str(size or ranks), "SLUICE_HOST": f"host{rank // 2}"} | variables
            started.append(
                subprocess.Popen(
                    [program(), "train", *map(str, words), "--rendezvous", f"file://{tmp_path / meet}"],
                    env=os.environ | {"SLUICE_HOME": str(sluice_home)} | told,
                    cwd=tmp_path,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        return started[-ranks:]

    yield begin
    for each in started:
        if each.poll() is None:
            each.kill()
            each.communicate()


def ends(processes):
    """Code, output and errors of each."""
    outputs = [each.communicate(timeout=60) for each in processes]
    return [(each.returncode, *output) for each, output in zip(processes, outputs)]


@pytest.fixture
def words(flags):
    return [*flags, "--groups", "4"]


@pytest.fixture
def planned(run_sluice, words, tmp_path):
    """Returns the run's words with a plan for so many ranks."""

    def plan(ranks):
        file = tmp_path / f"ranks-{ranks}.json"
        if not file.exists():
            run_sluice("plan", *words, "--devices", str(ranks), "-o", file, "--effort", "0.01")
        return [*words, "--plan", file]

    return plan


def test_processes_have_the_bits_of_one_and_resume_on_another_number(run_sluice, validate, start, planned, tmp_path):
    one = run_sluice("train", *planned(1), "steps=4", "out=one", "--json").json()
    first, *others = ends(start(4, *planned(4), "steps=3", "out=run", "--json"))
    assert first[0] == 0 and "launch: 4 ranks on 2 hosts (host0, host1), by environment variables" in first[2]
    assert all(end == (0, "", "") for end in others)
    validate(json.loads(first[1]), "train-result")
    first, _ = ends(start(2, *planned(2), "steps=4", "out=run", "--resume", "--json"))
    found = json.loads(first[1])
    assert {key: found[key] for key in SAME} == {key: one[key] for key in SAME}
    assert bits(tmp_path / "run") == bits(tmp_path / "one")
    assert steps_in(tmp_path / "run") == [3, 4]
    assert bits(tmp_path / "run" / "ranks" / "rank-1") == bits(tmp_path / "one")


def wait_for(path):
    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.05)
    pytest.fail(f"{path} does not appear")


def shared_memory_in(folder):
    """Number of processes at work in a folder that hold memory that ranks share."""

    def holds(process):
        try:
            links = [os.readlink(file) for file in (process / "fd").iterdir()]
            return os.readlink(process / "cwd") == str(folder) and any("memfd:sluice-weights" in link for link in links)
        except OSError:  # The process ended.
            return False

    return sum(map(holds, Path("/proc").glob("[0-9]*")))


@pytest.mark.parametrize("gather", ["fabric", "host"])
def test_a_killed_rank_ends_all_in_a_line_and_a_signal_saves(start, words, planned, tmp_path, gather):
    long = ["steps=100000", "save_every=20", "out=run", "--resume"]
    pulls = [*words, "plan.weights=host", "plan.gather=host"]
    ranks = start(4, *(planned(4) if gather == "fabric" else pulls), *long)
    wait_for(tmp_path / "run" / "checkpoints" / "step-20" / "checkpoint.json")
    assert shared_memory_in(tmp_path) == (4 if gather == "host" else 0)
    ranks[2].kill()  # The first of its host, which made the memory.
    found = ends(ranks)
    assert shared_memory_in(tmp_path) == 0
    for rank in (0, 1, 3):
        code, _, errors = found[rank]
        line = errors.strip().splitlines()[-1]
        assert code == 4 and line.startswith("sluice: error: rank 2 on host1 ended and said nothing"), errors
        assert "this was after step " in line and "with --resume, to go on after step " in line
    before = max(steps_in(tmp_path / "run"))
    ranks = start(2, *planned(2), *long)
    wait_for(tmp_path / "run" / "checkpoints" / f"step-{before // 20 * 20 + 20}" / "checkpoint.json")
    ranks[1].send_signal(signal.SIGTERM)
    assert [code for code, *_ in ends(ranks)] == [75, 75]
    assert max(steps_in(tmp_path / "run")) > before


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed")
def test_mpirun_starts_ranks(planned, sluice_home, run_sluice, tmp_path):
    one = run_sluice("train", *planned(1), "steps=2", "out=one", "--json").json()
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", program()]
    done = subprocess.run(
        [*mpirun, "train", *map(str, planned(2)), "steps=2", "out=run", "--json"],
        env=os.environ | {"SLUICE_HOME": str(sluice_home)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "by Open MPI" in done.stderr, done.stderr
    assert {key: json.loads(done.stdout)[key] for key in SAME} == {key: one[key] for key in SAME}


def test_what_contradicts_itself_is_refused(refuses, start, words):
    refuses(["train", *words, "--launch", "slurm"], "launch: --launch slurm is asked for")
    refuses(["train", *words, "--launch", "pbs"], 'launch: --launch is "pbs"')
    two = {"SLUICE_RANK": "0", "SLUICE_SIZE": "2", "SLUICE_ADDRESS": "127.0.0.1:1"}
    refuses(["train", *words, "--devices", "4"], "devices: is 4, and environment variables started 2 ranks", env=two)
    refuses(["train", *words, "--rehearse"], "launch: --rehearse runs in one process", env=two)
    found = ends(start(2, *words, "steps=2", "--data", "absent.txt"))
    assert [code for code, *_ in found] == [2, 4]
    assert "rank 0 on host0 failed: " in found[1][2] and "absent.txt" in found[1][2]

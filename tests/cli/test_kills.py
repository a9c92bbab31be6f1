"""Kill -9 at random moments, saves included: whatever is left, going on gives the bits of a whole run.

SLUICE_KILLS (6) is how many kills there are in all, SLUICE_KILL_SEED (1) seeds their moments.
"""

import json
import os
import random
import subprocess
import time

import pytest
import running
from conftest import available_verbs
from running import PATIENCE
from small_run import CONFIG, small_flags, write_model

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)

STEPS = 60
KILLS = int(os.environ.get("SLUICE_KILLS", "6"))


def bits(folder):
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [(line["step"], line["loss_bits"], line["grad_norm_bits"], line["lr"]) for line in lines]


def started(words, tmp_path):
    return running.start(["train", *words], tmp_path, stdout=subprocess.DEVNULL)


def is_finished(process, err):
    """Killed between its last checkpoint and its end, a run has nothing left to do."""
    return process.returncode == 2 and f"has done its {STEPS} steps" in err


def killed_at(words, tmp_path, moment):
    """Kills the run; returns how far it was, or None if it had ended before."""
    process = started(words, tmp_path)
    try:
        process.wait(timeout=moment)
        err = process.stderr.read()
        assert process.returncode == 0 or is_finished(process, err), err
        return None
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    checkpoints = tmp_path / "run" / "checkpoints"
    if list(checkpoints.glob(".step-*")):
        return "saving"
    return "running" if (tmp_path / "run" / "metrics.jsonl").exists() else "starting"


def test_a_run_killed_at_random_moments_has_the_bits_of_a_whole_one(run_sluice, flags_of, tmp_path):
    whole = run_sluice("train", *flags_of(tmp_path), "out=whole", "--json").json()
    expected = bits(tmp_path / "whole")
    words = [*flags_of(tmp_path), "out=run", "save_every=2", "keep_last=2", "keep_best=true", "--resume"]
    begin = time.time()
    process = started([*words, "out=timed"], tmp_path)
    process.communicate()
    seconds = time.time() - begin
    chance = random.Random(int(os.environ.get("SLUICE_KILL_SEED", "1")))
    seen = {"starting": 0, "running": 0, "saving": 0}
    rounds = 0
    while sum(seen.values()) < KILLS:
        stood = killed_at(words, tmp_path, chance.uniform(0.02, 0.6 * seconds))
        if stood:
            seen[stood] += 1
            continue
        assert bits(tmp_path / "run") == expected  # It ended: look, and begin anew.
        rounds += 1
        (tmp_path / "run").rename(tmp_path / f"ended-{rounds}")
    process = started(words, tmp_path)
    _, err = process.communicate(timeout=PATIENCE)
    finished = is_finished(process, err)
    assert process.returncode == 0 or finished, err
    assert bits(tmp_path / "run") == expected
    run_sluice("export", "run", "-o", "killed", "--dtype", "fp32")
    run_sluice("export", "whole", "-o", "not-killed", "--dtype", "fp32")
    names = [tmp_path / folder / "model.safetensors" for folder in ("killed", "not-killed")]
    assert names[0].read_bytes() == names[1].read_bytes()
    for part in ("m", "v"):
        files = [tmp_path / run / f"checkpoints/step-{STEPS}/{part}.safetensors" for run in ("run", "whole")]
        assert files[0].read_bytes() == files[1].read_bytes()
    assert finished or not list((tmp_path / "run" / "checkpoints").glob(".*"))
    assert whole["steps"] == STEPS
    print(f"kills {seen}, runs that ended between them {rounds}")


@pytest.fixture
def flags_of(tmp_path):
    write_model(tmp_path / "model", CONFIG)

    def flags(folder):
        return [*small_flags(folder, "model"), f"steps={STEPS}", "schedule.kind=cosine", "evaluate_every=7"]

    return flags

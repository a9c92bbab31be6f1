"""Optimizer state on the disk: the bits of a run without, kills included, and refusals."""

import os
import random
import signal
import subprocess
import time

import pytest
from conftest import available_verbs, program
from small_run import bits

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)

RATES = ["machine.disk_read=1 GB/s", "machine.disk_write=1 GB/s", "--residency", "host"]
ALL = [*RATES, "--set", "plan.state=disk"]
HALF = [*RATES, "--set", "plan.layers[1].state=disk", "--set", "plan.layers[3].state=disk"]


def test_any_share_of_the_state_gives_the_same_bits_and_checkpoints(
    run_sluice, validate, flags, tmp_path
):
    runs = {}
    for name, more in {"none": RATES, "half": HALF, "all": ALL}.items():
        words = ["train", *flags, *more, "steps=6", "save_every=2", f"out={name}", "--json"]
        runs[name] = run_sluice(*words).json()
        validate(runs[name], "train-result")
        validate(tmp_path / name / "plan.json", "plan")
        validate(tmp_path / name / "metrics.jsonl", "metrics")
        assert not list((tmp_path / name).glob(".sluice-state*"))
    for name in ("half", "all"):
        for key in ("loss", "val_loss", "weights_sha256", "state_sha256"):
            assert runs[name][key] == runs["none"][key], (name, key)
        assert bits(tmp_path / name) == bits(tmp_path / "none")
        for file in (tmp_path / "none" / "checkpoints" / "step-6").glob("*.safetensors"):
            other = tmp_path / name / "checkpoints" / "step-6" / file.name
            assert other.read_bytes() == file.read_bytes(), file.name


def test_predict_says_what_lies_on_the_disk_and_what_steps_write(run_sluice, validate, flags):
    words = ["predict", *flags, *ALL, "machine.disk_endurance=1 TB", "--json"]
    said = run_sluice(*words).json()
    validate(said, "predict")
    disk = said["memory"]["disk"]
    assert disk["peak_bytes"] >= 10 * said["parameters"]
    assert disk["parts"]["state"] > 0
    assert 0 < said["busy"]["disk-write"] <= 1
    wear = said["ssd_wear"]
    assert wear["written_a_step_bytes"] >= 10 * said["parameters"]
    assert wear["steps"] == pytest.approx(1e12 / wear["written_a_step_bytes"])
    without = run_sluice("predict", *flags, *RATES, "--json").json()
    assert "disk-write" not in without["busy"] and without["memory"]["disk"]["peak_bytes"] == 0


def test_a_host_that_is_too_small_is_told_of_the_disk_and_may_use_it(run_sluice, validate, tmp_path):
    words = [
        "predict", "--model", "qwen2.5-7b", "--machine", "h200", "--seq-len", "1024",
        "--batch-size", "8", "--residency", "host", "--host", "64GiB", "--json",
    ]  # fmt: skip
    said = run_sluice(*words, exit_code=3).json()
    validate(said, "predict")
    remedy = said["remedies"][0]
    assert "layers" in remedy["what"] and "on disk: +" in remedy["what"]
    found = run_sluice(*words, *remedy["setting"].split()).json()
    assert found["fits"]
    assert found["memory"]["host"]["peak_bytes"] <= 64 * 2**30
    assert found["memory"]["disk"]["peak_bytes"] > 0
    assert found["step_s"] <= 1.05 * remedy["step_s"]  # Of a longer search.
    assert found["step_s"] >= found["bound_s"]


def test_a_disk_that_is_too_small_does_not_fit(run_sluice, flags):
    said = run_sluice("train", *flags, *ALL, "--disk", "1KiB", "--json", exit_code=3).json()
    assert said["fits"] is False and said["tier"] == "disk"


def state_file(process):
    """The file without a name that a training process keeps."""
    folder = f"/proc/{process.pid}/fd"
    for entry in os.listdir(folder):
        try:
            if ".sluice-state-" in os.readlink(f"{folder}/{entry}"):
                return f"{folder}/{entry}"
        except FileNotFoundError:
            continue
    return None


def started(words, tmp_path):
    return subprocess.Popen(
        [program(), "train", *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, env={**os.environ, "SLUICE_HOME": str(tmp_path)},
    )  # fmt: skip


def test_a_damaged_file_ends_the_run_with_one_line_and_leaves_what_was_saved(
    run_sluice, flags, tmp_path
):
    words = [*flags, *ALL, "steps=100000", "save_every=5", "keep_last=2", "out=run"]
    process = started(words, tmp_path)
    checkpoints = tmp_path / "run" / "checkpoints"
    while process.poll() is None and not list(checkpoints.glob("step-*")):
        time.sleep(0.05)
    file = state_file(process)
    assert file is not None, process.stderr.read()
    os.truncate(file, 0)
    assert process.wait(timeout=60) == 4
    err = process.stderr.read().strip().splitlines()
    assert "optimizer state of" in err[-1] and "block" in err[-1], err
    resumed = run_sluice("train", *flags, *HALF, "steps=8", "out=whole", "--json").json()
    assert resumed["steps"] == 8
    newest = max(int(path.name.split("-")[1]) for path in checkpoints.glob("step-*"))
    words = [*flags, *ALL, f"steps={newest + 2}", "out=run", "--resume", "--json"]
    assert run_sluice("train", *words).json()["resumed_after"] == newest


def test_a_run_killed_with_its_state_on_the_disk_goes_on_with_the_same_bits(
    run_sluice, flags, tmp_path
):
    steps = 40
    common = [*flags, f"steps={steps}", "save_every=4", "keep_last=2"]
    whole = run_sluice("train", *common, *RATES, "out=whole", "--json").json()
    moments = random.Random(int(os.environ.get("SLUICE_KILL_SEED", "1")))
    shares = [ALL, HALF, RATES]
    words = [*common, "out=run"]
    for kill in range(int(os.environ.get("SLUICE_DISK_KILLS", "3"))):
        more = ["--resume"] if (tmp_path / "run" / "run.yaml").exists() else []
        process = started([*words, *shares[kill % 2], *more], tmp_path)
        try:
            process.wait(timeout=moments.uniform(0.2, 1.5))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert not list((tmp_path / "run").glob(".sluice-state*"))
    more = ["--resume"] if (tmp_path / "run" / "run.yaml").exists() else []
    last = run_sluice("train", *words, *ALL, f"steps={steps + 1}", *more, "--json").json()
    assert last["steps"] == steps + 1
    assert bits(tmp_path / "run")[:steps] == bits(tmp_path / "whole")
    longer = run_sluice(
        "train", *words[:-1], *RATES, f"steps={steps + 1}", "out=whole", "--resume", "--json"
    ).json()
    for key in ("weights_sha256", "state_sha256"):
        assert last[key] == longer[key]
    assert whole["steps"] == steps

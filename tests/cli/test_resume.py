"""Checkpoints: what a run leaves, what --resume goes on from, and what it will not."""

import json
import os
import random
import signal
import subprocess
import time

import pytest
import running
from conftest import available_verbs, program
from running import ATTEMPTS, PATIENCE, steps_done, wait_until
from small_run import TEXT, bits

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)

OTHER_PLAN = ["--set", "plan.rounds=2", "--set", "plan.keep=input", "--residency", "host"]


def assert_same_run(found, expected, tmp_path):
    for key in ("steps", "loss", "val_loss", "weights_sha256", "state_sha256"):
        assert found[key] == expected[key], key
    assert bits(tmp_path / found["run"]) == bits(tmp_path / expected["run"])


@pytest.fixture
def whole(run_sluice, flags):
    return run_sluice("train", *flags, "steps=12", "out=whole", "--json").json()


def test_a_checkpoint_says_what_it_is(run_sluice, validate, flags, tmp_path):
    result = run_sluice("train", *flags, "steps=3", "out=run", "--json").json()
    assert result["checkpoint"] == "run/checkpoints/step-3"
    folder = tmp_path / result["checkpoint"]
    validate(folder / "checkpoint.json", "checkpoint")
    said = json.loads((folder / "checkpoint.json").read_text())
    assert said["step"] == 3 and said["sequences"] == 12 and said["steps"] == 3
    for key in ("job_hash", "numerics_id"):
        assert said[key] == result[key]
    assert {file["name"] for file in said["files"]} | {"checkpoint.json"} == {
        path.name for path in folder.iterdir()
    }
    assert {path.name for path in folder.parent.iterdir()} == {"step-3"}


@pytest.mark.parametrize("plan", [[], OTHER_PLAN], ids=["the same plan", "another plan"])
def test_a_resumed_run_has_the_bits_of_one_that_was_not_interrupted(
    run_sluice, validate, flags, whole, tmp_path, plan
):
    run_sluice("train", *flags, "steps=5", "out=run")
    run = run_sluice("train", *flags, "steps=12", "out=run", "--resume", "--json", *plan)
    result = run.json()
    validate(result, "train-result")
    validate(tmp_path / "run" / "ledger.jsonl", "ledger")
    assert result["resumed_after"] == 5
    assert (result["plan_hash"] == whole["plan_hash"]) == (not plan)
    assert_same_run(result, whole, tmp_path)


def test_a_signal_saves_and_the_run_goes_on_through_schedule_and_epochs(
    run_sluice, flags, tmp_path
):
    flags = [*flags, "steps=300", "schedule.kind=cosine", "schedule.warmup_steps=20"]
    for attempt in range(ATTEMPTS):
        process = running.train(flags, tmp_path)
        assert wait_until(process, lambda: steps_done(tmp_path / "run") >= 10)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE)
        interrupted = json.loads(out)
        if interrupted["steps"] < 300:
            break
        (tmp_path / "run").rename(tmp_path / f"too-late-{attempt}")
    assert process.returncode == 75 and interrupted["interrupted"]
    assert interrupted["checkpoint"] == f"run/checkpoints/step-{interrupted['steps']}"
    result = run_sluice("train", "run", "--resume", "--json").json()
    assert result["resumed_after"] == interrupted["steps"]
    expected = run_sluice("train", *flags, "out=whole", "--json").json()
    assert_same_run(result, expected, tmp_path)


def test_a_killed_run_goes_on(run_sluice, flags, whole, tmp_path):
    """Killed anywhere, saving included: whatever is left, the next start ends with the same bits."""
    chance = random.Random(3)
    for _ in range(5):
        process = running.train(flags, tmp_path, "steps=12", "--resume")
        time.sleep(chance.uniform(0.01, 0.4))
        process.kill()
        process.communicate()
        for path in (tmp_path / "run" / "checkpoints").glob("step-12"):
            path.rename(tmp_path / f"kept-{time.time_ns()}")  # So that there is something to do.
    result = run_sluice("train", *flags, "steps=12", "out=run", "--resume", "--json").json()
    assert_same_run(result, whole, tmp_path)
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["step-12"]


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) * 2 // 3] ^= 4
    path.write_bytes(data)


def shorten(path):
    path.write_bytes(path.read_bytes()[:-3])


DAMAGE = [
    ("model.safetensors", flip), ("m.safetensors", flip), ("v.safetensors", flip),
    ("config.json", flip), ("checkpoint.json", flip),
    ("model.safetensors", shorten), ("v.safetensors", shorten), ("checkpoint.json", shorten),
    ("m.safetensors", lambda path: path.unlink()), ("checkpoint.json", lambda path: path.unlink()),
]  # fmt: skip


def test_a_torn_checkpoint_is_named_and_the_one_before_it_used(run_sluice, flags, whole, tmp_path):
    for steps in (4, 8):
        run_sluice("train", *flags, f"steps={steps}", "out=run", "--resume")
    newest = tmp_path / "run" / "checkpoints" / "step-8"
    intact = {path.name: path.read_bytes() for path in newest.iterdir()}
    for name, damage in DAMAGE:
        for each, data in intact.items():
            (newest / each).write_bytes(data)
        damage(newest / name)
        run = run_sluice("train", *flags, "steps=12", "out=run", "--resume", "--json")
        lines = run.err.splitlines()
        assert len(lines) == 1 and lines[0].startswith("sluice: warning: "), run.err
        assert f"step-8/{name}" in lines[0]
        assert run.json()["resumed_after"] == 4
        assert_same_run(run.json(), whole, tmp_path)
        for path in (newest.parent / "step-12").iterdir():
            path.unlink()
        (newest.parent / "step-12").rmdir()


def test_a_run_whose_checkpoints_are_all_torn_is_refused(run_sluice, flags, tmp_path):
    run_sluice("train", *flags, "steps=2", "out=run")
    flip(tmp_path / "run/checkpoints/step-2/v.safetensors")
    run = run_sluice("train", *flags, "steps=4", "out=run", "--resume", exit_code=2)
    assert "no checkpoint in run/checkpoints is intact" in run.err
    assert "step-2/v.safetensors: does not have the checksum" in run.err


def test_a_checkpoint_of_something_else_is_refused(run_sluice, refuses, flags, tmp_path):
    run_sluice("train", *flags, "steps=2", "out=run")
    again = ["train", *flags, "steps=4", "out=run", "--resume"]
    refuses([*again, "seq_len=16"], "--resume", "another job")
    refuses([*again, "seed=2"], "--resume", "another seed")
    (tmp_path / "text.txt").write_text(TEXT + "And more.")
    refuses(again, "--resume", "another text")


def test_a_checkpoint_of_other_numerics_is_refused(run_sluice, refuses, flags, tmp_path):
    """A checkpoint as another machine or library would write it: everything is intact except for the id."""
    run_sluice("train", *flags, "steps=2", "out=run")
    path = tmp_path / "run/checkpoints/step-2/checkpoint.json"
    said = json.loads(path.read_text())
    del said["hash"]
    said["numerics_id"] = "0" * 64
    import hashlib

    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    path.write_text(json.dumps({**said, "hash": hashlib.sha256(text.encode()).hexdigest()}))
    refuses(["train", *flags, "steps=4", "out=run", "--resume"], "--resume", "another numerics id")


def test_what_cannot_go_on_says_why(run_sluice, refuses, flags):
    refuses(["train", *flags, "--resume"], "--resume", "which run")
    run_sluice("train", *flags, "steps=2", "out=run")
    refuses(["train", *flags, "steps=2", "out=run", "--resume"], "has done its 2 steps", "raise steps")
    refuses(["train", *flags, "steps=2", "out=run"], "already holds a run", "--resume")


def test_resume_starts_a_run_that_has_not_begun(run_sluice, flags, whole, tmp_path):
    result = run_sluice("train", *flags, "steps=12", "out=run", "--resume", "--json").json()
    assert result["resumed_after"] is None
    assert_same_run(result, whole, tmp_path)


def test_a_disk_too_full_for_the_checkpoint_fails_it_and_not_the_run(flags, tmp_path):
    """A limit on the size of files stands for the disk: metrics fit below it, the weights do not."""
    wrapper = tmp_path / "limited"
    wrapper.write_text(
        "import os, resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)\n"
        "os.execv(sys.argv[2], sys.argv[2:])\n"
    )
    run = subprocess.run(
        ["python3", str(wrapper), "300000", program(), "train", *flags, "steps=4", "--json", "out=run"],
        cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE,
        env={**os.environ, "SLUICE_HOME": str(tmp_path)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["checkpoint"] is None
    lines = run.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("sluice: warning: the checkpoint of step 4")
    assert not list((tmp_path / "run" / "checkpoints").iterdir())


@pytest.mark.parametrize("state", ["bf16", "int8"])
def test_small_moments_resume_with_their_bits_and_are_converted_only_when_asked(
    run_sluice, refuses, validate, flags, tmp_path, state
):
    small = [*flags, f"optimizer.state={state}"]
    whole = run_sluice("train", *small, "steps=6", "out=whole", "--json").json()
    run_sluice("train", *small, "steps=3", "out=run")
    manifest = tmp_path / "run/checkpoints/step-3/checkpoint.json"
    validate(manifest, "checkpoint")
    assert json.loads(manifest.read_text())["state"] == state
    resumed = run_sluice("train", *small, "steps=6", "out=run", "--resume", "--json", *OTHER_PLAN).json()
    assert_same_run(resumed, whole, tmp_path)
    usual = ["train", *flags, "steps=8", "out=run"]
    refuses([*usual, "--resume"], "--convert-state", f"set optimizer.state to {state}")
    refuses([*usual, "--convert-state"], "--convert-state: goes with --resume")
    converted = run_sluice(*usual, "--resume", "--convert-state", "--json").json()
    assert converted["resumed_after"] == 6 and converted["steps"] == 8

"""Saves during a run: what they leave, and what fails a save and not the run."""

import json
import os
import pathlib
import resource
import shutil
import subprocess

import pytest
import running
from conftest import available_verbs, once, program
from running import ATTEMPTS, PATIENCE, computed, held, steps_done, wait_until
from small_run import assert_nothing_unfinished, bits, steps_in

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)


def test_saves_in_the_background_and_in_a_pause_change_no_bits(run_sluice, validate, flags, tmp_path):
    plain = run_sluice("train", *flags, "steps=12", "out=plain", "--json").json()
    assert plain["saves"]["during"] == 0 and not plain["saves"]["background"]
    saved = run_sluice("train", *flags, "steps=12", "out=saved", "save_every=4", "--json").json()
    validate(saved, "train-result")
    assert saved["saves"]["background"] and saved["saves"]["during"] == 2
    assert steps_in(tmp_path / "saved") == [4, 8, 12]
    # Host memory for the run and no snapshot: what the plan needs, and less than that again.
    need = json.loads(run_sluice("predict", *flags, "--json").out)["memory"]["host"]["peak_bytes"]
    paused = run_sluice(
        "train", *flags, "steps=12", "out=paused", "save_every=4", "--json", "--host", f"{need + 1000} B"
    ).json()
    assert not paused["saves"]["background"] and paused["saves"]["snapshot_bytes"] == 0
    assert paused["saves"]["during"] == 2 and paused["saves"]["predicted_stall_s"] > 0
    for other in (saved, paused):
        for key in ("loss", "val_loss", "weights_sha256", "state_sha256"):
            assert other[key] == plain[key], key
        assert bits(tmp_path / other["run"]) == bits(tmp_path / "plain")
    for name in ("model", "m", "v"):
        files = [tmp_path / run / f"checkpoints/step-8/{name}.safetensors" for run in ("saved", "paused")]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_the_last_and_the_best_are_kept(run_sluice, validate, flags, tmp_path):
    """A learning rate that is far too high after its warm-up: the best loss comes early."""
    words = [*flags, "steps=8", "save_every=2", "keep_last=2", "keep_best=true", "optimizer.lr=0.3"]
    run_sluice("train", *words, "schedule.warmup_steps=14", "out=run", "--json")
    losses = {}
    for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines():
        line = json.loads(line)
        if "val_loss" in line:
            losses[line["step"]] = line["val_loss"]
    assert set(range(2, 9, 2)) <= set(losses)
    best = min((loss, step) for step, loss in losses.items() if step % 2 == 0)[1]
    assert best < 6, losses
    assert steps_in(tmp_path / "run") == sorted({best, 6, 8})
    assert_nothing_unfinished(tmp_path / "run")
    manifest = tmp_path / f"run/checkpoints/step-{best}/checkpoint.json"
    validate(manifest, "checkpoint")
    assert json.loads(manifest.read_text())["val_loss"] == losses[best]


def warnings_of(run):
    lines = run.stderr.splitlines()
    assert all(line.startswith("sluice: warning: ") for line in lines), run.stderr
    return lines


def finished(words, tmp_path, wrapper=()):
    return subprocess.run(
        [*wrapper, program(), "train", *words, "--json"], cwd=tmp_path, capture_output=True, text=True,
        timeout=PATIENCE, env={**os.environ, "SLUICE_HOME": str(tmp_path)},
    )  # fmt: skip


def test_a_full_disk_fails_each_save_and_not_the_run(flags, tmp_path):
    wrapper = tmp_path / "limited"
    wrapper.write_text(
        "import os, resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)\n"
        "os.execv(sys.argv[2], sys.argv[2:])\n"
    )
    words = [*flags, "steps=9", "save_every=3", "out=run"]
    run = finished(words, tmp_path, ["python3", str(wrapper), "300000"])
    assert run.returncode == 0, run.stderr
    warnings = warnings_of(run)
    assert [f"the checkpoint of step {step} was not written" in line for step, line in zip((3, 6, 9), warnings)] == [True] * 3  # fmt: skip
    assert len(warnings) == 3
    result = json.loads(run.stdout)
    assert result["checkpoint"] is None and result["saves"]["failed"] == 2
    assert steps_in(tmp_path / "run") == []
    assert_nothing_unfinished(tmp_path / "run")


def test_a_run_folder_that_vanishes_fails_the_saves_and_not_the_run(flags, tmp_path):
    for _ in range(ATTEMPTS):
        process = running.train(flags, tmp_path, "steps=400", "save_every=150")
        assert wait_until(process, lambda: steps_done(tmp_path / "run") >= 2)
        with held(process):  # Or it might make a file in what is being removed.
            in_time = steps_done(tmp_path / "run") < 150
            shutil.rmtree(tmp_path / "run")
        out, err = process.communicate(timeout=PATIENCE)
        if in_time:
            break
    assert in_time and process.returncode == 0, err
    result = json.loads(out)
    assert result["steps"] == 400 and result["checkpoint"] is None
    lines = err.splitlines()
    assert lines and all("run folder run is" in line for line in lines), err
    assert not (tmp_path / "run").exists()  # Nothing is written where something else may be by now.


def test_a_file_in_the_checkpoints_place_fails_the_save(flags, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/checkpoints").write_text("in the way")
    run = finished([*flags, "steps=4", "save_every=2", "out=run"], tmp_path)
    assert run.returncode == 0, run.stderr
    assert len(warnings_of(run)) == 2 and json.loads(run.stdout)["checkpoint"] is None


def test_a_read_only_folder_fails_the_save(flags, tmp_path):
    """A mount that is read-only for root too, in a namespace of its own."""
    folder = tmp_path / "run" / "checkpoints"
    folder.mkdir(parents=True)
    mount = f"mount --bind -o ro {folder} {folder} && mount -o remount,bind,ro {folder}"
    wrapper = ["unshare", "-rm", "bash", "-c", mount + ' && exec "$@"', "_"]
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
        pytest.skip("this system makes no mount namespaces")
    run = finished([*flags, "steps=4", "save_every=2", "out=run"], tmp_path, wrapper)
    assert run.returncode == 0, run.stderr
    warnings = warnings_of(run)
    assert len(warnings) == 2 and "Read-only file system" in warnings[0], run.stderr
    assert json.loads(run.stdout)["checkpoint"] is None


@once
def test_metrics_that_the_disk_refuses_for_a_while_are_written_later(flags, tmp_path):
    """A limit on the size of files that ends: what a full disk is once a save has failed."""
    begin = "import os, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    steps = 600
    for attempt in range(ATTEMPTS):
        run = tmp_path / f"run{attempt}"
        words = ["train", *flags, "--json", f"out={run.name}", f"steps={steps}", "--no-checkpoint"]
        process = running.start(words, tmp_path, before=["python3", "-c", begin])
        assert wait_until(process, lambda run=run: steps_done(run) >= 5)
        with held(process):
            before = steps_done(run)
            full = (run / "metrics.jsonl").stat().st_size
            try:
                _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (full, hard))
            except (PermissionError, OSError) as error:
                process.kill()
                pytest.skip(f"this system does not let a limit be set from outside: {error}")
            moment = computed(process) + 0.1  # That is many steps.
        in_time = wait_until(process, lambda process=process, moment=moment: computed(process) >= moment)
        with held(process):
            assert steps_done(run) == before
            in_time = in_time and process.poll() is None
            if in_time:
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        _, err = process.communicate(timeout=PATIENCE)
        if in_time and process.returncode == 0:  # The end of a run waits for no disk.
            break
    assert in_time and process.returncode == 0, err
    assert [line[0] for line in bits(run)] == list(range(1, steps + 1))


def test_a_dry_run_says_what_checkpoints_cost(run_sluice, validate, flags, tmp_path):
    words = ["train", *flags, "steps=100", "save_every=10", "keep_last=2", "--dry-run"]
    answer = run_sluice(*words, "--json").json()
    validate(answer, "dry-run")
    checkpoints = answer["checkpoints"]
    parameters = run_sluice("predict", *flags, "--json").json()["parameters"]
    assert checkpoints["bytes"] == 12 * parameters
    assert checkpoints["during"] == 9 and checkpoints["kept"] == 2
    assert checkpoints["disk_bytes"] == 3 * checkpoints["bytes"]
    assert checkpoints["background"] and checkpoints["stall_s"] < checkpoints["write_s"]
    parts = answer["training_s"] + answer["evaluation_s"] + checkpoints["all_s"]
    assert answer["eta_s"] == pytest.approx(parts)
    assert answer["training_s"] == pytest.approx(100 * answer["step_s"])
    table = run_sluice(*words).out
    assert "every 10 steps from a snapshot" in table and "100 of 100 steps in" in table
    assert not pathlib.Path(tmp_path / "runs").exists()
    refused = run_sluice(*words, "--json", "limits.hbm=64 KiB", exit_code=3).json()
    assert refused["fits"] is False

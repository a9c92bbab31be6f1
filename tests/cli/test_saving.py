"""Saves during a run: what they leave, what signals do, and what fails a save and not the run."""

import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time

import pytest
from conftest import available_verbs, once, program
from small_run import bits

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)


def steps_in(folder):
    return sorted(int(path.name.removeprefix("step-")) for path in (folder / "checkpoints").glob("step-*"))


def assert_nothing_unfinished(folder):
    assert not [path.name for path in (folder / "checkpoints").glob(".*")]


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


def start(flags, tmp_path, *more, out="run"):
    return subprocess.Popen(
        [program(), "train", *flags, "--json", f"out={out}", *more],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "SLUICE_HOME": str(tmp_path)},
    )  # fmt: skip


def wait_until(process, condition):
    deadline = time.time() + 60
    while not condition():
        assert time.time() < deadline and process.poll() is None
        time.sleep(0.005)


def steps_done(folder):
    metrics = folder / "metrics.jsonl"
    return metrics.read_text().count("\n") if metrics.exists() else 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_each_signal_saves_and_exits_75(flags, tmp_path, number):
    process = start(flags, tmp_path, "steps=100000", "save_every=7", "keep_last=1")
    wait_until(process, lambda: steps_done(tmp_path / "run") >= 3)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 75, err
    result = json.loads(out)
    assert result["interrupted"] and result["checkpoint"] == f"run/checkpoints/step-{result['steps']}"
    assert steps_in(tmp_path / "run") == [result["steps"]]
    assert_nothing_unfinished(tmp_path / "run")


def test_a_signal_in_an_evaluation_saves_without_it(flags, tmp_path):
    """An evaluation after every step: wherever the signal comes, most of the time is in one."""
    for i in range(3):
        out = f"run{i}"
        process = start(flags, tmp_path, "steps=100000", "evaluate_every=1", out=out)
        wait_until(process, lambda out=out: steps_done(tmp_path / out) >= 2)
        time.sleep(0.003 * i)
        process.send_signal(signal.SIGTERM)
        result = json.loads(process.communicate(timeout=60)[0])
        assert process.returncode == 75 and result["steps"] >= 2
        assert steps_in(tmp_path / out) == [result["steps"]]


def test_a_signal_before_the_first_step_says_that_there_is_nothing_to_save(flags, tmp_path):
    """At any moment of planning, of making weights, of the evaluation at the start."""
    said = 0
    for i in range(6):
        process = start(flags, tmp_path, "steps=100000", out=f"run{i}")
        time.sleep(0.02 + 0.02 * i)  # Python's own start is not in it: the handler is set early.
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        if process.returncode == -signal.SIGTERM:  # The program had not begun.
            continue
        assert process.returncode == 75, err
        if not out:
            said += 1
            assert err == "sluice: interrupted before the first step: there is nothing to save\n"
    assert said > 0


def test_a_second_signal_stops_at_once_and_nothing_is_torn(run_sluice, flags, tmp_path):
    """The disk is so slow that the first signal's save would take long: a pipe that nobody reads."""
    process = start(flags, tmp_path, "steps=100000", "save_every=5")
    checkpoints = tmp_path / "run" / "checkpoints"
    wait_until(process, lambda: (checkpoints / "step-5").exists())
    # The next save meets a pipe where its file should be, and waits in open() for a reader.
    stop = False
    while not stop:
        for partial in checkpoints.glob(".step-*.partial"):
            try:
                os.mkfifo(partial / "v.safetensors")
                stop = True
            except OSError:
                pass
        assert process.poll() is None
    time.sleep(0.5)  # By now the writer waits there, and the signal's own save for the writer.
    process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGINT and not out
    assert list(checkpoints.glob(".step-*.partial"))
    result = run_sluice("train", *flags, f"steps={steps_done(tmp_path / 'run') + 5}", "out=run",
                        "--resume", "--json").json()  # fmt: skip
    assert result["resumed_after"] >= 5
    assert_nothing_unfinished(tmp_path / "run")


def warnings_of(run):
    lines = run.stderr.splitlines()
    assert all(line.startswith("sluice: warning: ") for line in lines), run.stderr
    return lines


def finished(words, tmp_path, wrapper=()):
    return subprocess.run(
        [*wrapper, program(), "train", *words, "--json"], cwd=tmp_path, capture_output=True, text=True,
        timeout=100, env={**os.environ, "SLUICE_HOME": str(tmp_path)},
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
    process = start(flags, tmp_path, "steps=400", "save_every=150")
    wait_until(process, lambda: steps_done(tmp_path / "run") >= 2)
    shutil.rmtree(tmp_path / "run", ignore_errors=True)
    gone = not (tmp_path / "run").exists()
    out, err = process.communicate(timeout=100)
    assert gone and process.returncode == 0, err
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
    process = subprocess.Popen(
        ["python3", "-c", begin, program(), "train", *flags, "--json", "out=run", "steps=1500", "--no-checkpoint"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "SLUICE_HOME": str(tmp_path)},
    )  # fmt: skip
    wait_until(process, lambda: steps_done(tmp_path / "run") >= 5)
    full = (tmp_path / "run/metrics.jsonl").stat().st_size
    try:
        _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (full, hard))
    except (PermissionError, OSError) as error:
        process.kill()
        pytest.skip(f"this system does not let a limit be set from outside: {error}")
    time.sleep(0.1)
    stood = steps_done(tmp_path / "run")
    time.sleep(0.1)
    assert steps_done(tmp_path / "run") == stood and process.poll() is None
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hard, hard))
    _, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert [line[0] for line in bits(tmp_path / "run")] == list(range(1, 1501))


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

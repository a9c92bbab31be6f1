"""sluice.track: each step of a run reaches a tracker once, whatever is stopped and started again; a tracker that is missing is named."""

import glob
import json
import subprocess
import sys

import pytest
import sluice
from sluice import following, track, trackers
from sluice.following import RunFolder, follow, values
from tracked_run import GrowingRun


@pytest.fixture
def run(tmp_path):
    return GrowingRun(tmp_path / "runs" / "mine")


@pytest.fixture
def kept(monkeypatch):
    """A tracker that keeps what it gets in a list: (step, loss)."""
    got = []

    class Kept(trackers.Tracker):
        name = "kept"
        opened = 0
        dies_at = None

        def __init__(self, folder, run, project, identity, online, settings, after):
            super().__init__(folder, run, project, identity or "the-run", online, settings, after)
            Kept.opened += 1
            Kept.settings = settings

        def log(self, step, numbers):
            if step == Kept.dies_at:
                raise KeyboardInterrupt
            got.append((step, numbers["loss"]))

        def close(self):
            pass

    Kept.got = got
    monkeypatch.setitem(trackers.TRACKERS, "kept", Kept)
    return Kept


def steps(kept):
    return [step for step, _ in kept.got]


def test_each_step_is_sent_once_over_restarts(run, kept):
    run.add(1, 2, 3)
    assert track.track(run.path, "kept", once=True) == 3
    run.add(4, 5)
    assert track.track(run.path, "kept", once=True) == 2
    assert track.track(run.path, "kept", once=True) == 0
    assert steps(kept) == [1, 2, 3, 4, 5]
    assert json.loads((run.path / "tracking" / "kept.json").read_text()) == {"identity": "the-run", "step": 5}


def test_a_line_that_is_being_written_waits(run, kept):
    run.add(1)
    run.add(2, torn=True)
    assert track.track(run.path, "kept", once=True) == 1


def test_a_run_that_went_back_to_a_checkpoint_is_not_sent_twice(run, kept):
    run.add(1, 2, 3, 4)
    track.track(run.path, "kept", once=True)
    run.cut(2)
    track.track(run.path, "kept", once=True)
    run.add(3, 4, 5)
    track.track(run.path, "kept", once=True)
    assert steps(kept) == [1, 2, 3, 4, 5]


def test_an_interrupt_amid_a_batch_sends_the_rest_later(run, kept):
    run.add(1, 2)
    track.track(run.path, "kept", once=True)
    run.add(3)
    kept.dies_at = 3
    with pytest.raises(KeyboardInterrupt):
        track.track(run.path, "kept", once=True)
    kept.dies_at = None
    track.track(run.path, "kept", once=True)
    assert steps(kept) == [1, 2, 3]


def test_it_follows_while_the_run_runs_and_ends_with_it(run):
    """The clock of the test is the follower's own waiting: each wait lets the run do something."""
    events = [lambda: run.add(1), lambda: None, lambda: run.add(2, 3), lambda: None]
    with run.running():
        folder = RunFolder(run.path)
        assert folder.runs()
        batches = follow(folder, 0, sleep=lambda _: events.pop(0)())
        assert [row["step"] for row in next(batches)] == [1]
        assert [row["step"] for row in next(batches)] == [2, 3]
    run.add(4)
    assert not folder.runs()
    assert [row["step"] for batch in batches for row in batch] == [4]


def test_it_waits_for_a_run_that_has_not_begun(run):
    events = [lambda: None, lambda: None, lambda: run.add(1)]
    assert [[row["step"] for row in batch] for batch in follow(RunFolder(run.path), 0, sleep=lambda _: events.pop(0)())] == [[1]]
    assert not events


def test_it_takes_no_lock_that_a_run_wants(run):
    run.add(1)
    held = RunFolder(run.path)
    assert not held.runs()
    with run.running():  # Fails where anything else holds the lock.
        assert held.runs()


def test_values_are_flat_finite_numbers(run):
    assert values({**run.row(4), "lr": float("nan"), "loss": None, "gpu": {"power_w": 3}}) == {
        "grad_norm": 5.0, "step_s": 0.25, "predicted_s": 0.5, "tokens": 8.0, "busy/compute": 0.5, "val_loss": 5.0, "gpu/power_w": 3.0}  # fmt: skip


def test_settings_of_the_run_reach_the_tracker(run, kept):
    run.add(1)
    track.track(run.path, "kept", once=True)
    assert kept.settings == {"model": "bytes-2m", "steps": "9", "optimizer.lr": "1.0e-04", "optimizer.clip": "1"}


def test_what_is_wrong_is_said_in_a_line(run, kept, tmp_path):
    with pytest.raises(sluice.BadRequest, match="wandb, mlflow"):
        track.track(run.path, "weights-and-biases")
    with pytest.raises(sluice.BadRequest, match="has no metrics.jsonl"):
        track.track(tmp_path / "none", "kept", once=True)
    run.add(1)
    (run.path / "tracking").mkdir()
    (run.path / "tracking" / "kept.json").write_text("{")
    with pytest.raises(sluice.BadRequest, match="kept.json: not a note"):
        track.track(run.path, "kept", once=True)


@pytest.mark.parametrize("name", ["wandb", "mlflow", "trackio", "swanlab", "tensorboard"])
def test_a_tracker_that_is_not_installed_is_named_with_its_command(run, name):
    run.add(1)
    program = f"import sys; sys.modules.update(dict.fromkeys(['wandb', 'mlflow', 'trackio', 'swanlab', 'tensorboard'])); from sluice import track; sys.exit(track.main(['{run.path}', '--to', '{name}', '--once']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 4 and len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith(f"sluice.track: error: {name} needs the package {name}: pip install {name}")


def test_tensorboard_files_hold_each_step_once(run):
    """A second file begins with a start of session, from whose step on a reader drops what came before."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run.add(1, 2, 3)
    track.track(run.path, "tensorboard", once=True)
    run.add(4, 5)
    track.track(run.path, "tensorboard", once=True)
    folder = run.path / "tracking" / "tensorboard" / "mine"
    assert len(glob.glob(str(folder / "*tfevents*"))) == 2
    read = accumulator.EventAccumulator(str(folder))
    read.Reload()
    assert [(event.step, event.value) for event in read.Scalars("loss")] == [(step, pytest.approx(6 - step / 8)) for step in range(1, 6)]
    assert [event.step for event in read.Scalars("val_loss")] == [4]


def test_the_module_runs_as_a_program(run):
    done = subprocess.run([sys.executable, "-m", "sluice.track", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "swanlab" in done.stdout
    assert following.POLL_S <= 1

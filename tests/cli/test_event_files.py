"""TensorBoard's event files, as TensorBoard's own reader reads them (from PyPI, where it answers)."""

import json

import pytest
from conftest import available_verbs
from small_run import CONFIG, small_flags, write_model

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)

accumulators = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator",
    reason="PyPI's tensorboard is not installed (scripts/install tests)",
)


def scalars(folder):
    events = accumulators.EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_tensorboard_reads_what_metrics_say(run_sluice, tmp_path):
    write_model(tmp_path / "model", CONFIG)
    flags = small_flags(tmp_path, "model")
    run_sluice("train", *flags, "steps=6", "out=run", "evaluate_every=2")
    # A run that goes on from before its end: the steps that are made again are shown once.
    (tmp_path / "run/checkpoints/step-6").rename(tmp_path / "aside")
    run_sluice("train", *flags, "steps=4", "out=other")
    (tmp_path / "other/checkpoints/step-4").rename(tmp_path / "run/checkpoints/step-4")
    run_sluice("train", *flags, "steps=9", "out=run", "--resume", "evaluate_every=2")
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    found = scalars(tmp_path / "run" / "tensorboard")

    def expected(of):
        return [(line["step"], pytest.approx(of(line), rel=1e-6)) for line in lines]

    assert found["train/loss"] == expected(lambda line: line["loss"])
    assert found["train/grad_norm"] == expected(lambda line: line["grad_norm"])
    assert found["train/learning_rate"] == expected(lambda line: line["lr"])
    assert found["busy/compute"] == expected(lambda line: line["busy"]["compute"])
    assert len(lines) == 9
    validation = dict(found["validation/loss"])
    for line in lines:
        if "val_loss" in line:
            assert validation[line["step"]] == pytest.approx(line["val_loss"], rel=1e-6)
    assert {0, 2, 4, 6, 8, 9} <= set(validation)

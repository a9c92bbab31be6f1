"""Recipes: learning rates as metrics show them, epochs, LLaMA-Factory's files, what init writes."""

import json
import math

import pytest
from conftest import available_verbs

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_wsd_holds_the_rate_and_lets_it_down_at_the_end(run_sluice, validate, flags, tmp_path):
    words = ["steps=10", "schedule.kind=wsd", "schedule.warmup_steps=2", "schedule.decay_steps=4"]
    run_sluice("train", *flags, *words, "optimizer.lr=0.01", "out=run")
    rates = [line["lr"] / 0.01 for line in metrics(tmp_path / "run")]
    assert rates == pytest.approx([0.5, 1, 1, 1, 1, 1, 0.75, 0.5, 0.25, 0])
    validate(tmp_path / "run/metrics.jsonl", "metrics")


def test_lines_say_how_busy_lanes_were_and_what_moved(run_sluice, flags, tmp_path):
    run_sluice("train", *flags, "steps=8", "evaluate_every=4", "--residency", "host", "out=run")
    lines = metrics(tmp_path / "run")
    for line in lines:
        assert {"compute", "h2d", "d2h", "cpu"} <= set(line["busy"])
        assert line["useful_tokens_per_s"] == pytest.approx(line["useful_tokens"] / line["step_s"])
    # Weights cross to the device and gradients to the host, at least once a step each.
    parameters = run_sluice("predict", *flags, "--json").json()["parameters"]
    assert sum(line["moved_bytes"]["d2h"] for line in lines) >= 7 * 4 * parameters
    assert sum(line["moved_bytes"]["h2d"] for line in lines) >= 7 * 2 * parameters
    assert [line["step"] for line in lines if "val_loss" in line] == [4, 8]


def test_an_epoch_is_every_training_window_once(run_sluice, flags, tmp_path):
    words = [word for word in flags if word != "steps"]
    result = run_sluice("train", *words, "epochs=1.5", "out=run", "--json", "--no-checkpoint").json()
    tokens = (tmp_path / "text.txt").stat().st_size
    windows = (tokens - 1) // 32
    training = windows - max(1, windows // 20)
    assert result["steps"] == math.ceil(1.5 * training / 4)


def test_a_llama_factory_file_trains(run_sluice, validate, flags, tmp_path):
    (tmp_path / "run.yaml").write_text(
        "model_name_or_path: model\nstage: pt\ndo_train: true\nfinetuning_type: full\ndataset: text.txt\n"
        "cutoff_len: 32\noutput_dir: saves\nlogging_steps: 10\nsave_steps: 2\nsave_total_limit: 1\n"
        "per_device_train_batch_size: 2\ngradient_accumulation_steps: 3\nlearning_rate: 1.0e-3\n"
        "max_steps: 4\nlr_scheduler_type: cosine\nwarmup_ratio: 0.5\nbf16: true\neval_strategy: 'no'\n"
        "machine: here\nbackend: host\n"
    )
    run = run_sluice("train", "run.yaml", "--json")
    result = run.json()
    assert result["steps"] == 4 and result["run"] == "saves"
    assert run.err.splitlines() == [
        "sluice: note: do_train is ignored: `sluice train` implies it",
        "sluice: note: logging_steps is ignored: every step is logged",
        "sluice: note: defaults of LLaMA-Factory hold for what the file leaves out: optimizer.weight_decay 0",
    ]
    lines = metrics(tmp_path / "saves")
    assert [line["tokens"] for line in lines] == [2 * 3 * 32] * 4
    assert [line["lr"] for line in lines] == pytest.approx([5e-4, 1e-3, 5e-4, 0])
    assert [path.name for path in (tmp_path / "saves/checkpoints").iterdir()] == ["step-4"]


def test_what_init_writes_saves_evaluates_and_goes_on(run_sluice, flags, tmp_path):
    run_sluice("init", *flags, "--steps", "20", "--out", "run", "-o", "RUN.yaml")
    text = (tmp_path / "RUN.yaml").read_text()
    for line in ("kind: cosine", "warmup_steps: 1", "evaluate_every: 5", "save_every: 5", "keep_last: 2"):
        assert line in text
    result = run_sluice("train", "RUN.yaml", "--json").json()
    assert result["steps"] == 20 and result["saves"]["during"] == 3
    assert len(list((tmp_path / "run/checkpoints").iterdir())) in (2, 3)
    again = run_sluice("train", "RUN.yaml", "--resume", "steps=24", "--json").json()
    assert again["resumed_after"] == 20

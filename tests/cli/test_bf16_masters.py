"""The experiment on master weights stored in bf16: its fp32 side is a training run, and its counts follow the learning rate."""

import csv
import json
import os
import pathlib
import subprocess

import pytest

from conftest import program
from small_run import CONFIG, TEXT, write_model

TOOL = pathlib.Path(program()).parent / "master_study"

pytestmark = pytest.mark.skipif(not TOOL.is_file(), reason="master_study is not built (SLUICE_BENCHMARKS)")

RUN = """\
model: model
data: text.txt
machine: here
backend: host
seq_len: 32
batch_size: 4
steps: 5
evaluate_every: 2
optimizer: {lr: 1e-3, weight_decay: 0}
"""


@pytest.fixture
def study(tmp_path, sluice_home):
    write_model(tmp_path / "model", CONFIG)
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "run.yaml").write_text(RUN)

    def run(*words, out="out", exit_code=0):
        done = subprocess.run([TOOL, "run.yaml", *words, "--out", out], cwd=tmp_path, capture_output=True, text=True,
                              env={**os.environ, "SLUICE_HOME": str(sluice_home)}, timeout=300)  # fmt: skip
        assert done.returncode == exit_code, done.stdout + done.stderr
        return done

    return run


def rows(path, masters):
    return [row for row in csv.DictReader(path.open()) if row["masters"] == masters]


def test_masters_in_fp32_are_a_training_run(study, run_sluice, tmp_path):
    study()
    run_sluice("train", "run.yaml", "--no-checkpoint", "out=trained")
    trained = [json.loads(line) for line in (tmp_path / "trained" / "metrics.jsonl").open()]
    steps = rows(tmp_path / "out" / "steps.csv", "fp32")
    assert [float(row["loss"]) for row in steps] == [line["loss"] for line in trained]
    assert [float(row["grad_norm"]) for row in steps] == [line["grad_norm"] for line in trained]
    assert [row["step"] for row in rows(tmp_path / "out" / "validation.csv", "bf16")] == ["0", "2", "4", "5"]


def test_matrix_products_read_the_same_weights_until_the_first_update(study, tmp_path):
    study()
    fp32, bf16 = (rows(tmp_path / "out" / "steps.csv", masters) for masters in ("fp32", "bf16"))
    # But for an element in 65536, which lies in the middle: the engine rounds it away from zero, a bf16 master to even.
    apart = [abs(float(a["loss"]) - float(b["loss"])) for a, b in zip(fp32, bf16, strict=True)]
    assert apart[0] < 1e-4 < apart[-1]


def test_updates_below_half_a_unit_in_the_last_place_vanish(study, tmp_path):
    def shares(lr):
        study(f"optimizer.lr={lr}", out=lr)
        runs = json.loads((tmp_path / lr / "summary.json").read_text())["masters"]
        for masters, run in runs.items():
            for table in ("steps.csv", "tensors.csv"):
                found = rows(tmp_path / lr / table, masters)
                assert sum(int(row["moved"]) for row in found) == run["updates"]
                assert sum(int(row["vanished"]) for row in found) == run["vanished"]
        return {masters: run["vanished_share"] for masters, run in runs.items()}

    # Weights are about 0.02, where bf16 has steps of 2^-13 and fp32 of 2^-29; Adam's are about lr.
    usual, small, tiny = shares("1e-3"), shares("1e-5"), shares("1e-10")
    assert usual["bf16"] < 0.1 and 0.7 < small["bf16"] < 0.99 and tiny["bf16"] > 0.999
    assert usual["fp32"] < small["fp32"] < 0.01 < tiny["fp32"]
    # Norms are 1, where steps of bf16 are 2^-8 below and 2^-7 above.
    norm = [row for row in rows(tmp_path / "1e-5" / "tensors.csv", "bf16") if row["tensor"] == "model.norm.weight"]
    assert norm[0]["vanished"] == norm[0]["moved"] != "0"


def test_a_run_without_data_is_refused(study, tmp_path):
    (tmp_path / "run.yaml").write_text(RUN.replace("data: text.txt\n", ""))
    done = study(exit_code=2)
    assert "data is missing" in done.stderr

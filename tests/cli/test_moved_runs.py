"""A run folder works from anywhere and after it was moved; the error of a run's prediction has one sign."""

import re
import shutil

import pytest

from conftest import available_verbs
from small_run import bits

pytestmark = pytest.mark.skipif("train" not in available_verbs(), reason="the program is built without the engine")


def test_a_moved_run_is_traced_evaluated_exported_and_goes_on(run_sluice, flags, tmp_path):
    run_sluice("train", *flags, "steps=4", "out=whole")
    run_sluice("train", *flags, "steps=2", "out=runs/part")
    moved = tmp_path / "elsewhere" / "mine"
    moved.parent.mkdir()
    shutil.move(tmp_path / "runs" / "part", moved)
    shutil.rmtree(tmp_path / "model")  # What the run was started from may be gone; only its data must be named.
    text = (tmp_path / "text.txt").rename(moved.parent / "text.txt")
    anywhere = tmp_path / "anywhere"
    anywhere.mkdir()
    assert str(moved / "trace.json") in run_sluice("trace", moved, cwd=anywhere).out
    assert run_sluice("eval", moved, "--data", text, "--json", cwd=anywhere).json()["loss"] > 0
    run_sluice("export", moved, "-o", "weights", cwd=anywhere)
    assert (anywhere / "weights" / "config.json").is_file()
    run_sluice("train", moved, "--resume", "steps=4", f"data={text}", cwd=anywhere)
    assert bits(moved) == bits(tmp_path / "whole")
    assert not (anywhere / "runs").exists() and not (tmp_path / "runs" / "part").exists()


def test_the_tables_error_is_predicted_over_measured(run_sluice, flags, tmp_path):
    out = run_sluice("train", *flags, "steps=3", "out=run", "--no-checkpoint").out
    assert "sluice probe measures this machine" in out, "nothing was measured here"
    seconds = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    predicted, unit, measured, other, error = re.search(
        r"^  step +([\d.]+) (ns|us|ms|s) +([\d.]+) (ns|us|ms|s) +error ([+-][\d.]+) % of the median$", out, re.MULTILINE
    ).groups()
    expected = 100 * (float(predicted) * seconds[unit] / (float(measured) * seconds[other]) - 1)
    assert float(error) == pytest.approx(expected, abs=1.5)  # Both times have three digits.

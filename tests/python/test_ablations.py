"""Experiments predicted in Python are those that `sluice ablate` predicts."""

import csv
import json
import os
import pathlib
import subprocess

import pytest
import sluice

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

EXPERIMENT = {
    "name": "depth_and_buffers",
    "baseline": {"model": "bytes-2m", "machine": "rtx-4090", "seq_len": 256, "batch_size": 4, "limits": {"hbm": "720 MiB"}},
    "factors": {
        "layers": {"path": "model.num_hidden_layers", "values": [6, 3]},
        "buffers": {"path": "plan.weight_buffers", "values": [2, 1]},
        "terms": {"levels": {"all": {}, "no contention": {"term.contention": "off"}}},
    },
    "design": "full",
    "effort": 0.1,
}


def test_cells_are_those_of_the_program(tmp_path):
    result = sluice.ablate(EXPERIMENT)
    assert len(result.cells) == 8
    frame = result.to_frame()
    assert list(frame["layers"].unique()) == ["6", "3"]
    file = tmp_path / "experiment.yaml"
    file.write_text(json.dumps(EXPERIMENT))
    program = os.environ.get("SLUICE_BIN", REPOSITORY / "build" / "bin" / "sluice")
    done = subprocess.run(
        [program, "ablate", file, "-o", tmp_path / "out", "--json"], capture_output=True, text=True
    )
    if "unknown verb" in done.stderr:
        pytest.skip("the program is built without the engine, and so without ablate")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)["cells"]
    assert [cell["name"] for cell in printed] == [cell.name for cell in result.cells]
    assert [cell["step_s"] for cell in printed] == frame["step_s"].tolist()
    assert [cell["plan"] for cell in printed] == frame["plan"].tolist()
    with (tmp_path / "out" / "cells.csv").open() as rows:
        written = list(csv.DictReader(rows))
    assert set(frame.columns) <= set(written[0])
    assert [int(row["hbm_peak_bytes"]) for row in written] == frame["hbm_peak_bytes"].tolist()
    gaps = [float(row["optimality_gap"]) for row in written]
    assert gaps == frame["optimality_gap"].tolist() and max(gaps) > 0
    assert printed[0]["step_s"] > printed[4]["step_s"], "six layers take longer than three"


def test_cells_that_do_not_fit_stay_and_say_why():
    small = {**EXPERIMENT, "factors": {"hbm": {"path": "limits.hbm", "values": ["720 MiB", "2 MiB"]}}}
    said = []
    cells = sluice.ablate(small, baseline={"batch_size": 2}, progress=lambda *each: said.append(each)).cells
    assert [cell.status for cell in cells] == ["fits", "does not fit"]
    assert cells[1].tier == "hbm" and cells[1].short_bytes > 0
    assert [(done, of) for done, of, _ in said] == [(1, 2), (2, 2)]


def test_a_misspelt_key_is_refused_with_the_nearest():
    with pytest.raises(sluice.BadRequest, match="factors"):
        sluice.ablate({**EXPERIMENT, "factor": {}})
    with pytest.raises(sluice.BadRequest, match="baseline: .*rtx-4091.*rtx-4090"):
        sluice.ablate(EXPERIMENT, baseline={"machine": "rtx-4091"})
    with pytest.raises(sluice.BadRequest, match="no such file"):
        sluice.ablate("nowhere.yaml")
    for effort in (0, -1, float("nan")):
        with pytest.raises(sluice.BadRequest, match="effort"):
            sluice.ablate(EXPERIMENT, effort=effort)


def test_a_baseline_that_no_cell_would_have_is_refused():
    with pytest.raises(sluice.BadRequest, match="plan.weight_buffers: no cell has the baseline's.*factor buffers"):
        sluice.ablate(EXPERIMENT, baseline={"plan.weight_buffers": 3})


def test_a_baseline_is_told_as_a_run_is():
    few = {**EXPERIMENT, "effort": 0.02, "factors": {"status": {"path": "batch_size", "values": [1, 2]}}}
    result = sluice.ablate(few, baseline={"optimizer": {"clip": None}, "limits.hbm": 3 * 2**30, "machine": sluice.machine("h200")})
    frame = result.to_frame()
    assert list(frame["factor.status"]) == ["1", "2"] and list(frame["status"]) == ["fits", "fits"]
    assert all(cell.prediction["memory"]["hbm"]["capacity_bytes"] == 3 * 2**30 for cell in result.cells)
    with pytest.raises(sluice.BadRequest, match="baseline: 3 must be a mapping"):
        sluice.ablate(few, baseline=3)

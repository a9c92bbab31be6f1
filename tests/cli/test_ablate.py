"""`sluice ablate`: cells, results folder, resuming, sharing."""

import csv
import json
import re
import shlex
import signal

import pytest

import running
from conftest import REPOSITORY, once
from running import ATTEMPTS, PATIENCE
from small_experiment import BRIEFLY, SMALL, brief, small  # noqa: F401 (fixtures)

EXPERIMENTS = sorted((REPOSITORY / "experiments" / "ablations").glob("*.yaml"))
def results(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "manifest.json"}  # fmt: skip


def test_cells_of_the_designs(run_sluice, small, validate):
    def names():
        listed = run_sluice("ablate", small, "--list", "--json").json()
        validate(listed, "ablation")
        return listed["cells"]

    assert names() == ["buffers=1, keep=planned", "buffers=1, keep=all", "buffers=2, keep=planned",
                       "buffers=2, keep=all"]  # fmt: skip
    small.write_text(SMALL + "design: one-at-a-time\n")
    assert names() == ["buffers=1, keep=planned", "buffers=2, keep=planned", "buffers=1, keep=all"]
    small.write_text(SMALL + "design: paired\n")
    assert names() == ["buffers=1, keep=planned", "buffers=2, keep=all"]


def test_results_repeat_to_the_byte_and_are_what_predict_says(run_sluice, brief, tmp_path, validate):
    out = run_sluice("ablate", brief, "-o", tmp_path / "a", "--json").json()
    validate(out, "ablation")
    run_sluice("ablate", brief, "-o", tmp_path / "b")
    assert results(tmp_path / "a") == results(tmp_path / "b")
    p = run_sluice("predict", "--model", "bytes-2m", "--machine", "h200", "--seq-len", "64", "--batch-size", "4",
                   "--residency", "host", "--set", "plan.weight_buffers=2", "--set", "plan.keep=all",
                   *BRIEFLY, "--json").json()  # fmt: skip
    assert out["cells"][3]["step_s"] == p["step_s"] and out["cells"][3]["plan_hash"] == p["plan_hash"]
    rows = list(csv.DictReader((tmp_path / "a" / "cells.csv").open()))
    assert [float(row["step_s"]) for row in rows] == [cell["step_s"] for cell in out["cells"]]
    first = out["cells"][0]
    assert first["beside_first"] == {"ratio": 1, "low": 1, "high": 1}
    for cell, row in zip(out["cells"], rows):
        beside = cell["beside_first"]
        assert beside["ratio"] == pytest.approx(cell["tokens_per_s"] / first["tokens_per_s"])
        assert beside["low"] <= beside["ratio"] <= beside["high"]
        assert [float(row[f"beside_first{end}"]) for end in ("", "_low", "_high")] == pytest.approx(list(beside.values()))
        # Both cells rest on one machine, so their ratio is surer than either step.
        apart = sum((one["step_s_high"] / one["step_s"] - 1) ** 2 for one in (first, cell)) ** 0.5
        assert beside["high"] / beside["ratio"] - 1 < apart
    assert f"{beside['ratio']:.3f} ({beside['low']:.3f} to {beside['high']:.3f})" in (tmp_path / "a" / "table.md").read_text()
    planned = json.loads(run_sluice("plan", "--model", "bytes-2m", "--machine", "h200", "--seq-len", "64", "--batch-size", "4",
                                    "--residency", "host", "--set", "plan.weight_buffers=2", "--set", "plan.keep=all",
                                    *BRIEFLY, "--json").out)  # fmt: skip
    assert float(rows[3]["optimality_gap"]) == planned["optimality_gap"]
    for cell in sorted((tmp_path / "a" / "cells").glob("*.json")):
        validate(cell, "ablation-cell")
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    validate(manifest, "ablation-manifest")
    assert {"compiler", "libc", "fmt"} <= manifest["packages"].keys()
    assert manifest["command"].startswith("sluice ablate ") and len(manifest["machines"]["h200"]) == 64
    plot = (tmp_path / "a" / "plot.svg").read_text()
    assert "<title>buffers=2, keep=all</title>" in plot  # Beside its label, which the group's heading shortens.
    assert re.findall(r'bold" fill="#222">([^<]*)<', plot) == ["buffers=1", "buffers=2"]
    assert re.findall(r"</title>([^<]*)</text>", plot) == ["keep=planned", "keep=all"] * 2
    assert f">{beside['ratio']:.3f} ({beside['low']:.3f} to {beside['high']:.3f})</text>" in plot


def test_a_plot_of_one_factor_at_a_time_groups_by_the_factor(run_sluice, small, tmp_path):
    small.write_text(SMALL + "design: one-at-a-time\n")
    run_sluice("ablate", small, "--effort", "0.02", "-o", tmp_path / "out")
    plot = (tmp_path / "out" / "plot.svg").read_text()
    assert re.findall(r'bold" fill="#222">([^<]*)<', plot) == ["buffers", "keep"]
    assert re.findall(r"</title>([^<]*)</text>", plot) == ["buffers=1, keep=planned", "buffers=2", "keep=all"]


@once
def test_shares_of_the_cells_come_together(run_sluice, brief, tmp_path):
    run_sluice("ablate", brief, "-o", tmp_path / "whole")
    first = run_sluice("ablate", brief, "-o", tmp_path / "parts", "--cells", "1/2")
    assert "2 of 4 cells are still to be done" in first.out
    assert not (tmp_path / "parts" / "table.md").exists()
    run_sluice("ablate", brief, "-o", tmp_path / "parts", "--cells", "2/2")
    assert results(tmp_path / "parts") == results(tmp_path / "whole")
    # The stated command repeats the whole experiment.
    assert shlex.split(json.loads((tmp_path / "parts" / "manifest.json").read_text())["command"]) == ["sluice", "ablate", str(brief), "-o", str(tmp_path / "parts")]


def test_cells_that_do_not_fit_and_that_are_no_runs_stay_as_rows(run_sluice, tmp_path):
    file = tmp_path / "rows.yaml"
    file.write_text(SMALL.replace("values: [1, 2]", "values: [2, 1]").replace(
        "all: {plan.keep: all}", "tiny: {limits.hbm: 1 MiB}\n      deep: {plan.prefetch_depth: 1}"))  # fmt: skip
    cells = run_sluice("ablate", file, "-o", tmp_path / "out", "--json").json()["cells"]
    by_name = {cell["name"]: cell for cell in cells}
    tiny = by_name["buffers=2, keep=tiny"]
    assert not tiny["fits"] and tiny["tier"] == "hbm" and tiny["short_bytes"] > 0
    deep = by_name["buffers=1, keep=deep"]  # A prefetch of one block needs a second buffer.
    assert deep["status"] == "refused" and deep["reason"] and by_name["buffers=2, keep=deep"]["fits"]
    assert "hbm is short by" in (tmp_path / "out" / "table.md").read_text()


def test_a_term_of_the_model_and_a_field_of_the_model(run_sluice, tmp_path):
    file = tmp_path / "terms.yaml"
    file.write_text(SMALL[: SMALL.index("factors:")] + "factors:\n"
                    "  dispatch: {path: term.dispatch, values: ['on', 'off']}\n"
                    "  layers: {path: model.num_hidden_layers, values: [4, 8]}\n")  # fmt: skip
    cells = run_sluice("ablate", file, "-o", tmp_path / "out", "--json").json()["cells"]
    steps = {cell["name"]: cell["step_s"] for cell in cells}
    assert steps["dispatch=off, layers=4"] < steps["dispatch=on, layers=4"]
    assert steps["dispatch=on, layers=8"] > steps["dispatch=on, layers=4"]
    assert cells[0]["plan_hash"] == cells[2]["plan_hash"]


@once
def test_on_a_device_cells_are_predicted_run_and_resumed(run_sluice, tmp_path, validate):
    small = REPOSITORY / "experiments" / "ablations" / "small.yaml"
    words = ["ablate", small, "--on", "device", "-o", tmp_path / "out"]
    run = run_sluice(*words, "--json").json()
    validate(run, "ablation")
    for cell in run["cells"]:
        assert cell["measured_steps"] == 8
        assert 0 < cell["measured_s_low"] <= cell["measured_s"] <= cell["measured_s_high"]
    ledger = [json.loads(line)["kind"] for line in (tmp_path / "out" / "ledger.jsonl").open()]
    assert ledger == ["prediction"] * 4 + ["measurement"] * 4
    validate(json.loads((tmp_path / "out" / "manifest.json").read_text()), "ablation-manifest")
    plot = (tmp_path / "out" / "plot.svg").read_text()
    assert plot.count("<circle") == plot.count('stroke="#d9534f"') == 4  # Each prediction has its interval.
    samples = list(csv.DictReader((tmp_path / "out" / "samples.csv").open()))
    assert sorted({int(row["order"]) for row in samples}) == list(range(1, 9))
    # One cell's last repeat is lost: only that runs again.
    cell = tmp_path / "out" / "cells" / "0002.json"
    validate(cell, "ablation-cell")
    before = json.loads(cell.read_text())
    cell.write_text(json.dumps({**before, "samples": before["samples"][:1]}))
    run_sluice(*words)
    after = json.loads(cell.read_text())
    assert after["samples"][0] == before["samples"][0] and after["samples"][1] != before["samples"][1]
    again = results(tmp_path / "out")
    run_sluice(*words)
    assert results(tmp_path / "out") == again


@pytest.mark.slow
@once
def test_shares_that_run_at_once_keep_one_ledger_and_one_killed_goes_on(run_sluice, tmp_path, sluice_home):
    small = REPOSITORY / "experiments" / "ablations" / "small.yaml"
    run_sluice("ablate", small, "-o", tmp_path / "before")  # Both shares find the same profile.

    def share(part):
        return running.start(["ablate", small, "--on", "device", "-o", "out", "--cells", part], tmp_path, home=sluice_home, stderr=None)

    first, second = share("1/2"), share("2/2")
    for line in second.stdout:  # Its predictions are in the ledger by the time it has measured anything.
        if "repeat 1" in line:
            second.kill()
            break
    second.communicate(timeout=PATIENCE)
    assert first.communicate(timeout=PATIENCE) and first.returncode == 0
    run_sluice("ablate", small, "--on", "device", "-o", "out")
    lines = [json.loads(line) for line in (tmp_path / "out" / "ledger.jsonl").open()]
    assert [line["previous"] for line in lines] == ["0" * 64] + [line["hash"] for line in lines[:-1]]
    assert sorted(line["kind"] for line in lines) == ["measurement"] * 4 + ["prediction"] * 4
    samples = list(csv.DictReader((tmp_path / "out" / "samples.csv").open()))
    assert sorted({(row["cell"], row["repeat"]) for row in samples}) == [(c, r) for c in "0123" for r in "12"]


@once
def test_a_signal_stops_between_cells_and_the_rest_follows(small, run_sluice, tmp_path):
    text = SMALL.replace("values: [1, 2]", f"values: {list(range(1, 5))}")
    small.write_text(text.replace("residency: host", "residency: host\n  set: {plan.rounds: 1}"))
    for attempt in range(ATTEMPTS):
        out = tmp_path / f"out{attempt}"
        process = running.start(["ablate", small, "-o", out], tmp_path)
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out_text, err = process.communicate(timeout=PATIENCE)
        done = {path.name: path.read_bytes() for path in (out / "cells").glob("*.json")}
        if len(done) < 8:
            break
    assert process.returncode == 75 and first and 0 < len(done) < 8
    assert "cells are still to be done: run it again" in out_text and not err
    assert not (out / "table.md").exists()
    said = run_sluice("ablate", small, "-o", out).out
    assert said.count("done before: ") == len(done) and (out / "table.md").exists()
    assert {name: (out / "cells" / name).read_bytes() for name in done} == done


def test_a_dry_run_says_what_the_run_would_take(run_sluice, small, tmp_path, validate):
    said = run_sluice("ablate", small, "--dry-run", "--json").json()
    validate(said, "ablation")
    assert len(said["cells"]) == 4 and said["device_hours"] == 0
    assert said["search_hours"] > 0 and said["disk_bytes"] > 0
    text = run_sluice("ablate", small, "--dry-run").out
    assert "4 cells, at most about" in text and "7.5 times as long" in text
    quick = run_sluice("ablate", small, "--dry-run", "--effort", "0.02").out  # The first look is the whole search.
    assert "of results" in quick and "times as long" not in quick
    device = run_sluice("ablate", small, "--dry-run", "--on", "device", "--json").json()
    steps = 3 * (2 + 8 + 1)  # Repeats of a warm-up, measured steps, and the one in which the last ends.
    assert device["device_hours"] == pytest.approx(steps * sum(c["step_s"] for c in device["cells"]) / 3600)
    assert {path.name for path in tmp_path.iterdir()} <= {small.name, "sluice-home"}  # No results are written.


def test_levels_that_no_run_can_have_are_predicted_alone(run_sluice, tmp_path):
    file = tmp_path / "links.yaml"
    file.write_text(SMALL[: SMALL.index("factors:")] + "  policy: zero-infinity\nfactors:\n  link:\n    levels:\n"
                    "      as it is: {}\n      twice: {machine.h2d: 2x}\n      held: {limits.link: 9 GB/s}\n")  # fmt: skip
    said = run_sluice("ablate", file, "--dry-run", "--on", "device", "--json").json()
    there, twice, held = said["cells"]
    assert there["fits"] and held["fits"] and twice["status"] == "refused" and twice["step_s"] > 0
    assert "machine.h2d: predicted alone" in twice["reason"] and "limits.link" in twice["reason"]
    steps = 3 * (2 + 8 + 1)
    assert said["device_hours"] == pytest.approx(steps * (there["step_s"] + held["step_s"]) / 3600)
    text = run_sluice("ablate", file, "--dry-run", "--on", "device").out
    assert "in 6 runs" in text and "times as long" not in text  # A policy's plan is not searched for.
    assert all(cell["fits"] for cell in run_sluice("ablate", file, "-o", tmp_path / "out", "--json").json()["cells"])


def test_numbers_of_devices_are_predicted_and_do_not_run(run_sluice, tmp_path):
    file = tmp_path / "devices.yaml"
    file.write_text("name: devices\nquestion: How many?\nbaseline:\n  model: qwen2.5-0.5b\n  seq_len: 512\n  batch_size: 8\n  groups: 4\n  machine: 4x-h100-sxm\n"
                    "factors:\n  devices:\n    path: devices\n    values: [1, 4]\n")  # fmt: skip
    quick = ["--effort", "0.02"]
    one, four = run_sluice("ablate", file, "--on", "simulation", *quick, "-o", tmp_path / "out", "--json").json()["cells"]
    assert four["step_s"] < 0.5 * one["step_s"]
    cells = run_sluice("ablate", file, "--dry-run", "--on", "device", *quick, "--json").json()["cells"]
    assert cells[1]["status"] == "refused" and "devices: a cell that runs (on: device) knows one device" in cells[1]["reason"]


def test_the_table_gives_the_optimality_gap_of_each_cell(run_sluice, small, tmp_path):
    run_sluice("ablate", small, "-o", tmp_path / "out")
    table = (tmp_path / "out" / "table.md").read_text()
    gaps = [row["optimality_gap"] for row in csv.DictReader((tmp_path / "out" / "cells.csv").open())]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[-1].rstrip(" |") for row in rows] == [f"{100 * float(gap):.1f} %" for gap in gaps]
    assert "Optimality gap: " in table
    small.write_text(SMALL.replace("residency: host", "residency: host\n  policy: megatrain"))
    run_sluice("ablate", small, "-o", tmp_path / "policy")
    assert "Optimality gap: " not in (tmp_path / "policy" / "table.md").read_text()  # Nothing was searched for.


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_published_experiment_lists_its_cells(run_sluice, file):
    assert len(run_sluice("ablate", file, "--list").out.splitlines()) >= 2


# Reduced: searches a fiftieth as long, which is less than a second a cell.
@once
@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda path: path.stem)
def test_experiments_run_in_simulation(run_sluice, tmp_path, validate, file):
    words = ["ablate", file, "--on", "simulation", "--effort", "0.02", "-o", tmp_path / "out", "--json"]
    done = run_sluice(*words).json()
    validate(done, "ablation")
    assert done["missing"] == 0
    for cell in done["cells"]:
        assert cell["step_s"] if cell["fits"] else cell["reason"], cell["name"]
    assert sum(cell["fits"] for cell in done["cells"]) >= 2

"""Predictions of runs that never ran before, on the host backend: the loop of the prediction study, scaled down."""

import json
import os
import pathlib
import subprocess

import pytest

from conftest import program

TOOL = pathlib.Path(program()).parent / "prediction_study"

pytestmark = pytest.mark.skipif(not TOOL.is_file(), reason="prediction_study is not built (SLUICE_BENCHMARKS)")

DEFAULTS = (
    "defaults --backend host --machine here --model bytes-2m --seq-len 32 --batch-size 4 --micro-batch 1 --threads 1"
    " --set plan.weights=host --set plan.state=host --set plan.gradients=host --set plan.executor=cpu"
)


def plan(depth, rounds, keep):
    return (
        f"--set plan.weight_buffers={depth + 1} --set plan.prefetch_depth={depth} --set plan.rounds={rounds}"
        f" --set plan.keep={keep}"
    )


RUNS = "\n".join(
    [
        DEFAULTS,
        f"teach-deep calibrate {plan(2, 1, 'all')}",
        f"teach-flat calibrate {plan(0, 2, 'input')}",
        f"teach-select calibrate {plan(1, 4, 'selective')}",
        f"deep predict {plan(1, 1, 'all')}",
        f"flat predict {plan(0, 1, 'all')}",
        f"rounds-2 predict {plan(0, 2, 'selective')}",
        f"rounds-4 predict {plan(0, 4, 'input')}",
        f"inputs predict {plan(2, 1, 'input')}",
        "resident predict --set plan.weights=hbm --set plan.rounds=1 --set plan.keep=all",
    ]
)


def study(folder, text, *words):
    (folder / "runs").write_text(text)
    environment = {**os.environ, "SLUICE_HOME": str(folder / "home")}
    return subprocess.run(
        [TOOL, "runs", "--ledger", "ledger.jsonl", "--json", "study.json", "--steps", "6", *words],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.mark.slow
def test_what_was_taught_predicts_what_never_ran(tmp_path, validate):
    # The links are paced, so that these bounds hold on a busy machine too: 10 % on average, and 9 of 10 pairs in order.
    done = study(tmp_path, RUNS)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "study.json").read_text())
    validate(results, "study")
    validate(tmp_path / "ledger.jsonl", "ledger")
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    assert kinds == ["prediction"] * 6 + ["measurement"] * 6
    statistics = results["statistics"]
    assert statistics["mean_absolute_error"] <= 0.10, done.stdout
    pairs = statistics["pairs_over_8_percent"]
    assert pairs["pairs"] >= 8
    assert pairs["right"] >= 0.9 * pairs["pairs"], done.stdout


def test_what_was_recorded_is_judged_again_without_running(tmp_path, validate):
    runs = "\n".join([DEFAULTS, f"teach calibrate {plan(1, 1, 'all')}", f"flat predict {plan(0, 1, 'all')}"])
    done = study(tmp_path, runs, "--record", "recorded")
    assert done.returncode == 0, done.stderr
    first = json.loads((tmp_path / "study.json").read_text())
    for name in ("teach", "flat"):
        validate(tmp_path / "recorded" / f"{name}.json", "measured")
    lines = (tmp_path / "ledger.jsonl").read_text()
    again = study(tmp_path, runs, "--replay", "recorded", "--misses", "2")
    assert again.returncode == 0, again.stderr
    second = json.loads((tmp_path / "study.json").read_text())
    assert second["runs"][0]["measured_s"] == first["runs"][0]["measured_s"]
    assert second["runs"][0]["predicted_s"] == pytest.approx(first["runs"][0]["predicted_s"], rel=1e-9)
    assert (tmp_path / "ledger.jsonl").read_text() == lines, "nothing was promised"
    (tmp_path / "recorded" / "flat.json").write_text("{}")
    refused = study(tmp_path, runs, "--replay", "recorded")
    assert refused.returncode == 2 and "flat.json" in refused.stderr


def test_bursts_come_in_turn_and_are_judged_together(tmp_path, validate):
    runs = f"{DEFAULTS}\nteach calibrate {plan(1, 1, 'all')}\nflat predict {plan(0, 1, 'all')}\ndeep predict {plan(1, 1, 'input')}\n"
    done = study(tmp_path, runs, "--bursts", "2", "--teach-bursts", "3", "--record", "recorded")
    assert done.returncode == 0, done.stderr
    order = [line.split(":")[0] for line in done.stdout.splitlines() if line.startswith(("calibrated", "predicted", "ran"))]
    assert order == [
        "calibrated on teach", "calibrated again on teach", "calibrated again on teach", "predicted flat", "predicted deep",
        "ran flat", "ran deep", "ran flat", "ran deep",
    ]  # fmt: skip
    ledger = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    validate(tmp_path / "ledger.jsonl", "ledger")
    steps = [line["steps"] for line in ledger if line["kind"] == "measurement"]
    assert steps[2:] == [2 * count for count in steps[:2]], "the later one of a run is of both its bursts"
    first = json.loads((tmp_path / "study.json").read_text())["runs"]
    assert [run["measured_s"] for run in first] == [line["step_s"] for line in ledger[-2:]]
    assert len(json.loads((tmp_path / "recorded" / "flat.json").read_text())["bursts"]) == 2
    again = study(tmp_path, runs, "--replay", "recorded")
    assert again.returncode == 0, again.stderr
    second = json.loads((tmp_path / "study.json").read_text())["runs"]
    assert [run["measured_s"] for run in second] == [run["measured_s"] for run in first]


@pytest.mark.slow
def test_a_run_that_says_so_has_more_bursts_between_the_others(tmp_path):
    runs = f"{DEFAULTS}\nteach calibrate {plan(1, 1, 'all')} --bursts 2\nflat predict --bursts 4 {plan(0, 1, 'all')}\ndeep predict {plan(1, 1, 'input')}\n"
    done = study(tmp_path, runs, "--record", "recorded")
    assert done.returncode == 0, done.stderr
    order = [line.split(":")[0] for line in done.stdout.splitlines() if line.startswith(("calibrated", "ran"))]
    assert order == ["calibrated on teach", "calibrated again on teach", "ran flat", "ran flat", "ran flat", "ran deep", "ran flat"]
    first = json.loads((tmp_path / "study.json").read_text())["runs"]
    again = study(tmp_path, runs, "--replay", "recorded")
    assert again.returncode == 0, again.stderr
    second = json.loads((tmp_path / "study.json").read_text())["runs"]
    assert [run["measured_s"] for run in second] == [run["measured_s"] for run in first]


@pytest.mark.slow
def test_what_was_measured_outlasts_an_end_that_comes_too_soon(tmp_path, validate):
    (tmp_path / "runs").write_text(f"{DEFAULTS}\nflat predict {plan(0, 1, 'all')}\ndeep predict --bursts 100 {plan(1, 1, 'input')}\n")
    words = [TOOL, "runs", "--ledger", "ledger.jsonl", "--json", "study.json"]
    environment = {**os.environ, "SLUICE_HOME": str(tmp_path / "home")}
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as running:
        seen = set()
        for line in running.stdout:
            seen.add(line.split(":")[0])
            if {"ran flat", "ran deep"} <= seen:
                break
        running.kill()
    results = json.loads((tmp_path / "study.json").read_text())
    validate(results, "study")
    assert "deep" in [run["name"] for run in results["runs"]]


def test_a_run_by_a_policy_runs_its_plan(tmp_path):
    job = "defaults --backend host --machine here --model bytes-2m --seq-len 32 --batch-size 4 --micro-batch 1 --threads 1"
    done = study(tmp_path, f"{job}\nresident predict --policy resident\nzero predict --policy zero-offload\n")
    assert done.returncode == 0, done.stderr
    hashes = {run["name"]: run["plan_hash"] for run in json.loads((tmp_path / "study.json").read_text())["runs"]}
    assert hashes["resident"] != hashes["zero"]
    shown = subprocess.run(
        [program(), "predict", *job.split()[1:], "--policy", "zero-offload", "--json"],
        env={**os.environ, "SLUICE_HOME": str(tmp_path / "home")}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert hashes["zero"] == json.loads(shown.stdout)["plan_hash"]
    refused = study(tmp_path, f"{job}\nbf16 predict --policy megatrain\n")
    assert refused.returncode == 2 and "optimizer.state" in refused.stderr


def test_a_run_that_cannot_be_read_is_refused_by_name(tmp_path):
    refused = study(tmp_path, f"{DEFAULTS}\na calibrate\nb predict --machine nowhere\n")
    assert refused.returncode == 2
    assert "b: " in refused.stderr and "nowhere" in refused.stderr and refused.stderr.count("\n") == 1
    refused = study(tmp_path, f"{DEFAULTS}\na predict\nb guess\n")
    assert refused.returncode == 2
    assert "runs:3" in refused.stderr


@pytest.mark.slow
def test_what_teaches_runs_again_before_each_part(tmp_path, validate):
    runs = f"{DEFAULTS}\nteach calibrate {plan(1, 1, 'all')}\nflat predict {plan(0, 1, 'all')}\ndeep predict {plan(1, 1, 'input')}\n"
    done = study(tmp_path, runs, "--parts", "2", "--record", "recorded")
    assert done.returncode == 0, done.stderr
    order = [line.split(":")[0] for line in done.stdout.splitlines() if line.startswith(("calibrated", "predicted", "ran"))]
    assert order == [
        "calibrated on teach", "predicted flat", "ran flat", "calibrated again on teach", "predicted deep", "ran deep",
    ]  # fmt: skip
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    assert kinds == ["prediction", "measurement"] * 2
    validate(tmp_path / "ledger.jsonl", "ledger")
    first = json.loads((tmp_path / "study.json").read_text())["runs"]
    assert len(json.loads((tmp_path / "recorded" / "teach.json").read_text())["bursts"]) == 2
    again = study(tmp_path, runs, "--replay", "recorded", "--parts", "2")
    assert again.returncode == 0, again.stderr
    second = json.loads((tmp_path / "study.json").read_text())["runs"]
    assert [run["predicted_s"] for run in second] == pytest.approx([run["predicted_s"] for run in first], rel=1e-9)
    whole = study(tmp_path, runs, "--replay", "recorded")
    assert whole.returncode == 0, whole.stderr
    third = json.loads((tmp_path / "study.json").read_text())["runs"]
    assert third[0]["predicted_s"] != first[0]["predicted_s"], "a part is predicted without what was taught after it"
    assert third[1]["predicted_s"] == pytest.approx(first[1]["predicted_s"], rel=1e-9)

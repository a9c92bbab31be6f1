"""Steps that take turns: their mean is the prediction, in text, in JSON and in the graph that is written."""

import pytest
from conftest import REPOSITORY

# With so few sequences stores of one step's state hold up the next step's gradients.
RUN = ["--model", "qwen2.5-0.5b", "--machine", REPOSITORY / "tests/fixtures/machines/h200.json", "--seq-len", "1024", "--batch-size", "2", "--micro-batch", "2",
       "--residency", "host", "--hbm", "12GiB"]  # fmt: skip


def test_steps_that_take_turns_are_named_and_their_mean_is_the_step(run_sluice, validate):
    run_sluice("plan", *RUN, "-o", "plan.json")
    words = ["predict", *RUN, "--plan", "plan.json"]
    p = run_sluice(*words, "--json", "--graph-out", "graph.json").json()
    validate(p, "predict")
    cycle = p["step_cycle_s"]
    assert len(cycle) == 2 and abs(cycle[0] - cycle[1]) > p["step_s"] / 100
    assert p["step_s"] == pytest.approx(sum(cycle) / 2, abs=1e-9)
    assert run_sluice("sim", "graph.json", "--json").json()["period_s"] == p["step_s"]
    assert p["compute_s"] + sum(p["stalls"].values()) == pytest.approx(p["step_s"], abs=1e-9)
    assert "steps        take turns: " in run_sluice(*words).out


def test_steps_that_are_alike_say_nothing_of_it(run_sluice):
    words = ["predict", "--model", "bytes-2m", "--machine", "h200", "--seq-len", "64", "--batch-size", "8"]
    assert "step_cycle_s" not in run_sluice(*words, "--json").json()
    assert "take turns" not in run_sluice(*words).out

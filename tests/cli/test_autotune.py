"""sluice probe and autotune: the loop from a measured machine to a plan that train picks up."""

import json

import pytest

from conftest import available_verbs
from test_trace import CONFIG, TEXT

pytestmark = pytest.mark.skipif("autotune" not in available_verbs(), reason="this build does not measure")


@pytest.fixture
def run_words(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "text.txt").write_text(TEXT)
    return ["--model", "config.json", "data=text.txt", "--seq-len", "32", "--batch-size", "8", "--micro-batch", "1", "--backend", "host"]


def test_probe_writes_a_profile_that_here_then_is(tmp_path, run_sluice, validate):
    profile = tmp_path / "here.json"
    run_sluice("probe", "--quick", "-o", profile)
    validate(json.loads(profile.read_text()), "profile")
    shown = run_sluice("machines", "show", "here").out
    assert "measured" in shown


def test_autotune_keeps_plan_and_calibration_that_train_uses(tmp_path, run_sluice, validate, run_words):
    # Whether the prediction holds depends on who else uses this machine; what is kept does not.
    run = run_sluice("autotune", *run_words, "--minutes", "0.1", "--steps", "5", "--json", exit_code=None)
    assert run.code in (0, 5), run.err
    report = run.json()
    validate(report, "autotune")
    assert (run.code == 0) == report["holds"]
    if run.code == 5:
        assert "worst cost" in run.err
    trained = run_sluice("train", *run_words, "steps=3", f"out={tmp_path / 'run'}", "--json").json()
    assert trained["plan_hash"] == report["plan_hash"]


def test_verification_promises_before_it_runs(tmp_path, run_sluice, validate, run_words):
    ledger = tmp_path / "ledger.jsonl"
    run = run_sluice("autotune", *run_words, "--minutes", "0.1", "--steps", "5", "--verify", "--ledger", ledger, "--json", exit_code=None)
    assert run.code in (0, 5), run.err
    report = run.json()
    validate(report, "autotune")
    validate(ledger, "ledger")
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["prediction", "prediction", "measurement", "measurement"]
    verified = report["verification"]
    for plan in (verified["best_depth"], verified["one_buffer"]):
        assert plan["plan_hash"] not in verified["tuned_plan_hashes"]
        assert plan["ledger_line"] in [line["hash"] for line in lines[:2]]
        assert plan["steps"] >= 9


def test_a_sweep_is_predicted_run_and_explained(run_sluice, validate, run_words):
    pins = ["--set", "plan.weights=host", "--set", "plan.state=host", "--set", "plan.executor=cpu", "--set", "plan.gradients=host"]
    words = [*run_words, *pins, "--minutes", "0.1", "--steps", "4", "--sweep", "weight_buffers,activation_buffers", "--json"]
    run = run_sluice("autotune", *words, exit_code=None)
    assert run.code in (0, 5), run.err
    report = run.json()
    validate(report, "autotune")
    buffers, activations = report["sweep"]
    assert buffers["field"] == "weight_buffers"
    values = [point["value"] for point in buffers["points"]]
    assert values[:2] == [1, 2] and values == sorted(values)
    assert buffers["knee"] in values
    for point in buffers["points"]:
        assert (point["measured_s"] is None) != point["fits"]
    if not activations["points"]:
        assert activations["knee"] is None and "no use" in activations["why"]


@pytest.mark.parametrize("words, text", [(["--minutes", "soon"], "--minutes"), (["--steps", "2"], "--steps"), (["--sweep", "prefetch_dept"], "prefetch_depth")])
def test_wrong_flags_are_refused(refuses, run_words, words, text):
    refuses(["autotune", *run_words, *words], text)


@pytest.mark.parametrize("words", [["optimizer.state=bf16-weights"], ["--policy", "megatrain"]])
def test_what_is_predicted_only_is_refused_before_anything_runs(refuses, run_words, words):
    refuses(["autotune", *run_words, *words, "--minutes", "0"], "optimizer.state", "fp32")


def test_a_budget_below_nothing_is_refused(refuses, run_words):
    refuses(["autotune", *run_words, "--minutes", "-1"], "--minutes", "negative")


def test_a_page_that_cannot_be_written_is_said_before_anything_runs(refuses, run_words, tmp_path):
    refuses(["autotune", *run_words, "--report", tmp_path], f"cannot open {tmp_path}", exit_code=4)


def test_a_policys_plan_is_tuned_as_it_is_and_kept_for_no_run_without_it(tmp_path, run_sluice, validate, run_words):
    quick = ["--minutes", "0", "--steps", "4", "--json"]
    expected = run_sluice("predict", *run_words, "--policy", "zero-infinity", "--json").json()
    report = run_sluice("autotune", *run_words, "--policy", "zero-infinity", *quick, exit_code=None).json()
    validate(report, "autotune")
    assert {round["plan_hash"] for round in report["rounds"]} == {expected["plan_hash"]} == {report["plan_hash"]}
    assert report["plan_file"] is None
    trained = run_sluice("train", *run_words, "steps=2", "out=run", "--json").json()
    assert trained["plan_source"] == "searched"
    # A plan file is one too.
    plan = tmp_path / "run" / "plan.json"
    report = run_sluice("autotune", *run_words, "--plan", plan, *quick, exit_code=None).json()
    assert report["rounds"][0]["plan_hash"] == trained["plan_hash"] and report["plan_file"] is None
    lacking = run_sluice("autotune", *run_words, "--plan", plan, "--hbm", "64 KiB", *quick, exit_code=3).json()
    assert lacking["tier"] == "hbm" and lacking["remedies"]

"""Groups of micro-batches: a key of a run, part of the job, the same bits under every plan and after a resume."""

import json

import pytest
from conftest import available_verbs
from small_run import bits

engine = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")

SIZES = ["--model", "bytes-2m", "--machine", "h200", "--seq-len", "64", "--batch-size", "8"]
OTHER_PLAN = ["--set", "plan.rounds=4", "--set", "plan.keep=input", "--residency", "host"]
SAME = ("loss", "val_loss", "weights_sha256", "state_sha256", "job_hash")


def test_a_prediction_and_a_plan_are_of_the_job_with_its_groups(run_sluice, validate):
    predicted = run_sluice("predict", *SIZES, "--groups", "4", "--json").json()
    validate(predicted, "predict")
    planned = run_sluice("plan", *SIZES, "groups=4", "-o", "plan.json", "--effort", "0.01", "--json").json()
    validate(planned, "plan-result")
    assert planned["job_hash"] == predicted["job_hash"]
    again = run_sluice("predict", *SIZES, "groups=4", "--plan", "plan.json", "--json").json()
    assert again["plan_hash"] == planned["plan_hash"]
    run_sluice("predict", *SIZES, "--plan", "plan.json", exit_code=2)


def test_what_groups_cannot_be_is_refused_in_one_line(refuses, tmp_path):
    refuses(["predict", *SIZES, "--groups", "9"], "groups: 9 must be between 1 and the step's 8 micro-batches")
    refuses(["predict", *SIZES, "groups=2", "--micro-batch", "8"], "groups: 2", "the step's 1 micro-batches")
    refuses(["predict", *SIZES, "groups=none"], "groups")


@engine
def test_a_run_with_groups_has_its_bits_under_every_plan_and_after_a_resume(
    run_sluice, refuses, validate, flags, tmp_path
):
    words = ["train", *flags, "--groups", "3", "steps=6"]
    whole = run_sluice(*words, "out=whole", "--json").json()
    assert "groups: 3\n" in (tmp_path / "whole/run.yaml").read_text()
    run_sluice("train", *flags, "--groups", "3", "steps=3", "out=run")
    checkpoint = json.loads((tmp_path / "run/checkpoints/step-3/checkpoint.json").read_text())
    assert checkpoint["job_hash"] == whole["job_hash"]
    refuses(["train", *flags, "--groups", "2", "steps=6", "out=run", "--resume"], "--resume", "another job")
    resumed = run_sluice(*words, "out=run", "--resume", *OTHER_PLAN, "--json").json()
    validate(resumed, "train-result")
    assert resumed["plan_hash"] != whole["plan_hash"]
    assert {key: resumed[key] for key in SAME} == {key: whole[key] for key in SAME}
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")
    # Evaluation adds no gradients: a run's groups ask nothing of its batch.
    assert run_sluice("eval", "whole", "--data", "text.txt", "--seq-len", "32", "--batch-size", "1", "--json").json()


@engine
def test_a_rehearsal_runs_the_sums(run_sluice, flags, tmp_path):
    run_sluice("train", "--rehearse", *flags, "--groups", "4", "steps=3", "out=rehearsed", "--trace-out", "t.json")
    # After the last of four groups two sums are added.
    assert (tmp_path / "t.json").read_text().count("/sum/L0/g3/sum") >= 2

"""Training on several ranks of the host backend: the bits of one rank, whatever number saved the checkpoint."""

import json

import pytest
from conftest import available_verbs
from disk_shares import WAITING
from small_run import bits

pytestmark = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")

PLAN = ["--set", "plan.keep=input", "--residency", "host"]
SAME = ("loss", "val_loss", "weights_sha256", "state_sha256", "job_hash")


@pytest.fixture
def words(flags):
    """A run whose four micro-batches are a group each."""
    return [*flags, "--groups", "4"]


@pytest.fixture
def plan_of_ranks(run_sluice, words, tmp_path):
    """Writes a plan of so many ranks for that run and returns its file."""
    run_sluice("plan", *words, *PLAN, "-o", "one.json", "--effort", "0.01")
    one = json.loads((tmp_path / "one.json").read_text())

    def write(ranks):
        plan = {key: value for key, value in one.items() if key not in ("layout", "prediction")}
        plan |= {"ranks": ranks, "rounds": 1, "micro_batches_per_round": 4 // ranks}
        path = tmp_path / f"ranks-{ranks}.json"
        path.write_text(json.dumps(plan))
        return path

    return write


def test_a_run_has_the_bits_of_one_rank_on_any_number_and_resumes_on_another(
    run_sluice, validate, words, plan_of_ranks, tmp_path
):
    whole = run_sluice("train", *words, "steps=6", "out=whole", "--json").json()
    for before, after in ((2, 4), (4, 1)):
        run = f"run-{before}"
        run_sluice("train", *words, "steps=3", f"out={run}", "--plan", plan_of_ranks(before))
        found = run_sluice(
            "train", *words, "steps=6", f"out={run}", "--resume", "--plan", plan_of_ranks(after), "--json"
        ).json()
        validate(found, "train-result")
        assert {key: found[key] for key in SAME} == {key: whole[key] for key in SAME}
        assert bits(tmp_path / run) == bits(tmp_path / "whole")


def test_devices_are_planned_for_and_change_no_bit(run_sluice, validate, flags, tmp_path):
    one = run_sluice("train", *flags, "--groups", "4", "steps=4", "out=one", "--json").json()
    for devices in ("2", "4"):
        words = ["--groups", "4", "--devices", devices]
        found = run_sluice("train", *flags, *words, "steps=4", f"out=on-{devices}", "--json").json()
        assert {key: found[key] for key in SAME} == {key: one[key] for key in SAME}
        assert json.loads((tmp_path / f"on-{devices}" / "plan.json").read_text())["ranks"] == int(devices)
        validate(found, "train-result")
        assert [each["rank"] for each in found["ranks"]] == list(range(int(devices)))
        assert found["last_rank"] < int(devices) and all(each["compute_s"] > 0 for each in found["ranks"])
    assert "ranks" not in one
    run_sluice("trace", "on-2")
    tracks = (tmp_path / "on-2" / "trace.json").read_text()
    assert "measured, rank 1" in tracks and "measured, rank 2" not in tracks
    words = [*flags, *WAITING, "--groups", "4", "--devices", "2", "steps=4", "out=on-disk", "--json"]
    found = run_sluice("train", *words).json()
    assert {key: found[key] for key in SAME} == {key: one[key] for key in SAME}
    assert found["ssd"]["state_bytes"] > 0
    # Groups are those of the first start, and so is the job on another number.
    run_sluice("train", *flags, "--devices", "4", "steps=2", "out=begun")
    assert "groups: 4\ndevices: 4\n" in (tmp_path / "begun" / "run.yaml").read_text()
    found = run_sluice("train", "begun", "--resume", "--devices", "2", "steps=4", "--json").json()
    assert {key: found[key] for key in SAME} == {key: one[key] for key in SAME}


def test_weights_pulled_from_shared_memory_change_no_bit(run_sluice, validate, words, tmp_path):
    one = run_sluice("train", *words, "steps=3", "out=one", "--json").json()
    pulls = [*words, *PLAN, "--devices", "2", "plan.gather=host"]
    found = run_sluice("train", *pulls, "steps=2", "out=run", "--json").json()
    validate(tmp_path / "run" / "plan.json", "plan")
    assert json.loads((tmp_path / "run" / "plan.json").read_text())["gather"] == "host"
    tasks = json.loads((tmp_path / "run" / "measured.trace").read_text())["tasks"]
    kinds = {task["kind"] for task in tasks}
    assert "barrier" in kinds and "gather_weights" not in kinds
    found = run_sluice("train", *words, "steps=3", "out=run", "--resume", "--devices", "4", "plan.gather=fabric", "--json").json()
    assert {key: found[key] for key in SAME} == {key: one[key] for key in SAME}
    assert bits(tmp_path / "run") == bits(tmp_path / "one")


def test_a_run_of_one_device_has_one_group(run_sluice, flags, refuses, tmp_path):
    run_sluice("train", *flags, "steps=2", "out=one")
    assert "groups" not in (tmp_path / "one" / "run.yaml").read_text()
    refuses(["train", "one", "--resume", "--devices", "2", "steps=3"], "devices: 2 cannot share", "1 group: set it to 1")


def test_devices_are_rehearsed_and_tuned(run_sluice, refuses, validate, words, plan_of_ranks, tmp_path):
    words = [*words, "--plan", plan_of_ranks(2)]
    rehearsed = run_sluice("train", "--rehearse", *words, "steps=3", "out=rehearsed", "--json").json()
    validate(rehearsed, "rehearsal")
    assert rehearsed["steps"] == 3
    trace = (tmp_path / "rehearsed" / "measured.trace").read_text()
    assert "gather_weights" in trace and "exchange_gradients" in trace
    quick = ["--minutes", "0", "--steps", "4", "--json"]
    tuned = run_sluice("autotune", *words, *quick, exit_code=None).json()
    validate(tuned, "autotune")
    refuses(["autotune", *words, "--verify"], "devices: --verify knows one device")

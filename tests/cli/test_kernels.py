"""A user's own table of kernels in a profile: --kernels, machine.kernels of a run file, machines show, and refusals."""

import json

import pytest

from conftest import REPOSITORY

CATALOGUE = REPOSITORY / "planner" / "catalogue" / "kernels"
JOB = ["--model", "qwen2.5-1.5b", "--seq-len", 1024, "--batch-size", 16, "--micro-batch", 16, "--policy", "zero-offload"]


def kernels(tmp_path, device="h200", families=("gemm", "attention"), speed=1):
    """A kernel model with these families, all of whose kernels run at `speed` times the catalogue's."""
    model = json.loads((CATALOGUE / f"{device}.json").read_text())
    model["families"] = [{**each, "speed": speed} for each in model["families"] if each["kind"] in families]
    path = tmp_path / "k.json"
    path.write_text(json.dumps(model))
    return path


def step(run_sluice, *words):
    return run_sluice("predict", *JOB, *words, "--json").json()["step_s"]


def test_a_table_counts_in_predictions(run_sluice, validate, tmp_path):
    path = kernels(tmp_path)
    validate(path, "kernels")
    known = step(run_sluice, "--machine", "h200", "--kernels", path)
    assert known != step(run_sluice, "--machine", "h200")
    slow = step(run_sluice, "--machine", "h200", "--kernels", kernels(tmp_path, speed=0.5))
    assert slow > 1.3 * known


def test_a_run_file_and_a_profile_name_it_too(run_sluice, validate, tmp_path):
    path = kernels(tmp_path, families=["gemm"])
    flag = step(run_sluice, "--machine", "h200", "--kernels", path)
    assert step(run_sluice, "--machine", "h200", "--set", f"machine.kernels={path}") == flag
    assert step(run_sluice, "--machine", "h200", "--kernels", path, "--set", "machine.kernels=null") == step(
        run_sluice, "--machine", "h200"
    )
    run = tmp_path / "run.yaml"
    run.write_text(
        "model: qwen2.5-1.5b\nseq_len: 1024\nbatch_size: 16\nmicro_batch: 16\npolicy: zero-offload\nmachine: h200\n"
        f"set:\n  machine.kernels: {path}\n"
    )
    assert run_sluice("predict", run, "--json").json()["step_s"] == flag
    profile = tmp_path / "mine.json"
    profile.write_text(run_sluice("machines", "show", "h200", "--kernels", path, "--json").out)
    validate(profile, "profile")
    assert step(run_sluice, "--machine", profile) == pytest.approx(flag, rel=1e-6)


def test_machines_shows_where_they_come_from(run_sluice, tmp_path):
    shown = run_sluice("machines", "show", "h200", "--kernels", kernels(tmp_path, families=["gemm"])).out
    assert "kernels, gemm: by shape, 35742 of NVIDIA H200 measured" in shown
    assert "kernels, attention: none of NVIDIA H200, the rates above stand" in shown
    assert "kernels, gemm" not in run_sluice("machines", "show", "h200").out


def test_what_is_not_the_machines_is_refused(refuses, tmp_path):
    predict = ["predict", *JOB, "--machine"]
    path = kernels(tmp_path)
    refuses([*predict, "h100-sxm", "--kernels", path], "k.json is of NVIDIA H200", "machine h100-sxm has the GPU h100-sxm")
    refuses([*predict, "here", "--kernels", path], "machine.kernels: ", "has no GPU")
    refuses([*predict, "h200", "--kernels", tmp_path / "gone.json"], "machine.kernels: there is no file", "sluice fit kernels")
    other = tmp_path / "other.json"
    other.write_text('{"schema": "sluice/profile/1"}')
    refuses([*predict, "h200", "--kernels", other], "other.json is no kernel model", "sluice fit kernels")
    empty = kernels(tmp_path, families=[])
    refuses([*predict, "h200", "--kernels", empty], "k.json has neither products nor attention")
    refuses(["machines", "--kernels", path], "--kernels: name the machine")


def test_a_policy_states_its_attention_library(run_sluice, refuses):
    words = ["predict", *JOB[:-2], "--machine", "h100-sxm", "--policy", "ml_dataflow"]
    assert run_sluice(*words, "--set", "policy.attention=flash2", "--json").json()["step_s"] > 0
    refuses([*words, "--set", "policy.attention=flash4"], 'policy.attention: "flash4" is not one of cudnn, flash, flash2')

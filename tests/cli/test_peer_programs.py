"""Peers' own programs, predicted from catalogue entries, beside what they took on one H200 (docs/policies.md)."""

import pytest

MEGATRAIN = [  # model, sequences, machine, seconds a step, and how near the prediction comes (docs/policies.md)
    ("qwen2.5-7b", 32, "h200", 8.665, 0.06),
    ("qwen2.5-7b", 64, "h200", 11.575, 0.06),
    ("qwen2.5-7b", 148, "h200", 22.829, 0.06),
    ("qwen2.5-3b-untied", 32, "h200", 3.875, 0.06),
    ("qwen2.5-14b", 32, "h200-64c", 14.702, 0.11),
]


def predicted(run_sluice, model, machine, sequences, micro_batch, policy):
    return run_sluice("predict", "--model", model, "--machine", machine, "--seq-len", "1024", "--batch-size", sequences,
                      "--micro-batch", micro_batch, "--policy", *policy, "--json").json()  # fmt: skip


@pytest.mark.parametrize(("model", "sequences", "machine", "measured", "near"), MEGATRAIN)
def test_megatrains_program_is_near_what_it_took(run_sluice, validate, model, sequences, machine, measured, near):
    p = predicted(run_sluice, model, machine, str(sequences), str(sequences), ["megatrain"])
    validate(p, "predict")
    assert p["step_s"] == pytest.approx(measured, rel=near)


def test_megatrains_schedule_is_far_below_its_program(run_sluice):
    schedule, program = (predicted(run_sluice, "qwen2.5-7b", "h200", "32", "32", [name]) for name in ("megatrain-schedule", "megatrain"))
    assert schedule["step_s"] < program["step_s"] / 2
    assert schedule["plan"].get("host_passes") is None and len(program["plan"]["host_passes"]) == 5


def test_optimizer_and_clip_of_fsdp2_are_within_a_tenth_of_what_they_took(run_sluice):
    p = predicted(run_sluice, "qwen2.5-3b-untied", "h200", "32", "32", ["fsdp2-offload-eager"])
    assert p["stalls"]["optimizer"] == pytest.approx(1.836, rel=0.1)


def test_a_third_forward_pass_and_passes_of_the_cpu_cost_what_they_say(run_sluice, tmp_path):
    text = "name: a\noperators: eager\nplan: {keep: input, when: after, checkpoint_interval: 4}\n"
    passes = "passes:\n  - {name: twice, moment: after_update, over: all, threads: all, bytes: 56}\n"
    steps = {}
    for name, content in {"plain": text.replace(", checkpoint_interval: 4", ""), "again": text, "passes": text + passes}.items():
        (tmp_path / f"{name}.yaml").write_text(content)
        steps[name] = predicted(run_sluice, "qwen2.5-1.5b", "h200", "32", "32", [tmp_path / f"{name}.yaml"])
    plain, again, slow = (steps[name] for name in ("plain", "again", "passes"))
    assert again["compute_s"] / plain["compute_s"] == pytest.approx(5 / 4, abs=0.04)  # Forward is a quarter of the whole.
    # 56 bytes a parameter take as long as two updates of 28, while the GPU waits.
    updates = slow["stalls"]["optimizer"] - again["stalls"]["optimizer"]
    assert updates == pytest.approx(2 * slow["parameters"] / 5.275e9, rel=0.02)


@pytest.mark.parametrize("policy", [["megatrain"], ["fsdp2-offload-eager"], ["resident", "--set", "policy.operators=eager"]])
def test_train_refuses_a_peers_program_in_one_line(refuses, tmp_path, policy):
    data = tmp_path / "text"
    data.write_text("a b c d " * 400)
    refuses(["train", "--model", "bytes-2m", "--machine", "here", "--backend", "host", "--seq-len", "64", "--batch-size", "8",
             "--data", data, "--policy", *policy], "is predicted and not executed in this version")  # fmt: skip


def test_operators_of_a_policy_are_named_and_refused_by_name(run_sluice, refuses):
    words = ["predict", "--model", "bytes-2m", "--machine", "h200", "--seq-len", "64", "--batch-size", "8"]
    assert "policy       states operators eager" in run_sluice(*words, "--policy", "megatrain").out
    assert "operators" not in run_sluice(*words, "--policy", "megatrain-fp32").out
    refuses([*words, "--policy", "megatrain", "--set", "policy.operators=lazy"], "policy.operators", "fused, eager")

"""Mixtures of experts through the whole program: trained, balanced, streamed, exported, evaluated and generated from."""

import json

import pytest
from conftest import available_verbs, once
from small_run import CONFIG, bits, small_flags

pytestmark = [
    pytest.mark.skipif("train" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"),
    once,
]
QWEN = {
    **CONFIG, "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "head_dim": 16,
    "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "norm_topk_prob": True,
}  # fmt: skip
MIXTRAL = {
    **CONFIG, "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "intermediate_size": 64,
    "num_local_experts": 4, "num_experts_per_tok": 2, "tie_word_embeddings": False,
}  # fmt: skip


def small(tmp_path, config):
    (tmp_path / "config.json").write_text(json.dumps(config))
    return small_flags(tmp_path, "config.json")


@pytest.mark.parametrize("config", [QWEN, MIXTRAL], ids=["qwen3_moe", "mixtral"])
def test_the_loss_falls_and_the_folder_is_the_familys(run_sluice, validate, tmp_path, config):
    flags = small(tmp_path, config)
    result = run_sluice("train", *flags, "steps=60", "--json", "out=run").json()
    validate(result, "train-result")
    losses = [json.loads(line)["loss"] for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert losses[0] == pytest.approx(5.545, abs=0.15)  # log 256: bytes guessed.
    assert losses[-1] < 0.6 * losses[0]

    run_sluice("export", "run", "-o", "out")
    header = (tmp_path / "out/model.safetensors").read_bytes()
    names = set(json.loads(header[8 : 8 + int.from_bytes(header[:8], "little")]))
    qwen = config is QWEN
    expert = "mlp.experts.7.down_proj" if qwen else "block_sparse_moe.experts.3.w2"
    assert f"model.layers.1.{expert}.weight" in names
    assert f"model.layers.0.{'mlp' if qwen else 'block_sparse_moe'}.gate.weight" in names
    written = json.loads((tmp_path / "out/config.json").read_text())
    assert written["model_type"] == config["model_type"] and written["num_experts_per_tok"] == 2

    # A folder that is read back continues where the run ended, on a device too small for it.
    evaluate = ["--data", "text.txt", "--seq-len", "32", "--machine", "here", "--backend", "host", "--host", "1GiB"]
    whole = run_sluice("eval", "out", *evaluate, "--hbm", "8MiB", "--json").json()
    streamed = run_sluice("eval", "out", *evaluate, "--hbm", "420KiB", "--batch-size", "4", "--json").json()
    assert streamed["streamed_bytes"] > 0
    assert whole["loss"] == pytest.approx(streamed["loss"], rel=1e-4)
    assert whole["loss"] < 0.7 * losses[0]
    text = run_sluice("generate", "out", "--prompt", "one red is ", "--max-new-tokens", "8", *evaluate[4:],
                      "--hbm", "420KiB", "--json").json()  # fmt: skip
    assert len(text["ids"]) == 8


@pytest.mark.parametrize("config", [QWEN, MIXTRAL], ids=["qwen3_moe", "mixtral"])
@pytest.mark.parametrize("compute", ["fp32", "bf16"])
def test_experts_that_are_loaded_as_tokens_need_them_change_no_token(run_sluice, validate, tmp_path, config, compute):
    run_sluice("train", *small(tmp_path, config), "steps=20", "out=run")
    generate = ["generate", "run", "--prompt", "one red is ", "--max-new-tokens", "24", "--ignore-eos",
                f"compute={compute}", "--json"]  # fmt: skip
    resident = run_sluice(*generate, "--hbm", "8MiB").json()
    streamed = run_sluice(*generate, "--hbm", "300KiB" if compute == "bf16" else "500KiB").json()
    validate(streamed, "generate")
    assert resident["streamed_bytes"] == 0 < streamed["streamed_bytes"]
    assert streamed["ids"] == resident["ids"]


def test_a_token_moves_its_experts_and_not_the_others(run_sluice):
    """Qwen3-30B-A3B on a GPU that holds a third of it: 8 of 128 experts a block and token."""
    flags = ["generate", "qwen3-30b-a3b", "--machine", "rtx-4090", "--host", "128GiB", "--max-new-tokens", "8", "--json",
             "--dry-run"]  # fmt: skip
    token = run_sluice(*flags, "--prompt", "a").json()
    prompt = run_sluice(*flags, "--prompt", "a" * 512).json()
    assert token["resident_units"] == pytest.approx(prompt["resident_units"], abs=2)
    assert token["streamed_bytes"] < 0.15 * prompt["streamed_bytes"]


@pytest.mark.parametrize("layers", [{}, {"decoder_sparse_step": 2}], ids=["experts in all", "dense layers between"])
def test_plans_change_no_bit_and_runs_resume(run_sluice, tmp_path, layers):
    flags = [*small(tmp_path, {**QWEN, **layers}), "router_aux_loss_coef=0.01"]
    first = run_sluice("train", *flags, "steps=4", "--json", "out=a").json()
    other = run_sluice("train", *flags, "steps=4", "--json", "out=b", "--set", "plan.rounds=2", "--set",
                       "plan.keep=input", "--set", "plan.copy_chunk=8 KiB", "--residency", "host").json()  # fmt: skip
    assert first["plan_hash"] != other["plan_hash"]
    assert bits(tmp_path / "a") == bits(tmp_path / "b")
    assert first["state_sha256"] == other["state_sha256"]
    run_sluice("train", *flags, "steps=2", "out=c")
    resumed = run_sluice("train", "--resume", "c/run.yaml", "steps=4", "--json").json()
    assert resumed["state_sha256"] == first["state_sha256"]


def test_balancing_changes_what_is_learnt_and_not_the_loss_that_is_said(run_sluice, validate, tmp_path):
    flags = small(tmp_path, MIXTRAL)
    plain = run_sluice("train", *flags, "steps=3", "--json", "out=plain").json()
    balanced = run_sluice("train", *flags, "steps=3", "--json", "out=balanced", "router_aux_loss_coef=0.1").json()
    assert plain["job_hash"] != balanced["job_hash"]
    assert plain["weights_sha256"] != balanced["weights_sha256"]
    # The first loss is the cross-entropy of the same weights either way.
    assert bits(tmp_path / "plain")[0][1] == bits(tmp_path / "balanced")[0][1]
    # What it adds stands beside it: 0.1 E sum F P, where F sums to the 2 experts of a token and P to 1, and an
    # untrained router is nearly even: 0.1 x 2.
    assert "balance_loss" not in plain
    validate(balanced, "train-result")
    lines = [json.loads(line) for line in (tmp_path / "balanced/metrics.jsonl").read_text().splitlines()]
    for line in lines:
        validate(line, "metrics")
        assert line["balance_loss"] == pytest.approx(0.2, rel=0.05)
    assert balanced["balance_loss"] == lines[-1]["balance_loss"]
    assert len({line["balance_loss"] for line in lines}) == 3


def test_what_cannot_be_balanced_or_read_is_refused_by_name(run_sluice, refuses, tmp_path):
    dense = small(tmp_path, CONFIG)
    refuses(["train", *dense, "router_aux_loss_coef=0.01"], "router_aux_loss_coef", "no experts")
    flags = small(tmp_path, MIXTRAL)
    refuses(["train", *flags, "router_aux_loss_coef=-1"], "router_aux_loss_coef")
    flags = small(tmp_path, {**QWEN, "num_experts_per_tok": 0})
    refuses(["train", *flags], "num_experts_per_tok: 0 must be at least 1")


def test_a_rehearsal_of_experts_stays_finite(run_sluice, validate, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({**QWEN, "num_hidden_layers": 30}))
    result = run_sluice("train", "--rehearse", "--model", "config.json", "--machine", "here", "--backend", "host",
                        "--seq-len", "32", "--batch-size", "2", "--hbm", "12MiB", "--residency", "host", "--host",
                        "40MiB", "machine.h2d=400 MB/s", "machine.d2h=400 MB/s", "steps=3", "out=run",
                        "--json").json()  # fmt: skip
    validate(result, "rehearsal")
    assert result["values"]["fault"] is None
    assert result["host"]["needed_bytes"] > result["host"]["window_bytes"]

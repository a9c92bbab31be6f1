"""What `models show` makes of a config.json, key by key, beside what transformers makes of it: every key of every
family is left out once, and the defaults are read from transformers itself.

SLUICE_TRANSFORMERS_PYTHON may name another Python whose transformers (4.51 or later, or 5) is asked instead."""

import json
import os
import pathlib
import subprocess

import pytest
from conftest import REPOSITORY, once

PYTHON = pathlib.Path(os.environ.get("SLUICE_TRANSFORMERS_PYTHON", REPOSITORY / ".venv-transformers" / "bin" / "python"))
pytestmark = [
    pytest.mark.skipif(not PYTHON.exists(), reason="transformers is not installed (scripts/install tests, from PyPI)"),
    once,
]

# No value is a default, and every default of one key goes with the values of the others.
COMMON = {
    "vocab_size": 512, "hidden_size": 256, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 64,
    "num_key_value_heads": 16, "hidden_act": "silu", "max_position_embeddings": 4321, "initializer_range": 0.5,
    "rms_norm_eps": 1e-3, "tie_word_embeddings": True, "rope_theta": 12345.0, "head_dim": 32,
}  # fmt: skip
WINDOWS = {"use_sliding_window": True, "sliding_window": 17, "max_window_layers": 0}
EXPERTS = {"num_experts_per_tok": 3}
# Families whose newer classes pass over a base that stands alone, or take it for some of the layers.
THETALESS = {key: value for key, value in COMMON.items() if key != "rope_theta"}
GEMMA = {**{key: value for key, value in COMMON.items() if key != "hidden_act"}, "tie_word_embeddings": False,
         "attention_bias": True}  # fmt: skip
BOUNDS = {"query_pre_attn_scalar": 64, "attn_logit_softcapping": 7.0, "final_logit_softcapping": 9.0,
          "sliding_window": 17}  # fmt: skip
HYBRID = {"partial_rotary_factor": 0.5, "linear_num_key_heads": 4, "linear_num_value_heads": 64,
          "linear_key_head_dim": 24, "linear_value_head_dim": 40}  # fmt: skip
FAMILIES = {
    "llama": {**COMMON, "attention_bias": True, "mlp_bias": True},
    "mistral": {**COMMON, "sliding_window": 17},
    "mixtral": {**COMMON, "sliding_window": 17, "num_local_experts": 5, **EXPERTS},
    "qwen2": {**COMMON, **WINDOWS},
    "qwen3": {**COMMON, **WINDOWS, "attention_bias": True},
    "qwen3_moe": {**COMMON, **WINDOWS, "attention_bias": True, "num_experts": 12, "moe_intermediate_size": 24,
                  "norm_topk_prob": True, **EXPERTS},
    "gemma": {**GEMMA, "hidden_act": "silu"},
    "gemma2": {**GEMMA, **BOUNDS, "num_key_value_heads": 2, "hidden_activation": "silu"},
    "gemma3_text": {**GEMMA, **BOUNDS, "hidden_activation": "silu", "num_key_value_heads": 2,
                    "sliding_window_pattern": 2, "rope_local_base_freq": 54321.0},
    "olmo2": {**COMMON, "attention_bias": True},
    "olmo3": {**THETALESS, "attention_bias": True, "sliding_window": 17},
    "olmoe": {**COMMON, "attention_bias": True, "num_experts": 12, "norm_topk_prob": True, **EXPERTS},
    "smollm3": {**COMMON, "attention_bias": True, "mlp_bias": True, "no_rope_layer_interval": 2},
    "ministral": {**COMMON, "sliding_window": 17},
    "ministral3": {**THETALESS, "sliding_window": 17},
    "phi3": {**COMMON, "partial_rotary_factor": 0.5, "sliding_window": 17},
    "glm": {**COMMON, "attention_bias": False, "partial_rotary_factor": 0.25},
    "glm4": {**COMMON, "attention_bias": False, "partial_rotary_factor": 0.25},
    "glm4_moe": {**COMMON, "attention_bias": True, "hidden_size": 768, "partial_rotary_factor": 0.5, "use_qk_norm": True,
                 "n_routed_experts": 12, "moe_intermediate_size": 24, "n_shared_experts": 2, "n_group": 2,
                 "topk_group": 2, "first_k_dense_replace": 2, "norm_topk_prob": False, "routed_scaling_factor": 2.5,
                 **EXPERTS},
    "granite": {**COMMON, "attention_bias": True, "mlp_bias": True, "embedding_multiplier": 12.0,
                "attention_multiplier": 0.5, "residual_multiplier": 0.25, "logits_scaling": 16.0},
    "seed_oss": {**COMMON, "attention_bias": False, "attention_out_bias": True, "mlp_bias": True},
    "ernie4_5": {**COMMON, "use_bias": True},
    "arcee": {**COMMON, "hidden_act": "relu2", "attention_bias": True, "mlp_bias": True},
    "cwm": {**THETALESS, "hidden_size": 384, "mlp_bias": True, "sliding_window": 17},
    "exaone4": {**COMMON, "sliding_window": 17, "sliding_window_pattern": 2},
    "qwen2_moe": {**COMMON, "num_experts": 12, "moe_intermediate_size": 24, "norm_topk_prob": True,
                  "shared_expert_intermediate_size": 40, **EXPERTS},
    "minimax_m2": {**COMMON, "num_local_experts": 12, "rotary_dim": 8, **EXPERTS},
    "qwen3_next": {**COMMON, **HYBRID, "num_experts": 12, "moe_intermediate_size": 24, "norm_topk_prob": False,
                   "shared_expert_intermediate_size": 40, **EXPERTS},
    "qwen3_5_text": {**COMMON, **HYBRID},
    "dots1": {**COMMON, "attention_bias": True, "sliding_window": 17, "max_window_layers": 1, "n_routed_experts": 12,
              "num_experts_per_tok": 3, "moe_intermediate_size": 24, "n_shared_experts": 3, "n_group": 2, "topk_group": 2,
              "first_k_dense_replace": 2, "norm_topk_prob": True, "routed_scaling_factor": 2.5},
    "hunyuan_v1_dense": {**COMMON, "attention_bias": True},
    "ernie4_5_moe": {**{key: value for key, value in COMMON.items() if key != "head_dim"}, "moe_num_experts": 12, "hidden_size": 640,
                     "num_key_value_heads": 2,
                     "moe_k": 3, "moe_intermediate_size": 24, "moe_num_shared_experts": 3,
                     "tie_word_embeddings": False},
}  # fmt: skip
# Keys that transformers takes null for, and what it means by that differs by family.
NULLS = {
    "llama": ["num_key_value_heads", "head_dim", "rope_scaling"],
    "mistral": ["num_key_value_heads", "head_dim", "sliding_window"],
    "mixtral": ["num_key_value_heads", "sliding_window"],
    "qwen2": ["num_key_value_heads", "sliding_window", "rope_scaling"],
    "qwen3": ["num_key_value_heads", "sliding_window"],
    "qwen3_moe": ["sliding_window", "mlp_only_layers"],
}


def variants():
    """Config.json objects with a text that says what is special about each."""
    found = []
    for family, keys in FAMILIES.items():
        whole = {"model_type": family, **keys}
        found.append((f"{family} whole", whole))
        if family != "glm4_moe":  # Its default heads do not divide its default hidden_size.
            found.append((f"{family} without a key", {"model_type": family}))
        for key in keys:
            if key == "max_window_layers" and family == "qwen3_moe":
                continue  # Versions of transformers differ on it; tests/planner/models/config_test.cpp.
            found.append((f"{family} without {key}", {k: v for k, v in whole.items() if k != key}))
        for key in NULLS.get(family, []):
            found.append((f"{family} with {key} null", {**whole, key: None}))
    return found


def of_sluice(shown):
    """The same facts from `models show --json`."""
    config = shown["config"]
    found = {key: value for key, value in config.items() if key not in ("architectures", "model_type", "_name_or_path")}
    layers = config["num_hidden_layers"]
    kinds = config.get("layer_types", ["sliding_attention"] * layers)
    found["windows"] = [config.get("sliding_window") if kind == "sliding_attention" else None for kind in kinds]
    rope = config.get("rope_parameters") or {**(config["rope_scaling"] or {}), "rope_theta": config["rope_theta"]}
    found["rope_type"] = rope.get("rope_type", rope.get("type", "default"))
    local = [config["rope_local_base_freq"]] if "rope_local_base_freq" in config else []
    found["thetas"] = [*(local or [rope["rope_theta"]] * (config["model_type"] == "olmo3")), rope["rope_theta"]]
    found["activation"] = config.get("hidden_activation", config.get("hidden_act"))
    rotated = config["rotary_dim"] / config["head_dim"] if "rotary_dim" in config else 1.0
    found.setdefault("partial_rotary_factor", rotated)
    return found


def compared(run_sluice, tmp_path, named):
    asked = json.dumps([config for _, config in named])
    script = REPOSITORY / "tests" / "reference" / "config_side.py"
    done = subprocess.run([str(PYTHON), str(script)], input=asked, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    expected = json.loads(done.stdout)["configs"]
    wrong = []
    for (name, config), theirs in zip(named, expected):
        if theirs is None:
            continue  # This version of transformers refuses the null.
        (tmp_path / "config.json").write_text(json.dumps(config))
        ours = of_sluice(run_sluice("models", "show", "config.json", "--json").json())
        wrong += [f"{name}: {key} is {ours.get(key)}, and {value} in transformers"
                  for key, value in theirs.items() if ours.get(key) != value]  # fmt: skip
    return wrong


def test_every_key_of_every_family_has_the_default_of_transformers(run_sluice, tmp_path):
    named = variants()
    assert len(named) > 100
    assert compared(run_sluice, tmp_path, named) == []


def test_rope_is_read_as_transformers_reads_it(run_sluice, tmp_path):
    yarn = {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 2160}
    whole = {"model_type": "qwen2", **FAMILIES["qwen2"], "max_position_embeddings": 4320}
    llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
              "original_max_position_embeddings": 8192}  # fmt: skip
    named = [(str(scaling), {**whole, "rope_scaling": scaling})
             for scaling in [{"type": "linear", "factor": 2.0}, {"rope_type": "linear", "factor": 2.0}, yarn, llama3,
                             {"rope_type": "default"}, None]]  # fmt: skip
    assert compared(run_sluice, tmp_path, named) == []

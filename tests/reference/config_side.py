"""transformers' side of tests/cli/test_config_defaults.py, run by the Python of .venv-transformers (or of any other
version of transformers): reads a list of config.json objects on stdin, writes what transformers makes of each."""

import json
import os
import sys

os.environ["USE_TORCH"] = "0"
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import transformers  # noqa: E402

PLAIN = ["vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
         "num_key_value_heads", "max_position_embeddings", "initializer_range", "rms_norm_eps",
         "tie_word_embeddings"]  # fmt: skip
CLASSES = {"llama": "Llama", "mistral": "Mistral", "mixtral": "Mixtral", "qwen2": "Qwen2", "qwen3": "Qwen3",
           "qwen3_moe": "Qwen3Moe", "gpt_oss": "GptOss", "gemma": "Gemma", "gemma2": "Gemma2", "gemma3_text": "Gemma3Text",
           "olmo2": "Olmo2", "olmo3": "Olmo3", "olmoe": "Olmoe", "smollm3": "SmolLM3", "ministral": "Ministral",
           "ministral3": "Ministral3", "phi3": "Phi3", "glm": "Glm", "glm4": "Glm4", "glm4_moe": "Glm4Moe",
           "granite": "Granite", "seed_oss": "SeedOss", "ernie4_5": "Ernie4_5", "arcee": "Arcee", "helium": "Helium",
           "cwm": "Cwm", "exaone4": "Exaone4", "qwen2_moe": "Qwen2Moe", "minimax_m2": "MiniMaxM2",
           "qwen3_next": "Qwen3Next", "qwen3_5_text": "Qwen3_5Text", "ernie4_5_moe": "Ernie4_5_Moe",
           "dots1": "Dots1", "hunyuan_v1_dense": "HunYuanDenseV1"}  # fmt: skip
# Keys of a family's own, as its models read them.
BIASES = ["attention_bias", "mlp_bias"]
GEMMA = ["attention_bias", "query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping"]
HYBRID = ["linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim"]
EXPERTS = ["num_experts", "num_experts_per_tok", "moe_intermediate_size", "norm_topk_prob"]
OWN = {
    "gemma": ["attention_bias"], "gemma2": GEMMA, "gemma3_text": GEMMA, "olmo2": ["attention_bias"],
    "olmo3": ["attention_bias"], "olmoe": ["attention_bias", "num_experts", "num_experts_per_tok", "norm_topk_prob"],
    "smollm3": [*BIASES, "no_rope_layers"], "glm": ["attention_bias"], "glm4": ["attention_bias"],
    "glm4_moe": ["attention_bias", "use_qk_norm", "first_k_dense_replace", "n_routed_experts", "num_experts_per_tok",
                 "moe_intermediate_size", "norm_topk_prob", "n_group", "topk_group", "routed_scaling_factor",
                 "n_shared_experts"],
    "granite": [*BIASES, "embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"],
    "seed_oss": [*BIASES, "attention_out_bias"], "ernie4_5": ["use_bias"], "arcee": BIASES, "helium": BIASES,
    "cwm": ["mlp_bias"], "qwen2_moe": [*EXPERTS, "shared_expert_intermediate_size"],
    "minimax_m2": ["num_local_experts", "num_experts_per_tok"],
    "qwen3_5_text": HYBRID, "qwen3_next": [*HYBRID, *EXPERTS, "shared_expert_intermediate_size"],
    "dots1": ["attention_bias", "first_k_dense_replace", "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size",
              "norm_topk_prob", "n_group", "topk_group", "routed_scaling_factor", "n_shared_experts"],
    "hunyuan_v1_dense": ["attention_bias"],
    "ernie4_5_moe": ["moe_num_experts", "moe_k", "moe_intermediate_size", "moe_num_shared_experts"],
}  # fmt: skip


def partial(config, rope):
    """The share of each head that turns."""
    inner = next((part for part in (rope or {}).values() if isinstance(part, dict)), rope or {})
    return inner.get("partial_rotary_factor", getattr(config, "partial_rotary_factor", 1.0))


def thetas(config, rope):
    """The base of each kind of layer, and the kind of scaling of those that attend to everything."""
    if rope and "full_attention" in rope:
        return [rope["sliding_attention"]["rope_theta"], rope["full_attention"]["rope_theta"]], rope["full_attention"]
    if rope:
        return [rope["rope_theta"]], rope
    local = [config.rope_local_base_freq] if hasattr(config, "rope_local_base_freq") else []
    return [*local, config.rope_theta], getattr(config, "rope_scaling", None)


def windows(config, family):
    """The window of each layer, as the family's attention takes it."""
    if family in ("llama", "gpt_oss"):
        return [None] * config.num_hidden_layers
    size = getattr(config, "sliding_window", None)
    if family in OWN or family in ("ministral", "ministral3", "phi3", "exaone4"):
        kinds = getattr(config, "layer_types", None)
        if not kinds and family == "gemma2":
            return [None if i % 2 else size for i in range(config.num_hidden_layers)]
        if not kinds and hasattr(config, "sliding_window_pattern"):
            kinds = ["sliding_attention" if (i + 1) % config.sliding_window_pattern else "full_attention"
                     for i in range(config.num_hidden_layers)]  # fmt: skip
        if not kinds or family in ("ministral3", "phi3"):
            return [size if family in ("ministral3", "phi3") else None] * config.num_hidden_layers
        return [size if kind == "sliding_attention" else None for kind in kinds]
    if family in ("mistral", "mixtral"):
        return [size] * config.num_hidden_layers
    if not config.use_sliding_window:
        size = None
    if family == "qwen3_moe" and not hasattr(config, "max_window_layers"):
        return [size] * config.num_hidden_layers
    if getattr(config, "layer_types", None):
        return [size if kind == "sliding_attention" else None for kind in config.layer_types]
    return [size if size and i >= config.max_window_layers else None for i in range(config.num_hidden_layers)]


def resolved(given):
    family = given["model_type"]
    if not hasattr(transformers, CLASSES[family] + "Config"):
        return None  # This version has no such family.
    config = getattr(transformers, CLASSES[family] + "Config").from_dict(dict(given))
    found = {key: getattr(config, key) for key in PLAIN}
    found["activation"] = getattr(config, "hidden_activation", None) or config.hidden_act
    # As the attention of every family computes it.
    found["head_dim"] = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    rope = getattr(config, "rope_parameters", None)
    found["thetas"], scaling = thetas(config, rope) if family not in ("mistral", "mixtral") or rope else (
        [config.rope_theta], None)  # fmt: skip
    found["partial_rotary_factor"] = partial(config, rope)
    kind = (scaling or {}).get("rope_type", (scaling or {}).get("type", "default"))
    found["rope_type"] = kind or "default"
    found["windows"] = windows(config, family)
    for key in OWN.get(family, []):
        found[key] = getattr(config, key)
    if family == "dots1":  # The class leaves numbers of experts to config.json.
        found = {key: value for key, value in found.items() if value is not None}
    if family in ("qwen2_moe", "qwen3_next") or (family == "dots1" and config.first_k_dense_replace == 0):
        del found["intermediate_size"]
    if family in ("llama", "qwen3", "qwen3_moe", "gpt_oss"):
        found["attention_bias"] = bool(config.attention_bias)
    if family == "llama":
        found["mlp_bias"] = bool(config.mlp_bias)
    if family == "qwen3_moe":
        found |= {"num_experts": config.num_experts, "moe_intermediate_size": config.moe_intermediate_size,
                  "num_experts_per_tok": config.num_experts_per_tok, "norm_topk_prob": config.norm_topk_prob}  # fmt: skip
        del found["intermediate_size"]  # Of blocks without experts, which there are none of.
    if family in ("mixtral", "gpt_oss"):
        found |= {"num_local_experts": config.num_local_experts, "num_experts_per_tok": config.num_experts_per_tok}
    return found


def answer(given):
    """None where this version refuses a null that another takes."""
    try:
        return resolved(given)
    except Exception:  # noqa: BLE001 (versions raise their own kinds)
        if None not in given.values():
            raise
        return None


answers = [answer(each) for each in json.load(sys.stdin)]
json.dump({"version": transformers.__version__, "configs": answers}, sys.stdout)

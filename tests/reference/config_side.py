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
         "tie_word_embeddings", "hidden_act"]  # fmt: skip
CLASSES = {"llama": "Llama", "mistral": "Mistral", "mixtral": "Mixtral", "qwen2": "Qwen2", "qwen3": "Qwen3",
           "qwen3_moe": "Qwen3Moe", "gpt_oss": "GptOss"}  # fmt: skip


def windows(config, family):
    """The window of each layer, as the family's attention takes it."""
    if family in ("llama", "gpt_oss"):
        return [None] * config.num_hidden_layers
    size = config.sliding_window
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
    config = getattr(transformers, CLASSES[family] + "Config").from_dict(dict(given))
    found = {key: getattr(config, key) for key in PLAIN}
    # As the attention of every family computes it.
    found["head_dim"] = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    rope = getattr(config, "rope_parameters", None)
    found["rope_theta"] = rope["rope_theta"] if rope else config.rope_theta
    scaling = rope or config.rope_scaling if family != "mistral" and family != "mixtral" else rope
    kind = (scaling or {}).get("rope_type", (scaling or {}).get("type", "default"))
    found["rope_type"] = kind or "default"
    found["windows"] = windows(config, family)
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

"""Tiny models of families that transformers has since its fifth version, and their weights.

The files that tests/fixtures/make_family_fixtures.py makes of them have the format of fixture_cases, with `weight/NAME`
and `grad/NAME` as a checkpoint has them, `logits` fp32 [seq_len, vocab_size] of the first sequence, and `greedy` int32, the greedy text behind its first tokens.
"""

import numpy

_BASE = {
    "hidden_size": 16,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 19,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "hidden_act": "silu",
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
}

_YARN = {
    "rope_type": "yarn",
    "factor": 4.0,
    "original_max_position_embeddings": 16,
    "beta_fast": 4.0,
    "beta_slow": 1.0,
}

# One gated delta net, one layer of gated attention.
_HYBRID = {
    "hidden_size": 12,
    "head_dim": 4,
    "partial_rotary_factor": 0.5,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 4,
    "linear_value_head_dim": 3,
    "layer_types": ["linear_attention", "full_attention"],
}


def _case(model_type, architecture, **changes):
    fields = {"model_type": model_type, "architectures": [architecture], **_BASE, **changes}
    return {key: value for key, value in fields.items() if value != "absent"}


CASES = {
    "gemma2": _case(
        "gemma2",
        "Gemma2ForCausalLM",
        head_dim=6,
        hidden_act="absent",
        hidden_activation="gelu_pytorch_tanh",
        query_pre_attn_scalar=9,
        sliding_window=5,
        layer_types=["sliding_attention", "full_attention"],
        attn_logit_softcapping=2.0,
        final_logit_softcapping=3.0,
        tie_word_embeddings=True,
    ),
    "gemma3_text": _case(
        "gemma3_text",
        "Gemma3ForCausalLM",
        head_dim=6,
        hidden_act="absent",
        hidden_activation="gelu_pytorch_tanh",
        query_pre_attn_scalar=9,
        sliding_window=5,
        layer_types=["sliding_attention", "full_attention"],
        rope_theta=1000000.0,
        rope_local_base_freq=10000.0,
        rope_scaling={"rope_type": "linear", "factor": 8.0},
        tie_word_embeddings=True,
    ),
    "olmo2": _case("olmo2", "Olmo2ForCausalLM", rope_theta=500000.0),
    "olmo3": _case(
        "olmo3",
        "Olmo3ForCausalLM",
        sliding_window=5,
        layer_types=["sliding_attention", "full_attention"],
        rope_theta=500000.0,
        rope_scaling=_YARN,
    ),
    "smollm3": _case(
        "smollm3",
        "SmolLM3ForCausalLM",
        tie_word_embeddings=True,
        no_rope_layers=[1, 0],
        rope_theta=2000000.0,
    ),
    "ministral": _case(
        "ministral",
        "MinistralForCausalLM",
        head_dim=6,
        sliding_window=5,
        layer_types=["full_attention", "sliding_attention"],
    ),
    "ministral3": _case(
        "ministral3",
        "Ministral3ForCausalLM",
        head_dim=6,
        rope_theta="absent",
        rope_parameters={
            "rope_theta": 10000.0,
            **_YARN,
            "original_max_position_embeddings": 4,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            "llama_4_scaling_beta": 0.1,
        },
    ),
    "phi3": _case(
        "phi3",
        "Phi3ForCausalLM",
        head_dim="absent",
        partial_rotary_factor=0.5,
        sliding_window=5,
        original_max_position_embeddings=64,
    ),
    "glm4": _case(
        "glm4", "Glm4ForCausalLM", head_dim=4, attention_bias=True, partial_rotary_factor=0.5
    ),
    "granite": _case(
        "granite",
        "GraniteForCausalLM",
        embedding_multiplier=3.0,
        attention_multiplier=0.3,
        residual_multiplier=0.7,
        logits_scaling=1.5,
        tie_word_embeddings=True,
    ),
    "seed_oss": _case(
        "seed_oss",
        "SeedOssForCausalLM",
        head_dim=6,
        attention_bias=True,
        attention_out_bias=False,
        attention_dropout=0.0,
        residual_dropout=0.0,
    ),
    "ernie4_5": _case(
        "ernie4_5", "Ernie4_5ForCausalLM", head_dim=6, use_bias=False, tie_word_embeddings=True
    ),
    "ernie4_5_moe": _case(
        "ernie4_5_moe",
        "Ernie4_5_MoeForCausalLM",
        num_hidden_layers=2,
        use_bias=False,
        moe_num_experts=3,
        moe_k=2,
        moe_intermediate_size=4,
        moe_num_shared_experts=1,
        moe_layer_start_index=1,
        moe_layer_end_index=1,
        moe_layer_interval=1,
        tie_word_embeddings=True,
    ),
    "arcee": _case("arcee", "ArceeForCausalLM", head_dim=4, hidden_act="relu2"),
    "qwen2_moe": _case(
        "qwen2_moe",
        "Qwen2MoeForCausalLM",
        num_experts=3,
        num_experts_per_tok=2,
        moe_intermediate_size=4,
        shared_expert_intermediate_size=6,
        norm_topk_prob=False,
        decoder_sparse_step=1,
        mlp_only_layers=[],
    ),
    "qwen3_next": _case(
        "qwen3_next",
        "Qwen3NextForCausalLM",
        **_HYBRID,
        num_experts=3,
        num_experts_per_tok=2,
        moe_intermediate_size=4,
        shared_expert_intermediate_size=6,
        norm_topk_prob=True,
        decoder_sparse_step=1,
        mlp_only_layers=[],
    ),
    "qwen3_5": _case("qwen3_5_text", "Qwen3_5ForCausalLM", **_HYBRID, tie_word_embeddings=True),
    "qwen3_5_moe": _case(
        "qwen3_5_moe_text",
        "Qwen3_5MoeForCausalLM",
        **_HYBRID,
        num_experts=3,
        num_experts_per_tok=2,
        moe_intermediate_size=4,
        shared_expert_intermediate_size=6,
    ),
    "gpt_oss": _case(
        "gpt_oss",
        "GptOssForCausalLM",
        intermediate_size=4,
        head_dim=4,
        attention_bias=True,
        num_local_experts=4,
        num_experts_per_tok=2,
        sliding_window=5,
        layer_types=["sliding_attention", "full_attention"],
        rope_scaling={**_YARN, "truncate": False},
        swiglu_limit=7.0,
    ),
    "dots1": _case(
        "dots1",
        "Dots1ForCausalLM",
        head_dim=6,
        sliding_window=5,
        max_window_layers=1,
        n_routed_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=4,
        n_shared_experts=1,
        norm_topk_prob=True,
        routed_scaling_factor=1.5,
        first_k_dense_replace=1,
    ),
    "glm4_moe": _case(
        "glm4_moe",
        "Glm4MoeForCausalLM",
        head_dim=4,
        attention_bias=True,
        partial_rotary_factor=0.5,
        use_qk_norm=True,
        n_routed_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=4,
        n_shared_experts=1,
        n_group=1,
        topk_group=1,
        norm_topk_prob=True,
        routed_scaling_factor=1.5,
        first_k_dense_replace=1,
    ),
}

# Heads of q and k whose sizes differ from those of v; one dense layer before one with experts.
_LATENT = {
    "num_key_value_heads": 4,
    "kv_lora_rank": 6,
    "qk_nope_head_dim": 2,
    "qk_rope_head_dim": 4,
    "v_head_dim": 3,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 4,
    "n_shared_experts": 1,
    "routed_scaling_factor": 1.5,
    "first_k_dense_replace": 1,
}

CASES["deepseek_v2"] = _case(
    "deepseek_v2",
    "DeepseekV2ForCausalLM",
    **_LATENT,
    q_lora_rank=None,
    n_routed_experts=6,
    topk_method="group_limited_greedy",
    n_group=3,
    topk_group=2,
    norm_topk_prob=False,
    rope_scaling={**_YARN, "mscale": 0.7, "mscale_all_dim": 1.0},
)
CASES["deepseek_v3"] = _case(
    "deepseek_v3",
    "DeepseekV3ForCausalLM",
    **_LATENT,
    q_lora_rank=5,
    attention_bias=True,
    n_routed_experts=6,
    n_group=3,
    topk_group=2,
    norm_topk_prob=True,
    rope_scaling={**_YARN, "mscale": 1.0, "mscale_all_dim": 1.0},
)
CASES["glm4_moe_lite"] = _case(
    "glm4_moe_lite",
    "Glm4MoeLiteForCausalLM",
    **{**_LATENT, "first_k_dense_replace": "absent"},
    q_lora_rank=5,
    mlp_layer_types=["dense", "sparse"],
    n_routed_experts=4,
    n_group=1,
    topk_group=1,
    norm_topk_prob=True,
    rms_norm_eps=0.01,
)


def seed_of(config):
    """The seed of a case's weights. Where the usual one gives gradients that move by more than a hundred thousandth with the last bits
    of the weights, another: no fp32 could agree with them.
    """
    return {"gpt_oss": 30, "glm4": 23}.get(config["model_type"], 20)


def weight_of(config, name, shape, generator):
    """Values large enough that every non-linearity matters; factors of norms near 1."""
    values = 0.3 * generator.standard_normal(shape)
    one_plus = config["model_type"].startswith(("gemma", "qwen3_next", "qwen3_5"))
    if len(shape) == 1 and "norm" in name and (not one_plus or "linear_attn" in name):
        values = 1 + values
    if config["model_type"] == "gpt_oss" and "gate_up_proj" in name:
        values = 6 * values  # Beyond the bounds of gate and up.
    return values.astype(numpy.float32)

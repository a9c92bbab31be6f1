"""Folders in FP8 with the names, shapes and settings that DeepSeek and Qwen publish: they train as their numbers in fp32 do."""

import json

import numpy
import pytest
from conftest import available_verbs
from family_folders import MACHINE, STILL, TEXT, raw_of, read_raw, read_tensors, write_letters, write_raw

pytestmark = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")

FILE = "model.safetensors"
BLOCK = 128
# Sizes that are no multiples of 128, some of more than one block.
DEEPSEEK = {
    "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_size": 160, "intermediate_size": 200,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 19, "q_lora_rank": 136,
    "kv_lora_rank": 130, "qk_nope_head_dim": 66, "qk_rope_head_dim": 8, "v_head_dim": 70, "n_routed_experts": 4,
    "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "moe_intermediate_size": 144, "n_shared_experts": 1,
    "first_k_dense_replace": 1, "norm_topk_prob": True, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid",
    "topk_method": "noaux_tc", "num_nextn_predict_layers": 1, "ep_size": 1, "moe_layer_freq": 1, "hidden_act": "silu",
    "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "rope_theta": 10000, "tie_word_embeddings": False,
    "attention_bias": False, "torch_dtype": "bfloat16",
}  # fmt: skip
QWEN = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 160, "intermediate_size": 200,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 66, "vocab_size": 19,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "rope_theta": 1000000, "tie_word_embeddings": False,
    "hidden_act": "silu", "attention_bias": False, "torch_dtype": "bfloat16",
}  # fmt: skip
SETTINGS = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [BLOCK, BLOCK]}


def mlp_shapes(at, hidden, wide):
    return {f"{at}.gate_proj.weight": (wide, hidden), f"{at}.up_proj.weight": (wide, hidden), f"{at}.down_proj.weight": (hidden, wide)}


def deepseek_block(config, layer, experts):
    """Names and shapes of a block's matrices in FP8, and of its other tensors."""
    hidden, heads, at = config["hidden_size"], config["num_attention_heads"], f"model.layers.{layer}."
    nope, rope, value = config["qk_nope_head_dim"], config["qk_rope_head_dim"], config["v_head_dim"]
    query, key = config["q_lora_rank"], config["kv_lora_rank"]
    matrices = {
        at + "self_attn.q_a_proj.weight": (query, hidden), at + "self_attn.q_b_proj.weight": (heads * (nope + rope), query),
        at + "self_attn.kv_a_proj_with_mqa.weight": (key + rope, hidden),
        at + "self_attn.kv_b_proj.weight": (heads * (nope + value), key), at + "self_attn.o_proj.weight": (hidden, heads * value),
    }  # fmt: skip
    plain = {at + "input_layernorm.weight": (hidden,), at + "post_attention_layernorm.weight": (hidden,),
             at + "self_attn.q_a_layernorm.weight": (query,), at + "self_attn.kv_a_layernorm.weight": (key,)}  # fmt: skip
    if not experts:
        return matrices | mlp_shapes(at + "mlp", hidden, config["intermediate_size"]), plain
    count, wide = config["n_routed_experts"], config["moe_intermediate_size"]
    for expert in range(count):
        matrices |= mlp_shapes(f"{at}mlp.experts.{expert}", hidden, wide)
    matrices |= mlp_shapes(at + "mlp.shared_experts", hidden, wide * config["n_shared_experts"])
    return matrices, plain | {at + "mlp.gate.weight": (count, hidden), at + "mlp.gate.e_score_correction_bias": (count,)}


def qwen_block(config, layer):
    hidden, head, at = config["hidden_size"], config["head_dim"], f"model.layers.{layer}."
    heads, kv = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    matrices = {
        at + "self_attn.q_proj.weight": (heads, hidden), at + "self_attn.k_proj.weight": (kv, hidden),
        at + "self_attn.v_proj.weight": (kv, hidden), at + "self_attn.o_proj.weight": (hidden, heads),
    }  # fmt: skip
    plain = {at + "input_layernorm.weight": (hidden,), at + "post_attention_layernorm.weight": (hidden,),
             at + "self_attn.q_norm.weight": (head,), at + "self_attn.k_norm.weight": (head,)}  # fmt: skip
    return matrices | mlp_shapes(at + "mlp", hidden, config["intermediate_size"]), plain


def shapes_of(config):
    """Names and shapes of the matrices in FP8, of other tensors, and of both in the layer behind the last."""
    hidden, vocab = config["hidden_size"], config["vocab_size"]
    latent = "kv_lora_rank" in config
    matrices = {}
    plain = {"model.embed_tokens.weight": (vocab, hidden), "model.norm.weight": (hidden,), "lm_head.weight": (vocab, hidden)}
    for layer in range(config["num_hidden_layers"]):
        more = deepseek_block(config, layer, layer >= config["first_k_dense_replace"]) if latent else qwen_block(config, layer)
        matrices, plain = matrices | more[0], plain | more[1]
    if not latent:
        return matrices, plain, {}, {}
    layer = config["num_hidden_layers"]
    further, rest = deepseek_block(config, layer, True)
    at = f"model.layers.{layer}."
    rest |= {at + "enorm.weight": (hidden,), at + "hnorm.weight": (hidden,), at + "eh_proj.weight": (hidden, 2 * hidden),
             at + "embed_tokens.weight": (vocab, hidden), at + "shared_head.norm.weight": (hidden,),
             at + "shared_head.head.weight": (vocab, hidden)}  # fmt: skip
    return matrices, plain, further, rest


def e4m3(bits):
    """The numbers that E4M3 bytes stand for."""
    exponent, fraction = (bits >> 3) & 15, (bits & 7).astype("f4")
    size = numpy.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0 ** (exponent.astype("f4") - 10))
    return numpy.where(bits & 128, -size, size).astype("f4")


class Fp8:
    """Random numbers in FP8 with a factor for every block, of one of three types."""

    def __init__(self, factors):
        self.factors = factors
        self.generator = numpy.random.default_rng(11)

    def factor(self, shape):
        """dtype, bytes and values of factors, which make numbers about a tenth."""
        powers = self.generator.integers(-12, -10, shape)
        if self.factors == "F8_E8M0":
            return "F8_E8M0", (powers + 127).astype("u1").tobytes(), (2.0**powers).astype("f4")
        # As fp32, factors are powers of two where config.json says so, else any numbers.
        values = (2.0**powers * (1 if self.factors == "ue8m0" else self.generator.uniform(1, 2, shape))).astype("<f4")
        if self.factors == "BF16":
            high = (values.view("<u4") >> 16).astype("<u2")
            return "BF16", high.tobytes(), (high.astype("<u4") << 16).view("<f4")
        return "F32", values.tobytes(), values

    def matrix(self, name, shape, stored, numbers):
        """Puts a matrix and its factors into `stored`, and its numbers in fp32 into `numbers`."""
        bits = self.generator.integers(0, 256, shape).astype("u1")
        bits[(bits & 127) == 127] = 0  # Not a number.
        blocks = [-(-size // BLOCK) for size in shape]
        dtype, data, factors = self.factor(blocks)
        stored[name] = ("F8_E4M3", list(shape), bits.tobytes())
        stored[name + "_scale_inv"] = (dtype, blocks, data)
        spread = factors.repeat(BLOCK, 0)[: shape[0]].repeat(BLOCK, 1)[:, : shape[1]]
        numbers[name] = e4m3(bits) * spread

    def plain(self, name, shape, stored, numbers):
        """The same of a tensor in bf16; the bias that chooses experts is fp32."""
        values = self.generator.normal(0, 0.2, shape).astype("<f4") + name.endswith("norm.weight")
        if name.endswith("e_score_correction_bias"):
            stored[name], numbers[name] = raw_of(values), values
            return
        high = (values.view("<u4") >> 16).astype("<u2")
        stored[name] = ("BF16", list(shape), high.tobytes())
        numbers[name] = (high.astype("<u4") << 16).view("<f4")


def write_folders(tmp_path, config, factors):
    """Writes `fp8`, and `plain` with its numbers in fp32; returns these, and the tensors that predict further tokens."""
    made, stored, numbers, behind = Fp8(factors), {}, {}, {}
    matrices, plain, further, rest = shapes_of(config)
    for shapes, put, into in ((matrices, made.matrix, stored), (plain, made.plain, stored),
                              (further, made.matrix, behind), (rest, made.plain, behind)):  # fmt: skip
        for name, shape in shapes.items():
            put(name, shape, into, numbers if into is stored else {})
    settings = {**SETTINGS, **({"scale_fmt": "ue8m0"} if factors in ("ue8m0", "F8_E8M0") else {})}
    if config is QWEN:
        settings["modules_to_not_convert"] = ["lm_head", "model.embed_tokens"]
    for name, tensors, keys in (("fp8", stored | behind, {"quantization_config": settings}),
                                ("plain", {key: raw_of(value) for key, value in numbers.items()}, {})):  # fmt: skip
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps({**config, **keys}))
        write_raw(tensors, tmp_path / name / FILE)
        write_letters(tmp_path / name, config["vocab_size"])
    (tmp_path / "text.txt").write_text(TEXT)
    return numbers, behind


FOLDERS = [(DEEPSEEK, "F32"), (DEEPSEEK, "ue8m0"), (DEEPSEEK, "F8_E8M0"), (QWEN, "BF16")]


@pytest.mark.parametrize("config, factors", FOLDERS, ids=[f"{config['model_type']}-{kind}" for config, kind in FOLDERS])
def test_a_folder_in_fp8_computes_what_its_numbers_do(run_sluice, tmp_path, config, factors):
    numbers, behind = write_folders(tmp_path, config, factors)
    said = [run_sluice("eval", name, "--data", "text.txt", "--seq-len", "16", *MACHINE, "--json").json() for name in ("fp8", "plain")]
    assert said[0]["loss"] == said[1]["loss"]
    run_sluice("train", "--model", "fp8", "--data", "text.txt", *STILL, *MACHINE, "out=run")
    run_sluice("export", "run", "-o", "exported", "--dtype", "fp32")
    raw = read_raw(tmp_path / "exported" / FILE)[1]
    assert {name: raw.pop(name) for name in behind} == behind, "carried in FP8, with its factors"
    assert raw.keys() == numbers.keys()
    write_raw(raw, tmp_path / "text-model")
    for name, values in read_tensors(tmp_path / "text-model")[1].items():
        assert numpy.array_equal(values, numbers[name]), name
    assert "quantization_config" not in json.loads((tmp_path / "exported/config.json").read_text())


def test_factors_of_another_shape_are_refused_by_name(run_sluice, refuses, tmp_path):
    write_folders(tmp_path, DEEPSEEK, "F32")
    tensors = read_raw(tmp_path / "fp8" / FILE)[1]
    name = "model.layers.0.self_attn.kv_a_proj_with_mqa.weight_scale_inv"
    assert tensors[name][1] == [2, 2], "138 rows and 160 columns are two blocks each way"
    tensors[name] = ("F32", [1, 2], tensors[name][2][:8])
    write_raw(tensors, tmp_path / "fp8" / FILE)
    refuses(["eval", "fp8", "--data", "text.txt", "--seq-len", "16", *MACHINE], name, "blocks of 128 x 128 make it [2, 2]")

"""A run of a two-layer model on a text of short sentences, and the weights of such models."""

import json
import math

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "hidden_act": "silu",
}
TEXT = "".join(
    f"{a} {b} is {c}. " for a in "one two three four five".split()
    for b in "red green blue grey black white".split() for c in "good bad new old".split()
) * 4  # fmt: skip


def write_model(folder, config):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config, indent=1))


def small_flags(folder, model):
    """Flags of a small run; writes its text into `folder`."""
    (folder / "text.txt").write_text(TEXT)
    return [
        "--model", model, "--data", "text.txt", "--machine", "here", "--backend", "host",
        "--seq-len", "32", "--batch-size", "4", "--hbm", "8MiB", "--host", "1GiB",
        "optimizer.lr=0.003", "machine.h2d=400 MB/s", "machine.d2h=400 MB/s",
    ]  # fmt: skip


def bits(folder):
    """Number, loss, gradient norm and learning rate of every step of a run, to the bit."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [(line["step"], line["loss_bits"], line["grad_norm_bits"], line["lr"]) for line in lines]


def steps_in(run):
    """Steps of the run folder's checkpoints."""
    return sorted(int(path.name.removeprefix("step-")) for path in (run / "checkpoints").glob("step-*"))


def assert_nothing_unfinished(run):
    assert not [path.name for path in (run / "checkpoints").glob(".*")]


def shapes_of(config):
    """Names and shapes of transformers' parameters of a llama without biases."""
    hidden, wide = config["hidden_size"], config["intermediate_size"]
    head = hidden // config["num_attention_heads"]
    heads, kv = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], hidden)}
    for layer in range(config["num_hidden_layers"]):
        block = {
            "input_layernorm": (hidden,),
            "post_attention_layernorm": (hidden,),
            "self_attn.q_proj": (heads, hidden),
            "self_attn.k_proj": (kv, hidden),
            "self_attn.v_proj": (kv, hidden),
            "self_attn.o_proj": (hidden, heads),
            "mlp.gate_proj": (wide, hidden),
            "mlp.up_proj": (wide, hidden),
            "mlp.down_proj": (hidden, wide),
        }
        shapes.update({f"model.layers.{layer}.{k}.weight": v for k, v in block.items()})
    shapes["model.norm.weight"] = (hidden,)
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (config["vocab_size"], hidden)
    return shapes


def tensors_of(config):
    """fp32 weights that a model could have, the same every time; no two elements alike."""
    import torch

    generator = torch.Generator().manual_seed(5)
    tensors = {}
    for name, shape in shapes_of(config).items():
        values = torch.empty(math.prod(shape)).normal_(0, 0.02, generator=generator)
        tensors[name] = (values + (1 if name.endswith("norm.weight") else 0)).reshape(shape)
    return tensors

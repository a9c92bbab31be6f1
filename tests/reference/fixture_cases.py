"""The tiny models and optimizer runs that reference implementations compute, and their file format.

A fixture is one safetensors file. Metadata: `config` (config.json text), `loss` (decimal, the mean
of the cross-entropy over all tokens), `source` (what computed it). Tensors: `tokens` and `targets`
int32 [sequences, seq_len] (target -100 is ignored), `weight/NAME` and `grad/NAME` fp32 with Hugging
Face names. The optimizer fixture is described at `adamw_case`.
"""

import json
import struct

import numpy

SEQUENCES = 3
SEQ_LEN = 12

_BASE = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 37,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "hidden_act": "silu",
    "attention_bias": False,
}


def _case(model_type, architecture, **changes):
    return {"model_type": model_type, "architectures": [architecture], **_BASE, **changes}


CASES = {
    "llama": _case(
        "llama",
        "LlamaForCausalLM",
        mlp_bias=False,
        rope_scaling={
            "rope_type": "llama3",
            "factor": 4.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8,
        },
    ),
    "llama_tied": _case(
        "llama",
        "LlamaForCausalLM",
        mlp_bias=False,
        tie_word_embeddings=True,
        rope_scaling={"rope_type": "linear", "factor": 2.0},
    ),
    "mistral": _case("mistral", "MistralForCausalLM", sliding_window=5),
    # qwen2 has biases on q, k and v without saying so, and head_dim = hidden / heads.
    "qwen2": _case("qwen2", "Qwen2ForCausalLM", head_dim=4, rms_norm_eps=1e-6),
    "qwen2_tied": _case(
        "qwen2",
        "Qwen2ForCausalLM",
        head_dim=4,
        rms_norm_eps=1e-6,
        tie_word_embeddings=True,
        num_key_value_heads=1,
    ),
    "qwen3": _case("qwen3", "Qwen3ForCausalLM", rms_norm_eps=1e-6, rope_theta=1000.0),
    "qwen3_moe": _case(
        "qwen3_moe",
        "Qwen3MoeForCausalLM",
        rms_norm_eps=1e-6,
        num_experts=5,
        num_experts_per_tok=2,
        moe_intermediate_size=12,
        norm_topk_prob=False,
        decoder_sparse_step=1,
        mlp_only_layers=[],
    ),
    # intermediate_size is one expert's.
    "mixtral": _case(
        "mixtral",
        "MixtralForCausalLM",
        intermediate_size=12,
        num_local_experts=4,
        num_experts_per_tok=3,
    ),
}


def expert_layout(config):
    """Of a mixture of experts: names of its router and of what comes before an expert's number, of
    gate, up and down, an expert's width, and how many there are. None of other models."""
    if config["model_type"] == "qwen3_moe":
        names = ("mlp.gate.weight", "mlp.experts.", ("gate_proj", "up_proj", "down_proj"))
        return (*names, config["moe_intermediate_size"], config["num_experts"])
    if config["model_type"] == "mixtral":
        names = ("block_sparse_moe.gate.weight", "block_sparse_moe.experts.", ("w1", "w3", "w2"))
        return (*names, config["intermediate_size"], config["num_local_experts"])
    return None


def tensor_shapes(config):
    """Shapes of the parameters by Hugging Face name, in a fixed order."""
    hidden, intermediate = config["hidden_size"], config["intermediate_size"]
    head_dim = config["head_dim"]
    query = config["num_attention_heads"] * head_dim
    key = config["num_key_value_heads"] * head_dim
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], hidden)}
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        shapes[prefix + "input_layernorm.weight"] = (hidden,)
        for name, size in (("q", query), ("k", key), ("v", key)):
            shapes[f"{prefix}self_attn.{name}_proj.weight"] = (size, hidden)
            if config["model_type"] == "qwen2" or config["attention_bias"]:
                shapes[f"{prefix}self_attn.{name}_proj.bias"] = (size,)
        if config["model_type"] in ("qwen3", "qwen3_moe"):
            shapes[prefix + "self_attn.q_norm.weight"] = (head_dim,)
            shapes[prefix + "self_attn.k_norm.weight"] = (head_dim,)
        shapes[prefix + "self_attn.o_proj.weight"] = (hidden, query)
        shapes[prefix + "post_attention_layernorm.weight"] = (hidden,)
        if layout := expert_layout(config):
            router, experts, (gate, up, down), wide, count = layout
            shapes[prefix + router] = (count, hidden)
            for expert in range(count):
                shapes[f"{prefix}{experts}{expert}.{gate}.weight"] = (wide, hidden)
                shapes[f"{prefix}{experts}{expert}.{up}.weight"] = (wide, hidden)
                shapes[f"{prefix}{experts}{expert}.{down}.weight"] = (hidden, wide)
            continue
        shapes[prefix + "mlp.gate_proj.weight"] = (intermediate, hidden)
        shapes[prefix + "mlp.up_proj.weight"] = (intermediate, hidden)
        shapes[prefix + "mlp.down_proj.weight"] = (hidden, intermediate)
    shapes["model.norm.weight"] = (hidden,)
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (config["vocab_size"], hidden)
    return shapes


def weights_of(config, seed=20):
    """Weights large enough that every non-linearity matters; norms near 1."""
    generator = numpy.random.RandomState(seed)
    weights = {}
    for name, shape in tensor_shapes(config).items():
        values = 0.3 * generator.standard_normal(shape)
        if name.endswith("norm.weight"):
            values = 1 + values
        weights[name] = values.astype(numpy.float32)
    return weights


def tokens_of(config, seed=21):
    """Tokens and next-token targets, two of which are ignored."""
    generator = numpy.random.RandomState(seed)
    text = generator.randint(0, config["vocab_size"], size=(SEQUENCES, SEQ_LEN + 1))
    targets = text[:, 1:].astype(numpy.int32)
    targets[0, 3] = -100
    targets[2, 7] = -100
    return text[:, :-1].astype(numpy.int32), targets


def adamw_case(seed=22):
    """100 steps: settings in the metadata; start and gradients of one tensor that decays and one
    that does not; a reference adds `decays/after` and `plain/after` fp32 [steps, n], the parameters
    after each step, and `norms` fp32 [steps], the global norms before clipping."""
    generator = numpy.random.RandomState(seed)
    steps = 100
    scale = 10 ** generator.uniform(-2, 1, size=(steps, 1))  # Clipped and unclipped steps.
    tensors = {}
    for name, size in (("decays", 96), ("plain", 32)):
        tensors[name + "/start"] = generator.standard_normal(size).astype(numpy.float32)
        gradients = 0.3 * scale * generator.standard_normal((steps, size))
        tensors[name + "/gradients"] = gradients.astype(numpy.float32)
    tensors["lr"] = numpy.array([1e-2 * (1 - i / 200) for i in range(steps)], dtype=numpy.float64)
    settings = {"beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1, "clip": 1.0}
    return settings, tensors


def run_adamw(torch, source, path):
    """The optimizer fixture by torch.optim.AdamW and clip_grad_norm_, written to `path`."""
    settings, tensors = adamw_case()
    parameters = {
        name: torch.nn.Parameter(torch.tensor(tensors[name + "/start"]))
        for name in ("decays", "plain")
    }
    optimizer = torch.optim.AdamW(
        [
            {"params": [parameters["decays"]], "weight_decay": settings["weight_decay"]},
            {"params": [parameters["plain"]], "weight_decay": 0.0},
        ],
        lr=1e-2,
        betas=(settings["beta1"], settings["beta2"]),
        eps=settings["eps"],
    )
    after = {name: [] for name in parameters}
    norms = []
    for step, lr in enumerate(tensors["lr"]):
        for group in optimizer.param_groups:
            group["lr"] = float(lr)
        for name, parameter in parameters.items():
            parameter.grad = torch.tensor(tensors[name + "/gradients"][step])
        norms.append(
            float(torch.nn.utils.clip_grad_norm_(list(parameters.values()), settings["clip"]))
        )
        optimizer.step()
        for name, parameter in parameters.items():
            after[name].append(parameter.detach().numpy().copy())
    for name, values in after.items():
        tensors[name + "/after"] = numpy.stack(values)
    tensors["norms"] = numpy.array(norms, dtype=numpy.float32)
    save(path, tensors, {"settings": json.dumps(settings), "source": source})


_DTYPES = {"float32": "F32", "float64": "F64", "int32": "I32"}


def save(path, tensors, metadata):
    """Writes a safetensors file: 8-byte little-endian header length, JSON header, data."""
    header, blobs, offset = {"__metadata__": metadata}, [], 0
    for name in sorted(tensors):
        array = numpy.ascontiguousarray(tensors[name])
        blob = array.tobytes()
        header[name] = {
            "dtype": _DTYPES[str(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + len(blob)],
        }
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        file.write(b"".join(blobs))


def save_model(path, config, weights, loss, gradients, source):
    """Writes one model fixture; `gradients` by name, fp32 arrays of the weights' shapes."""
    tokens, targets = tokens_of(config)
    tensors = {"tokens": tokens, "targets": targets}
    for name, shape in tensor_shapes(config).items():
        assert gradients[name].shape == shape, (name, gradients[name].shape, shape)
        tensors["weight/" + name] = weights[name]
        tensors["grad/" + name] = gradients[name]
    save(path, tensors, {"config": json.dumps(config), "loss": repr(loss), "source": source})

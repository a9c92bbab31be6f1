"""llama, mistral, qwen2, qwen3, qwen3_moe and mixtral in plain PyTorch, differentiated by autograd.

Usage: python3 tests/reference/torch_model.py OUTDIR
writes OUTDIR/NAME.safetensors for every case of fixture_cases and OUTDIR/adamw.safetensors, in the
format of the fixtures that tests/fixtures/make_transformers_fixtures.py makes. Any PyTorch from 1.12.
"""

import math
import pathlib
import sys

try:
    import torch
except ImportError as missing:
    print(f"skipped: {missing}; install python3-torch and python3-numpy")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import fixture_cases  # noqa: E402


def inverse_frequencies(config):
    """RoPE frequencies [head_dim / 2], with linear or llama3 scaling."""
    dim = config["head_dim"]
    exponents = torch.arange(0, dim, 2, dtype=torch.float64) / dim
    frequencies = config["rope_theta"] ** -exponents
    scaling = config.get("rope_scaling") or {"rope_type": "default"}
    if scaling["rope_type"] == "linear":
        return frequencies / scaling["factor"]
    if scaling["rope_type"] == "llama3":
        original = scaling["original_max_position_embeddings"]
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        scaled = []
        for frequency in frequencies.tolist():
            wavelength = 2 * math.pi / frequency
            smooth = (original / wavelength - low) / (high - low)
            smooth = min(1.0, max(0.0, smooth))
            scaled.append((1 - smooth) * frequency / scaling["factor"] + smooth * frequency)
        return torch.tensor(scaled, dtype=torch.float64)
    return frequencies


def rms_norm(x, weight, eps):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def rotate(x, cos, sin):
    """RoPE on [..., seq_len, head_dim], halves rotated against each other."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def attention(config, weights, prefix, x, cos, sin, visible):
    batch, length, _ = x.shape
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    dim = config["head_dim"]

    def project(name, count):
        y = x @ weights[f"{prefix}{name}_proj.weight"].t()
        bias = weights.get(f"{prefix}{name}_proj.bias")
        if bias is not None:
            y = y + bias
        return y.view(batch, length, count, dim).transpose(1, 2)

    q, k, v = project("q", heads), project("k", kv_heads), project("v", kv_heads)
    if prefix + "q_norm.weight" in weights:
        q = rms_norm(q, weights[prefix + "q_norm.weight"], config["rms_norm_eps"])
        k = rms_norm(k, weights[prefix + "k_norm.weight"], config["rms_norm_eps"])
    q, k = rotate(q, cos, sin), rotate(k, cos, sin)
    k = k.repeat_interleave(heads // kv_heads, dim=1)
    v = v.repeat_interleave(heads // kv_heads, dim=1)
    scores = (q @ k.transpose(2, 3)) / math.sqrt(dim)
    scores = scores.masked_fill(~visible, float("-inf"))
    mixed = (torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(batch, length, heads * dim)
    return mixed @ weights[prefix + "o_proj.weight"].t()


def feed_forward(y, gate, up, down):
    return (torch.nn.functional.silu(y @ gate.t()) * (y @ up.t())) @ down.t()


def mix_experts(config, weights, prefix, y):
    """Each token's experts of the largest probabilities, weighted by these."""
    router, experts, names, _, count = fixture_cases.expert_layout(config)
    probability = torch.softmax(y @ weights[prefix + router].t(), dim=-1)
    share, chosen = torch.topk(probability, config["num_experts_per_tok"], dim=-1)
    if config.get("norm_topk_prob", True):
        share = share / share.sum(-1, keepdim=True)
    mixed = torch.zeros_like(y)
    for expert in range(count):
        matrices = [weights[f"{prefix}{experts}{expert}.{name}.weight"] for name in names]
        weight = (share * (chosen == expert)).sum(-1, keepdim=True)
        mixed = mixed + weight * feed_forward(y, *matrices)
    return mixed


def mean_loss(config, weights, tokens, targets):
    """Cross-entropy summed over targets >= 0 and divided by all tokens."""
    length = tokens.shape[1]
    positions = torch.arange(length)
    angles = positions.to(torch.float64)[:, None] * inverse_frequencies(config)
    dtype = weights["model.norm.weight"].dtype
    cos, sin = (f(torch.cat((angles, angles), dim=-1)).to(dtype) for f in (torch.cos, torch.sin))
    distance = positions[:, None] - positions[None, :]
    visible = distance >= 0
    if config.get("sliding_window"):
        visible = visible & (distance < config["sliding_window"])
    eps = config["rms_norm_eps"]
    x = weights["model.embed_tokens.weight"][tokens.long()]
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        y = rms_norm(x, weights[prefix + "input_layernorm.weight"], eps)
        x = x + attention(config, weights, prefix + "self_attn.", y, cos, sin, visible)
        y = rms_norm(x, weights[prefix + "post_attention_layernorm.weight"], eps)
        if fixture_cases.expert_layout(config):
            x = x + mix_experts(config, weights, prefix, y)
            continue
        names = ("gate", "up", "down")
        x = x + feed_forward(y, *(weights[f"{prefix}mlp.{name}_proj.weight"] for name in names))
    x = rms_norm(x, weights["model.norm.weight"], eps)
    head = weights.get("lm_head.weight", weights["model.embed_tokens.weight"])
    logits = (x @ head.t()).view(-1, config["vocab_size"])
    summed = torch.nn.functional.cross_entropy(
        logits, targets.long().view(-1), ignore_index=-100, reduction="sum"
    )
    return summed / tokens.numel()


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    source = f"tests/reference/torch_model.py, torch {torch.__version__}"
    for name, config in fixture_cases.CASES.items():
        arrays = fixture_cases.weights_of(config)
        weights = {key: torch.tensor(value, requires_grad=True) for key, value in arrays.items()}
        tokens, targets = fixture_cases.tokens_of(config)
        loss = mean_loss(config, weights, torch.tensor(tokens), torch.tensor(targets))
        loss.backward()
        gradients = {key: value.grad.numpy() for key, value in weights.items()}
        path = out / (name + ".safetensors")
        fixture_cases.save_model(path, config, arrays, float(loss.detach()), gradients, source)
    fixture_cases.run_adamw(torch, source, out / "adamw.safetensors")


if __name__ == "__main__":
    main()

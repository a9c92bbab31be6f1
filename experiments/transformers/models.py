"""Models that Sluice and PyTorch compute alike: shapes, weights, and the PyTorch side of them.

The PyTorch side is transformers (5 or later) where it is installed, otherwise the plain PyTorch of
tests/reference/torch_model.py, which runs on the CPU alone.
"""

import contextlib
import math
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "reference"))
import fixture_cases  # noqa: E402
import torch_model  # noqa: E402

try:
    import transformers
except ImportError:
    transformers = None

ARCHITECTURES = {
    "llama": "LlamaForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}


def config_of(
    family, *, hidden, intermediate, layers, heads, kv_heads, head_dim, vocab, tied=False
):
    """config.json of a dense decoder, as a dict."""
    return {
        "model_type": family,
        "architectures": [ARCHITECTURES[family]],
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "vocab_size": vocab,
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "tie_word_embeddings": tied,
        "hidden_act": "silu",
        "attention_bias": False,
    }


def draw_weights(config, seed, *, std=0.02, norm_std=0.0, bias_std=0.0, bf16_exact=False):
    """fp32 tensors by Hugging Face name: matrices normal(0, std), norms normal(1, norm_std), biases
    normal(0, bias_std); with `bf16_exact` rounded to bf16."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in fixture_cases.tensor_shapes(config).items():
        values = torch.randn(shape, generator=generator)
        if name.endswith("norm.weight"):
            values = 1 + norm_std * values
        else:
            values = values * (bias_std if name.endswith(".bias") else std)
        weights[name] = values.bfloat16().float() if bf16_exact else values
    return weights


def _transformers_model(config, dtype, device):
    """The transformers model of a config, without its weights; rotary frequencies stay fp32, as
    they do in a model that is loaded in bf16."""
    fields = {
        key: value
        for key, value in config.items()
        if key not in ("model_type", "architectures", "rope_theta")
    }
    if config["model_type"] == "qwen2":
        # Neither is a field of Qwen2's: its head_dim is hidden_size / num_attention_heads.
        if fields.pop("head_dim") * config["num_attention_heads"] != config["hidden_size"]:
            raise ValueError("head_dim: qwen2 has hidden_size / num_attention_heads")
        del fields["attention_bias"]
    fields["rope_parameters"] = {"rope_type": "default", "rope_theta": config["rope_theta"]}
    class_name = config["architectures"][0]
    settings = getattr(transformers, class_name.replace("ForCausalLM", "Config"))(**fields)
    settings._attn_implementation = "sdpa"
    with torch.device(device):
        model = getattr(transformers, class_name)(settings)
    model.to(device=device, dtype=dtype)
    rotary = model.model.rotary_emb
    frequencies = torch_model.inverse_frequencies(config).to(device=device, dtype=torch.float32)
    if rotary.inv_freq.shape != frequencies.shape:
        raise ValueError("this transformers keeps its rotary frequencies elsewhere")
    rotary.inv_freq = frequencies
    return model.eval()


def _exact_attention(dtype):
    """For fp32: attention by plain fp32 products, which no fused kernel approximates."""
    if dtype != torch.float32 or transformers is None:
        return contextlib.nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel

    return sdpa_kernel(SDPBackend.MATH)


class Reference:
    """One model in PyTorch: parameters by Hugging Face name, and the mean loss of a batch."""

    def __init__(self, config, weights, dtype, device):
        self.config = config
        self.dtype = dtype
        self.device = device
        self.model = None
        if transformers is None:
            if torch.device(device).type != "cpu":
                raise ImportError("transformers is not installed; plain PyTorch is for the CPU")
            self.parameters = {
                name: value.to(dtype).clone().requires_grad_() for name, value in weights.items()
            }
            return
        self.model = _transformers_model(config, dtype, device)
        self.parameters = dict(self.model.named_parameters())
        if sorted(self.parameters) != sorted(weights):
            odd = sorted(set(self.parameters) ^ set(weights))
            raise ValueError(f"parameters differ from transformers': {odd}")
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(weights[name])

    def loss(self, tokens, targets):
        """Mean cross-entropy over all tokens, of int tensors [sequences, seq_len]; statistics are
        fp32. An fp32 model is multiplied in fp32 throughout (set_exact_fp32)."""
        tokens = tokens.to(self.device)
        targets = targets.to(self.device)
        if self.model is None:
            return torch_model.mean_loss(self.config, self.parameters, tokens, targets)
        with _exact_attention(self.dtype):
            logits = self.model(input_ids=tokens.long(), use_cache=False).logits
        logits = logits.float().view(-1, self.config["vocab_size"])
        return torch.nn.functional.cross_entropy(logits, targets.long().view(-1))

    def backward(self, loss):
        """Gradients of `loss`, with the same kernels chosen as forward."""
        with _exact_attention(self.dtype):
            loss.backward()


def set_exact_fp32():
    """No TF32: fp32 products are fp32."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


def describe(device):
    """Versions and device, for the head of an output."""
    name = torch.cuda.get_device_name() if torch.device(device).type == "cuda" else "CPU"
    model = "plain PyTorch" if transformers is None else f"transformers {transformers.__version__}"
    return f"{model}, torch {torch.__version__}, {name}"


def text_windows(data, seq_len, order_seed, count):
    """`count` windows of a byte string as int32 (tokens, targets) [count, seq_len]: windows overlap
    by one byte and are shuffled anew each epoch."""
    windows = (len(data) - 1) // seq_len
    if windows < 1:
        raise ValueError(f"the text has {len(data)} bytes, fewer than a window of {seq_len + 1}")
    generator = torch.Generator().manual_seed(order_seed)
    epochs = [torch.randperm(windows, generator=generator) for _ in range(-(-count // windows))]
    starts = torch.cat(epochs)[:count] * seq_len
    stream = torch.frombuffer(bytearray(data), dtype=torch.uint8).to(torch.int32)
    index = starts[:, None] + torch.arange(seq_len)[None, :]
    return stream[index], stream[index + 1]


def zipf_tokens(vocab, sequences, seq_len, seed):
    """Tokens of falling frequency (1 / (rank + 10)) and their successors as targets, int32
    [sequences, seq_len]: some rows of the embedding are met often, most never."""
    generator = torch.Generator().manual_seed(seed)
    frequency = 1.0 / (torch.arange(vocab, dtype=torch.float64) + 10)
    drawn = torch.multinomial(
        frequency, sequences * (seq_len + 1), replacement=True, generator=generator
    )
    text = torch.randperm(vocab, generator=generator)[drawn].view(sequences, seq_len + 1)
    return text[:, :-1].to(torch.int32).contiguous(), text[:, 1:].to(torch.int32).contiguous()


def learning_rate(step, steps, *, lr, warmup, final_fraction):
    """Sluice's cosine schedule; `step` counts from 1."""
    if step <= warmup:
        return lr * step / warmup
    done = (step - warmup) / (steps - warmup)
    return lr * (final_fraction + (1 - final_fraction) * 0.5 * (1 + math.cos(math.pi * done)))

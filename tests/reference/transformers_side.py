"""transformers' side of tests/cli/test_transformers.py, run by the Python of .venv-transformers.

    transformers_side.py make FOLDER     a tiny model of every family in FOLDER/FAMILY, as save_pretrained
                                         writes it, and FOLDER/expected.json and FOLDER/FAMILY.gradients
    transformers_side.py logits FOLDER   of the models in FOLDER/FAMILY-out: FOLDER/logits.json

transformers 4.51 (the first with qwen3) is written for PyTorch 2; Debian has 1.13. What it asks for at import
and does not need for these models is stood in for below; no arithmetic of transformers or PyTorch is changed.
"""

import json
import math
import os
import pathlib
import sys
import types

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch  # noqa: E402


class Absent(types.ModuleType):
    """A module of PyTorch 2 whose names are asked for and never used."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def disable(function=None, recursive=True):
    return function if function is not None else lambda decorated: decorated


def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
    modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
    seen = set()
    for path, module in modules if recurse else [(prefix, self)]:
        for name, parameter in module._parameters.items():
            if parameter is None or (remove_duplicate and parameter in seen):
                continue
            seen.add(parameter)
            yield f"{path}.{name}" if path else name, parameter


def stand_in_for_pytorch_2():
    for name in ("torch.distributed.tensor", "torch.distributed.device_mesh"):
        sys.modules.setdefault(name, Absent(name))
    torch.compiler = Absent("torch.compiler")
    torch.compiler.disable = disable
    torch.compiler.is_compiling = lambda: False
    sys.modules["torch.compiler"] = torch.compiler
    for name in ("float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64"):
        setattr(torch, name, name)
    torch.distributed.is_available = lambda: False
    torch.nn.Module.named_parameters = named_parameters
    load = torch.nn.Module.load_state_dict

    def load_state_dict(self, state, strict=True, assign=False):
        if not assign:
            return load(self, state, strict)
        for name, tensor in state.items():
            self._parameters[name] = torch.nn.Parameter(tensor)

    torch.nn.Module.load_state_dict = load_state_dict


if torch.__version__.startswith("1."):
    stand_in_for_pytorch_2()

import safetensors.torch  # noqa: E402
import tokenizers  # noqa: E402
import transformers  # noqa: E402

SIZES = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 320, "max_position_embeddings": 128, "rope_theta": 10000.0,
    "bos_token_id": None, "eos_token_id": 0, "attn_implementation": "eager",
}  # fmt: skip
FAMILIES = {
    "llama": ("Llama", {"tie_word_embeddings": False}),
    "qwen2": ("Qwen2", {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3", {"tie_word_embeddings": False, "head_dim": 32}),
    "qwen3_moe": ("Qwen3Moe", {
        "tie_word_embeddings": False, "head_dim": 32, "num_experts": 5, "num_experts_per_tok": 2,
        "moe_intermediate_size": 24, "norm_topk_prob": False}),
    "mixtral": ("Mixtral", {
        "tie_word_embeddings": False, "intermediate_size": 40, "num_local_experts": 4, "num_experts_per_tok": 2}),
}
# Of RoPE scaling, normalized shares and balanced experts: loss and gradients alone.
SCALED = {
    "llama-linear": ("Llama", {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}),
    "llama-llama3": ("Llama", {"rope_scaling": {
        "rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32}}),
    "qwen2-yarn": ("Qwen2", {"rope_scaling": {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}}),
    "qwen3-yarn": ("Qwen3", {"head_dim": 32, "rope_scaling": {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 8.0,
        "beta_slow": 2.0, "mscale": 1.0, "mscale_all_dim": 0.5}}),
    "qwen3_moe-normalized": ("Qwen3Moe", {
        "head_dim": 32, "num_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 40,
        "norm_topk_prob": True}),
    "mixtral-balanced": ("Mixtral", {
        "num_local_experts": 4, "num_experts_per_tok": 2, "output_router_logits": True, "router_aux_loss_coef": 0.5}),
}  # fmt: skip
SEQ_LEN = 24
NEW_TOKENS = 40
PROMPTS = ["one red", "The quick brown fox jumps over the lazy dog, and then? "]


def train_tokenizer(text, path):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=SIZES["vocab_size"], special_tokens=["<|end|>"], show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator([text], trainer)
    tokenizer.save(str(path))
    return tokenizer


def mean_loss(model, tokens, begin, end, seq_len):
    """Mean cross-entropy of tokens begin + 1 .. end, in windows of seq_len, and the sum's graph."""
    total = 0.0
    for first in range(begin, end, seq_len):
        last = min(first + seq_len, end)
        inputs, targets = torch.tensor([tokens[first:last]]), torch.tensor(tokens[first + 1 : last + 1])
        logits = model(inputs).logits[0]
        total = total + torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
    return total / (end - begin)


def balance_loss(model, tokens, windows):
    """Of a model that asks for it, the loss of its routers, a mean over windows."""
    if not getattr(model.config, "output_router_logits", False):
        return 0.0
    inputs = [torch.tensor([tokens[i * SEQ_LEN : (i + 1) * SEQ_LEN]]) for i in range(windows)]
    return model.config.router_aux_loss_coef * sum(model(each).aux_loss for each in inputs) / windows


def expected_of(model, tokens, tokenizer, prompts):
    """Losses, gradients of one step over all training windows, and greedy continuations."""
    windows = (len(tokens) - 1) // SEQ_LEN
    training = windows - max(1, windows // 20)
    loss = mean_loss(model, tokens, 0, training * SEQ_LEN, SEQ_LEN)
    (loss + balance_loss(model, tokens, training)).backward()
    gradients = {name: each.grad.clone() for name, each in model.named_parameters()}
    norm = math.sqrt(sum(float((each.double() ** 2).sum()) for each in gradients.values()))
    with torch.no_grad():
        text_loss = float(mean_loss(model, tokens, 0, len(tokens) - 1, SEQ_LEN))
        generated = []
        for prompt in prompts:
            ids = tokenizer.encode(prompt).ids
            out = model.generate(torch.tensor([ids]), max_new_tokens=NEW_TOKENS, do_sample=False, eos_token_id=None,
                                 pad_token_id=0, attention_mask=torch.ones(1, len(ids)))  # fmt: skip
            generated.append({"prompt": prompt, "prompt_ids": ids, "ids": out[0, len(ids) :].tolist()})
    expected = {"step_loss": float(loss), "grad_norm": norm, "training_windows": training,
                "text_loss": text_loss, "generated": generated}  # fmt: skip
    return expected, gradients


def make(folder):
    text = (folder / "text.txt").read_text()
    expected = {"seq_len": SEQ_LEN, "new_tokens": NEW_TOKENS}
    for seed, (family, (prefix, own)) in enumerate({**FAMILIES, **SCALED}.items()):
        torch.manual_seed(seed)
        config = getattr(transformers, prefix + "Config")(**{**SIZES, **own})
        model = getattr(transformers, prefix + "ForCausalLM")(config).float().eval()
        with torch.no_grad():
            for name, each in model.named_parameters():
                # Far from where training begins, so that no two tokens are nearly as likely.
                each.add_(torch.randn_like(each) * (0.1 if each.dim() == 1 else 0.2))
        model.save_pretrained(folder / family, safe_serialization=True)
        tokenizer = train_tokenizer(text, folder / family / "tokenizer.json")
        expected[family], gradients = expected_of(
            model, tokenizer.encode(text).ids, tokenizer, PROMPTS if family in FAMILIES else []
        )
        expected[family]["logits"] = logits_of(model)
        safetensors.torch.save_file(gradients, str(folder / f"{family}.gradients"))
    (folder / "expected.json").write_text(json.dumps(expected))


def logits_of(model):
    with torch.no_grad():
        return model(torch.arange(1, 33).reshape(2, 16)).logits.flatten().tolist()


def logits(folder):
    found = {}
    for family in FAMILIES:
        auto = transformers.AutoModelForCausalLM
        model = auto.from_pretrained(folder / f"{family}-out", torch_dtype=torch.float32, attn_implementation="eager")
        found[family] = logits_of(model.eval())
    (folder / "logits.json").write_text(json.dumps(found))


if __name__ == "__main__":
    {"make": make, "logits": logits}[sys.argv[1]](pathlib.Path(sys.argv[2]))

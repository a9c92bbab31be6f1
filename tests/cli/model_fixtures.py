"""Small model folders, written without the safetensors package; a Hugging Face cache as its tools lay it out."""

import json
import math
import struct

import numpy
from small_run import CONFIG, small_flags

MOE = {
    "model_type": "qwen3_moe", "hidden_size": 32, "intermediate_size": 48, "moe_intermediate_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 256,
    "num_experts": 4, "num_experts_per_tok": 2, "norm_topk_prob": True, "max_position_embeddings": 64,
    "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": False, "hidden_act": "silu",
}  # fmt: skip
MIXTRAL = {key: value for key, value in MOE.items() if key not in ("moe_intermediate_size", "num_experts", "norm_topk_prob")}
MIXTRAL |= {"model_type": "mixtral", "num_local_experts": 4, "intermediate_size": 24}
BPE = {
    "version": "1.0", "added_tokens": [], "normalizer": None,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    "post_processor": None, "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
}  # fmt: skip

LARGER = {**CONFIG, "vocab_size": 300}  # Ids of a tokenizer: no vocabulary of bytes.


def two_step_flags(tmp_path):
    """Flags of two short steps of the model folder `model`."""
    return [*small_flags(tmp_path, "model"), "steps=2", "--seq-len", "16"]


def shown(run_sluice, name, **options):
    """Everything that is known of a model before it is trained."""
    return run_sluice("models", "show", name, "--json", **options).json()


def save_tensors(tensors, path):
    """Writes fp32 arrays as a safetensors file."""
    header, at = {}, 0
    for name, values in tensors.items():
        size = 4 * values.size
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            file.write(numpy.ascontiguousarray(values, dtype="<f4").tobytes())


def moe_shapes(config):
    """Names and shapes of a mixture's tensors, expert by expert."""
    hidden, width, head = config["hidden_size"], config.get("moe_intermediate_size", config["intermediate_size"]), config["head_dim"]
    heads, kv = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    mixtral = config["model_type"] == "mixtral"
    block = "block_sparse_moe" if mixtral else "mlp"
    gate, up, down = ("w1", "w3", "w2") if mixtral else ("gate_proj", "up_proj", "down_proj")
    count = config["num_local_experts"] if mixtral else config["num_experts"]
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], hidden)}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        shapes |= {at + "input_layernorm.weight": (hidden,), at + "self_attn.q_proj.weight": (heads, hidden),
                   at + "self_attn.k_proj.weight": (kv, hidden), at + "self_attn.v_proj.weight": (kv, hidden)}  # fmt: skip
        if not mixtral:
            shapes |= {at + "self_attn.q_norm.weight": (head,), at + "self_attn.k_norm.weight": (head,)}
        shapes |= {at + "self_attn.o_proj.weight": (hidden, heads), at + "post_attention_layernorm.weight": (hidden,),
                   at + f"{block}.gate.weight": (count, hidden)}  # fmt: skip
        for expert in range(count):
            name = f"{at}{block}.experts.{expert}."
            shapes |= {f"{name}{gate}.weight": (width, hidden), f"{name}{up}.weight": (width, hidden),
                       f"{name}{down}.weight": (hidden, width)}  # fmt: skip
    return {**shapes, "model.norm.weight": (hidden,), "lm_head.weight": (config["vocab_size"], hidden)}


def random_tensors(shapes):
    generator = numpy.random.default_rng(5)
    return {name: (generator.normal(0, 0.02, math.prod(shape)) + name.endswith("norm.weight")).astype("f4").reshape(shape)
            for name, shape in shapes.items()}  # fmt: skip


def stacked(tensors, config, turned=False, apart=False):
    """The same weights with the experts of a block in one tensor, as transformers 5 holds them; `turned`: the last two
    axes exchanged; `apart`: gates and ups in tensors of their own."""
    mixtral = config["model_type"] == "mixtral"
    block = "block_sparse_moe" if mixtral else "mlp"
    gate, up, down = ("w1", "w3", "w2") if mixtral else ("gate_proj", "up_proj", "down_proj")
    count = config["num_local_experts"] if mixtral else config["num_experts"]
    found = {}
    for name, values in tensors.items():
        if ".experts." not in name:
            found[name.replace("block_sparse_moe.gate", "mlp.gate")] = values
    for layer in range(config["num_hidden_layers"]):
        of = lambda each: numpy.stack([tensors[f"model.layers.{layer}.{block}.experts.{i}.{each}.weight"] for i in range(count)])  # noqa: E731, B023
        stacks = {"down_proj": of(down)}
        stacks |= {"gate_proj": of(gate), "up_proj": of(up)} if apart else {"gate_up_proj": numpy.concatenate([of(gate), of(up)], 1)}
        for each, values in stacks.items():
            found[f"model.layers.{layer}.mlp.experts.{each}"] = values.transpose(0, 2, 1) if turned else values
    return found


def byte_letters():
    """The letter of each byte in byte-level tokenizers, as GPT-2 has them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


def write_tokenizer(folder):
    """A byte-level tokenizer whose id of byte B is (B + 7) mod 256, then one merge: no guess of bytes gives its ids."""
    letters = byte_letters()
    vocab = {letters[byte]: (byte + 7) % 256 for byte in range(256)} | {"th": 256}
    (folder / "tokenizer.json").write_text(json.dumps({**BPE, "model": {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
        "fuse_unk": False, "byte_fallback": False, "vocab": vocab, "merges": ["t h"]}}))  # fmt: skip


def llama_shapes(config):
    """Names and shapes of a llama whose head is tied to its embedding."""
    hidden, wide, head = config["hidden_size"], config["intermediate_size"], config["hidden_size"] // config["num_attention_heads"]
    heads, kv = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        shapes |= {f"{at}{name}.weight": shape for name, shape in {
            "input_layernorm": (hidden,), "post_attention_layernorm": (hidden,), "self_attn.q_proj": (heads, hidden),
            "self_attn.k_proj": (kv, hidden), "self_attn.v_proj": (kv, hidden), "self_attn.o_proj": (hidden, heads),
            "mlp.gate_proj": (wide, hidden), "mlp.up_proj": (wide, hidden), "mlp.down_proj": (hidden, wide)}.items()}  # fmt: skip
    return shapes


def write_folder(folder, config=CONFIG, weights=True, tokenizer=False):
    """A folder of a tied llama."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    if weights:
        save_tensors(random_tensors(llama_shapes(config)), folder / "model.safetensors")
    if tokenizer:
        write_tokenizer(folder)
    return folder


class Cache:
    """A Hugging Face cache: blobs, and snapshots that link to them."""

    def __init__(self, root):
        self.root = root

    def folder(self, hub_id):
        return self.root / ("models--" + hub_id.replace("/", "--"))

    def snapshot(self, hub_id, commit, files, ref=None):
        """Adds a snapshot with `files` by name; a value of None is a link to a blob that is not there."""
        base = self.folder(hub_id)
        (base / "blobs").mkdir(parents=True, exist_ok=True)
        snapshot = base / "snapshots" / commit
        snapshot.mkdir(parents=True)
        for name, content in files.items():
            blob = base / "blobs" / f"{commit}-{name}"
            if content is not None:
                blob.write_bytes(content if isinstance(content, bytes) else content.read_bytes())
            (snapshot / name).symlink_to(f"../../blobs/{blob.name}")
        if ref:
            path = base / "refs" / ref
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(commit)
        return snapshot

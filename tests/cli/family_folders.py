"""Folders of tiny models of families, as checkpoints have them, and raw tensors of safetensors files."""

import json
import pathlib
import struct

import numpy

FIXTURES = pathlib.Path(__file__).parent.parent / "fixtures" / "families"
MACHINE = ["--machine", "here", "--backend", "host", "--compute", "fp32", "--hbm", "8MiB", "--host", "1GiB"]
# Of one step at a learning rate of 0, which leaves every weight as it is.
STILL = ["--seq-len", "8", "--batch-size", "2", "--steps", "1", "--lr", "0", "machine.h2d=400 MB/s", "machine.d2h=400 MB/s"]
TEXT = "abcdefghijklmnopq" * 20


def read_raw(path):
    """A safetensors file's remarks, and dtype, shape and bytes of its tensors by name."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    remarks = header.pop("__metadata__", {})
    tensors = {}
    for key, entry in header.items():
        begin, end = (8 + size + at for at in entry["data_offsets"])
        tensors[key] = (entry["dtype"], entry["shape"], data[begin:end])
    return remarks, tensors


def read_tensors(path):
    """A safetensors file's remarks and arrays, which are fp32 or int32."""
    remarks, raw = read_raw(path)
    types = {"F32": "<f4", "I32": "<i4"}
    return remarks, {key: numpy.frombuffer(data, types[dtype]).reshape(shape) for key, (dtype, shape, data) in raw.items()}


def raw_of(values):
    """dtype, shape and bytes of an fp32 array."""
    return "F32", list(values.shape), numpy.ascontiguousarray(values, dtype="<f4").tobytes()


def write_raw(tensors, path):
    """Writes a safetensors file of what read_raw gives."""
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def write_letters(folder, count):
    """A tokenizer whose token I is the letter behind the first by I."""
    vocab = {chr(ord("a") + i): i for i in range(count)}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        "post_processor": None, "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "vocab": vocab, "merges": []}}))  # fmt: skip


class Fixture:
    """A tiny model and what transformers computes of it."""

    def __init__(self, name):
        remarks, tensors = read_tensors(FIXTURES / f"{name}.safetensors")
        self.config = json.loads(remarks["config"])
        self.loss = float(remarks["loss"])
        self.logits = tensors["logits"]
        self.weights = {key.removeprefix("weight/"): value for key, value in tensors.items() if key.startswith("weight/")}
        self.tokens, self.targets = tensors["tokens"], tensors["targets"]
        self.greedy = tensors["greedy"].tolist()
        self.prompt = text_of(self.tokens[0, : self.tokens.shape[1] - len(self.greedy)])

    def write(self, folder):
        """Writes the model's folder; returns this."""
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(self.config))
        write_raw({name: raw_of(value) for name, value in self.weights.items()}, folder / "model.safetensors")
        write_letters(folder, self.config["vocab_size"])
        return self


def text_of(tokens):
    """The text that the tokenizer of letters reads as these tokens."""
    return "".join(chr(ord("a") + token) for token in tokens)


def names():
    """Every family that has a fixture."""
    return sorted(path.stem for path in FIXTURES.glob("*.safetensors"))

"""Tiny models of families through the program: the greedy text of transformers, and their weights after an export."""

import json
import pathlib
import struct

import numpy
import pytest
from conftest import available_verbs
from model_fixtures import save_tensors

pytestmark = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")

FIXTURES = pathlib.Path(__file__).parent.parent / "fixtures" / "families"
MACHINE = ["--machine", "here", "--backend", "host", "--compute", "fp32", "--hbm", "8MiB", "--host", "1GiB"]
# One of each: norms behind sublayers, stacked experts, a gated delta net, and latent attention with experts in groups.
NAMES = ["gemma3_text", "gpt_oss", "qwen3_next", "deepseek_v3"]


def read_tensors(path):
    """A safetensors file's remarks and arrays."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    remarks = header.pop("__metadata__", {})
    types = {"F32": "<f4", "I32": "<i4"}
    tensors = {}
    for key, entry in header.items():
        begin, end = (8 + size + at for at in entry["data_offsets"])
        tensors[key] = numpy.frombuffer(data[begin:end], types[entry["dtype"]]).reshape(entry["shape"])
    return remarks, tensors


def write_letters(folder, count):
    """A tokenizer whose token I is the letter behind the first by I."""
    vocab = {chr(ord("a") + i): i for i in range(count)}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        "post_processor": None, "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "vocab": vocab, "merges": []}}))  # fmt: skip


def write_model(folder, name):
    """The fixture as a model folder; returns its weights by name, its first prompt and the greedy text behind it."""
    remarks, tensors = read_tensors(FIXTURES / f"{name}.safetensors")
    config = json.loads(remarks["config"])
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    weights = {key.removeprefix("weight/"): value for key, value in tensors.items() if key.startswith("weight/")}
    save_tensors(weights, folder / "model.safetensors")
    write_letters(folder, config["vocab_size"])
    greedy = tensors["greedy"].tolist()
    prompt = tensors["tokens"][0, : tensors["tokens"].shape[1] - len(greedy)]
    return weights, "".join(chr(ord("a") + token) for token in prompt), greedy


@pytest.mark.parametrize("name", NAMES)
def test_greedy_text_is_that_of_transformers(run_sluice, tmp_path, name):
    _, prompt, greedy = write_model(tmp_path / "model", name)
    words = ["--prompt", prompt, "--max-new-tokens", str(len(greedy)), "--ignore-eos", *MACHINE, "--json"]
    assert run_sluice("generate", "model", *words).json()["ids"] == greedy


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_weights_that_no_step_changed_are_exported_as_they_were(run_sluice, tmp_path, name):
    weights, _, _ = write_model(tmp_path / "model", name)
    (tmp_path / "text.txt").write_text("abcdefghijklmnopq" * 20)
    run_sluice("train", "--model", "model", "--data", "text.txt", "--seq-len", "8", "--batch-size", "2", "--steps", "1", "--lr", "0",
               *MACHINE, "out=run", "machine.h2d=400 MB/s", "machine.d2h=400 MB/s")  # fmt: skip
    run_sluice("export", "run", "-o", "exported", "--dtype", "fp32")
    exported = read_tensors(tmp_path / "exported" / "model.safetensors")[1]
    assert exported.keys() == weights.keys()
    for key, value in weights.items():
        assert numpy.array_equal(exported[key], value), key

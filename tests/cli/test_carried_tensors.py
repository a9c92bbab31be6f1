"""Tensors beside a text model, of vision and of further predictions: an export has them bit for bit, or is refused."""

import json

import pytest
from conftest import available_verbs
from family_folders import MACHINE, STILL, TEXT, Fixture, raw_of, read_raw, write_letters, write_raw

pytestmark = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")

# Types and sizes that no text model has.
CARRIED = {
    "model.visual.patch_embed.proj.weight": ("BF16", [2, 3, 1, 1, 1], bytes(range(12))),
    "model.visual.blocks.0.steps": ("I64", [1], b"12345678"),
    "mtp.layers.0.self_attn.q_proj.weight": ("F8_E4M3", [2, 5], bytes(range(10))),
    "mtp.norm.weight": ("F16", [3], b"abcdef"),
}
FILE = "model.safetensors"


def write_wrapper(folder):
    """A model that sees, whose text model is the tiny qwen3_5; returns its tensors as the file has them."""
    text = Fixture("qwen3_5")
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({
        "model_type": "qwen3_5", "architectures": ["Qwen3_5ForConditionalGeneration"], "text_config": text.config,
        "tie_word_embeddings": True, "vision_config": {"depth": 1, "hidden_size": 2}}))  # fmt: skip
    renamed = {name.replace("model.", "model.language_model.", 1): raw_of(value) for name, value in text.weights.items()}
    write_raw(renamed | CARRIED, folder / FILE)
    write_letters(folder, text.config["vocab_size"])
    return renamed | CARRIED


def write_predicting(folder):
    """A model with a layer behind its last, which predicts a second token; returns the tensors of that."""
    text = Fixture("glm4_moe")
    layers = text.config["num_hidden_layers"]
    text.config["num_nextn_predict_layers"] = 1
    text.write(folder)
    behind = {f"model.layers.{layers}.eh_proj.weight": ("BF16", [2, 2], b"hgfedcba"),
              f"model.layers.{layers}.mlp.experts.0.up_proj.weight": ("F8_E4M3", [1, 3], b"xyz")}  # fmt: skip
    write_raw({name: raw_of(value) for name, value in text.weights.items()} | behind, folder / FILE)
    return behind


def train(run_sluice, tmp_path, model, *words, out="run"):
    (tmp_path / "text.txt").write_text(TEXT)
    return run_sluice("train", "--model", model, "--data", "text.txt", *STILL, *MACHINE, f"out={out}", *words)


def change(file, name):
    """Flips one bit of a tensor."""
    tensors = read_raw(file)[1]
    dtype, shape, data = tensors[name]
    tensors[name] = (dtype, shape, data[:-1] + bytes([data[-1] ^ 1]))
    write_raw(tensors, file)


def test_an_export_of_a_wrapper_has_all_its_tensors_bit_for_bit(run_sluice, validate, tmp_path):
    before = write_wrapper(tmp_path / "model")
    train(run_sluice, tmp_path, "model")
    checkpoint = json.loads((tmp_path / "run/checkpoints/step-1/checkpoint.json").read_text())
    validate(checkpoint, "checkpoint")
    assert checkpoint["carried"]["sha256"].keys() == CARRIED.keys()
    told = run_sluice("export", "run", "-o", "out", "--dtype", "fp32").out
    assert "with 4 tensors (36 B: model.visual, mtp) that were not trained, unchanged since the run began by their SHA-256" in told
    after = read_raw(tmp_path / "out" / FILE)[1]
    assert after == before
    assert json.loads((tmp_path / "out/config.json").read_text())["model_type"] == "qwen3_5"
    # A run that begins with the checkpoint carries what the first one did.
    train(run_sluice, tmp_path, "run/checkpoints/step-1", out="next")
    said = run_sluice("export", "next", "-o", "out2", "--dtype", "fp32", "--json").json()
    validate(said, "export")
    assert said["carried"] == {"tensors": 4, "bytes": 36, "parts": ["model.visual", "mtp"], "compared": True}
    assert read_raw(tmp_path / "out2" / FILE)[1] == before


def test_layers_that_predict_further_tokens_are_exported_bit_for_bit(run_sluice, tmp_path):
    behind = write_predicting(tmp_path / "model")
    train(run_sluice, tmp_path, "model")
    run_sluice("export", "run", "-o", "out")
    after = read_raw(tmp_path / "out" / FILE)[1]
    assert {name: after[name] for name in behind} == behind
    assert json.loads((tmp_path / "out/config.json").read_text())["num_nextn_predict_layers"] == 1


def test_tensors_that_changed_since_the_run_began_are_refused_by_name(run_sluice, refuses, tmp_path):
    before = write_wrapper(tmp_path / "model")
    train(run_sluice, tmp_path, "model")
    file = tmp_path / "model" / FILE
    for name in CARRIED:
        change(file, name)
        refuses(["export", "run", "-o", "out"], f"tensor {name} has changed since the run began", "put the folder back as it was")
        write_raw(before, file)
    write_raw({name.replace("mtp.norm", "mtp.other"): raw for name, raw in before.items()}, file)
    refuses(["export", "run", "-o", "out"], "tensor mtp.norm.weight is missing")
    assert not (tmp_path / "out").exists()


def test_a_changed_text_model_is_no_concern_of_what_is_carried(run_sluice, tmp_path):
    before = write_wrapper(tmp_path / "model")
    train(run_sluice, tmp_path, "model")
    change(tmp_path / "model" / FILE, "model.language_model.norm.weight")
    run_sluice("export", "run", "-o", "out", "--dtype", "fp32")
    assert read_raw(tmp_path / "out" / FILE)[1] == before

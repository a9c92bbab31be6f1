"""Files of weights: those that are something else, cut short, quantised or of a stopped download are refused by name, and
experts may be stacked in one tensor. Cases: docs/field_cases/models.md."""

import json

import pytest
from conftest import available_verbs
from model_fixtures import (
    LARGER,
    MIXTRAL,
    MOE,
    moe_shapes,
    random_tensors,
    save_tensors,
    shown,
    stacked,
    two_step_flags,
    write_folder,
)
from small_run import CONFIG, bits

pytestmark = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4" * 64 + b"\nsize 16331\n"


@pytest.fixture
def flags(tmp_path):
    return two_step_flags(tmp_path)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "model.safetensors.index.json", "tokenizer.json", "text.txt"])
def test_a_git_lfs_pointer_is_named(refuses, flags, tmp_path, name):
    folder = write_folder(tmp_path / "model", LARGER, tokenizer=True)
    if name.endswith("index.json"):
        (folder / "model.safetensors").unlink()
    (tmp_path / name if name == "text.txt" else folder / name).write_bytes(POINTER)
    refuses(["train", *flags], f"{name}{'' if name == 'text.txt' else ':'} is a Git LFS pointer", "run git lfs pull")


@pytest.mark.parametrize("content, text", [
    (b"", "is empty"), (b"PK\x03\x04" + b"\x14\x00" * 40, "a PyTorch file"), (b"GGUF\x03\x00\x00\x00\x09" + b"\x00" * 40, "a GGUF file"),
    (b"<!DOCTYPE html><html>", "a web page"), (b"Entry not found", "failed download"), (b"\x80\x02}q\x00X\x08abc", "a pickle"),
    (b"\x10\x00\x00\x00\x00\x00\x00\x00{}", "cut short"),
])  # fmt: skip
def test_what_is_no_safetensors_file_is_named(refuses, flags, tmp_path, content, text):
    folder = write_folder(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(content)
    refuses(["train", *flags], "model.safetensors", text)


def test_a_file_that_was_cut_short_is_named(refuses, flags, tmp_path):
    file = write_folder(tmp_path / "model") / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    refuses(["train", *flags], "the file is cut short")


def test_a_download_that_was_stopped_is_not_begun_from_random_weights(refuses, flags, tmp_path):
    folder = write_folder(tmp_path / "model", weights=False)
    (folder / ".cache/huggingface/download").mkdir(parents=True)
    (folder / ".cache/huggingface/download/xyz.incomplete").write_bytes(b"half")
    refuses(["train", *flags], "did not end", ".incomplete", "download the folder again")


@pytest.mark.parametrize("settings, text", [
    ({"quant_method": "fbgemm_fp8"}, "FP8 (FBGEMM) weights are quantised"), ({"quant_method": "bitsandbytes"}, "bitsandbytes weights"),
    ({"quant_method": "compressed-tensors"}, "compressed-tensors weights"), ({"bits": 4}, "so marked weights are quantised"),
])  # fmt: skip
def test_quantised_weights_are_named_before_training(run_sluice, refuses, flags, tmp_path, settings, text):
    write_folder(tmp_path / "model", {**CONFIG, "quantization_config": settings})
    refuses(["train", *flags], text)
    assert text in shown(run_sluice, "model")["weights"]["problem"]


@pytest.mark.parametrize("config", [MOE, MIXTRAL], ids=["qwen3_moe", "mixtral"])
def test_stacked_experts_train_to_the_bits_of_single_ones(run_sluice, flags, tmp_path, config):
    tensors = random_tensors(moe_shapes(config))
    forms = {"single": tensors, "stacked": stacked(tensors, config), "turned": stacked(tensors, config, turned=True),
             "apart": stacked(tensors, config, apart=True)}  # fmt: skip
    results = {}
    write_folder(tmp_path / "model", config, weights=False)
    run_sluice("plan", *flags, "-o", "plan.json")
    for form, saved in forms.items():
        folder = tmp_path / form
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config))
        save_tensors(saved, folder / "model.safetensors")
        words = [form if word == "model" else word for word in flags]
        done = run_sluice("train", *words, f"out={form}-run", "--plan", "plan.json", "--json", "--no-checkpoint").json()
        results[form] = (bits(tmp_path / f"{form}-run"), done["weights_sha256"])
        weights = shown(run_sluice, form)["weights"]
        assert weights["stacked_experts"] == (form != "single")
        assert weights["missing"] == weights["surplus"] == weights["misfits"] == [] and weights["problem"] is None
    assert results["single"] == results["stacked"] == results["turned"] == results["apart"]


def test_a_stack_of_another_shape_is_refused(refuses, flags, tmp_path):
    tensors = stacked(random_tensors(moe_shapes(MOE)), MOE)
    name = "model.layers.1.mlp.experts.gate_up_proj"
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(MOE))
    save_tensors({**tensors, name: tensors[name][:3]}, folder / "model.safetensors")
    refuses(["train", *flags], name, "has shape [3, 48, 32], and config.json makes it [4, 48, 32]")

"""Model folders that train refuses, and how: other tensors, other forms of weights, broken indices."""

import json
import shutil

import pytest
from conftest import available_verbs
from small_run import CONFIG, small_flags, tensors_of, write_model

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)
torch = pytest.importorskip("torch", reason="python3-torch is not installed")
safetensors_torch = pytest.importorskip(
    "safetensors.torch", reason="PyPI's safetensors is not installed (scripts/install tests)"
)


@pytest.fixture
def flags(tmp_path):
    """A small run on the model folder `model`, which a test makes."""
    return [*small_flags(tmp_path, "model"), "steps=2"]


def save(tensors, path):
    safetensors_torch.save_file(tensors, str(path), metadata={"format": "pt"})


def adds(name, *shape, **options):
    """Puts a tensor of zeros under `name`, in place of the one there if any."""
    return lambda tensors, config: tensors.update({name: torch.zeros(*shape, **options)})


def configures(**fields):
    return lambda tensors, config: config.update(fields)


REFUSALS = {
    "a missing tensor": (lambda t, c: t.pop("model.norm.weight"), "model.norm.weight is missing"),
    "a tensor too many": (
        adds("model.layers.0.self_attn.q_proj.bias", 64),
        "model.layers.0.self_attn.q_proj.bias: is no part of the llama model",
    ),
    "another shape": (
        adds("model.norm.weight", 65),
        "model.norm.weight: has shape [65], and config.json makes it [64]",
    ),
    "whole numbers": (
        adds("model.norm.weight", 64, dtype=torch.int8),
        "model.norm.weight: dtype I8 is not supported",
    ),
    "a value that is none": (
        lambda t, c: t["model.norm.weight"].__setitem__(7, float("nan")),
        "model.norm.weight: element 7 is not a finite number",
    ),
    "a head that is not tied": (
        configures(tie_word_embeddings=False),
        "lm_head.weight is missing",
    ),
    "GPTQ by its tensors": (
        adds("model.layers.0.mlp.up_proj.g_idx", 4),
        "GPTQ weights are quantised",
    ),
    "AWQ by its tensors": (
        adds("model.layers.0.mlp.up_proj.qweight", 4),
        "AWQ weights are quantised",
    ),
    "MXFP4 without its scales": (
        adds("model.layers.0.mlp.experts.down_proj_blocks", 4, 16, dtype=torch.uint8),
        "model.layers.0.mlp.experts.down_proj_scales is missing",
    ),
    "FP8 without its factors": (
        adds("model.layers.0.mlp.up_proj.weight", 96, 64, dtype=getattr(torch, "float8_e4m3fn", torch.int8)),
        "model.layers.0.mlp.up_proj.weight: dtype",
    ),
    **{
        f"{name} by config.json": (
            configures(quantization_config={"quant_method": method}),
            f"{name} weights are quantised",
        )
        for method, name in {
            "gptq": "GPTQ", "awq": "AWQ", "fbgemm_fp8": "FP8 (FBGEMM)", "bitsandbytes": "bitsandbytes",
        }.items()
    },
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSALS)
def test_a_folder_that_is_not_the_model_is_refused(refuses, flags, tmp_path, what):
    change, text = REFUSALS[what]
    tensors, config = tensors_of(CONFIG), dict(CONFIG)
    change(tensors, config)
    write_model(tmp_path / "model", config)
    save(tensors, tmp_path / "model" / "model.safetensors")
    refuses(["train", *flags], "model", str(tmp_path / "model"), text)


def test_a_start_that_fails_leaves_the_runs_folder_as_it_was(refuses, run_sluice, flags, tmp_path):
    """What is no number is found while weights are read, long after the folder was made."""
    what, text = REFUSALS["a value that is none"]
    tensors = tensors_of(CONFIG)
    what(tensors, CONFIG)
    write_model(tmp_path / "model", CONFIG)
    save(tensors, tmp_path / "model" / "model.safetensors")
    (tmp_path / "mine").mkdir()
    refuses(["train", *flags, "--out", "mine/deep/run"], text)
    assert list((tmp_path / "mine").iterdir()) == []
    refuses(["train", *flags], text)
    assert not (tmp_path / "runs").exists()
    (tmp_path / "mine" / "notes").write_text("of last year")
    (tmp_path / "mine" / "plan.json").write_text("{}")
    refuses(["train", *flags, "--out", "mine"], text)
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == ["notes", "plan.json"]
    save(tensors_of(CONFIG), tmp_path / "model" / "model.safetensors")
    run_sluice("train", *flags, "--out", "mine")
    before = {path: path.read_bytes() for path in (tmp_path / "mine").rglob("*") if path.is_file()}
    refuses(["train", *flags, "--out", "mine"], "already holds a run")
    refuses(["train", *flags, "--out", "mine", "--resume"], "raise steps")
    assert {path: path.read_bytes() for path in (tmp_path / "mine").rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "name, text",
    [
        ("pytorch_model.bin", "only safetensors"),
        ("model-q4.gguf", "GGUF"),
        ("adapter_model.safetensors", "adapter"),
        ("weights.safetensors", "rename it"),
    ],
)
def test_weights_in_another_form_are_not_passed_over(refuses, flags, tmp_path, name, text):
    write_model(tmp_path / "model", CONFIG)
    (tmp_path / "model" / name).write_bytes(b"")
    refuses(["train", *flags], name, text)


@pytest.mark.parametrize(
    "index, text",
    [
        ({}, "weight_map is missing"),
        ({"weight_map": {}}, "weight_map is empty"),
        ({"weight_map": {"a": "../x.safetensors"}}, "is not the name of a safetensors file"),
        ({"weight_map": {"a": "x.safetensors"}}, "x.safetensors is missing"),
        ({"weight_map": {"a.qweight": "x.safetensors"}}, "quantised"),
    ],
)
def test_a_wrong_index_is_refused(refuses, flags, tmp_path, index, text):
    write_model(tmp_path / "model", CONFIG)
    (tmp_path / "model" / "model.safetensors.index.json").write_text(json.dumps(index))
    refuses(["train", *flags], "model.safetensors.index.json", text)


def test_a_tensor_in_two_shards_is_refused(refuses, flags, tmp_path):
    folder = tmp_path / "model"
    write_model(folder, CONFIG)
    save(tensors_of(CONFIG), folder / "a.safetensors")
    shutil.copy(folder / "a.safetensors", folder / "b.safetensors")
    index = {"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    refuses(["train", *flags], "b.safetensors", "is in a.safetensors too")


def test_a_folder_with_an_adapter_is_named_with_its_base_and_what_merges_it(refuses, run_sluice, flags, tmp_path):
    folder = tmp_path / "model"
    write_model(folder, CONFIG)
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "base_model_name_or_path": "Qwen/Qwen3-8B"}))
    save({"x": torch.zeros(2)}, folder / "adapter_model.safetensors")
    said = "holds an adapter (LORA) of Qwen/Qwen3-8B, and Sluice trains all weights of a model: merge it into its base"
    refuses(["train", *flags], said, "merge_and_unload", cwd=tmp_path)
    refuses(["generate", "model", "--prompt", "a"], said, cwd=tmp_path)
    (folder / "config.json").rename(folder / "other.json")
    refuses(["train", *flags], said, cwd=tmp_path)
    (folder / "other.json").rename(folder / "config.json")
    save(tensors_of(CONFIG), folder / "model.safetensors")
    assert "the adapter beside the model's weights is not read" in run_sluice("train", *flags, cwd=tmp_path).err

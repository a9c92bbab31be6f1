"""Which model a name stands for, what is known of it before it is trained, and which files are refused: the Hugging Face
cache, ids without weights, Git LFS pointers, runs and checkpoints as models. Cases: docs/field_cases/models.md."""

import json
import shutil

import pytest
from conftest import available_verbs
from model_fixtures import MIXTRAL, MOE, Cache, moe_shapes, random_tensors, save_tensors, stacked, write_folder, write_tokenizer
from small_run import CONFIG, bits, small_flags

pytestmark = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4" * 64 + b"\nsize 16331\n"
LARGER = {**CONFIG, "vocab_size": 300}  # Ids of a tokenizer: no vocabulary of bytes.
ID = "some/model"


@pytest.fixture
def flags(tmp_path):
    return [*small_flags(tmp_path, "model"), "steps=2", "--seq-len", "16"]


@pytest.fixture
def hub(tmp_path):
    return Cache(tmp_path / "hub")


@pytest.fixture
def whole(tmp_path):
    """Files of a whole model, by name."""
    folder = write_folder(tmp_path / "whole")
    return {path.name: path for path in folder.iterdir()}


def shown(run_sluice, name, **options):
    return run_sluice("models", "show", name, "--json", **options).json()


# The cache.


def test_the_snapshot_is_the_one_that_refs_main_names(run_sluice, validate, flags, hub, whole):
    named = hub.snapshot(ID, "a" * 40, whole, ref="main")
    later = json.dumps({**CONFIG, "num_hidden_layers": 5}).encode()
    hub.snapshot(ID, "b" * 40, {"config.json": later})  # Newer, and config.json alone.
    env = {"HF_HUB_CACHE": str(hub.root)}
    model = shown(run_sluice, ID, env=env)
    validate(model, "model")
    assert model["layers"] == 2 and model["source"] == {"kind": "Hugging Face cache", "config": str(named / "config.json")}
    words = [ID if word == "model" else word for word in flags]
    assert run_sluice("train", *words, "--json", env=env).json()["weights_from"] == str(named)
    assert shown(run_sluice, f"{ID}@{'b' * 40}", env=env)["layers"] == 5
    assert shown(run_sluice, f"{ID}@bbbbbbb", env=env)["layers"] == 5
    assert shown(run_sluice, hub.folder(ID), env=env)["layers"] == 2  # Named by its folder in the cache.


@pytest.mark.parametrize("variable, place", [
    ("HF_HUB_CACHE", "hub"), ("HUGGINGFACE_HUB_CACHE", "hub"), ("HF_HOME", "."), ("TRANSFORMERS_CACHE", "hub"),
    ("XDG_CACHE_HOME", "xdg"), ("HOME", "home"),
])  # fmt: skip
def test_the_cache_lies_where_hugging_faces_tools_have_it(run_sluice, tmp_path, hub, whole, variable, place):
    inside = {"XDG_CACHE_HOME": "xdg/huggingface/hub", "HOME": "home/.cache/huggingface/hub"}.get(variable, "hub")
    hub.root = tmp_path / inside
    hub.snapshot(ID, "c" * 40, whole, ref="main")
    blank = dict.fromkeys(["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "TRANSFORMERS_CACHE"], "")
    env = {**blank, "HOME": str(tmp_path / "nowhere"), variable: str(tmp_path / place)}
    assert shown(run_sluice, ID, env=env)["weights"]["missing"] == []


def test_a_revision_is_a_branch_a_tag_or_a_commit(run_sluice, refuses, hub, whole):
    hub.snapshot(ID, "a" * 40, whole, ref="main")
    other = json.dumps({**CONFIG, "num_hidden_layers": 3}).encode()
    hub.snapshot(ID, "d" * 40, {"config.json": other}, ref="refs/pr/3")
    env = {"HF_HUB_CACHE": str(hub.root)}
    assert shown(run_sluice, f"{ID}@refs/pr/3", env=env)["layers"] == 3
    refuses(["models", "show", f"{ID}@v2"], "hf download some/model --revision v2", env=env)


def test_several_snapshots_without_refs_main_are_not_guessed_from(refuses, run_sluice, hub, whole):
    hub.snapshot(ID, "a" * 40, whole)
    env = {"HF_HUB_CACHE": str(hub.root)}
    assert shown(run_sluice, ID, env=env)["layers"] == 2  # The only one.
    hub.snapshot(ID, "b" * 40, whole)
    refuses(["models", "show", ID], "2 snapshots and no refs/main", f"{ID}@{'a' * 40}", env=env)


def test_refs_main_of_a_snapshot_that_was_removed_is_refused(refuses, hub, whole):
    shutil.rmtree(hub.snapshot(ID, "a" * 40, whole, ref="main"))
    refuses(["models", "show", ID], "refs/main", "hf download some/model", env={"HF_HUB_CACHE": str(hub.root)})


INDEX = json.dumps({"weight_map": {"model.norm.weight": "model-00001-of-00002.safetensors",
                                   "model.embed_tokens.weight": "model-00002-of-00002.safetensors"}}).encode()  # fmt: skip
INCOMPLETE = {
    "config.json alone": ({}, "without weights: hf download some/model"),
    "a link to nothing": ({"model.safetensors": None}, "is a link to a file that is not there: hf download some/model"),
    "an index to nothing": ({"model.safetensors.index.json": None}, "is a link to a file that is not there: hf download"),
    "no shard": ({"model.safetensors.index.json": INDEX}, "index.json names it: hf download some/model"),
    "one shard": ({"model.safetensors.index.json": INDEX, "model-00001-of-00002.safetensors": b"x"},
                  "model-00002-of-00002.safetensors is missing, and model.safetensors.index.json names it: hf download"),
    "shards and no index": ({"model-00001-of-00002.safetensors": b"x"}, "lists the parts, is not there: hf download"),
    "a pickle": ({"pytorch_model.bin": b"x"}, "only safetensors weights are read: convert it: python3 -c"),
}  # fmt: skip


@pytest.mark.parametrize("what", INCOMPLETE)
def test_an_id_without_its_weights_is_refused_with_the_command(refuses, run_sluice, flags, hub, whole, what):
    files, text = INCOMPLETE[what]
    hub.snapshot(ID, "a" * 40, {"config.json": whole["config.json"], **files}, ref="main")
    words = [ID if word == "model" else word for word in flags]
    env = {"HF_HUB_CACHE": str(hub.root)}
    refuses(["train", *words], text, env=env)
    refuses(["train", *words, "--dry-run"], text, env=env)
    run_sluice("predict", "--model", ID, "--machine", "h200", "--seq-len", 16, "--batch-size", 4, env=env)
    problem = shown(run_sluice, ID, env=env)["weights"]
    assert problem is None if what == "config.json alone" else text in problem["problem"]


def test_a_download_that_was_stopped_is_not_begun_from_random_weights(refuses, flags, tmp_path):
    folder = write_folder(tmp_path / "model", weights=False)
    (folder / ".cache/huggingface/download").mkdir(parents=True)
    (folder / ".cache/huggingface/download/xyz.incomplete").write_bytes(b"half")
    refuses(["train", *flags], "did not end", ".incomplete", "download the folder again")


def test_hub_names_of_the_catalogue_are_predicted_and_not_trained(run_sluice, refuses, flags, tmp_path):
    env = {"HF_HUB_CACHE": str(tmp_path / "empty")}
    words = ["--machine", "h200", "--seq-len", 512, "--batch-size", 4, "--json"]
    by_name = [run_sluice("predict", "--model", name, *words, env=env).out for name in ("qwen3-0.6b", "Qwen/Qwen3-0.6B", "qwen/qwen3-0.6b")]
    assert by_name[0] == by_name[1] == by_name[2]
    words = ["Qwen/Qwen3-0.6B" if word == "model" else word for word in flags]
    refuses(["train", *words], "hf download Qwen/Qwen3-0.6B", "model: qwen3-0.6b", env=env)
    refuses(["predict", "--model", "Qwen/Qwen9-1B", *flags[2:]], "hf download Qwen/Qwen9-1B config.json", env=env)


# Files that are something else.


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


# Experts of a block in one tensor.


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


# What is known before training.


def test_a_model_is_shown_as_it_will_be_trained(run_sluice, validate, tmp_path):
    config = {key: value for key, value in LARGER.items() if key not in ("rope_theta", "rms_norm_eps")}
    config |= {"torch_dtype": "bfloat16", "attention_dropout": 0.1}
    folder = write_folder(tmp_path / "model", config, tokenizer=True)
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ messages }}"}))
    model = shown(run_sluice, "model")
    validate(model, "model")
    assert (model["rope_theta"], model["rms_norm_eps"], model["head_dim"], model["dtype"]) == (10000, 1e-6, 16, "bfloat16")
    assert model["defaults"] == {"head_dim": 16, "initializer_range": 0.02, "attention_bias": False, "mlp_bias": False,
                                 "rms_norm_eps": 1e-6, "rope_theta": 10000.0}  # fmt: skip
    assert model["tokenizer"] == {"kind": "BPE", "file": "model/tokenizer.json", "problem": None}
    assert model["template"] == "model/tokenizer_config.json"
    assert model["notes"] == ["attention_dropout 0.1 is not applied: there is no dropout"]
    text = run_sluice("models", "show", "model").out
    for word in ["theta 10000", "rms_norm_eps 1e-06", "head_dim 16", "no window", "bfloat16", "tokenizer.json", "F32 in 1 file"]:
        assert word in text, word


def test_missing_and_surplus_tensors_are_listed_without_reading_weights(run_sluice, tmp_path):
    folder = write_folder(tmp_path / "model", LARGER)
    from model_fixtures import llama_shapes

    tensors = random_tensors(llama_shapes(LARGER))
    tensors["model.layers.0.self_attn.q_proj.bias"] = tensors.pop("model.norm.weight")
    tensors["model.layers.1.mlp.up_proj.weight"] = tensors["model.layers.1.mlp.up_proj.weight"].T
    save_tensors(tensors, folder / "model.safetensors")
    weights = shown(run_sluice, "model")["weights"]
    assert weights["missing"] == ["model.norm.weight"] and weights["surplus"] == ["model.layers.0.self_attn.q_proj.bias"]
    assert weights["misfits"] == [{"name": "model.layers.1.mlp.up_proj.weight", "found": "[64, 128]", "wanted": "[128, 64]"}]
    text = run_sluice("models", "show", "model").out
    assert "missing     1 tensors: model.norm.weight" in text and "surplus     1 tensors" in text


@pytest.mark.parametrize("settings, text", [
    ({"quant_method": "fp8"}, "FP8 weights are quantised"), ({"quant_method": "bitsandbytes"}, "bitsandbytes weights"),
    ({"quant_method": "compressed-tensors"}, "compressed-tensors weights"), ({"bits": 4}, "so marked weights are quantised"),
])  # fmt: skip
def test_quantised_weights_are_named_before_training(run_sluice, refuses, flags, tmp_path, settings, text):
    write_folder(tmp_path / "model", {**CONFIG, "quantization_config": settings})
    refuses(["train", *flags], text)
    assert text in shown(run_sluice, "model")["weights"]["problem"]


def test_a_config_alone_is_shown_before_a_download(run_sluice, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(MIXTRAL))
    model = shown(run_sluice, "config.json")
    assert model["weights"] is None and model["experts"]["count"] == 4
    assert "random" in run_sluice("models", "show", "config.json").out


@pytest.mark.parametrize("files, text", [
    (["params.json", "consolidated.00.pth"], "params.json is of the original format"),
    (["adapter_config.json"], "merge it into its base"), (["README.md"], "holds no config.json"),
    (["run.yaml"], "holds no checkpoint"), (["checkpoint-500/config.json"], "did you mean model/checkpoint-500?"),
])  # fmt: skip
def test_a_folder_that_is_no_model_says_why(refuses, tmp_path, files, text):
    for name in files:
        path = tmp_path / "model" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    refuses(["models", "show", "model"], "model", text)


# Tokenizers: bytes are never guessed for weights; runs keep theirs.


def test_weights_without_a_tokenizer_are_not_trained_on_bytes_unasked(refuses, run_sluice, flags, tmp_path):
    folder = write_folder(tmp_path / "model", LARGER)
    refuses(["train", *flags], "has weights and no tokenizer.json", "model: has no tokenizer", "data_format=bytes")
    refuses(["eval", "model", "--data", "text.txt", "--machine", "here", "--backend", "host"], "no tokenizer.json")
    refuses(["generate", "model", "--prompt", "x", "--machine", "here", "--backend", "host"], "no tokenizer.json")
    asked = run_sluice("train", *flags, "data_format=bytes", "out=asked", "--json").json()
    run_sluice("train", *flags, "out=shape", "model=shape", cwd=make_shape(tmp_path))
    assert asked["weights_from"] == str(folder)
    again = run_sluice("train", "asked", "--resume", "steps=3", "--json").json()
    assert again["steps"] == 3
    run_sluice("generate", "asked", "--prompt", "x", "--max-new-tokens", "2")


def make_shape(tmp_path):
    write_folder(tmp_path / "shape", LARGER, weights=False)
    return tmp_path


def test_runs_and_checkpoints_are_models_with_their_tokenizer(run_sluice, refuses, flags, tmp_path):
    folder = write_folder(tmp_path / "model", LARGER, tokenizer=True)
    (folder / "generation_config.json").write_text('{"eos_token_id": 3}')
    run_sluice("train", *flags, "out=run")
    kept = {path.name for path in (tmp_path / "run/tokenizer").iterdir()}
    assert kept == {"tokenizer.json", "generation_config.json", "config.json"}
    shutil.rmtree(folder)
    (tmp_path / "moved").mkdir()
    shutil.move(tmp_path / "run", tmp_path / "moved/run")
    run = tmp_path / "moved/run"
    losses = set()
    for model in (run, run / "checkpoints", run / "checkpoints/step-2"):
        words = [str(model) if word == "model" else word for word in flags]
        done = run_sluice("train", *words, "steps=1", "--json").json()
        losses.add(done["loss"])
        assert done["weights_from"] == str(run / "checkpoints/step-2")
        assert shown(run_sluice, model)["tokenizer"]["file"] == str(run / "tokenizer/tokenizer.json")
    assert len(losses) == 1
    run_sluice("export", run, "-o", "out")
    assert (tmp_path / "out/tokenizer.json").read_bytes() == (run / "tokenizer/tokenizer.json").read_bytes()
    words = ["out" if word == "model" else word for word in flags]
    assert run_sluice("train", *words, "optimizer.lr=0", "steps=1", "--json").json()["loss"] == pytest.approx(losses.pop(), rel=0.05)
    shutil.rmtree(run / "tokenizer")
    words = [str(run) if word == "model" else word for word in flags]
    refuses(["train", *words], "was trained with the tokenizer of", str(folder), "put its files into")


def test_a_run_of_bytes_goes_on_as_one(run_sluice, flags, tmp_path):
    write_folder(tmp_path / "model", LARGER, weights=False)
    run_sluice("train", *flags, "out=run")
    assert not (tmp_path / "run/tokenizer").exists()
    words = ["run" if word == "model" else word for word in flags]
    run_sluice("train", *words, "steps=1", "out=on")
    assert shown(run_sluice, "run")["tokenizer"]["kind"] == "bytes"


# Exports that transformers 4 and 5 read alike.


def test_exports_spell_what_versions_of_transformers_call_differently(run_sluice, flags, tmp_path):
    newer = {key: value for key, value in CONFIG.items() if key != "rope_theta"}
    linear = {"rope_type": "linear", "factor": 2.0}
    folder = write_folder(tmp_path / "model", {**newer, "rope_parameters": {**linear, "rope_theta": 5e5}, "dtype": "float32"})
    run_sluice("train", *flags, "out=run")
    run_sluice("export", "run", "-o", "out")
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert config["rope_theta"] == config["rope_parameters"]["rope_theta"] == 5e5
    assert config["rope_scaling"] == linear and config["rope_parameters"] == {**linear, "rope_theta": 5e5}
    assert config["dtype"] == config["torch_dtype"] == "bfloat16"
    assert shown(run_sluice, "out")["rope_scaling"] == linear
    (folder / "config.json").write_text(json.dumps({**CONFIG, "rope_scaling": {"type": "linear", "factor": 2.0}}))
    run_sluice("train", *flags, "out=older")
    run_sluice("export", "older", "-o", "out2")
    config = json.loads((tmp_path / "out2/config.json").read_text())
    assert config["rope_scaling"] == {"type": "linear", "factor": 2.0}
    assert config["rope_parameters"] == {**linear, "rope_theta": 10000.0}


def test_sequences_beyond_the_models_positions_are_warned_of(run_sluice, flags, tmp_path):
    write_folder(tmp_path / "model", {**CONFIG, "max_position_embeddings": 8, "attention_dropout": 0.1})
    done = run_sluice("train", *flags, "--dry-run")
    assert "seq_len 16 is above the model's max_position_embeddings (8)" in done.err
    assert "attention_dropout 0.1 is not applied" in done.err
    assert "max_position_embeddings" not in run_sluice("train", *flags, "--seq-len", "8", "--dry-run").err

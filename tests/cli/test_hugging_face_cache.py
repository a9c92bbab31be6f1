"""Models by their Hugging Face id: snapshots and revisions in the cache, and ids without weights.
Cases: docs/field_cases/models.md."""

import json
import shutil

import pytest
from conftest import available_verbs
from model_fixtures import LARGER, Cache, shown, two_step_flags, write_folder
from small_run import CONFIG

pytestmark = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")

ID = "some/model"


@pytest.fixture
def flags(tmp_path):
    return two_step_flags(tmp_path)


@pytest.fixture
def hub(tmp_path):
    return Cache(tmp_path / "hub")


@pytest.fixture
def whole(tmp_path):
    """Files of a whole model, by name."""
    folder = write_folder(tmp_path / "whole")
    return {path.name: path for path in folder.iterdir()}


def test_a_snapshot_without_its_tokenizer_is_to_be_fetched(refuses, flags, hub, tmp_path):
    part = {path.name: path for path in write_folder(tmp_path / "part", LARGER).iterdir()}
    hub.snapshot(ID, "a" * 40, part, ref="main")
    words = ["data", "--model", ID, "--data", "text.txt", "--seq-len", "32"]
    refuses(words, "model: has weights and no tokenizer.json", f"was fetched in part: hf download {ID}", env={"HF_HUB_CACHE": str(hub.root)})


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


def test_hub_names_of_the_catalogue_are_predicted_and_not_trained(run_sluice, refuses, flags, tmp_path):
    env = {"HF_HUB_CACHE": str(tmp_path / "empty")}
    words = ["--machine", "h200", "--seq-len", 512, "--batch-size", 4, "--json"]
    by_name = [run_sluice("predict", "--model", name, *words, env=env).out for name in ("qwen3-0.6b", "Qwen/Qwen3-0.6B", "qwen/qwen3-0.6b")]
    assert by_name[0] == by_name[1] == by_name[2]
    words = ["Qwen/Qwen3-0.6B" if word == "model" else word for word in flags]
    refuses(["train", *words], "hf download Qwen/Qwen3-0.6B", "model: qwen3-0.6b", env=env)
    refuses(["predict", "--model", "Qwen/Qwen9-1B", *flags[2:]], "hf download Qwen/Qwen9-1B config.json", env=env)


def test_an_empty_folder_of_its_name_does_not_hide_an_id(run_sluice, refuses, tmp_path, hub, whole):
    hub.snapshot(ID, "a" * 40, whole, ref="main")
    env = {"HF_HUB_CACHE": str(hub.root)}
    (tmp_path / ID).mkdir(parents=True)
    assert shown(run_sluice, ID, env=env)["source"]["kind"] == "Hugging Face cache"
    (tmp_path / ID / "notes.txt").write_text("not a model")
    refuses(["models", "show", ID], f"{ID} holds no config.json", env=env)

"""Model folders in and out: what train loads, what export writes and what it refuses to."""

import json
import os
import shutil
import subprocess

import numpy
import pytest
from conftest import available_verbs, once, program
from small_run import CONFIG, tensors_of, small_flags, write_model

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)
torch = pytest.importorskip("torch", reason="python3-torch is not installed")
safetensors_torch = pytest.importorskip(
    "safetensors.torch", reason="PyPI's safetensors is not installed (scripts/install tests)"
)

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@pytest.fixture
def flags(tmp_path):
    """A small run on the model folder `model` that changes no weight: its learning rate is 0."""
    return [*small_flags(tmp_path, "model"), "steps=2", "optimizer.lr=0"]


def save(tensors, path):
    safetensors_torch.save_file(tensors, str(path), metadata={"format": "pt"})


def load_folder(folder):
    """Every tensor of a model folder, as the safetensors package reads it."""
    index = folder / "model.safetensors.index.json"
    names = ["model.safetensors"]
    if index.exists():
        names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    tensors = {}
    for name in names:
        part = safetensors_torch.load_file(str(folder / name))
        assert not set(part) & set(tensors)
        tensors.update(part)
    return tensors


def assert_equal(found, expected):
    assert sorted(found) == sorted(expected)
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype and found[name].shape == tensor.shape, name
        bits = {2: torch.int16, 4: torch.int32}[tensor.element_size()]
        as_bits = [numpy.array(each.contiguous().view(bits)) for each in (found[name], tensor)]
        assert (as_bits[0] == as_bits[1]).all(), name


@pytest.mark.parametrize("kind", ["fp32", "bf16", "fp16"])
def test_what_safetensors_wrote_comes_back_bit_for_bit(run_sluice, validate, flags, tmp_path, kind):
    tensors = {name: each.to(TYPES[kind]) for name, each in tensors_of(CONFIG).items()}
    write_model(tmp_path / "model", CONFIG)
    save(tensors, tmp_path / "model" / "model.safetensors")
    result = run_sluice("train", *flags, "--json", "out=run").json()
    assert result["weights_from"] == str(tmp_path / "model")
    out = run_sluice("export", "run", "-o", "out", "--dtype", kind, "--json").json()
    validate(out, "export")
    assert_equal(load_folder(tmp_path / "out"), tensors)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    dtype = str(TYPES[kind]).removeprefix("torch.")
    rope = {"rope_scaling": None, "rope_parameters": {"rope_type": "default", "rope_theta": CONFIG["rope_theta"]}}
    assert config == {**CONFIG, **rope, "torch_dtype": dtype, "dtype": dtype}


@pytest.mark.parametrize("kind", ["bf16", "fp16"])
def test_export_rounds_to_nearest_even(run_sluice, flags, tmp_path, kind):
    tensors = tensors_of(CONFIG)
    ties = torch.tensor([0x3F808000, 0x3F818000, 0x3F80FFFF, 0x00008000, 0x00018000, 0x3F801000,
                         0x3F803000, 0x33000000, 0x33000001, 0x33C00000], dtype=torch.int32)  # fmt: skip
    flat = tensors["model.norm.weight"]
    flat[: len(ties)] = ties.view(torch.float32)
    write_model(tmp_path / "model", CONFIG)
    save(tensors, tmp_path / "model" / "model.safetensors")
    run_sluice("train", *flags, "out=run")
    run_sluice("export", "run", "-o", "out", "--dtype", kind)
    expected = {name: each.to(TYPES[kind]) for name, each in tensors.items()}
    assert_equal(load_folder(tmp_path / "out"), expected)


def test_shards_with_an_index_are_read_and_written(run_sluice, refuses, flags, tmp_path):
    tensors = tensors_of(CONFIG)
    folder = tmp_path / "model"
    write_model(folder, CONFIG)
    names = sorted(tensors)
    halves = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, half in halves.items():
        save({name: tensors[name] for name in half}, folder / file)
    index = {"weight_map": {name: file for file, half in halves.items() for name in half}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    said = run_sluice("train", *flags, "out=run").out
    assert "of fp32 in 2 files of " in said
    out = run_sluice(
        "export", "run", "-o", "out", "--dtype", "fp32", "--shard-size", "100 kB", "--json"
    ).json()
    refuses(["export", "run", "-o", "none", "--shard-size", "0"], "--shard-size: must be above 0")
    shards = [file for file in out["files"] if file["name"].endswith(".safetensors")]
    assert len(shards) > 2
    assert [file["name"] for file in shards] == [
        f"model-{i:05}-of-{len(shards):05}.safetensors" for i in range(1, len(shards) + 1)
    ]
    largest = max(each.numel() * 4 for each in tensors.values())
    assert all(file["bytes"] <= max(100_000, largest) + 4096 for file in shards)
    total = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    assert total["metadata"]["total_size"] == sum(4 * each.numel() for each in tensors.values())
    assert_equal(load_folder(tmp_path / "out"), tensors)


def test_a_tied_model_keeps_no_copy_of_its_head(run_sluice, flags, tmp_path):
    tensors = tensors_of(CONFIG)
    assert CONFIG["tie_word_embeddings"] and "lm_head.weight" not in tensors
    write_model(tmp_path / "model", CONFIG)
    head = {"lm_head.weight": tensors["model.embed_tokens.weight"].clone()}
    save({**tensors, **head}, tmp_path / "model" / "model.safetensors")
    run_sluice("train", *flags, "out=run")
    run_sluice("export", "run", "-o", "out", "--dtype", "fp32")
    assert_equal(load_folder(tmp_path / "out"), tensors)


def peak_beside_the_tiers(flags, folder, config):
    """Bytes that training a model folder of `config` holds at most, beyond the tiers that it states; the size of its file."""
    write_model(folder / "model", config)
    save(tensors_of(config), folder / "model" / "model.safetensors")
    words = ["train", *flags, "steps=1", "--hbm", "256MiB", "--seq-len", "8", "--batch-size", "1"]
    process = subprocess.Popen(
        [program(), *words, "--no-checkpoint", "--json"], cwd=folder, stdout=subprocess.PIPE,
        text=True, env={**os.environ, "SLUICE_HOME": str(folder)},
    )  # fmt: skip
    said = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    tiers = said["peaks"]["hbm_bytes"] + said["peaks"]["host_bytes"]
    file = (folder / "model" / "model.safetensors").stat().st_size
    shutil.rmtree(folder / "model")
    return 1024 * usage.ru_maxrss - tiers, file


@once
def test_loading_a_folder_takes_no_second_copy_of_it_in_memory(flags, tmp_path):
    # What the program itself holds (with CUDA's libraries some 170 MB) is that of a narrower model of as many layers.
    deep = {**CONFIG, "num_hidden_layers": 8}
    narrow = {**deep, "hidden_size": 256, "intermediate_size": 768}
    wide = {**deep, "hidden_size": 512, "intermediate_size": 1536}
    beside_narrow, narrow_file = peak_beside_the_tiers(flags, tmp_path, narrow)
    beside_wide, wide_file = peak_beside_the_tiers(flags, tmp_path, wide)
    more = wide_file - narrow_file
    assert more > 70_000_000 and beside_wide - beside_narrow < more / 2, (beside_wide, beside_narrow, more)


def test_an_exported_folder_and_a_checkpoint_train_on(run_sluice, flags, tmp_path):
    write_model(tmp_path / "model", CONFIG)
    save(tensors_of(CONFIG), tmp_path / "model" / "model.safetensors")
    flags = [*flags, "optimizer.lr=0.01"]
    first = run_sluice("train", *flags, "--json", "out=run").json()
    run_sluice("export", "run", "-o", "out", "--dtype", "fp32")
    losses = [
        run_sluice("train", *flags, f"model={model}", "steps=1", "--json").json()["loss"]
        for model in ("out", "run/checkpoints/step-2")
    ]
    assert losses[0] == losses[1] < first["loss"]


def test_the_tokenizers_files_go_along(run_sluice, flags, tmp_path):
    folder = tmp_path / "model"
    write_model(folder, CONFIG)
    save(tensors_of(CONFIG), folder / "model.safetensors")
    carried = ["tokenizer_config.json", "special_tokens_map.json", "merges.txt", "vocab.json",
               "generation_config.json", "chat_template.jinja"]  # fmt: skip
    for name in carried:
        (folder / name).write_text(f'{{"of": "{name}"}}')
    (folder / "README.md").write_text("not carried")
    run_sluice("train", *flags, "out=run")
    run_sluice("export", "run", "-o", "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {*carried, "config.json", "model.safetensors"}
    for name in carried:
        assert (tmp_path / "out" / name).read_bytes() == (folder / name).read_bytes()


def test_an_id_in_the_local_cache_starts_from_its_weights(run_sluice, flags, tmp_path):
    folder = tmp_path / "hub" / "models--some--model" / "snapshots" / "abc"
    folder.parent.mkdir(parents=True)
    write_model(folder, CONFIG)
    save(tensors_of(CONFIG), folder / "model.safetensors")
    words = ["some/model" if word == "model" else word for word in flags]
    result = run_sluice(
        "train", *words, "--json", "out=run", env={"HF_HUB_CACHE": str(tmp_path / "hub")}
    ).json()
    assert result["weights_from"] == str(folder)


def test_a_config_alone_starts_randomly_and_says_so(run_sluice, flags, tmp_path):
    write_model(tmp_path / "model", CONFIG)
    assert "weights: random, of seed 1" in run_sluice("train", *flags, "out=run").out
    assert run_sluice("train", *flags, "--json").json()["weights_from"] == "random"


def test_what_fp16_cannot_hold_is_named(run_sluice, refuses, flags, tmp_path):
    tensors = tensors_of(CONFIG)
    tensors["model.layers.1.mlp.up_proj.weight"][3, 5] = 1e6
    write_model(tmp_path / "model", CONFIG)
    save(tensors, tmp_path / "model" / "model.safetensors")
    run_sluice("train", *flags, "out=run")
    refuses(["export", "run", "-o", "out", "--dtype", "fp16"],
            "fp16 cannot hold", "model.layers.1.mlp.up_proj.weight", "element 197")  # fmt: skip
    assert not (tmp_path / "out").exists() and not (tmp_path / ".out.partial").exists()


def test_export_refuses_what_it_cannot_do(run_sluice, refuses, flags, tmp_path):
    write_model(tmp_path / "model", CONFIG)
    run_sluice("train", *flags, "out=run", "--no-checkpoint")
    refuses(["export", "run", "-o", "out"], "run/checkpoints", "no intact checkpoint")
    refuses(["export", "absent", "-o", "out"], "absent")
    refuses(["export", "run", "-o", "out", "--dtype", "int8"], "--dtype", "int8", "bf16, fp16, fp32")
    refuses(["export", "run", "-o", "out", "--step", "7"], "--step", "step-7")
    run_sluice("train", *flags, "out=other")
    refuses(["export", "other", "-o", "run"], "-o", "run exists already")

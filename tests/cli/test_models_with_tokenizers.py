"""Models and their tokenizers: bytes are never guessed for weights, and runs, checkpoints and exports keep their tokenizer."""

import json
import shutil

import pytest
from conftest import available_verbs
from model_fixtures import LARGER, shown, two_step_flags, write_folder
from small_run import CONFIG

pytestmark = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")


@pytest.fixture
def flags(tmp_path):
    return two_step_flags(tmp_path)


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

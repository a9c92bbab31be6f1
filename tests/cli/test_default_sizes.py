"""Sizes that a config.json leaves out are noted with transformers' defaults, by every verb in the same words."""

import json

import pytest
from conftest import available_verbs
from model_fixtures import two_step_flags
from small_run import CONFIG

pytestmark = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")


@pytest.fixture
def flags(tmp_path):
    return two_step_flags(tmp_path)


@pytest.fixture
def without_sizes(tmp_path):
    """A config.json that leaves sizes to transformers' defaults; head_dim follows from the others."""
    left_out = ("hidden_size", "num_hidden_layers")
    config = {key: value for key, value in CONFIG.items() if key not in left_out}
    (tmp_path / "config.json").write_text(json.dumps({**config, "num_attention_heads": 64, "num_key_value_heads": 64}))
    return "hidden_size 4096, num_hidden_layers 32 (not in config.json; as transformers has them)"


JOB = ["--model", "config.json", "--machine", "h200", "--seq-len", "64", "--batch-size", "1"]


@pytest.mark.parametrize("verb, words", [
    ("predict", []), ("plan", ["--effort", "0.1"]), ("buy", ["--machines", "h200"]),
])  # fmt: skip
def test_sizes_that_a_config_leaves_to_defaults_are_noted_once(run_sluice, without_sizes, verb, words):
    done = run_sluice(verb, *JOB, *words, "--json")
    done.json()  # The note is no part of it.
    assert done.err.count("sluice: note: model: " + without_sizes) == done.err.count("as transformers has them") == 1
    assert without_sizes not in done.out


def test_train_and_show_name_the_sizes_in_the_same_words(run_sluice, flags, without_sizes):
    words = ["config.json" if word == "model" else word for word in flags]
    train = run_sluice("train", *words, "--dry-run", exit_code=None)
    assert train.err.count("sluice: note: model: " + without_sizes) == 1
    for size in without_sizes.split(" (")[0].split(", "):
        assert size in run_sluice("models", "show", "config.json").out


def test_whole_configs_and_the_catalogues_models_have_no_note(run_sluice, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    for model in ("config.json", "qwen3-0.6b"):
        assert run_sluice("predict", *JOB, "--model", model).err == ""

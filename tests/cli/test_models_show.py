"""What `models show` and the first lines of a run say of a model before it is trained."""

import json

import pytest
from conftest import available_verbs
from model_fixtures import (
    LARGER,
    MIXTRAL,
    llama_shapes,
    random_tensors,
    save_tensors,
    shown,
    two_step_flags,
    write_folder,
)
from small_run import CONFIG

pytestmark = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")


@pytest.fixture
def flags(tmp_path):
    return two_step_flags(tmp_path)


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
    tensors = random_tensors(llama_shapes(LARGER))
    tensors["model.layers.0.self_attn.q_proj.bias"] = tensors.pop("model.norm.weight")
    tensors["model.layers.1.mlp.up_proj.weight"] = tensors["model.layers.1.mlp.up_proj.weight"].T
    save_tensors(tensors, folder / "model.safetensors")
    weights = shown(run_sluice, "model")["weights"]
    assert weights["missing"] == ["model.norm.weight"] and weights["surplus"] == ["model.layers.0.self_attn.q_proj.bias"]
    assert weights["misfits"] == [{"name": "model.layers.1.mlp.up_proj.weight", "found": "[64, 128]", "wanted": "[128, 64]"}]
    text = run_sluice("models", "show", "model").out
    assert "missing     1 tensors: model.norm.weight" in text and "surplus     1 tensors" in text


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


def test_sequences_beyond_the_models_positions_are_warned_of(run_sluice, flags, tmp_path):
    write_folder(tmp_path / "model", {**CONFIG, "max_position_embeddings": 8, "attention_dropout": 0.1})
    done = run_sluice("train", *flags, "--dry-run")
    assert "seq_len 16 is above the model's max_position_embeddings (8)" in done.err
    assert "attention_dropout 0.1 is not applied" in done.err
    assert "max_position_embeddings" not in run_sluice("train", *flags, "--seq-len", "8", "--dry-run").err

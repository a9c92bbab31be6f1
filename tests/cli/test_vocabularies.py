"""Predictions of vocabularies that are no multiple of 64: never faster than the padded ones, with a note of what padding wins."""

import json

import pytest

GPT2 = {
    "model_type": "llama", "hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 12,
    "num_attention_heads": 12, "num_key_value_heads": 12, "tie_word_embeddings": True, "max_position_embeddings": 1024,
}  # fmt: skip


def predicted(run_sluice, tmp_path, vocab, *flags, machine="h100-sxm"):
    (tmp_path / "config.json").write_text(json.dumps({**GPT2, "vocab_size": vocab}))
    words = ["predict", "--model", "config.json", "--machine", machine, "--seq-len", 1024, "--batch-size", 64, "--micro-batch", 16, *flags]
    return run_sluice(*words)


@pytest.mark.parametrize("machine", ["h100-sxm", "rtx-3090"])
@pytest.mark.parametrize("vocab, padded", [(50257, 50304), (32001, 32064), (50264, 50304)])
def test_a_vocabulary_is_never_faster_than_the_padded_one(run_sluice, validate, tmp_path, machine, vocab, padded):
    own = predicted(run_sluice, tmp_path, vocab, "--json", machine=machine).json()
    validate(own, "predict")
    other = predicted(run_sluice, tmp_path, padded, "--json", machine=machine).json()
    assert own["step_s"] >= other["step_s"]
    note = own["padded_vocabulary"]
    assert (note["tokens"], note["padded"]) == (vocab, padded) and "padded_vocabulary" not in other
    assert note["gain"] == pytest.approx(max(0, 1 - note["step_s"] / own["step_s"]))
    if vocab % 8:
        assert note["gain"] > 0.02


def test_the_note_names_the_padded_size_and_the_gain(run_sluice, tmp_path):
    text = predicted(run_sluice, tmp_path, 50257).out
    assert "50257 tokens are no multiple of 64; padding them to 50304 would make the step" in text and "% less" in text
    assert "multiple of 64" not in predicted(run_sluice, tmp_path, 50304).out

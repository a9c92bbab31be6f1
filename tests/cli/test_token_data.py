"""Training on text by the tokenizer of the model's folder."""

import json

import pytest
from conftest import available_verbs
from small_run import CONFIG, TEXT, small_flags, write_model

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)
tokenizers = pytest.importorskip(
    "tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)"
)


@pytest.fixture
def tokenizer(tmp_path):
    """A model folder `model` with a tokenizer of 300 tokens in it."""
    from tokenizers import models, pre_tokenizers, trainers

    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    made.train_from_iterator([TEXT], trainer)
    write_model(tmp_path / "model", {**CONFIG, "vocab_size": 300})
    made.save(str(tmp_path / "model" / "tokenizer.json"))
    return made


@pytest.fixture
def flags(tmp_path):
    return [*small_flags(tmp_path, "model"), "steps=8"]


def test_the_data_are_the_tokenizers_tokens(run_sluice, tokenizer, flags, tmp_path, sluice_home):
    ids = tokenizer.encode(TEXT).ids
    said = run_sluice("train", *flags, "out=run").out
    assert f"data: {len(ids)} tokens of text.txt by model/tokenizer.json" in said
    caches = list((sluice_home / "tokens").iterdir())
    assert len(caches) == 1
    cached = caches[0].read_bytes()
    assert cached == b"".join(each.to_bytes(4, "little") for each in ids)


def test_a_cache_is_used_again_and_made_anew_for_other_text(
    run_sluice, tokenizer, flags, tmp_path, sluice_home
):
    first = run_sluice("train", *flags, "--json", "out=a").json()
    cache = next((sluice_home / "tokens").iterdir())
    made = cache.stat().st_mtime_ns
    again = run_sluice("train", *flags, "--json", "out=b").json()
    assert cache.stat().st_mtime_ns == made and again["loss"] == first["loss"]
    (tmp_path / "text.txt").write_text(TEXT + " more")
    other = run_sluice("train", *flags, "--json", "out=c").json()
    assert len(list((sluice_home / "tokens").iterdir())) == 2
    hashes = [json.loads((tmp_path / run / "manifest.json").read_text())["data_sha256"] for run in "abc"]
    assert hashes[0] == hashes[1] != hashes[2] and other["loss"] is not None


def test_a_run_on_tokens_goes_on_bit_for_bit(run_sluice, tokenizer, flags):
    whole = run_sluice("train", *flags, "--json", "out=whole").json()
    run_sluice("train", *flags, "steps=3", "out=run")
    rest = run_sluice("train", *flags, "--json", "out=run", "--resume").json()
    assert rest["resumed_after"] == 3
    for key in ("weights_sha256", "state_sha256", "loss", "val_loss"):
        assert rest[key] == whole[key]


def test_a_model_too_small_for_the_tokens_is_refused(refuses, tokenizer, flags, tmp_path):
    config = {**CONFIG, "vocab_size": 260}
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    refuses(["train", *flags], "vocab 260", "tokens of text.txt")


def test_text_that_is_not_utf8_is_refused(refuses, tokenizer, flags, tmp_path):
    (tmp_path / "text.txt").write_bytes(b"good \xff text")
    refuses(["train", *flags], "text.txt", "byte 5 is not UTF-8")


def test_a_tokenizer_of_another_kind_is_refused(refuses, tokenizer, flags, tmp_path):
    path = tmp_path / "model" / "tokenizer.json"
    document = json.loads(path.read_text())
    document["model"]["type"] = "Phonemes"
    path.write_text(json.dumps(document))
    refuses(["train", *flags], "tokenizer.json", 'model: type "Phonemes" is not supported')


def test_the_tokenizer_goes_along_with_an_export(run_sluice, tokenizer, flags, tmp_path):
    run_sluice("train", *flags, "out=run")
    run_sluice("export", "run", "-o", "out")
    exported = (tmp_path / "out" / "tokenizer.json").read_bytes()
    assert exported == (tmp_path / "model" / "tokenizer.json").read_bytes()

"""Tokenizers that folders hold in another form than tokenizer.json, against what transformers' converters make of them."""

import hashlib
import json
import subprocess

import pytest
from conftest import REPOSITORY

tokenizers = pytest.importorskip(
    "tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)"
)
from sentencepiece_models import (  # noqa: E402
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
    llama_decoder,
    llama_library,
    merges_of,
    write_model,
)
from tokenizer_classes import PATTERNS, train  # noqa: E402
from tokenizer_driving import DRIVER, compare, drive  # noqa: E402
from tokenizer_texts import hard_texts  # noqa: E402
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors  # noqa: E402

pytestmark = pytest.mark.skipif(not DRIVER.is_file(), reason="this build has no engine")
TEXTS = ["", "Hello  wörld\n", *hard_texts(11, 300)]


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """The model of a trained file of a class: its vocabulary and merges."""
    folder = tmp_path_factory.mktemp("models")
    corpus = [(REPOSITORY / "README.md").read_text(), *hard_texts(1, 100)]

    def model(name):
        path = folder / f"{name}.json"
        if not path.is_file():
            train(path, name, corpus)
        return json.loads(path.read_text())["model"]

    return model


def write_merges(folder, model, **config):
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(" ".join(each) + "\n" for each in model["merges"]))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def library_of_merges(model):
    tokenizer = Tokenizer(models.BPE(model["vocab"], [tuple(each) for each in model["merges"]]))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def token(content, **flags):
    return {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": False, **flags}


def test_vocab_and_merges_of_qwen2(tmp_path, learnt):
    model = learnt("qwen2")
    size = len(model["vocab"])
    decoder = {
        str(size): token("<|endoftext|>", special=True),
        str(size + 1): token("<|im_start|>", special=True),
        str(size + 2): token("<tool_call>"),
        str(size + 3): token("<k>", lstrip=True, rstrip=True),
        str(size + 4): token("e\u0301<n>", normalized=True),
    }
    write_merges(tmp_path, model, tokenizer_class="Qwen2TokenizerFast", added_tokens_decoder=decoder)
    library = library_of_merges(model)
    library.normalizer = normalizers.NFC()
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(PATTERNS["qwen2"]), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    library.add_tokens([AddedToken(**each) for each in decoder.values()])
    compare(tmp_path, TEXTS, library)


def test_vocab_and_merges_of_gpt2_by_the_models_type(tmp_path, learnt):
    model = learnt("gpt2")
    write_merges(tmp_path, model)
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<tool_call>": len(model["vocab"])}))
    library = library_of_merges(model)
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.add_tokens(["<tool_call>"])
    library.add_special_tokens(["<|endoftext|>"])
    compare(tmp_path, TEXTS, library)


def test_gpt2_with_a_token_before_the_text(tmp_path, learnt):
    model = learnt("gpt2")
    write_merges(tmp_path, model, tokenizer_class="GPT2Tokenizer", add_bos_token=True, add_prefix_space=True,
                 eos_token="<|endoftext|>")  # fmt: skip
    library = library_of_merges(model)
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    library.add_special_tokens(["<|endoftext|>"])
    library.post_processor = processors.TemplateProcessing(
        single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", library.token_to_id("<|endoftext|>"))]
    )
    compare(tmp_path, TEXTS, library)


def pieces_of(model):
    """Pieces as SentencePiece trains them: special ones, bytes, then those that merges made, and characters."""
    ordered = sorted(model["vocab"], key=model["vocab"].get)
    special = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL), ("<tool_call>", 0.0, USER_DEFINED)]
    names = [each for each in ordered if each not in {text for text, _, _ in special}]
    return special + [
        (text, 0.0, BYTE) if text.startswith("<0x") else (text, -float(index), NORMAL) for index, text in enumerate(names)
    ]


def around(library, before, after=None):
    names = [each for each in (before, after) if each]
    library.post_processor = processors.TemplateProcessing(
        single=f"{before} $A" + (f" {after}" if after else ""),
        special_tokens=[(each, library.token_to_id(each)) for each in names],
    )


@pytest.mark.parametrize("legacy", [True, False])
def test_a_bpe_model_of_llama(tmp_path, learnt, legacy):
    pieces = pieces_of(learnt("llama2"))
    write_model(tmp_path / "tokenizer.model", pieces, 2)
    config = {"tokenizer_class": "LlamaTokenizer", "legacy": legacy, "bos_token": "<s>", "eos_token": token("</s>"), "add_eos_token": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    library = llama_library(pieces)
    if not legacy:
        library.normalizer = None
        library.pre_tokenizer = pre_tokenizers.Metaspace("▁", "first", False)
    around(library, "<s>", "</s>")
    compare(tmp_path, TEXTS, library)


def test_a_bpe_model_of_gemma(tmp_path, learnt):
    model = learnt("gemma")
    names = [("<pad>", 0.0, CONTROL), ("<eos>", 0.0, CONTROL), ("<bos>", 0.0, CONTROL), ("<unk>", 0.0, UNKNOWN)]
    pieces = names + [each for each in pieces_of(model) if each[2] in (NORMAL, BYTE) and each[0] != "\t"]
    write_model(tmp_path / "tokenizer.model", pieces, 2)
    (tmp_path / "config.json").write_text('{"model_type": "gemma2"}')
    pieces = [("\t", 0.0, NORMAL) if text == "<0x09>" else (text, score, kind) for text, score, kind in pieces]
    vocabulary = {text: index for index, (text, _, _) in enumerate(pieces)}
    library = Tokenizer(models.BPE(vocabulary, merges_of(pieces), unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    library.normalizer = normalizers.Replace(" ", "▁")
    library.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    library.decoder = llama_decoder(False)
    library.add_special_tokens([AddedToken(each, normalized=False) for each in ("<pad>", "<eos>", "<bos>")])
    around(library, "<bos>")
    compare(tmp_path, TEXTS, library)


def refusal(place):
    run = subprocess.run([str(DRIVER), str(place)], input="", capture_output=True, text=True)
    assert run.returncode == 2 and run.stderr.count("\n") == 1
    return run.stderr


def test_a_folder_without_a_usable_tokenizer_says_why(tmp_path, learnt):
    assert "has no tokenizer: copy the tokenizer.json" in refusal(tmp_path)
    (tmp_path / "tekken.json").write_text("{}")
    assert "has tekken.json and no tokenizer.json; write a tokenizer.json with transformers" in refusal(tmp_path)
    write_merges(tmp_path, learnt("gpt2"))
    assert "neither tokenizer_config.json nor config.json says of which class" in refusal(tmp_path)
    write_merges(tmp_path, learnt("gpt2"), tokenizer_class="BartTokenizer")
    assert "the class BartTokenizer is read from tokenizer.json alone" in refusal(tmp_path)


def test_a_broken_file_is_named(tmp_path, learnt):
    write_merges(tmp_path, learnt("gpt2"), tokenizer_class="GPT2Tokenizer")
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b c\n")
    assert "merges.txt: line 2 is not a pair of tokens" in refusal(tmp_path)
    (tmp_path / "merges.txt").unlink()
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "LlamaTokenizer"}')
    (tmp_path / "tokenizer.model").write_text("version https://git-lfs.github.com/spec/v1\n")
    assert "tokenizer.model: is a Git LFS pointer" in refusal(tmp_path)


def test_the_hash_covers_every_file_that_decides_the_ids(tmp_path, learnt):
    def hash_of():
        run = subprocess.run([str(DRIVER), "--hash", str(tmp_path)], capture_output=True, text=True, check=True)
        return run.stdout.strip()

    write_merges(tmp_path, learnt("gpt2"), tokenizer_class="GPT2Tokenizer")
    hashes = [hash_of()]
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<x>": 5000}))
    hashes.append(hash_of())
    (tmp_path / "merges.txt").write_text((tmp_path / "merges.txt").read_text() + "\n")
    hashes.append(hash_of())
    assert len(set(hashes)) == 3
    train(tmp_path / "tokenizer.json", "words", ["a few words to learn"])
    assert hash_of() not in hashes  # <x> is a token here, too.
    (tmp_path / "added_tokens.json").unlink()
    assert hash_of() == hashlib.sha256((tmp_path / "tokenizer.json").read_bytes()).hexdigest()
    assert drive(tmp_path, ["few"])[0]["ids"] != []


@pytest.mark.parametrize("case", ["decoder", "flags", "normalized", "added_tokens", "additional", "named"])
def test_tokens_that_stand_beside_tokenizer_json_are_added_to_its(tmp_path, case):
    train(tmp_path / "tokenizer.json", "gpt2", ["a few words to learn, <|im_end|> and </s> among them"] * 9)
    document = json.loads((tmp_path / "tokenizer.json").read_text())
    document["added_tokens"] = [token("<|im_end|>", id=0, special=True)] if case in ("flags", "normalized") else []
    # In the vocabulary, and no added token: pieces are cut apart before they are looked up.
    vocab = document["model"]["vocab"]
    for content in ("<|im_start|>", "<|im_end|>", "</s>"):
        vocab.setdefault(content, len(vocab))
    if document["added_tokens"]:
        document["added_tokens"][0]["id"] = vocab["<|im_end|>"]
    if case == "normalized":
        document["normalizer"] = {"type": "Lowercase"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    library = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    size = len(vocab)
    config = {}
    if case == "decoder":
        stated = {str(vocab["<|im_end|>"]): token("<|im_end|>", special=True), str(size): token("<new>"), str(size + 1): token("w\u00f6r", normalized=True)}
        config["added_tokens_decoder"] = stated
        library.add_special_tokens([AddedToken(**stated[str(vocab["<|im_end|>"])])])
        library.add_tokens([AddedToken(**each) for each in list(stated.values())[1:]])
    elif case == "flags":
        config["added_tokens_decoder"] = {str(vocab["<|im_end|>"]): token("<|im_end|>", special=True, rstrip=True)}
        library.add_special_tokens([AddedToken("<|im_end|>", rstrip=True, normalized=False, special=True)])
    elif case == "normalized":
        config["added_tokens_decoder"] = {str(vocab["<|im_end|>"]): token("<|im_end|>", special=True, normalized=True)}
        library.add_special_tokens([AddedToken("<|im_end|>", normalized=True, special=True)])
    elif case == "added_tokens":
        (tmp_path / "added_tokens.json").write_text(json.dumps({"<new>": size, "<|im_end|>": vocab["<|im_end|>"]}))
        library.add_tokens([AddedToken("<|im_end|>", normalized=True), AddedToken("<new>", normalized=True)])
    elif case == "additional":
        special = {"additional_special_tokens": ["<|im_start|>", {"content": "<|im_end|>", "rstrip": True}]}
        (tmp_path / "special_tokens_map.json").write_text(json.dumps(special))
        library.add_special_tokens(["<|im_start|>", AddedToken("<|im_end|>", rstrip=True, normalized=False)])
    else:
        config.update(eos_token="</s>", pad_token="<absent>")  # What no vocabulary has does not become a token.
        library.add_special_tokens(["</s>"])
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    texts = ["<|IM_END|> a <|im_END|>", "<|im_start|>user\nw\u00f6rds<|im_end|>\n a</s> b<new>c <absent>", *TEXTS[:60]]
    compare(tmp_path, texts, library)
    run = subprocess.run([str(DRIVER), "--hash", str(tmp_path)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() != hashlib.sha256((tmp_path / "tokenizer.json").read_bytes()).hexdigest()

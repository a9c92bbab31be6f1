"""The tokenizer against the Hugging Face tokenizers library: same ids, same places, same text back.

On tokenizers of every class that are trained here (tokenizer_classes), and on the real tokenizer.json files of ../shared
where they are there.
"""

import json
import random
import subprocess

import pytest
from conftest import REPOSITORY, SHARED, once

tokenizers = pytest.importorskip(
    "tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)"
)
from tokenizer_classes import CLASSES, train  # noqa: E402
from tokenizer_driving import DRIVER, compare, drive  # noqa: E402
from tokenizer_texts import every_character, hard_texts  # noqa: E402

pytestmark = pytest.mark.skipif(not DRIVER.is_file(), reason="this build has no engine")


def documents():
    return [path.read_text() for path in sorted((REPOSITORY / "docs" / "reference").glob("*.md"))][:6]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Files of the classes by their names, each trained once."""
    folder = tmp_path_factory.mktemp("classes")
    corpus = documents() + hard_texts(1, 300)

    def file(name):
        path = folder / f"{name.replace(' ', '-')}.json"
        if not path.is_file():
            train(path, name, corpus)
        return path

    return file


@pytest.mark.parametrize("name", CLASSES)
def test_each_class_gives_the_librarys_tokens(trained, name):
    compare(trained(name), ["", " ", *documents()[:3], *hard_texts(2, 400)])


@once
@pytest.mark.parametrize("name", CLASSES)
def test_every_character_of_unicode_is_cut_as_the_library_cuts_it(trained, name):
    """With each class another 36th of the texts, so that each text is some class's."""
    compare(trained(name), every_character()[list(CLASSES).index(name) % 36 :: 36])


@once
def test_every_character_is_normalised_and_matched_as_in_the_library(trained):
    """Every text with the patterns and the normal form that most models have."""
    compare(trained("qwen2"), every_character()[::3])


@pytest.mark.parametrize("name", ["qwen2", "llama2", "gemma", "t5", "mistral v0.3", "unigram bytes"])
def test_long_words_are_cut_as_short_ones(trained, name):
    chance = random.Random(4)
    texts = ["a" * 5000, "ab" * 3000, " " * 4000, "\n" * 3000, "=" * 999 + "\n", "é" * 900, "\u1ac0" * 300]
    texts += ["".join(chance.choice("thean ") for _ in range(4000)) for _ in range(3)]
    texts += ["".join(chance.choice("thean") for _ in range(4000)) for _ in range(3)]
    compare(trained(name), texts)


def test_an_added_token_is_its_content_whatever_letters_it_has(tmp_path, trained):
    """é, đ and č are letters of bytes, too, which the library's ByteLevel decoder takes them for."""
    library = tokenizers.Tokenizer.from_file(str(trained("qwen2")))
    library.add_tokens([tokenizers.AddedToken(each, normalized=False) for each in ("café", "đ", "č")])
    library.add_special_tokens(["<ž>"])
    library.save(str(tmp_path / "tokenizer.json"))
    text = "un café, <ž>đ-č"
    [ours] = drive(tmp_path / "tokenizer.json", [text])
    assert ours["ids"] == library.encode(text, add_special_tokens=False).ids
    assert ours["decoded"] == text and ours["skipped"] == "un café, đ-č"
    places = dict(zip(ours["placed"], ours["places"]))
    for word in ("café", "đ", "č"):
        begin, end = places[library.token_to_id(word)]
        assert text.encode()[begin:end].decode() == word


def test_an_added_token_has_the_id_that_the_library_gives_it(tmp_path, trained):
    document = json.loads(trained("gpt2").read_text())
    for each in document["added_tokens"]:
        each["id"] += 7
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    compare(tmp_path / "tokenizer.json", hard_texts(6, 100))


REAL = ["gpt2", "qwen2_5", "qwen3"]
SHARED_TEXT = SHARED / "data" / "text"


def real(name):
    file = SHARED_TEXT / "tokenizers" / f"{name}_tokenizer.json"
    if not file.is_file():
        pytest.skip(f"reads {file.name} of ../shared, which is not there")
    return file


@once
@pytest.mark.parametrize("name", REAL)
def test_real_tokenizers_agree_on_real_text(name):
    file = real(name)
    texts = [(SHARED_TEXT / "tinyshakespeare.txt").read_text()[:100_000]]
    texts += (SHARED_TEXT / "gsm8k_2000.jsonl").read_text().splitlines()[:100]
    compare(file, texts)


@pytest.mark.parametrize("name", REAL)
def test_real_tokenizers_agree_on_hard_text(name):
    compare(real(name), hard_texts(5, 500))


@pytest.mark.parametrize("vectors, name", [("gpt-2", "gpt2"), ("qwen2", "qwen2_5"), ("qwen2", "qwen3")])
def test_real_tokenizers_give_the_published_ids(vectors, name):
    file = real(name)
    folder = file.parent
    texts = (folder / f"{vectors}.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    wanted = [[int(each) for each in line.split()] for line in (folder / f"{vectors}.out").read_text().splitlines()]
    assert len(texts) - len(wanted) in (0, 1)
    assert [each["ids"] for each in drive(file, texts)][: len(wanted)] == wanted


def split_of(document):
    return document["pre_tokenizer"]["pretokenizers"][0]


def pattern(regex):
    return lambda document: split_of(document).update(pattern={"Regex": regex})


REFUSALS = {
    "a model": (lambda d: d["model"].update(type="Phonemes"), 'model: type "Phonemes" is not supported; supported: BPE'),
    "a unigram without scores": (lambda d: d["model"].update(type="Unigram", vocab=["a"]), "model: vocab[0] must be a token and a score"),
    "an unknown id": (lambda d: d["model"].update(type="Unigram", vocab=[["a", 0]], unk_id=3), "model: unk_id is not in the vocabulary"),
    "a normalizer": (lambda d: d.update(normalizer={"type": "Rot13"}), 'normalizer: type "Rot13"'),
    "a normalizer in a sequence": (
        lambda d: d.update(normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Rot13"}]}),
        'normalizer.normalizers[1]: type "Rot13"',
    ),
    "a charsmap": (
        lambda d: d.update(normalizer={"type": "Precompiled", "precompiled_charsmap": "////"}), "precompiled_charsmap is not a map",
    ),
    "a pre-tokenizer": (lambda d: d.update(pre_tokenizer={"type": "Chunks"}), 'pre_tokenizer: type "Chunks"'),
    "a prepend scheme": (
        lambda d: d.update(pre_tokenizer={"type": "Metaspace", "prepend_scheme": "last"}), 'prepend_scheme "last" is unknown',
    ),
    "no length": (lambda d: d.update(pre_tokenizer={"type": "FixedLength", "length": 0}), "length must be positive"),
    "a decoder": (lambda d: d.update(decoder={"type": "Morse"}), 'decoder: type "Morse"'),
    "a post-processor": (lambda d: d.update(post_processor={"type": "Labels"}), 'post_processor: type "Labels"'),
    "dropout": (lambda d: d["model"].update(dropout=0.1), "model: dropout is not supported"),
    "a merge of nothing": (lambda d: d["model"]["merges"].append(["qqqq", "zzzz"]), '"qqqq" is not in the vocabulary'),
    "a merge that is none": (lambda d: d["model"]["merges"].append("a"), "is not a pair of tokens"),
    "an id that is none": (lambda d: d["model"]["vocab"].update(a=-1), "-1 is not the id of a token"),
    "no vocabulary": (lambda d: d["model"].pop("vocab"), "vocab must be an object"),
    "no model": (lambda d: d.pop("model"), "model: is missing"),
    "a flag that is none": (lambda d: d["added_tokens"][2].update(lstrip=1), "added_tokens[2]: lstrip must be true or false"),
    "a property of Unicode": (pattern(r"\p{Klingon}+"), r"uses \p{Klingon}"),
    "half a pattern": (pattern("(a"), "in the pattern (a"),
    "half a class": (pattern("[a"), "has a [ without ]"),
    "an absence operator": (pattern("(?~ab)"), "uses (?~"),
    "another behaviour": (lambda d: split_of(d).update(behavior="Shuffled"), 'behavior "Shuffled" is unknown'),
    "no pattern": (lambda d: split_of(d).update(pattern={"Glob": "*"}), "pattern must be an object with String or Regex"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSALS)
def test_what_is_not_supported_is_refused_by_name(tmp_path, trained, what):
    change, text = REFUSALS[what]
    document = json.loads(trained("qwen2").read_text())
    change(document)
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    assert text in refusal(tmp_path / "tokenizer.json")


def refusal(place):
    run = subprocess.run([str(DRIVER), str(place)], input="", capture_output=True, text=True)
    assert run.returncode == 2 and run.stderr.count("\n") == 1
    return run.stderr


def test_what_is_no_json_is_refused(tmp_path):
    (tmp_path / "bad.json").write_text("{")
    assert "is not JSON" in refusal(tmp_path / "bad.json")

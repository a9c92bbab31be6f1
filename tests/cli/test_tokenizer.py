"""The tokenizer against the Hugging Face tokenizers library: same ids, same text back.

On the real tokenizer.json files of ../shared where they are there, and on tokenizers trained here with the
pre-tokenizers, normalisers and added tokens of GPT-2, Qwen2 and Llama 3.
"""

import json
import pathlib
import random
import subprocess

import pytest
from conftest import REPOSITORY, SHARED, once, program
from tokenizer_texts import every_character, hard_texts

tokenizers = pytest.importorskip(
    "tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)"
)
DRIVER = pathlib.Path(program()).parent / "tokenizer_driver"
pytestmark = pytest.mark.skipif(not DRIVER.is_file(), reason="this build has no engine")

GPT2 = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
BYTES = {**GPT2, "use_regex": False}
PATTERNS = {
    "qwen": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "llama": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
def drive(file, texts):
    run = subprocess.run(
        [str(DRIVER), str(file)], input="".join(json.dumps(text) + "\n" for text in texts),
        capture_output=True, text=True, encoding="utf-8", timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.split("\n") if line]


def compare(file, texts):
    library = tokenizers.Tokenizer.from_file(str(file))
    found = drive(file, texts)
    assert len(found) == len(texts)
    for text, ours in zip(texts, found):
        ids = library.encode(text, add_special_tokens=False).ids
        wanted = {
            "ids": ids,
            "around": library.encode(text, add_special_tokens=True).ids,
            "decoded": library.decode(ids, skip_special_tokens=False),
            "skipped": library.decode(ids, skip_special_tokens=True),
        }
        # Not by assert on the values: pytest would explain the difference of a megabyte for minutes.
        for key, value in wanted.items():
            if ours[key] != value:
                at = next((i for i, (a, b) in enumerate(zip(ours[key], value)) if a != b), -1)
                near = slice(max(0, at - 5), at + 5)
                pytest.fail(f"{key} of {text[:200]!a}: {ours[key][near]!a} is not {value[near]!a} at {at}")


def corpus():
    """Text to train on: the repository's own documents, and what no document has."""
    documents = [path.read_text() for path in sorted((REPOSITORY / "docs").rglob("*.md"))]
    return documents + hard_texts(1, 300)


def added(content, special=True, normalized=False, lstrip=False, rstrip=False):
    return tokenizers.AddedToken(
        content, special=special, normalized=normalized, lstrip=lstrip, rstrip=rstrip
    )


def train(path, family):
    """A tokenizer.json of the family's form with a vocabulary of its own."""
    from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = tokenizers.Tokenizer(models.BPE(ignore_merges=family == "llama"))
    if family == "qwen":
        tokenizer.normalizer = normalizers.NFC()
    if family.startswith("gpt2"):
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=family == "gpt2 with a space")
    else:
        split = pre_tokenizers.Split(Regex(PATTERNS[family]), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1200, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    names = {
        "gpt2": ["<|endoftext|>"],
        "gpt2 with a space": ["<|endoftext|>"],
        "qwen": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        "llama": ["<|begin_of_text|>", "<|end_of_text|>"],
    }[family]
    tokenizer.add_special_tokens([added(name) for name in names])
    tokenizer.add_tokens([added("<tool_call>", special=False), added("e\u0301<n>", False, True),
                          added("<k>", False, False, True, True), added("<|im_", False)])  # fmt: skip
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    if family == "llama":
        begin = tokenizer.token_to_id(names[0])
        template = processors.TemplateProcessing(
            single=f"{names[0]} $A", pair=f"{names[0]} $A {names[0]}:1 $B:1",
            special_tokens=[(names[0], begin)],
        )  # fmt: skip
        tokenizer.post_processor = processors.Sequence(
            [processors.ByteLevel(trim_offsets=False), template]
        )
    tokenizer.save(str(path))


FAMILIES = ["gpt2", "gpt2 with a space", "qwen", "llama"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_trained_tokenizer_gives_the_librarys_ids(tmp_path, family):
    train(tmp_path / "tokenizer.json", family)
    texts = ["", " ", *corpus(), *hard_texts(2, 3000)]
    compare(tmp_path / "tokenizer.json", texts)


@once
@pytest.mark.parametrize("family", FAMILIES)
def test_every_character_of_unicode_is_cut_as_the_library_cuts_it(tmp_path, family):
    """Every text with one family; with each of the others every fourth, no two of them the same."""
    train(tmp_path / "tokenizer.json", family)
    texts = every_character()
    others = [each for each in FAMILIES if each != "qwen"]
    compare(tmp_path / "tokenizer.json", texts if family == "qwen" else texts[others.index(family) :: 4])


def test_long_words_are_merged_as_short_ones(tmp_path):
    train(tmp_path / "tokenizer.json", "qwen")
    chance = random.Random(4)
    texts = ["a" * 5000, "ab" * 3000, " " * 4000, "\n" * 3000, "=" * 999 + "\n"]
    texts += ["".join(chance.choice("thean ") for _ in range(4000)) for _ in range(3)]
    texts += ["".join(chance.choice("thean") for _ in range(4000)) for _ in range(3)]
    compare(tmp_path / "tokenizer.json", texts)


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
    texts = [(SHARED_TEXT / "tinyshakespeare.txt").read_text()]
    texts += (SHARED_TEXT / "gsm8k_2000.jsonl").read_text().splitlines()[:500]
    compare(file, texts)


@pytest.mark.parametrize("name", REAL)
def test_real_tokenizers_agree_on_hard_text(name):
    compare(real(name), hard_texts(5, 4000))


@pytest.mark.parametrize("vectors, name", [("gpt-2", "gpt2"), ("qwen2", "qwen2_5"), ("qwen2", "qwen3")])
def test_real_tokenizers_give_the_published_ids(vectors, name):
    file = real(name)
    folder = file.parent
    texts = (folder / f"{vectors}.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    wanted = [[int(each) for each in line.split()] for line in (folder / f"{vectors}.out").read_text().splitlines()]
    assert len(texts) - len(wanted) in (0, 1)
    assert [each["ids"] for each in drive(file, texts)][: len(wanted)] == wanted


def refusal(tmp_path, change):
    train(tmp_path / "tokenizer.json", "qwen")
    document = json.loads((tmp_path / "tokenizer.json").read_text())
    change(document)
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    run = subprocess.run(
        [str(DRIVER), str(tmp_path / "tokenizer.json")], input="", capture_output=True, text=True
    )
    assert run.returncode == 2 and run.stderr.count("\n") == 1
    return run.stderr


REFUSALS = {
    "a unigram model": (lambda d: d["model"].update(type="Unigram"), 'model: type "Unigram"'),
    "a normaliser": (lambda d: d.update(normalizer={"type": "Lowercase"}), 'normalizer: type "Lowercase"'),
    "a pre-tokenizer": (lambda d: d.update(pre_tokenizer={"type": "Metaspace"}), 'pre_tokenizer: type "Metaspace"'),
    "no pre-tokenizer": (lambda d: d.update(pre_tokenizer=None), "only byte-level"),
    "a decoder": (lambda d: d.update(decoder={"type": "WordPiece"}), 'decoder: type "WordPiece"'),
    "a post-processor": (lambda d: d.update(post_processor={"type": "BertProcessing"}), 'type "BertProcessing"'),
    "dropout": (lambda d: d["model"].update(dropout=0.1), "model: dropout"),
    "byte fallback": (lambda d: d["model"].update(byte_fallback=True), "model: byte_fallback"),
    "a merge of nothing": (lambda d: d["model"]["merges"].append(["qqqq", "zzzz"]), '"qqqq" is not in the vocabulary'),
    "a merge that is none": (lambda d: d["model"]["merges"].append("a"), "is not a pair of tokens"),
    "an id that is none": (lambda d: d["model"]["vocab"].update(a=-1), "-1 is not the id of a token"),
    "no vocabulary": (lambda d: d["model"].pop("vocab"), "vocab must be an object"),
    "single words": (lambda d: d["added_tokens"][0].update(single_word=True), "single_word is not supported"),
    "a property of Unicode": (
        lambda d: d["pre_tokenizer"]["pretokenizers"][0].update(pattern={"Regex": r"\p{Han}+"}), r"\p{Han}",
    ),
    "half a pattern": (
        lambda d: d["pre_tokenizer"]["pretokenizers"][0].update(pattern={"Regex": "(a"}), "in the pattern (a",
    ),
    "a plain pattern": (
        lambda d: d["pre_tokenizer"]["pretokenizers"][0].update(pattern={"String": " "}), "Regex must be a string",
    ),
    "another behaviour": (
        lambda d: d["pre_tokenizer"]["pretokenizers"][0].update(behavior="Removed"), "only behavior Isolated",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSALS)
def test_what_is_not_supported_is_refused_by_name(tmp_path, what):
    change, text = REFUSALS[what]
    assert text in refusal(tmp_path, change)


def test_what_is_no_json_is_refused(tmp_path):
    (tmp_path / "bad.json").write_text("{")
    run = subprocess.run([str(DRIVER), str(tmp_path / "bad.json")], input="", capture_output=True, text=True)
    assert run.returncode == 2 and "is not JSON" in run.stderr

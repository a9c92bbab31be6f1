"""The tokenizer's driver beside the tokenizers library: the same ids, places and text."""

import json
import pathlib
import subprocess

import pytest
import tokenizers
from conftest import program

DRIVER = pathlib.Path(program()).parent / "tokenizer_driver"


def drive(file, texts):
    run = subprocess.run(
        [str(DRIVER), str(file)], input="".join(json.dumps(text) + "\n" for text in texts),
        capture_output=True, text=True, encoding="utf-8", timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.split("\n") if line]


def whole_places(value):
    """The document without trim_offsets, which takes white space off the offsets that the library reports."""
    if isinstance(value, dict):
        return {key: False if key == "trim_offsets" else whole_places(each) for key, each in value.items()}
    return [whole_places(each) for each in value] if isinstance(value, list) else value


def library_of(file):
    document = json.loads(pathlib.Path(file).read_text())
    document["post_processor"] = whole_places(document.get("post_processor"))
    return tokenizers.Tokenizer.from_str(json.dumps(document))


def in_characters(text, places):
    """Places in bytes as the library gives them in characters."""
    number = {}
    for index, character in enumerate(text):
        for _ in character.encode():
            number[len(number)] = index
    size = len(number)

    def converted(begin, end):
        if begin not in number:
            return [begin, end]  # The library leaves an empty place at the end in bytes.
        return [number[begin], number[end] if end < size else number.get(end - 1, number[begin]) + 1]

    return [converted(begin, end) for begin, end in places]


def decodes_otherwise(library):
    """Whether an added token's letters are taken for bytes by the library, and not by us."""
    document = json.loads(library.to_str())
    if "ByteLevel" not in json.dumps(document["decoder"]):
        return lambda ids: False
    odd = {each["id"] for each in document["added_tokens"] if not each["content"].isascii()}
    return lambda ids: not odd.isdisjoint(ids)


def compare(file, texts, library=None):
    """The driver's answers for `texts` against those of the library, for the same file or a given library."""
    library = library or library_of(file)
    found = drive(file, texts)
    assert len(found) == len(texts)
    otherwise = decodes_otherwise(library)
    plain = library.encode_batch(texts, add_special_tokens=False)
    around = library.encode_batch(texts, add_special_tokens=True)
    for text, ours, encoding, whole in zip(texts, found, plain, around):
        wanted = {
            "ids": encoding.ids,
            "placed": encoding.ids,
            "places": [list(each) for each in encoding.offsets],
            "around": whole.ids,
        }
        if not otherwise(encoding.ids):
            wanted["decoded"] = library.decode(encoding.ids, skip_special_tokens=False)
            wanted["skipped"] = library.decode(encoding.ids, skip_special_tokens=True)
        ours["places"] = in_characters(text, ours["places"])
        # Not by assert on the values: pytest would explain the difference of a megabyte for minutes.
        for key, value in wanted.items():
            if ours[key] != value:
                least = min(len(ours[key]), len(value))
                at = next((i for i, (a, b) in enumerate(zip(ours[key], value)) if a != b), least)
                near = slice(max(0, at - 5), at + 5)
                pytest.fail(f"{key} of {text[:200]!a}: {ours[key][near]!a} is not {value[near]!a} at {at}")

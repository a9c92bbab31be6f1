"""Rows for tests of data files, and what `sluice data` shows of them."""

import json
import struct

import pytest
from chat_data import write_chat_model

END = "<|im_end|>"


def chat(question, answer, **more):
    return {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer, **more}]}


GOOD = [chat(f"hello {i}", f"the fox {i}") for i in range(8)]


def raw_zstd(data):
    """A zstd frame whose blocks are stored as they are."""
    frame = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data))  # Single segment, four bytes of size.
    blocks = [data[i : i + 100_000] for i in range(0, len(data), 100_000)] or [b""]
    for i, block in enumerate(blocks):
        frame += struct.pack("<I", len(block) << 3 | (i + 1 == len(blocks)))[:3] + block
    return frame


class Rows:
    """What `sluice data` shows of a data set."""

    def __init__(self, said):
        self.all = said.json()
        self.err = said.err
        self.left_out = [each for one in self.all["sets"] for each in one["left_out"]]

    def texts(self):
        return ["".join(piece["text"] for piece in row["text"]) for row in self.all["rows"]]

    def learnt(self):
        return ["".join(piece["text"] for piece in row["text"] if piece["learnt"]) for row in self.all["rows"]]


def jsonl(rows):
    return "".join(json.dumps(each) + "\n" for each in rows).encode()

QUESTIONS = [(f"what is {i}?", f'it is "{i}",\nof course') for i in range(8)]
COLUMNS = ["columns.prompt=question", "columns.response=answer"]


@pytest.fixture
def tokenizer(tmp_path):
    from tokenizers import decoders

    made = write_chat_model(tmp_path / "model")
    made.decoder = decoders.ByteLevel()  # So that rows are shown as their text.
    made.save(str(tmp_path / "model" / "tokenizer.json"))
    return made


@pytest.fixture
def words(tokenizer):
    return ["data", "--model", "model", "--seq-len", "128", "--rows", "100", "--json"]


@pytest.fixture
def read(run_sluice, words):
    def rows(data, *more, **options):
        return Rows(run_sluice(*words, "--data", data, *more, **options))

    return rows


@pytest.fixture
def refused(refuses, words):
    def check(data, *texts, more=(), **options):
        return refuses([*words, "--data", data, *more], *texts, **options)

    return check

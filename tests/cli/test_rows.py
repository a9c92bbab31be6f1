"""Rows as people have them: packed files, CSV, tables, folders, named columns, masks, and what is left out or refused."""

import bz2
import gzip
import json
import lzma
import os
import struct
import sys

import pytest
from chat_data import write_chat_model, write_jsonl
from conftest import available_verbs
from small_run import TEXT

pytestmark = pytest.mark.skipif("data" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")

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


def jsonl(rows):
    return "".join(json.dumps(each) + "\n" for each in rows).encode()


# Files.


def test_packed_files_are_read_by_their_bytes_and_not_their_names(read, tmp_path):
    plain = jsonl(GOOD)
    expected = None
    for name, data in {
        "plain.jsonl": plain,
        "packed.jsonl.gz": gzip.compress(plain),
        "members.jsonl": gzip.compress(plain[:100]) + gzip.compress(plain[100:]),
        "packed.jsonl.zst": raw_zstd(plain),
        "frames.jsonl": raw_zstd(plain[:50]) + raw_zstd(plain[50:]),
        "marked.jsonl": b"\xef\xbb\xbf" + plain,
    }.items():
        (tmp_path / name).write_bytes(data)
        texts = read(name).texts()
        expected = expected or texts
        assert texts == expected and len(texts) == 8, name


def test_packed_text_is_the_text(run_sluice, read, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "text.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "zipped.txt").write_bytes(raw_zstd(TEXT.encode()))
    plain = read("text.txt")
    for name in ("text.txt.gz", "zipped.txt"):
        packed = read(name)
        assert packed.all["tokens"] == plain.all["tokens"]
        assert packed.all["rows"][:3] == plain.all["rows"][:3]


@pytest.mark.parametrize(
    "data, texts",
    [
        (bz2.compress(jsonl(GOOD)), ["bzip2", "bunzip2 -k rows.jsonl"]),
        (lzma.compress(jsonl(GOOD)), ["xz", "unxz -k rows.jsonl"]),
        (b"PK\x03\x04" + bytes(40), ["zip", "unzip rows.jsonl"]),
        (jsonl(GOOD).decode().encode("utf-16"), ["UTF-16LE", "iconv -f UTF-16LE -t UTF-8 rows.jsonl"]),
        (jsonl(GOOD).decode().encode("utf-16-be"), ["UTF-16BE", "iconv -f UTF-16BE"]),
        (jsonl(GOOD).decode().encode("utf-32"), ["UTF-32LE", "iconv -f UTF-32LE"]),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", ["Git LFS pointer", "git lfs pull"]),
        (b"<!DOCTYPE html><html></html>", ["HTML"]),
        (gzip.compress(jsonl(GOOD))[:60], ["damaged or cut short"]),
        (raw_zstd(jsonl(GOOD))[:-30], ["damaged or cut short"]),
        (b"SQLite format 3\0" + bytes(40), ["SQLite"]),
        (b"\x80\x04\x95" + bytes(40), ["pickle"]),
    ],
)
def test_what_is_no_text_is_named_with_what_converts_it(refused, tmp_path, data, texts):
    (tmp_path / "rows.jsonl").write_bytes(data)
    refused("rows.jsonl", "rows.jsonl", *texts)


def test_json_files_of_every_shape_have_the_same_rows(read, tmp_path):
    expected = None
    for name, text in {
        "lines.jsonl": "\n\n".join(json.dumps(each) for each in GOOD),
        "crlf.jsonl": "\r\n".join(json.dumps(each) for each in GOOD),
        "list.json": json.dumps(GOOD),
        "pretty.json": json.dumps(GOOD, indent=2),
        "framed.json": json.dumps({"version": [1, 2], "data": GOOD, "note": {"n": "]}"}}),
        "pretty_frame.json": json.dumps({"about": "x", "train": GOOD}, indent=1),
        "several.jsonl": "\n".join(json.dumps(each, indent=2) for each in GOOD),
        "comma.json": json.dumps(GOOD)[:-1] + ",]",
        "named.txt": "\n".join(json.dumps(each) for each in GOOD),
    }.items():
        (tmp_path / name).write_text(text)
        texts = read(name).texts()
        expected = expected or texts
        assert texts == expected and len(texts) == 8, name


@pytest.mark.parametrize(
    "text, reasons",
    [
        (json.dumps({"train": GOOD, "test": GOOD}), ["two lists of rows", '"train"', '"test"']),
        (",\n".join(json.dumps(each) for each in GOOD), ["between commas without a list"]),
        (json.dumps(GOOD) + json.dumps(GOOD), ["something follows the list"]),
        (json.dumps(GOOD)[:-1], ["not closed"]),
        ("", ["holds no rows"]),
        (json.dumps({"q": ["a", "b"], "a": ["c", "d"]}), ["its fields are q, a"]),
    ],
)
def test_a_json_file_of_no_shape_is_refused_as_a_whole(refused, tmp_path, text, reasons):
    (tmp_path / "rows.json").write_text(text)
    refused("rows.json", "rows.json", *reasons)


QUESTIONS = [(f"what is {i}?", f'it is "{i}",\nof course') for i in range(8)]
COLUMNS = ["columns.prompt=question", "columns.response=answer"]


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def test_csv_has_quotes_line_ends_and_separators_in_its_fields(read, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [{"question": q, "answer": a} for q, a in QUESTIONS])
    expected = read("rows.jsonl", *COLUMNS).texts()
    lines = [["id", "question", "answer"], *[[str(i), quoted(q), quoted(a)] for i, (q, a) in enumerate(QUESTIONS)]]
    for name, separator, end, mark in [
        ("comma.csv", ",", "\n", ""),
        ("windows.csv", ",", "\r\n", "\ufeff"),
        ("tab.tsv", "\t", "\n", ""),
        ("excel.csv", ";", "\r\n", "\ufeff"),
    ]:
        text = mark + end.join(separator.join(each) for each in lines) + end + end
        (tmp_path / name).write_bytes(text.encode())
        found = read(name, *COLUMNS)
        assert found.texts() == expected and len(expected) == 8, name
    assert "of course" in expected[0] and '"0",\nof' in expected[0]


def test_bad_records_of_csv_are_left_out_by_their_line(read, refused, tmp_path):
    lines = ["question,answer", *(f"q{i},a{i}" for i in range(8))]
    lines.insert(3, "one,two,three")
    lines.insert(5, 'x,"y" z')
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    found = read("rows.csv", *COLUMNS)
    assert [(each["rows"], each["first"]) for each in found.left_out] == [(1, "rows.csv:4"), (1, "rows.csv:6")]
    assert "3 fields, and the header 2" in found.left_out[0]["reason"]
    refused("rows.csv", "rows.csv:4: ", "rows.csv:6: ", "closing quote", more=[*COLUMNS, "strict=true"])
    (tmp_path / "rows.csv").write_text('question,answer\nq,"a\nq,a\n' * 3)
    refused("rows.csv", "a quote is never closed", more=COLUMNS)
    (tmp_path / "rows.csv").write_text("answer,answer\na,b\n")
    refused("rows.csv", 'names the column "answer" twice')


def test_latin_letters_of_another_encoding_are_named(refused, tmp_path):
    (tmp_path / "rows.csv").write_bytes("question,answer\n".encode() + "caf\u00e9,\u00e9t\u00e9\n".encode("latin1") * 4)
    refused("rows.csv", "is not UTF-8", "4 of 4 rows", more=COLUMNS)


def test_a_folder_of_shards_is_read_in_the_order_of_numbers(read, refused, tmp_path):
    folder = tmp_path / "set" / "data"
    folder.mkdir(parents=True)
    (tmp_path / "set" / "README.md").write_text("about")
    (tmp_path / "set" / "dataset_infos.json").write_text("{}")
    for i in range(3):
        write_jsonl(folder / f"train-{i:05}-of-00003.jsonl", GOOD[i * 2 : i * 2 + 2])
    write_jsonl(folder / "test-00000-of-00001.jsonl", GOOD[6:])
    write_jsonl(tmp_path / "all.jsonl", GOOD[:6])
    expected = read("all.jsonl").texts()
    assert read("set").texts() == expected
    assert read("set/data/train-*.jsonl").texts() == expected
    assert [os.path.basename(each) for each in read("set").all["sets"][0]["files"]][2] == "train-00002-of-00003.jsonl"
    (folder / "train-00001-of-00003.jsonl").unlink()
    refused("set", "train-00001-of-00003", "is missing")
    refused("set/data/nothing-*", "no file matches")


def test_numbers_in_names_are_numbers(read, tmp_path):
    (tmp_path / "set").mkdir()
    for i in (1, 2, 10):
        write_jsonl(tmp_path / "set" / f"part{i}.jsonl", [chat(f"q{i}", f"part {i}")] * 2)
    assert [text.split("part ")[1].split("<")[0] for text in read("set").texts()] == ["1", "1", "2", "2", "10", "10"]


def test_a_folder_that_could_mean_several_data_sets_is_refused(refused, tmp_path):
    for name in ("en", "zh"):
        (tmp_path / "set" / name).mkdir(parents=True)
        write_jsonl(tmp_path / "set" / name / "train.jsonl", GOOD)
    refused("set", "several subsets (en, zh)")
    (tmp_path / "mixed").mkdir()
    write_jsonl(tmp_path / "mixed" / "a.jsonl", GOOD)
    (tmp_path / "mixed" / "b.csv").write_text("text\nx\n")
    refused("mixed", "b.csv is CSV", "of one form")
    (tmp_path / "empty").mkdir()
    refused("empty", "holds no data file")


def test_a_hub_id_is_the_snapshot_of_its_main_branch(read, refused, tmp_path):
    hub = tmp_path / "hub"
    folder = hub / "datasets--someone--rows"
    for revision, rows in (("old", GOOD[:4]), ("new", GOOD[4:])):
        (folder / "snapshots" / revision).mkdir(parents=True)
        write_jsonl(folder / "snapshots" / revision / "train.jsonl", rows)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("old")
    env = {"HF_HUB_CACHE": str(hub)}
    assert "hello 0" in read("someone/rows", env=env).texts()[0]
    (folder / "refs" / "main").write_text("new")
    assert "hello 4" in read("someone/rows", env=env).texts()[0]
    refused("someone/other", "hf download someone/other --repo-type dataset", env=env)


def test_parquet_and_arrow_are_read_through_pyarrow(read, refused, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="PyPI's pyarrow is not installed (scripts/install tests)")
    import pyarrow.feather
    import pyarrow.parquet

    write_jsonl(tmp_path / "rows.jsonl", GOOD)
    expected = read("rows.jsonl").texts()
    table = pa.Table.from_pylist([{**each, "image": b"\x89PNG", "n": float("nan")} for each in GOOD])
    env = {"SLUICE_PYTHON": sys.executable}
    pa.parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=3)
    pa.feather.write_feather(table, tmp_path / "rows.feather")
    with pa.ipc.new_stream(tmp_path / "stream.arrow", table.schema) as out:
        out.write_table(table, max_chunksize=3)
    with pa.ipc.new_file(tmp_path / "file.arrow", table.schema) as out:
        out.write_table(table, max_chunksize=5)
    (tmp_path / "no_extension").write_bytes((tmp_path / "rows.parquet").read_bytes())
    for name in ("rows.parquet", "rows.feather", "stream.arrow", "file.arrow", "no_extension"):
        assert read(name, env=env).texts() == expected, name
    data = bytearray((tmp_path / "rows.parquet").read_bytes())
    data[len(data) // 2 : -4] = bytes(len(data) - len(data) // 2 - 4)
    (tmp_path / "broken.parquet").write_bytes(data)
    refused("broken.parquet", "broken.parquet", "pyarrow cannot read it", env=env)


def test_without_pyarrow_one_line_says_how_to_install_it(refused, run_sluice, tmp_path):
    import subprocess

    if subprocess.run(["/usr/bin/python3", "-I", "-c", "import pyarrow"], capture_output=True).returncode == 0:
        pytest.skip("the system's Python has pyarrow")
    (tmp_path / "rows.parquet").write_bytes(b"PAR1" + bytes(64) + b"PAR1")
    env = {"PATH": "/nonexistent", "SLUICE_PYTHON": "/usr/bin/python3"}
    refused("rows.parquet", "pyarrow", "pip install", exit_code=4, env=env)


# Meaning.


@pytest.mark.parametrize(
    "mask",
    [{"weight": 0}, {"weight": 0.0}, {"train": False}, {"training": False}, {"loss": False}, {"loss_mask": 0}, {"loss_weight": 0.0}],
)
def test_an_answer_that_is_masked_is_not_learnt(read, tmp_path, mask):
    rows = [
        {"messages": [*chat("q", "draft", **mask)["messages"], *chat("again", f"better {i}", weight=1)["messages"]]}
        for i in range(4)
    ]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    found = read("rows.jsonl")
    assert found.learnt() == [f"better {i}{END}" for i in range(4)]
    assert "draft" in found.texts()[0]


@pytest.mark.parametrize(
    "row, texts",
    [
        (chat("q", "a", weight=0.5), ["messages[].weight 0.5", "write 0 or 1"]),
        ({"messages": [{"role": "user", "content": "q", "train": True}, *chat("q", "a")["messages"]]}, ["only the assistant's are learnt"]),
        (chat("q", "a", train_detail=[{"begin_offset": 0}]), ["train_detail"]),
        ({**chat("q", "a"), "label": False}, ["label", "preference data"]),
        ({**chat("q", "a"), "score": 2}, ["score", "preference data"]),
        ({**chat("q", "a"), "chosen": [], "rejected": []}, ["chosen", "preference data", "columns"]),
        ({"prompt": "q", "chosen": "good", "rejected": "bad"}, ["chosen", "preference data"]),
        ({"prompt": "q", "completion": "good", "label": True}, ["label", "preference data"]),
        ({"instruction": "q", "output": ["good", "bad"]}, ["a list of answers", "preference data"]),
        ({**chat("q", "a"), "weight": 0.3}, ["weight", "rows of other weights"]),
        ({**chat("q", "a"), "loss_mask": [0, 1]}, ["loss_mask", "token ids with a mask"]),
    ],
)
def test_other_kinds_of_data_are_refused_by_name(refused, tmp_path, row, texts):
    write_jsonl(tmp_path / "rows.jsonl", [row] * 4)
    refused("rows.jsonl", "rows.jsonl", *texts)


def test_other_kinds_are_found_in_later_rows_too(refused, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [*GOOD, {**chat("q", "bad"), "label": False}])
    refused("rows.jsonl", "label is preference data", "1 of 9 rows, first at rows.jsonl:9")


def test_named_columns_are_learnt_as_they_are(read, tmp_path):
    answers = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "good"}]
    write_jsonl(tmp_path / "rows.jsonl", [{"chosen": answers, "rejected": [], "score": 1.5}] * 4)
    assert read("rows.jsonl", "columns.messages=chosen").learnt() == [f"good{END}"] * 4


def test_a_prompt_is_read_and_its_completion_learnt_to_the_end_of_text(read, tokenizer, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [{"prompt": f"2 + {i} =", "completion": f" {2 + i}"} for i in range(6)])
    found = read("rows.jsonl")
    assert found.learnt() == [f" {2 + i}<|endoftext|>" for i in range(6)]
    assert found.texts()[3] == "2 + 3 = 5<|endoftext|>"
    assert found.all["sets"][0]["format"] == "prompt_completion"
    end = tokenizer.token_to_id("<|endoftext|>")
    assert all(row["ids"][-1] == end for row in found.all["rows"])
    # Tokens are those of the whole text, as of any other.
    assert found.all["rows"][1]["ids"] == [*tokenizer.encode("2 + 1 = 3").ids, end]


def test_completions_of_messages_are_conversations_whose_prompt_is_not_learnt(read, tmp_path):
    prompt = [*chat("first", "earlier")["messages"], {"role": "user", "content": "now"}]
    rows = [{"prompt": prompt, "completion": [{"role": "assistant", "content": f"yes {i}"}]} for i in range(4)]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    found = read("rows.jsonl")
    assert found.learnt() == [f"yes {i}{END}" for i in range(4)]
    assert "earlier" in found.texts()[0]


@pytest.mark.parametrize("first", [{"question": "q", "answer": "a"}, {"id": 7}, {}])
def test_rows_without_known_fields_are_refused_with_the_fields_found(refused, tmp_path, first):
    write_jsonl(tmp_path / "rows.jsonl", [first, *GOOD])
    names = ", ".join(first) or "none"
    refused("rows.jsonl", "rows.jsonl:1: ", f"its fields are {names}", "columns: {prompt: ", "data_format: text")


def test_question_and_answer_are_read_where_they_are_named(read, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [{"question": f"q{i}", "answer": f"a{i}", "extra": float("nan")} for i in range(4)])
    found = read("rows.jsonl", *COLUMNS)
    assert found.learnt() == [f"a{i}{END}" for i in range(4)]
    assert "user\nq2" in found.texts()[2]
    assert read("rows.jsonl", "columns.text=answer", "--seq-len", "2").learnt()[0].startswith("a0")
    raw = read("rows.jsonl", "data_format=text", "--seq-len", "16")
    assert raw.texts()[0].startswith('{"question": "q0"')


def test_rows_that_teach_nothing_are_left_out_counted_with_the_first_place(run_sluice, read, refused, tmp_path):
    rows = [{"instruction": f"i{i}", "input": "", "output": "" if i % 5 == 3 else f"o{i}"} for i in range(20)]
    (tmp_path / "rows.json").write_text(json.dumps(rows, indent=0))
    found = read("rows.json")
    line = 1 + 5 * 3 + 1  # Each object takes five lines; the first begins on line 2.
    assert found.left_out == [{"reason": "output is empty", "rows": 4, "first": f"rows.json:{line}"}]
    assert f"left out 4 rows (output is empty), first at rows.json:{line}" in found.err
    assert len(found.texts()) == 16 and found.all["sets"][0]["rows_read"] == 20
    assert f"left out 4 rows (output is empty), first at rows.json:{line}" in read("rows.json").err  # Of kept tokens, too.
    listed = [f"rows.json:{1 + 5 * i + 1}: output: is empty" for i in (3, 8, 13, 18)]
    refused("rows.json", "strict: 4 rows would be left out", *listed, more=["strict=true"])


def test_more_than_half_of_one_fault_refuses_the_file_with_all_its_faults(refused, tmp_path):
    rows = [{"instruction": "i", "output": ""}] * 6 + [{"instruction": "i", "output": 3}] * 2 + [{"instruction": "i", "output": "o"}]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    places = "rows.jsonl:1, rows.jsonl:2, rows.jsonl:3"
    refused("rows.jsonl", f"output is empty (6 of 9 rows, first at {places})", "output must be text (2 of 9 rows")


def test_single_bad_rows_are_left_out_by_reason(read, tmp_path):
    lines = [json.dumps(each) for each in GOOD]
    lines[2:2] = ['{"messages": ', "[1]", '{"messages": 3}', '{"other": 1}', json.dumps(chat("q", "a\tb")).replace("\\t", "\t")]
    lines.append(json.dumps({"messages": [{"role": "judge", "content": "x"}]}))
    lines.append(json.dumps({"messages": [{"role": "user", "content": "x"}]}))
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    found = read("rows.jsonl")
    reasons = {each["first"]: each["reason"] for each in found.left_out}
    assert "is not JSON" in reasons["rows.jsonl:3"]
    assert "must be an object" in reasons["rows.jsonl:4"]
    assert "messages must be a list" in reasons["rows.jsonl:5"]
    assert "messages is missing" in reasons["rows.jsonl:6"]
    assert "raw tab" in reasons["rows.jsonl:7"]
    assert '"judge" is not one of' in reasons["rows.jsonl:14"]
    assert "no message of the assistant" in reasons["rows.jsonl:15"]
    assert len(found.texts()) == 8


def test_json_is_read_as_python_reads_it(read, tmp_path):
    lines = [
        '{"text": "one", "score": NaN, "a": [Infinity, -Infinity, 1e999]}',
        '{"text": "two", "text": "last"}',
        '{"text": "half \\ud83d here"}',
        '{"text": "whole \\ud83d\\ude00 \\/"}',
        '{"text": NaN}',
        *(json.dumps({"text": f"more {i}"}) for i in range(4)),
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    found = read("rows.jsonl", "packing=documents")
    texts = [text.removesuffix("<|endoftext|>") for text in found.texts()]
    assert texts[:4] == ["one", "last", "half \ufffd here", "whole \U0001f600 /"]
    assert [(each["reason"], each["first"]) for each in found.left_out] == [("text must be text, and is NaN", "rows.jsonl:5")]
    assert found.all["sets"][0]["replaced_surrogates"] == 1 and "1 lone surrogates" in found.err


def test_parts_of_text_are_joined_and_others_refused_by_type(read, tmp_path):
    def parts(*content):
        return {"messages": [{"role": "user", "content": list(content)}, {"role": "assistant", "content": [{"type": "text", "value": "ok"}]}]}

    rows = [parts({"type": "text", "text": "one, "}, {"type": "text", "text": "two"})] * 4
    rows.append(parts({"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "x"}}))
    rows.append(parts({"type": "input_audio", "input_audio": {}}))
    write_jsonl(tmp_path / "rows.jsonl", rows)
    found = read("rows.jsonl")
    assert "user\none, two<" in found.texts()[0] and found.learnt()[0] == f"ok{END}"
    assert sorted(each["reason"].split(": ")[0] for each in found.left_out) == [
        "messages[].content[] a part of type image_url", "messages[].content[] a part of type input_audio"]


# Data sets by name, and several of them.


def test_dataset_info_as_llama_factory_ships_it(read, refused, tmp_path):
    folder = tmp_path / "sets"
    folder.mkdir()
    write_jsonl(folder / "qa.jsonl", [{"q": f"q{i}", "a": f"a{i}", "s": "be kind", "input": "not read"} for i in range(6)])
    (folder / "wiki.txt").write_text("first line\n\nsecond line\r\nthird line\nfourth")
    v1 = [{"messages": [{"role": "user", "content": [{"type": "text", "value": "hi"}], "loss_weight": 0.0},
                        {"role": "assistant", "content": [{"type": "text", "value": f"a{i}"}], "loss_weight": 1.0}]} for i in range(4)]  # fmt: skip
    write_jsonl(folder / "v1.jsonl", v1)
    columns = {"prompt": "q", "response": "a", "system": "s"}
    info = {
        "qa": {"file_name": "qa.jsonl", "columns": columns, "num_samples": 3},
        "wiki": {"file_name": "wiki.txt", "columns": {"prompt": "text"}},
        "v1": {"file_name": "v1.jsonl", "formatting": "openai"},
        "ranked": {"file_name": "qa.jsonl", "ranking": True},
        "kto": {"file_name": "qa.jsonl", "columns": {**columns, "kto_tag": "k"}},
        "seen": {"file_name": "qa.jsonl", "formatting": "sharegpt", "columns": {"images": "i"}},
        "hub": {"hf_hub_url": "someone/thing", "split": "train"},
        "script": {"script_url": "thing.py"},
    }
    (folder / "dataset_info.json").write_text(json.dumps(info))
    more = ["dataset_dir=sets"]
    qa = read("qa", *more)
    assert qa.learnt()[0] == f"a0{END}" and "system\nbe kind" in qa.texts()[0] and "not read" not in qa.texts()[0]
    assert qa.all["sets"][0]["rows_used"] == 6 and qa.all["documents"] == 4  # Three to learn, one held out.
    wiki = read("wiki", *more, "packing=documents", "--seq-len", "16")
    assert [text.removesuffix("<|endoftext|>") for text in wiki.texts()] == ["first line", "second line", "third line", "fourth"]
    assert read("v1", *more).learnt() == [f"a{i}{END}" for i in range(4)]
    for name, texts in {
        "ranked": ["ranking", "preference data"], "kto": ["columns.kto_tag", "preference data"],
        "seen": ["columns.images", "text alone"], "hub": ["hf_hub_url", "hf download someone/thing"],
        "script": ["script_url"], "qq": ["no entry of that name"],
    }.items():  # fmt: skip
        refused(name, *texts, more=more, env={"HF_HUB_CACHE": str(tmp_path)})


def sets_of(tmp_path):
    for name, count in (("a", 40), ("b", 20)):
        write_jsonl(tmp_path / f"{name}.jsonl", [chat("q", f"{name}{i}") for i in range(count)])


def answers(found):
    return [text.removesuffix(END) for text in found.learnt()]


def test_several_data_sets_are_interleaved_and_each_holds_its_own_end_out(read, tmp_path):
    sets_of(tmp_path)
    found = read("[a.jsonl, b.jsonl]")
    order = answers(found)
    assert len(order) == 60
    # Of 40 the last two, of 20 the last one are validation, behind the others.
    assert order[-3:] == ["a38", "a39", "b19"]
    assert [each for each in order if each[0] == "a"] == [f"a{i}" for i in range(40)]
    assert [each for each in order if each[0] == "b"] == [f"b{i}" for i in range(20)]
    half = order[: 57 // 2]
    assert abs(sum(each[0] == "a" for each in half) - 19) <= 1  # In proportion in every part.
    assert found.all["training_sequences"] == 57 and found.all["validation_sequences"] == 3


def test_weights_say_how_often_rows_are_read(read, refused, tmp_path):
    sets_of(tmp_path)
    order = answers(read("[{path: a.jsonl, weight: 0.5}, {path: b.jsonl, weight: 2}]"))
    training = order[:-3]
    assert [each for each in training if each[0] == "a"] == [f"a{2 * i}" for i in range(19)]
    assert [each for each in training if each[0] == "b"] == [f"b{i % 19}" for i in range(38)]
    assert not set(order[-3:]) & set(training)
    refused("[{path: a.jsonl, weight: 0.5}, b.jsonl]", "b.jsonl has no weight")


def test_max_samples_are_the_first_rows_of_each_set(read, refused, tmp_path):
    sets_of(tmp_path)
    (tmp_path / "text.txt").write_text(TEXT)
    assert answers(read("a.jsonl", "max_samples=5")) == [f"a{i}" for i in range(5)]
    order = answers(read("[{path: a.jsonl, max_samples: 3}, b.jsonl]", "max_samples=4"))
    assert sorted(order) == ["a0", "a1", "a2", "b0", "b1", "b2", "b3"]
    refused("text.txt", "max_samples", "is one text", "data_format=jsonl", more=["max_samples=5"])
    refused("[a.jsonl, text.txt]", "text.txt is one text", "format: jsonl")


def hash_of(run_sluice, *more):
    said = run_sluice("train", "--model", "model", "--seq-len", "64", "--batch-size", "2", "--machine", "here", "--backend", "host",
                      "--hbm", "8MiB", "--host", "1GiB", "machine.h2d=400 MB/s", "machine.d2h=400 MB/s", "steps=1", "--no-checkpoint",
                      "--json", *more)  # fmt: skip
    return said.json()["data_sha256"] if "data_sha256" in said.json() else said.json()


def test_a_data_set_of_one_is_that_data_set(read, tmp_path):
    sets_of(tmp_path)
    alone, listed = read("a.jsonl"), read("[{path: a.jsonl, weight: 1}]")
    assert alone.all["rows"] == listed.all["rows"]


def test_tools_and_thoughts_are_kept_for_the_template(run_sluice, tmp_path, read):
    """Rows with calls are not refused by their reader; what the template does with them is its matter."""
    rows = [chat("q", "a", reasoning_content=None, tool_calls=[], name=None)] * 4
    write_jsonl(tmp_path / "rows.jsonl", rows)
    assert read("rows.jsonl").learnt() == [f"a{END}"] * 4

"""Data files as people have them: packed, JSON of every shape, folders, globs and the hub's cache."""

import bz2
import gzip
import json
import lzma
import os

import pytest
from chat_data import write_jsonl
from conftest import available_verbs
from row_data import COLUMNS, GOOD, QUESTIONS, chat, jsonl, raw_zstd, read, refused, tokenizer, words  # noqa: F401
from small_run import TEXT

pytestmark = pytest.mark.skipif("data" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")


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
        (gzip.compress(gzip.compress(jsonl(GOOD))), ["packed twice", "gunzip"]),
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
        (json.dumps({"q": ["a", "b"], "a": ["c", "d"]}), ["q: holds a whole column"]),
        (json.dumps({"q": ["a", "b"], "a": "c"}), ["its fields are q, a"]),
    ],
)
def test_a_json_file_of_no_shape_is_refused_as_a_whole(refused, tmp_path, text, reasons):
    (tmp_path / "rows.json").write_text(text)
    refused("rows.json", "rows.json", *reasons)


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
    older = {"HF_HUB_CACHE": "", "HUGGINGFACE_HUB_CACHE": "~/hub", "HOME": str(tmp_path)}
    assert "hello 4" in read("someone/rows", env=older).texts()[0]


@pytest.mark.parametrize(
    "name, data, texts",
    [
        ("t.json", json.dumps({"instruction": ["q", "r"], "output": ["a", "b"]}), ["instruction: holds a whole column", "orient=\"records\""]),
        ("t.json", json.dumps({"instruction": {"0": "q", "1": "r"}, "output": {"0": "a", "1": "b"}}), ["instruction: holds a whole column"]),
        ("t.json", json.dumps(["one", "two"]), ["is a text, and an example must be an object"]),
        ("t.jsonl", jsonl(GOOD).decode().replace("\n", "\r"), ["carriage return alone", "tr '\\r' '\\n'"]),
        ("t.csv", "messages\n" + "".join('"' + str(each["messages"]) + '"\n' for each in GOOD), ["Python's text of a list", "json.dumps"]),
    ],
)  # fmt: skip
def test_forms_that_other_programs_write_are_named_with_what_writes_rows(refused, tmp_path, name, data, texts):
    (tmp_path / name).write_text(data, newline="")
    refused(name, *texts)


def test_paths_of_every_kind_lead_to_their_file_or_are_named(read, refused, tmp_path):
    (tmp_path / "a b" / "\u00fcn\u00ef").mkdir(parents=True)
    (tmp_path / "a b" / "\u00fcn\u00ef" / "rows.jsonl").write_bytes(jsonl(GOOD))
    (tmp_path / "link.jsonl").symlink_to("a b/\u00fcn\u00ef/rows.jsonl")
    assert len(read("link.jsonl").texts()) == len(read("a b/\u00fcn\u00ef/rows.jsonl").texts()) == 8
    (tmp_path / "circle.jsonl").symlink_to("circle.jsonl")
    refused("circle.jsonl", "data: cannot read circle.jsonl: Too many levels of symbolic links")
    (tmp_path / "gone.jsonl").symlink_to("nowhere.jsonl")
    refused("gone.jsonl", "gone.jsonl", "a link to a file that is not there")


@pytest.mark.parametrize("name", ["rows.txt", "noext"])
@pytest.mark.parametrize(
    "data", [json.dumps(GOOD, indent=1), json.dumps(GOOD), "\n".join(json.dumps(each, indent=2) for each in GOOD)], ids=["list", "line", "objects"]
)  # fmt: skip
def test_json_is_never_learnt_as_text_unless_asked(read, run_sluice, words, tmp_path, name, data):
    (tmp_path / name).write_text(data)
    assert len(read(name).texts()) == 8 and read(name).all["sets"][0]["format"] == "messages"
    assert run_sluice(*words, "--data", name, "data_format=text").json()["sets"][0]["format"] == "text"
    (tmp_path / name).write_text(json.dumps(GOOD[0], indent=1) + "\nand so it goes on in words\n" * 40)
    assert run_sluice(*words, "--data", name).json()["sets"][0]["format"] == "text"

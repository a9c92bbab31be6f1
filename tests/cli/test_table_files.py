"""Tables in files as people have them: CSV, and parquet and Arrow through pyarrow."""

import json
import sys

import pytest
from chat_data import write_jsonl
from conftest import available_verbs
from row_data import COLUMNS, GOOD, QUESTIONS, read, refused, tokenizer, words  # noqa: F401

pytestmark = pytest.mark.skipif("data" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")


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
    pa.parquet.write_table(pa.Table.from_pylist([{"text": b"one", "id": b"1"}]), tmp_path / "bytes.parquet")
    refused("bytes.parquet", "bytes.parquet", "all its columns hold bytes (text, id)", "pyarrow.string()", env=env)
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


def test_fields_that_only_other_rows_of_a_table_have_are_not_there(read, tokenizer, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="PyPI's pyarrow is not installed (scripts/install tests)")
    import pyarrow.parquet

    source = "{% for m in messages %}{{ m | tojson }}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}{% endfor %}"
    (tmp_path / "t.jinja").write_text(source)
    rows = [
        {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "tool_calls": [
            {"function": {"arguments": {"x" if i % 2 else "y": "1"}, "name": f"f{i}"}, "type": "function"}]}]}
        for i in range(4)
    ]  # fmt: skip  # Fields by name: pyarrow of some versions orders those of an inferred struct so.
    write_jsonl(tmp_path / "rows.jsonl", rows)
    pa.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    assert pa.Table.from_pylist(rows).to_pylist() != rows
    more = {"env": {"SLUICE_PYTHON": sys.executable}}
    assert read("rows.parquet", "template=t.jinja", **more).texts() == read("rows.jsonl", "template=t.jinja").texts()


def test_a_cut_arrow_stream_is_told_or_refused(run_sluice, words, refused, read, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="PyPI's pyarrow is not installed (scripts/install tests)")

    env = {"SLUICE_PYTHON": sys.executable}
    table = pa.Table.from_pylist(GOOD)
    ends = []  # Where each batch ends.
    with open(tmp_path / "whole.arrow", "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
        for first in range(0, 8, 4):
            out.write_table(table.slice(first, 4))
            file.flush()
            ends.append(file.tell())
    data = (tmp_path / "whole.arrow").read_bytes()
    assert data[ends[1] :] == b"\xff\xff\xff\xff\0\0\0\0"
    assert run_sluice(*words, "--data", "whole.arrow", env=env).err == ""
    (tmp_path / "cut.arrow").write_bytes(data[: ends[0]])
    said = run_sluice(*words, "--data", "cut.arrow", env=env)
    assert "warning: data: cut.arrow lacks the marker that ends an Arrow stream" in said.err
    assert said.json()["sets"][0]["rows_used"] == 4
    assert "cut.arrow lacks" in run_sluice(*words, "--data", "cut.arrow", env=env).err  # Also where its tokens are in the store.
    for end in (ends[0] + 3, ends[0] + 40, ends[1] - 1):
        (tmp_path / "torn.arrow").write_bytes(data[:end])
        said = run_sluice(*words, "--data", "torn.arrow", env=env, exit_code=2).err
        assert "torn.arrow lacks" in said and "torn.arrow: pyarrow cannot read it" in said, end


def test_what_a_reader_writes_to_stderr_is_a_note(run_sluice, words, tmp_path):
    folder = tmp_path / "python"
    folder.mkdir()
    # A Python whose pyarrow warns, as libraries do of what they will drop.
    (folder / "pyarrow").mkdir()
    (folder / "pyarrow/__init__.py").write_text("__version__ = '0'\nclass ArrowInvalid(Exception): pass\n")
    rows = json.dumps([{"text": f"the fox {i} " * 20} for i in range(8)])
    (folder / "pyarrow/parquet.py").write_text(
        "import json, warnings\n"
        "class Schema(list):\n    pass\n"
        "class Batch:\n"
        f"    rows = json.loads({rows!r})\n    num_rows = 8\n    schema = []\n"
        "    def select(self, kept): return self\n"
        "    def slice(self, first, count): return self\n"
        "    def to_pylist(self): return self.rows\n"
        "class ParquetFile:\n"
        "    schema_arrow = []\n"
        "    def __init__(self, path): warnings.warn('soon\\ngone', FutureWarning)\n"
        "    def iter_batches(self, **options): return [Batch()]\n"
    )
    python = folder / "python3"
    python.write_text(f"#!/bin/sh\nshift\nexec {sys.executable} -E -s -c 'import sys; sys.path.insert(0, \"{folder}\"); "
                      "sys.argv = sys.argv[2:]; exec(sys.argv.pop(1))' \"$@\"\n")
    python.chmod(0o755)
    (tmp_path / "rows.parquet").write_bytes(b"PAR1" + bytes(64) + b"PAR1")
    said = run_sluice(*words, "--data", "rows.parquet", env={"SLUICE_PYTHON": str(python)})
    assert said.json()["sets"][0]["rows_used"] == 8
    (line,) = said.err.splitlines()
    assert line.startswith("sluice: note: data: rows.parquet: pyarrow says: ") and "FutureWarning: soon gone" in line

"""data gives what `sluice data --json` prints, and messages of the engine are Python warnings."""

import json
import pathlib
import subprocess
import sys
import warnings

import pytest
import sluice

pytest.importorskip("sluice._training", reason="the module is built without the engine (SLUICE_ENGINE)")

MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 320,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True,
    "hidden_act": "silu",
}  # fmt: skip
RUN = {"model": "model", "data": "rows.jsonl", "seq_len": 32, "packing": "documents"}
WORDS = ("--model", "model", "--data", "rows.jsonl", "--seq-len", 32, "packing=documents")


@pytest.fixture(autouse=True)
def files(tmp_path, sluice_home):
    """A model with a byte-level tokenizer of no merges, with an end, and ten rows of which one is empty."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(MODEL))
    letters = [chr(c) for c in [*range(33, 127), *range(161, 173), *range(174, 256)]] + [chr(256 + i) for i in range(68)]
    tokenizer = {
        "version": "1.0", "added_tokens": [{"id": 256, "content": "<end>", "special": True}], "normalizer": None, "post_processor": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": {letter: i for i, letter in enumerate(letters)}, "merges": []},
    }  # fmt: skip
    (tmp_path / "model" / "tokenizer.json").write_text(json.dumps(tokenizer))
    (tmp_path / "model" / "tokenizer_config.json").write_text('{"eos_token": "<end>"}')
    rows = [{"question": f"is it {i}?", "answer": f"it is {i}" if i else ""} for i in range(10)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


COLUMNS = {"prompt": "question", "completion": "answer"}


def test_it_is_what_the_program_prints(cli):
    code, printed = cli("data", *WORDS, "columns.prompt=question", "columns.completion=answer", "--rows", 2, "--json")
    assert code == 0
    with pytest.warns(UserWarning, match=r"data: rows.jsonl: left out 1 row \(answer is empty\), first"):
        shown = sluice.data(RUN, columns=COLUMNS, rows=2)
    assert shown.to_dict() == printed
    (rows,) = shown.sets
    assert isinstance(rows, sluice.DataSet) and (rows.rows_read, rows.rows_used, rows.num_samples) == (10, 9, None)
    assert [(each.reason, each.rows, each.first) for each in rows.left_out] == [("answer is empty", 1, "rows.jsonl:1")]
    assert len(shown.rows) == 2 and isinstance(shown.rows[0], sluice.DataRow)
    assert "".join(part["text"] for part in shown.rows[0].text if part["learnt"]) == "it is 1"
    assert sum(shown.rows[0].learnt) == len("it is 1") + 1 and len(shown.rows[0].ids) == len(shown.rows[0].learnt)
    assert 0.4 < shown.learnt_share < 0.6 and "9 documents" in repr(shown)


def test_refusals_are_exceptions(tmp_path):
    with pytest.raises(sluice.BadRequest, match="data is missing"):
        sluice.data(model="model", seq_len=32)
    with pytest.raises(sluice.BadRequest, match="question, answer"):
        sluice.data(RUN)
    with pytest.raises(sluice.BadRequest, match="answer: is empty"):
        sluice.data(RUN, columns=COLUMNS, strict=True)
    with pytest.raises(sluice.BadRequest, match="rows"):
        sluice.data(RUN, columns=COLUMNS, rows=-1)


def test_messages_are_warnings_of_the_caller_and_nothing_is_on_stderr(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sluice, warnings\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        f"    sluice.data({RUN!r}, columns={COLUMNS!r})\n"
        f"    sluice.train({ {**RUN, 'machine': 'here', 'backend': 'host', 'batch_size': 1, 'hbm': '8 MiB', 'host': '1 GiB'}!r},\n"
        f"                 columns={COLUMNS!r}, steps=1, seq_len=100, checkpoint=False)\n"
        "for each in seen:\n"
        "    print(each.filename.rsplit('/')[-1], each.category.__name__, each.message)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    lines = done.stdout.splitlines()
    assert sum("left out 1 row (answer is empty)" in line for line in lines) == 2
    assert any("max_position_embeddings" in line for line in lines)
    assert all(line.startswith("script.py UserWarning") for line in lines)


def test_a_warning_that_is_an_error_ends_the_call_and_the_next_one_begins_clean():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="left out 1 row"):
            sluice.data(RUN, columns=COLUMNS)
    rows = [{"question": f"is it {i}?", "answer": f"it is {i}"} for i in range(10)]
    pathlib.Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sluice.data(RUN, columns=COLUMNS).sets[0].rows_used == 10

"""Sequences without a token to learn: left out of the order, counted and said, and never an update."""

import json

import pytest
from chat_data import write_chat_model, write_jsonl
from conftest import available_verbs
from small_run import small_flags

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")


def chat(prompt, answer):
    return {"messages": [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]}


@pytest.fixture
def flags(tmp_path):
    write_chat_model(tmp_path / "model")
    return [*small_flags(tmp_path, "model"), "data=chat.jsonl", "--seq-len", "32", "steps=6", "--no-checkpoint"]


def lines_of(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


LONG = "x" * 300


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([chat(LONG, "good")] * 12, id="every prompt is long"),
        pytest.param([*[chat("a?", "one two")] * 30, *[chat(LONG, "b")] * 6], id="the last prompts are long"),
        pytest.param([chat("a?", "b"), chat(LONG, "b"), chat("a?", "one two " * 40), chat(LONG * 2, "b")] * 3,
                     id="prompts and answers are long by turns"),
        pytest.param([chat("a?", "good old " * 60), *[chat(LONG, "b")] * 8], id="one answer before long prompts"),
    ],
)  # fmt: skip
def test_windows_of_a_stream_with_nothing_to_learn_are_left_out(run_sluice, flags, tmp_path, records):
    write_jsonl(tmp_path / "chat.jsonl", records)
    run = run_sluice("train", *flags, "packing=stream", "batch_size=1", "steps=20", "out=run")
    assert "windows left out: nothing to learn in them" in run.out
    lines = lines_of(tmp_path / "run")
    assert len(lines) == 20
    assert all(line["target_tokens"] > 0 and line["loss"] > 0 and "skipped" not in line for line in lines)
    evaluated = [line["val_loss"] for line in lines if "val_loss" in line]
    assert evaluated and all(loss > 0 for loss in evaluated)


def test_data_without_anything_to_learn_are_refused(refuses, flags, tmp_path):
    write_jsonl(tmp_path / "chat.jsonl", [chat(LONG, "y" * 3) for _ in range(12)])
    refuses(["train", *flags, "packing=off"], "holds 0 documents to learn within 33 tokens", "a larger seq_len")
    write_jsonl(tmp_path / "chat.jsonl", [chat("a?", "y"), chat(LONG, "y")])
    refuses(["train", *flags, "packing=stream"], "1 of", "windows of seq_len 32 have a token to learn")


def test_a_run_with_windows_left_out_goes_on_bit_for_bit(run_sluice, flags, tmp_path):
    write_jsonl(tmp_path / "chat.jsonl", [chat(LONG, "good"), chat("a?", "one two three " * 4)] * 6)
    words = [*[word for word in flags if word != "--no-checkpoint"], "packing=stream", "--json"]
    whole = run_sluice("train", *words, "out=whole").json()
    run_sluice("train", *words, "steps=3", "out=run")
    rest = run_sluice("train", *words, "out=run", "--resume").json()
    assert rest["resumed_after"] == 3
    for key in ("weights_sha256", "state_sha256", "loss", "val_loss"):
        assert rest[key] == whole[key]

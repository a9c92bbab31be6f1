"""`sluice data` shows what will be trained: rows, masks, lengths, padding, what is left out; and `train` says so in a line."""

import json
import math
import re

import pytest
import running
from chat_data import conversations, tokenizer, tokens_and_labels, write_chats, write_jsonl  # noqa: F401
from chat_templates import QWEN2, renderer
from conftest import available_verbs
from small_run import CONFIG, TEXT, small_flags, write_model

pytestmark = pytest.mark.skipif(
    "data" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")


@pytest.fixture
def chats(tmp_path, tokenizer):
    write_chats(tmp_path)
    return ["--model", "model", "--data", "chat.jsonl", "--seq-len", "64"]


def test_json_has_the_rows_as_they_are_trained(run_sluice, validate, tokenizer, chats):
    shown = run_sluice("data", *chats, "--rows", "5", "--json").json()
    validate(shown, "data")
    expected = [tokens_and_labels(tokenizer, each) for each in conversations(24)]
    assert [(row["ids"], row["learnt"]) for row in shown["rows"]] == expected[:5]
    render = renderer(QWEN2)
    for row, chat in zip(shown["rows"], conversations(24)):
        assert "".join(piece["text"] for piece in row["text"]) == render(chat)
        learnt = [piece["text"] for piece in row["text"] if piece["learnt"]]
        assert learnt == [each["content"] + "<|im_end|>" for each in chat if each["role"] == "assistant"]
    assert shown["tokens"] == sum(len(ids) for ids, _ in expected)
    assert shown["learnt_tokens"] == sum(sum(learnt) for _, learnt in expected)
    assert shown["documents"] == 24
    assert shown["training_sequences"] + shown["validation_sequences"] == 24
    assert shown["places"] == 24 * 64
    assert shown["used_places"] == sum(min(64, len(ids) - 1) for ids, _ in expected)
    assert shown["learnt_places"] == sum(sum(learnt[1:65]) for _, learnt in expected)
    bins = {(each["from"], each["to"]): each["documents"] for each in shown["lengths"]}
    for (low, high), documents in bins.items():
        assert documents == sum(low <= len(ids) <= high for ids, _ in expected)
    assert sum(bins.values()) == 24
    assert shown["template"] and shown["tokenizer"] == "model/tokenizer.json"


def test_text_marks_what_is_learnt(run_sluice, chats):
    said = run_sluice("data", *chats).out
    assert said.count("--- row ") == 3
    assert "<|im_start|>user\ngreen is?<|im_end|>\n<|im_start|>assistant\n[[green is good. green is good. <|im_end|>]]" in said
    for part in ("tokenizer    model/tokenizer.json", "template ", "lengths      24 documents of ", "learnt  ",
                 "sequences    23 to train on and 1 to validate with", "padding  "):  # fmt: skip
        assert part in said, part
    assert "\x1b" not in said


def test_a_terminal_gets_colours(chats, tmp_path):
    said = running.on_terminal(["data", *chats], tmp_path, stream="stdout").replace("\r\n", "\n")
    assert re.search(r"\x1b\[32mred is good\. ", said) and "[[red" not in said


def test_packing_is_counted_by_the_packing_itself(run_sluice, chats):
    apart = run_sluice("data", *chats, "packing=off", "seq_len=192", "--json").json()
    packed = run_sluice("data", *chats, "packing=documents", "seq_len=192", "--json").json()
    assert packed["packed_sequences"] is None
    assert apart["packed_sequences"] == packed["training_sequences"] + packed["validation_sequences"] < 24


def train_flags(tmp_path):
    return [*small_flags(tmp_path, "model"), "data=chat.jsonl", "--seq-len", "256", "--no-checkpoint"]


def test_a_dry_run_says_what_packing_would_take(run_sluice, validate, chats, tmp_path):
    flags = [*train_flags(tmp_path), "epochs=4", "evaluate_every=0"]
    found = run_sluice("train", *flags, "--dry-run", "--json").json()
    validate(found, "dry-run")
    packed = run_sluice("data", *chats, "packing=documents", "seq_len=256", "--json").json()
    padding = found["padding"]
    assert padding["sequences"] == 24
    assert padding["packed_sequences"] == packed["training_sequences"] + packed["validation_sequences"]
    assert padding["packed_steps"] == math.ceil(found["steps"] * packed["training_sequences"] / 23)
    # The same predictor of steps: as many fewer as the packed run has.
    step = found["training_s"] / found["steps"]
    evaluations = found["evaluation_s"] + found["checkpoints"]["all_s"]
    assert padding["packed_s"] <= step * padding["packed_steps"] + evaluations
    assert padding["packed_s"] >= step * padding["packed_steps"]
    said = run_sluice("train", *flags, "--dry-run").out
    line = re.search(r"padding +(\S+) % of places are padding: packing=documents would take (\d+) sequences and about (.*) "
                     r"instead of 24 and (.*)\n", said)  # fmt: skip
    assert line and int(line[2]) == padding["packed_sequences"]
    assert float(line[1]) == pytest.approx(100 * padding["share"], abs=0.051)
    again = run_sluice("train", *flags, "packing=documents", "--dry-run", "--json").json()
    assert "padding" not in again and again["steps"] == pytest.approx(padding["packed_steps"], abs=1)


def test_evaluating_records_says_it_too(run_sluice, chats, tmp_path):
    flags = ["--data", "chat.jsonl", "--seq-len", "256", "--machine", "here", "--backend", "host", "--dry-run"]
    said = run_sluice("eval", "model", *flags).out
    assert re.search(r"padding +\S+ % of places are padding: packing=documents would take \d+ sequences instead of 24", said)
    assert "padding " not in run_sluice("eval", "model", *flags, "packing=documents").out


def test_train_says_how_much_is_learnt_and_warns_of_little(run_sluice, chats, tmp_path):
    said = run_sluice("train", *train_flags(tmp_path), "steps=1", "out=a")
    share = run_sluice("data", *chats, "--seq-len", "256", "--json").json()
    share = 100 * share["learnt_places"] / share["used_places"]
    assert f"{share:.1f} % of the tokens are learnt" in said.out and "warning: data" not in said.err
    long = [{"messages": [{"role": "user", "content": "x" * 200}, {"role": "assistant", "content": "y"}]}] * 8
    write_jsonl(tmp_path / "chat.jsonl", long)
    run = run_sluice("train", *train_flags(tmp_path), "steps=1", "out=b")
    assert re.search(r"warning: data: only \S+ % of the tokens are learnt", run.err)
    write_jsonl(tmp_path / "chat.jsonl", [{"messages": each} for each in conversations(24)] + long[:3])
    run = run_sluice("train", *train_flags(tmp_path), "seq_len=96", "--dry-run")
    assert "warning: data: 3 rows have nothing to learn within seq_len 96" in run.err


def test_a_text_and_bytes_are_shown_too(run_sluice, validate, tokenizer, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    words = ["--data", "text.txt", "--seq-len", "32"]
    shown = run_sluice("data", "--model", "model", *words, "--json").json()
    validate(shown, "data")
    assert shown["tokens"] == shown["learnt_tokens"] == len(tokenizer.encode(TEXT).ids)
    assert shown["documents"] == 1 and shown["template"] is None
    said = run_sluice("data", "--model", "bytes-2m", *words).out
    assert "none: bytes are tokens" in said


def test_it_takes_a_run_file_and_a_run_folder(run_sluice, chats, tmp_path):
    run_sluice("train", *train_flags(tmp_path), "steps=1", "out=run")
    from_folder = run_sluice("data", "run", "--json").out
    assert run_sluice("data", "run/run.yaml", "--json").out == from_folder
    assert json.loads(from_folder)["seq_len"] == 256


def test_what_is_missing_is_named(refuses, tokenizer, tmp_path):
    refuses(["data", "--model", "model", "--seq-len", "8"], "data is missing")
    refuses(["data", "--model", "model", "--data", "x.jsonl", "--seq-len", "8"], "there is no file x.jsonl")
    refuses(["data", "--data", "x.jsonl", "--seq-len", "8"], "model is missing")


def test_token_ids_need_no_tokenizer(run_sluice, tmp_path, validate):
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    write_model(tmp_path / "shape", CONFIG)
    ids = numpy.full((6, 9), -1)
    for row in range(6):
        ids[row, : 3 + row] = numpy.arange(3 + row) + 10 * row
    numpy.save(tmp_path / "ids.npy", ids)
    mask = numpy.zeros(ids.shape, dtype=bool)
    mask[:, 2:] = True
    numpy.save(tmp_path / "ids.mask.npy", mask)
    words = ["data", "--model", "shape", "--data", "ids.npy", "--seq-len", "8"]
    shown = run_sluice(*words, "--json").json()
    validate(shown, "data")
    assert shown["sets"][0]["format"] == "tokens" and shown["tokenizer"] is None
    assert shown["rows"][2] == {
        "text": [], "ids": [20, 21, 22, 23, 24], "learnt": [False, False, True, True, True]
    }  # fmt: skip
    assert "ids: 20 21 [[22 23 24]]" in run_sluice(*words).out

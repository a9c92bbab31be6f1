"""Marks of rows, and what beside their text cannot be learnt: honoured or refused, however fields are named."""

import csv
import json

import pytest
from chat_data import write_jsonl
from conftest import available_verbs
from row_data import COLUMNS, END, GOOD, chat, read, refused, tokenizer, words  # noqa: F401

pytestmark = pytest.mark.skipif("data" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")

MASKS = [
    {"train": False}, {"loss": False}, {"loss_mask": 0}, {"weight": False}, {"weight": "0"}, {"weight": 0.0},
    {"training": "false"}, {"loss_weight": "0.0"}, {"ignored": True},
]  # fmt: skip
LEARNS = [{"train": True}, {"loss": 2.5}, {"loss_mask": 1}, {"weight": "1"}, {"weight": None}, {"training": ""}, {"ignored": False}, {"weight": "3 kg"}]
KINDS = {
    "messages": lambda i: chat("q", f"a{i}"),
    "alpaca": lambda i: {"instruction": "q", "output": f"a{i}"},
    "prompt_completion": lambda i: {"prompt": "q", "completion": f"a{i}"},
    "jsonl": lambda i: {"text": f"a{i}"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_is_marked_is_left_out_and_counted(read, tmp_path, kind):
    # Three marked rows for each that is not: marks are no fault of a file, however many they are.
    rows = [{**KINDS[kind](i), **mark} for i, mark in enumerate(MASKS * 3 + LEARNS)]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    found = read("rows.jsonl", "packing=documents")
    first = len(MASKS) * 3
    assert [each.removesuffix(END).removesuffix("<|endoftext|>") for each in found.learnt()] == [
        f"a{i}" for i in range(first, first + len(LEARNS))
    ]
    assert sum(each["rows"] for each in found.left_out) == first
    reasons = {each["reason"]: (each["rows"], each["first"]) for each in found.left_out}
    assert reasons["train is 0 or false: the row is marked as not learnt"] == (3, "rows.jsonl:1")
    assert reasons["ignored is 1 or true: the row is marked as not learnt"] == (3, "rows.jsonl:9")


def test_rows_that_are_all_marked_are_refused(refused, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [{**each, "train": False} for each in GOOD])
    refused("rows.jsonl", "rows.jsonl: no row is learnt: left out 8 rows (train is 0 or false", "first at rows.jsonl:1")


def test_most_answers_may_be_marked(read, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [chat("q", "draft", weight=0)] * 6 + [chat("q", f"a{i}") for i in range(4)])
    found = read("rows.jsonl")
    assert found.learnt() == [f"a{i}{END}" for i in range(4)]
    assert [(each["reason"], each["rows"]) for each in found.left_out] == [("messages has no message that is to be learnt", 6)]


def write_csv(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def test_weights_and_scores_of_csv_are_texts(read, refused, tmp_path):
    rows = [("q", f"a{i}", weight) for i, weight in enumerate(["1", "0", "", "0.0", "1.0", "false"])]
    write_csv(tmp_path / "rows.csv", ("prompt", "completion", "weight"), rows)
    found = read("rows.csv")
    assert found.learnt() == ["a0", "a2", "a4"]
    assert [(each["rows"], each["first"]) for each in found.left_out] == [(3, "rows.csv:3")]
    write_csv(tmp_path / "half.csv", ("prompt", "completion", "weight"), [*rows, ("q", "a", "0.5")])
    refused("half.csv", "weight: rows of other weights than 1")
    write_csv(tmp_path / "score.csv", ("prompt", "completion", "score"), [("q", "a", "0.2")] * 4)
    refused("score.csv", "score", "preference data")
    write_csv(tmp_path / "grade.csv", ("prompt", "completion", "score"), [("q", f"a{i}", "B+") for i in range(4)])
    assert len(read("grade.csv").learnt()) == 4


ASKED = {"question": "q", "answer": "a"}


@pytest.mark.parametrize(
    "row, more, texts",
    [
        ({**ASKED, "weight": 0.5}, COLUMNS, ["weight: rows of other weights"]),
        ({**ASKED, "loss_mask": [0, 1]}, COLUMNS, ["loss_mask: masks of a row's parts"]),
        ({**ASKED, "mask": 1}, COLUMNS, ["mask: does not say whether 1 is learnt"]),
        ({**ASKED, "images": ["a.png"]}, COLUMNS, ["images is not read: text alone is learnt"]),
        ({**ASKED, "image": {"bytes": "x"}}, COLUMNS, ["image is not read"]),
        ({"talk": chat("q", "a")["messages"], "train": [False, True]}, ["columns.messages=talk"], ["train: masks of a row's parts"]),
        ({"talk": chat("q", "a")["messages"], "videos": ["a.mp4"]}, ["columns.messages=talk"], ["videos is not read"]),
        ({"instruction": "what?", "output": "a", "images": ["a.png"]}, [], ["images is not read"]),
        ({"prompt": "what?", "completion": "a", "image": "a.png"}, [], ["image is not read"]),
        ({"text": "<image>a cat", "images": ["a.png"]}, [], ["images is not read"]),
        ({"text": "x", "weight": 0.5}, [], ["weight: rows of other weights"]),
    ],
)  # fmt: skip
def test_what_cannot_be_honoured_is_refused_whatever_is_named(refused, tmp_path, row, more, texts):
    write_jsonl(tmp_path / "rows.jsonl", [row] * 4)
    refused("rows.jsonl", "4 of 4 rows", *texts, more=more)


def test_marks_hold_where_columns_are_named(read, tmp_path):
    rows = [{"question": "q", "answer": f"a{i}", "weight": i % 2, "label": False, "score": 1.5, "image": ""} for i in range(8)]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    found = read("rows.jsonl", *COLUMNS)  # Named columns are learnt as they are: what rates them is not looked at.
    assert found.learnt() == [f"a{i}{END}" for i in (1, 3, 5, 7)]
    assert found.left_out[0]["rows"] == 4


def test_what_a_text_has_beside_it_is_its_own_affair(read, tmp_path):
    beside = {"label": 1, "labels": [3], "score": 4.5, "image": "a.png", "system": "s", "train": "en", "loss": 0.25}
    write_jsonl(tmp_path / "rows.jsonl", [{"text": f"text {i}", **beside} for i in range(4)])
    assert len(read("rows.jsonl", "packing=documents").texts()) == 4


@pytest.mark.parametrize(
    "beside", [{"system": "be brief"}, {"tools": [{"type": "function"}]}, {"tools": '[{"name": "f"}]'}, {"history": [["a", "b"]]}]
)
def test_what_conversations_have_is_refused_beside_a_prompt_that_is_text(refused, read, tmp_path, beside):
    write_jsonl(tmp_path / "rows.jsonl", [{"prompt": "q", "completion": f"a{i}", **beside} for i in range(4)])
    field = next(iter(beside))
    refused("rows.jsonl", f"{field} is not read beside a prompt that is text", "columns: {prompt: prompt, response: completion}")
    if field == "tools":
        return  # This template writes none, so that their rows are left out.
    found = read("rows.jsonl", "columns.prompt=prompt", "columns.response=completion")
    earlier = f"b{END}" if field == "history" else ""  # Answers of the history are learnt, too.
    assert found.learnt() == [f"{earlier}a{i}{END}" for i in range(4)]
    assert ("system\nbe brief" if field == "system" else "user\na<|im_end|>") in found.texts()[0]


def test_empty_system_tools_and_history_are_nothing(read, tmp_path):
    empty = [{"system": "", "tools": []}, {"system": None, "tools": "[]"}, {"tools": "", "history": []}, {"history": "of Rome"}]
    write_jsonl(tmp_path / "rows.jsonl", [{"prompt": "q", "completion": f"a{i}", **each} for i, each in enumerate(empty)])
    assert read("rows.jsonl").learnt() == [f"a{i}" for i in range(4)]


def test_words_for_the_template_reach_it_from_alpaca_rows_too(run_sluice, words, tmp_path):
    template = "{% for m in messages %}{{ m.role }}:{{ mood }}:{{ m.content }}<|im_end|>{% endfor %}"
    (tmp_path / "t.jinja").write_text(template)
    rows = [{"instruction": "q", "output": f"a{i}", "chat_template_kwargs": {"mood": "glad"}} for i in range(4)]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    rows = run_sluice(*words, "--data", "rows.jsonl", "template=t.jinja").json()["rows"]
    assert "".join(piece["text"] for piece in rows[0]["text"]) == "user:glad:q<|im_end|>assistant:glad:a0<|im_end|>"


def turns(count, **mark):
    return [{"talk": [{"who": "H", "said": "q"}, {"who": "A", "said": f"a{i}", **mark}]} for i in range(count)]


TALK = "columns: {messages: talk, role: who, content: said, learnt: %s}, roles: {H: user, A: assistant}"


def test_a_column_of_marks_that_no_turn_has_is_refused(read, refused, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [*turns(6), *turns(1, keep=False), *turns(1)])
    entry = "{path: rows.jsonl, " + TALK + "}"
    reason = 'columns.learnt: no turn and no row of rows.jsonl has a field "nope"'
    for _ in range(2):  # Of kept tokens, too.
        refused(entry % "nope", reason)
    refused(entry % "nope", reason, more=["max_samples=4"])
    assert len(read(entry % "keep").learnt()) == 7
    # A mark that only later rows have is no mistake; nor is a usual name, which asks for no more than is done.
    assert len(read(entry % "keep", "max_samples=4").learnt()) == 4
    usual = read(entry % "train")
    assert len(usual.learnt()) == 8 and 'no row of rows.jsonl has a field "train"' in usual.err
    write_jsonl(tmp_path / "plain.jsonl", turns(4))
    both = f"[{entry % 'keep'}, {entry.replace('rows', 'plain') % 'keep'}]"
    assert read(both).all["documents"] == 11  # One of them has it.


def test_other_columns_that_no_row_has_are_told(read, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [{"question": f"q{i}", "answer": "a"} for i in range(4)])
    found = read("rows.jsonl", *COLUMNS, "columns.system=sytem")
    assert len(found.learnt()) == 4 and 'columns.system: no row of rows.jsonl has a field "sytem"' in found.err


def test_only_marked_turns_and_rows(read, refused, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [*turns(4, keep=True), *turns(9), *turns(1, keep=False)])
    entry = "{path: rows.jsonl, only_marked: true, " + TALK % "keep" + "}"
    found = read(entry)
    assert found.learnt() == [f"a{i}{END}" for i in range(4)] and found.left_out[0]["rows"] == 10
    refused("{path: rows.jsonl, only_marked: true}", "only_marked: name the field that marks", more=["columns.messages=talk"])
    rows = [{"prompt": "q", "completion": f"a{i}", "keep": mark} for i, mark in enumerate([1, 1, 1, 0, None, "true"])]
    write_jsonl(tmp_path / "pairs.jsonl", rows)
    found = read("{path: pairs.jsonl, only_marked: true, format: prompt_completion, columns: {learnt: keep}}")
    assert found.learnt() == ["a0", "a1", "a2", "a5"]


def test_the_history_of_csv_is_json_text_or_empty(read, tmp_path):
    rows = [("now?", "a0", '[["first?", "b"]]'), ("now?", "a1", ""), ("now?", "a2", "[]")]
    write_csv(tmp_path / "rows.csv", ("instruction", "output", "history"), rows)
    found = read("rows.csv")
    assert found.learnt() == [f"b{END}a0{END}", f"a1{END}", f"a2{END}"]
    assert "first?" in found.texts()[0] and found.left_out == []


def test_columns_by_a_map_and_by_a_prompt_alone(read, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [{"a": f"q{i}", "b": f"a{i}"} for i in range(4)])
    assert read("rows.jsonl", "columns={prompt: a, response: b}").learnt() == [f"a{i}{END}" for i in range(4)]
    texts = read("rows.jsonl", "columns.prompt=a", "packing=documents")  # A prompt alone is a text to continue.
    assert [each.removesuffix("<|endoftext|>") for each in texts.learnt()] == [f"q{i}" for i in range(4)]
    write_jsonl(tmp_path / "pairs.jsonl", [{"a": "q", "completion": f"a{i}"} for i in range(4)])
    assert read("pairs.jsonl", "columns.prompt=a").learnt() == [f"a{i}" for i in range(4)]
    write_jsonl(tmp_path / "alpaca.jsonl", [{"a": "q", "output": f"a{i}"} for i in range(4)])
    assert read("alpaca.jsonl", "columns.prompt=a").learnt() == [f"a{i}{END}" for i in range(4)]


def test_part_of_the_rows(read, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [chat("q", f"a{i}") for i in range(50)])
    found = read("{path: rows.jsonl, max_samples: 20%}")
    assert found.learnt() == [f"a{i}{END}" for i in range(10)] and found.all["sets"][0]["rows_read"] == 10
    # Rounded as Python rounds: 12.5 to 12.
    assert read("{path: rows.jsonl, max_samples: 25%}").all["sets"][0]["rows_read"] == 12

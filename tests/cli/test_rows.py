"""What rows mean: named columns, masks, other kinds of data, and what is left out or refused."""

import json

import pytest
from chat_data import write_jsonl
from conftest import available_verbs
from row_data import COLUMNS, END, GOOD, chat, read, refused, tokenizer, words  # noqa: F401

pytestmark = pytest.mark.skipif("data" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")


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
        (chat("q", "a", weight=0.5), ["messages[].weight: 0.5", "write 0 or 1"]),
        ({"messages": [{"role": "user", "content": "q", "train": True}, *chat("q", "a")["messages"]]}, ["only the assistant's are learnt"]),
        (chat("q", "a", train_detail=[{"begin_offset": 0}]), ["train_detail"]),
        (chat("q", "a", ignore=True), ["ignore", "does not say whether 1 is learnt"]),
        ({**chat("q", "a"), "label": False}, ["label", "preference data"]),
        ({**chat("q", "a"), "label": 0}, ["label", "preference data"]),
        ({**chat("q", "a"), "is_correct": False}, ["is_correct", "preference data"]),
        ({**chat("q", "a"), "rating": 1}, ["rating", "preference data"]),
        ({**chat("q", "a"), "rejected_response": "b"}, ["rejected_response", "preference data"]),
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
    assert found.learnt() == [f" {2 + i}" for i in range(6)]
    assert found.texts()[3] == "2 + 3 = 5"
    assert found.all["sets"][0]["format"] == "prompt_completion"
    end = tokenizer.token_to_id("<|endoftext|>")
    assert all(row["ids"][-1] == end and row["learnt"][-1] for row in found.all["rows"])
    assert not any(row["learnt"][0] for row in found.all["rows"])
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


def test_a_tokenizer_at_fault_is_named_beside_a_missing_template(refused, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", GOOD)
    (tmp_path / "model" / "tokenizer_config.json").write_text("{}")
    refused("rows.jsonl", "no chat template")
    (tmp_path / "model" / "tokenizer.json").write_text("[]")
    refused("rows.jsonl", "no chat template", "; and model/tokenizer.json: ")


@pytest.mark.parametrize(
    "first, hint",
    [
        ({"instruction": "i", "context": "c", "response": "r", "category": "k"}, "{prompt: instruction, query: context, response: response}"),
        ({"question": "q", "answer": "a"}, "{prompt: question, response: answer}"),
        ({"prompt": "p", " completion": "c"}, 'its field " completion" begins or ends with a space'),
    ],
)
def test_the_hint_names_the_fields_that_are_there(refused, tmp_path, first, hint):
    write_jsonl(tmp_path / "rows.jsonl", [first] * 4)
    refused("rows.jsonl", hint)


@pytest.mark.parametrize(
    "first", [{"messages": None}, {"messages": "hello"}, {"messages": [{"content": "no role"}, {"role": "assistant", "content": "a"}]}]
)
def test_a_bad_first_row_is_left_out_as_any_other(read, tmp_path, first):
    write_jsonl(tmp_path / "rows.jsonl", [first, *GOOD])
    found = read("rows.jsonl").all["sets"][0]
    assert (found["format"], found["rows_read"], found["rows_used"]) == ("messages", 9, 8)
    assert found["left_out"][0]["first"].endswith("rows.jsonl:1")


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
    for strict in ("strict=true", "--strict"):
        refused("rows.json", "strict: 4 rows would be left out", *listed, more=[strict])


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
    assert "an example must be an object" in reasons["rows.jsonl:4"]
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
    assert sorted(each["reason"].split(": ")[1] for each in found.left_out) == ["a part of type image_url", "a part of type input_audio"]


def test_tools_and_thoughts_are_kept_for_the_template(run_sluice, tmp_path, read):
    """Rows with calls are not refused by their reader; what the template does with them is its matter."""
    rows = [chat("q", "a", reasoning_content=None, tool_calls=[], name=None)] * 4
    write_jsonl(tmp_path / "rows.jsonl", rows)
    assert read("rows.jsonl").learnt() == [f"a{END}"] * 4


@pytest.mark.parametrize(
    "row, texts",
    [
        ({"conversation": chat("q", "a")["messages"]}, ["columns: {messages: conversation}"]),
        ({"Question": "q", "Answer": "a"}, ["columns: {prompt: Question, response: Answer}"]),
        ({"role": "user", "content": "q"}, ["one message of a conversation", '{"messages": [...]}']),
        ({"messages": [{"role": "Bot", "content": "q"}]}, ['"Bot" is not one of', "roles", "{bot: assistant}"]),
    ],
)
def test_the_way_out_is_named(refused, tmp_path, row, texts):
    write_jsonl(tmp_path / "rows.jsonl", [row] * 4)
    refused("rows.jsonl", *texts)


def test_columns_that_other_programs_give_to_a_template_are_told(run_sluice, words, read, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [{**chat("q", "a"), "system_prompt": "be kind", "functions": [{"name": "f"}]}] * 4)
    said = run_sluice(*words, "--data", "rows.jsonl").err
    assert "the column system_prompt is not read: say columns: {system: system_prompt}" in said
    assert "the column functions is not read" in said
    assert "be kind" in read("rows.jsonl", "columns.system=system_prompt").texts()[0]

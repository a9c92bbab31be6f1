"""What rows mean: named columns, masks, other kinds of data, what is left out or refused, and several data sets."""

import json

import pytest
from chat_data import read_documents, write_jsonl
from conftest import available_verbs
from row_data import COLUMNS, END, GOOD, chat, read, refused, tokenizer, words  # noqa: F401
from small_run import TEXT

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
        "own_seen": {"file_name": "own.jsonl", "formatting": "sharegpt", "columns": {"images": "i"}},
        "own": {"file_name": "own.jsonl", "columns": columns},
    }
    (folder / "own.jsonl").write_bytes((folder / "qa.jsonl").read_bytes())
    (tmp_path / "v1").mkdir()  # A folder of an entry's name is no data set where the registry is named.
    (folder / "dataset_info.json").write_text(json.dumps(info))
    more = ["dataset_dir=sets"]
    qa = read("qa", *more)
    assert qa.learnt()[0] == f"a0{END}" and "system\nbe kind" in qa.texts()[0] and "not read" not in qa.texts()[0]
    assert qa.all["sets"][0]["rows_used"] == 6 and qa.all["documents"] == 4  # Three to learn, one held out.
    wiki = read("wiki", *more, "packing=documents", "--seq-len", "16")
    assert [text.removesuffix("<|endoftext|>") for text in wiki.texts()] == ["first line", "second line", "third line", "fourth"]
    assert read("v1", *more).learnt() == [f"a{i}{END}" for i in range(4)]
    own = read("sets/own.jsonl")  # By the first of its entries that can be read.
    assert own.all["sets"][0]["rows_used"] == 6 and set(own.learnt()) <= {f"a{i}{END}" for i in range(6)}
    for name, texts in {
        "ranked": ["ranking", "preference data"], "kto": ["columns.kto_tag", "preference data"],
        "seen": ["columns.images", "text alone"], "hub": ["hf_hub_url", "hf download someone/thing"],
        "script": ["script_url"], "qq": ["no entry of that name"],
    }.items():  # fmt: skip
        refused(name, *texts, more=more, env={"HF_HUB_CACHE": str(tmp_path)})


def sets_of(tmp_path):
    for name, count in (("a", 40), ("b", 20)):
        write_jsonl(tmp_path / f"{name}.jsonl", [chat("q", f"{name}{i}") for i in range(count)])


@pytest.fixture
def answers(sluice_home, tokenizer):
    """Answers of the documents in the order of training, as the kept tokens of the run's data have it."""

    def read_answers(found):
        kept = [read_documents(path) for path in (sluice_home / "tokens").glob("*.documents")]
        (documents,) = [each for each in kept if len(each) == found.all["documents"]]
        return [
            tokenizer.decode([token for token, learnt in zip(ids, mask) if learnt], skip_special_tokens=False).removesuffix(END)
            for ids, mask in documents
        ]

    return read_answers


def test_several_data_sets_are_interleaved_and_each_holds_its_own_end_out(read, answers, tmp_path):
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


def test_weights_say_how_often_rows_are_read(read, answers, refused, tmp_path):
    sets_of(tmp_path)
    order = answers(read("[{path: a.jsonl, weight: 0.5}, {path: b.jsonl, weight: 2}]"))
    training = order[:-3]
    assert [each for each in training if each[0] == "a"] == [f"a{2 * i}" for i in range(19)]
    assert [each for each in training if each[0] == "b"] == [f"b{i % 19}" for i in range(38)]
    assert not set(order[-3:]) & set(training)
    refused("[{path: a.jsonl, weight: 0.5}, b.jsonl]", "b.jsonl has no weight")


def test_max_samples_are_the_first_rows_of_each_set(read, answers, refused, tmp_path):
    sets_of(tmp_path)
    (tmp_path / "text.txt").write_text(TEXT)
    assert answers(read("a.jsonl", "max_samples=5")) == [f"a{i}" for i in range(5)]
    order = answers(read("[{path: a.jsonl, max_samples: 3}, b.jsonl]", "max_samples=4"))
    assert sorted(order) == ["a0", "a1", "a2", "b0", "b1", "b2", "b3"]
    refused("text.txt", "max_samples", "is one text", "data_format=jsonl", more=["max_samples=5"])
    refused("[a.jsonl, text.txt]", "text.txt is one text", "format: jsonl")


def test_a_data_set_of_one_is_that_data_set(read, tmp_path):
    sets_of(tmp_path)
    alone, listed = read("a.jsonl"), read("[{path: a.jsonl, weight: 1}]")
    assert alone.all["rows"] == listed.all["rows"]


def test_tools_and_thoughts_are_kept_for_the_template(run_sluice, tmp_path, read):
    """Rows with calls are not refused by their reader; what the template does with them is its matter."""
    rows = [chat("q", "a", reasoning_content=None, tool_calls=[], name=None)] * 4
    write_jsonl(tmp_path / "rows.jsonl", rows)
    assert read("rows.jsonl").learnt() == [f"a{END}"] * 4

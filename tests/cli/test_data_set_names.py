"""Data sets by name, as dataset_info.json has them, and several data sets of one run."""

import json

import pytest
from chat_data import read_documents, write_jsonl
from conftest import available_verbs
from row_data import END, chat, read, refused, tokenizer, words  # noqa: F401
from small_run import TEXT

pytestmark = pytest.mark.skipif("data" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")


def test_dataset_info_as_llama_factory_ships_it(read, refused, run_sluice, words, tmp_path):
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
    said = run_sluice(*words[:-1], "--data", "qa", *more).out
    assert "6 of 6 rows used, 3 taken by num_samples" in said
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


def test_shares_say_how_many_rows_of_a_mixture_are_whose(read, answers, tmp_path):
    sets_of(tmp_path)
    shared = "[{path: a.jsonl, share: 0.7}, {path: b.jsonl, share: 0.3}]"
    # 38 and 19 rows are trained. Of 19 / 0.3 = 63.3 and 38 / 0.7 = 54.3 draws, a pass ends with the fewer ...
    order = answers(read(shared, "mixture=first_exhausted"))[:-3]
    assert [each for each in order if each[0] == "a"] == [f"a{i}" for i in range(38)]
    assert len([each for each in order if each[0] == "b"]) == len(set(each for each in order if each[0] == "b")) == 16
    # ... or with the more: 44.3 rows of a.
    found = read(shared, "mixture=all_exhausted")
    order = answers(found)[:-3]
    assert len([each for each in order if each[0] == "a"]) == 44
    assert [each for each in order if each[0] == "b"] == [f"b{i}" for i in range(19)]
    assert set(order) == {f"a{i}" for i in range(38)} | {f"b{i}" for i in range(19)}
    assert [each["weight"] for each in found.all["sets"]] == pytest.approx([0.7 * 19 / 0.3 / 38, 1])
    # Without shares sets take turns.
    order = answers(read("[a.jsonl, b.jsonl]", "mixture=first_exhausted"))[:-3]
    assert [sum(each[0] == name for each in order) for name in "ab"] == [19, 19]


def test_interleave_probs_are_llama_factorys(run_sluice, tokenizer, tmp_path):
    for name, count in (("big", 400), ("small", 20)):
        rows = [{"instruction": "q", "input": "", "output": f"{name} {i}"} for i in range(count)]
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    (tmp_path / "mix.yaml").write_text(
        "model_name_or_path: model\nstage: sft\nfinetuning_type: full\ndataset: big.json,small.json\ntemplate: default\n"
        "mix_strategy: interleave_under\ninterleave_probs: 0.7,0.3\ncutoff_len: 64\n"
    )
    said = run_sluice("data", "mix.yaml", "--rows", "1", "--json")
    # Of 380 and 19 rows that are trained, 19 are 30 % and 44 are 70 %; 20 and 1 are held out.
    assert [round(each["weight"] * rows) for each, rows in zip(said.json()["sets"], (380, 19))] == [44, 19]
    assert said.json()["documents"] == 44 + 19 + 21
    row = said.json()["rows"][0]["text"]
    assert "".join(each["text"] for each in row) == "Human: q<|endoftext|>\nAssistant:big 0<|endoftext|>\n"
    assert "".join(each["text"] for each in row if each["learnt"]) == "big 0<|endoftext|>"
    assert "template: default is LLaMA-Factory's own" in said.err


def test_a_weight_that_no_memory_holds_is_refused_by_its_set(read, refused, tmp_path):
    sets_of(tmp_path)
    for weight in ("1e6", "1e300"):
        refused(f"[{{path: a.jsonl, weight: {weight}}}, {{path: b.jsonl, weight: 1}}]", "data: a.jsonl: weight: an epoch would read its 40 rows")
    # 38 rows of a at a share of 1e-7 are a pass of 3.8e8 rows, which are 2e7 times b's 19.
    shares = "[{path: a.jsonl, share: 1e-7}, {path: b.jsonl, share: 1}]"
    refused(shares, "data: b.jsonl: share: an epoch would read its 20 rows 2e+07 times", more=["mixture=all_exhausted"])
    assert read("[{path: a.jsonl, weight: 100}, {path: b.jsonl, weight: 1}]").all["documents"] == 3800 + 19 + 3


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

"""Training on examples: texts and conversations, their tokens and masks, packing, and what is refused."""

import json
import re

import pytest
import running
from chat_data import conversations, read_documents, tokenizer, tokens_and_labels, write_chats, write_jsonl  # noqa: F401
from conftest import available_verbs
from small_run import CONFIG, TEXT, small_flags, write_model

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")


@pytest.fixture
def flags(tmp_path):
    write_chats(tmp_path)
    return [*small_flags(tmp_path, "model"), "data=chat.jsonl", "--seq-len", "64", "steps=3", "--no-checkpoint"]


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def only_cache(sluice_home):
    (cache,) = (sluice_home / "tokens").glob("*.documents")
    return cache


def test_a_conversation_is_the_templates_text_and_its_answers_are_learnt(
    run_sluice, tokenizer, flags, sluice_home
):
    said = run_sluice("train", *flags, "out=run").out
    assert "24 conversations of chat.jsonl by model/tokenizer.json, chat template tokenizer_config.json of model" in said
    found = read_documents(only_cache(sluice_home))
    expected = [tokens_and_labels(tokenizer, each) for each in conversations(24)]
    assert [ids for ids, _ in found] == [ids for ids, _ in expected]
    assert [learnt for _, learnt in found] == [learnt for _, learnt in expected]
    assert any(any(learnt) and not all(learnt) for _, learnt in found)


def test_a_bar_shows_on_a_terminal_how_far_the_tokens_are(tokenizer, flags, tmp_path):
    def bars(name):
        said = running.on_terminal(["train", *flags, f"out={name}"], tmp_path)
        return [int(each) for each in re.findall(r"cutting text into tokens (\d+) %", said)]

    shown = bars("run")
    assert shown == sorted(shown) and len(shown) > 10 and shown[-1] >= 99
    assert bars("again") == []  # They are kept.


def test_every_format_of_a_conversation_gives_its_tokens(run_sluice, tokenizer, flags, tmp_path, sluice_home):
    chats = [
        [{"role": "system", "content": f"s{i}"}, {"role": "user", "content": f"q{i}"},
         {"role": "assistant", "content": f"a{i}"}, {"role": "user", "content": f"Q{i}\nmore"},
         {"role": "assistant", "content": f"A{i}"}] for i in range(12)
    ]  # fmt: skip
    tags = {"system": "system", "user": "human", "assistant": "gpt"}
    alpaca = [
        {"instruction": f"Q{i}", "input": "more", "output": f"A{i}", "system": f"s{i}", "history": [[f"q{i}", f"a{i}"]]}
        for i in range(12)
    ]
    sharegpt = [
        {"conversations": [{"from": tags[m["role"]], "value": m["content"]} for m in chat]} for chat in chats
    ]
    own = [{"turns": [{"who": m["role"], "said": m["content"]} for m in chat]} for chat in chats]
    write_jsonl(tmp_path / "a.jsonl", [{"messages": chat} for chat in chats])
    (tmp_path / "b.json").write_text(json.dumps([{"messages": chat} for chat in chats], indent=1))
    write_jsonl(tmp_path / "c.jsonl", alpaca)
    write_jsonl(tmp_path / "d.jsonl", sharegpt)
    (tmp_path / "sets").mkdir()
    write_jsonl(tmp_path / "sets" / "e.jsonl", own)
    registry = {"mine": {"file_name": "e.jsonl", "formatting": "sharegpt", "columns": {"messages": "turns"},
                         "tags": {"role_tag": "who", "content_tag": "said", "user_tag": "user",
                                  "assistant_tag": "assistant"}}}  # fmt: skip
    (tmp_path / "sets" / "dataset_info.json").write_text(json.dumps(registry))
    expected = [tokens_and_labels(tokenizer, chat) for chat in chats]
    losses = set()
    for data in ("a.jsonl", "b.json", "c.jsonl", "d.jsonl", "mine"):
        for old in (sluice_home / "tokens").glob("*"):
            old.unlink()
        result = run_sluice(
            "train", *flags, f"data={data}", "dataset_dir=sets", f"out={data}-run", "--json"
        ).json()
        assert read_documents(only_cache(sluice_home)) == expected, data
        losses.add(result["loss"])
    assert len(losses) == 1


def test_texts_end_with_the_end_of_text_and_are_streamed(run_sluice, tokenizer, flags, tmp_path, sluice_home):
    texts = [TEXT[i * 40 : i * 40 + 37] for i in range(20)]
    write_jsonl(tmp_path / "texts.jsonl", [{"text": each} for each in texts])
    result = run_sluice("train", *flags, "data=texts.jsonl", "seq_len=16", "out=run", "--json").json()
    assert result["padded_fraction"] == 0
    end = tokenizer.token_to_id("<|endoftext|>")
    found = read_documents(only_cache(sluice_home))
    assert [ids for ids, _ in found] == [[*tokenizer.encode(each).ids, end] for each in texts]
    assert all(all(learnt) for _, learnt in found)


def places(tokenizer, count, seq_len):
    """Number of places with text, and of targets, that each conversation has in a sequence of that length."""
    out = []
    for chat in conversations(count):
        ids, learnt = tokens_and_labels(tokenizer, chat)
        taken = min(len(ids) - 1, seq_len)
        out.append((taken, sum(learnt[1 : taken + 1])))
    return out


def test_padding_is_counted_apart_and_the_loss_is_over_the_targets(
    run_sluice, validate, tokenizer, flags, tmp_path
):
    from chat_data import sequence_at

    result = run_sluice("train", *flags, "out=run", "--json").json()
    validate(result, "train-result")
    validate(tmp_path / "run" / "metrics.jsonl", "metrics")
    training = places(tokenizer, 24, 64)[:23]
    useful = 0
    for line in lines_of(tmp_path / "run" / "metrics.jsonl"):
        rows = [training[sequence_at(4 * (line["step"] - 1) + i, 23)] for i in range(4)]
        assert line["tokens"] == 256
        assert line["useful_tokens"] == sum(row[0] for row in rows)
        assert line["target_tokens"] == sum(row[1] for row in rows)
        useful += line["useful_tokens"]
    assert result["padded_fraction"] == pytest.approx(1 - useful / (3 * 256))
    whole = result["useful_tokens_per_s"] + result["padded_tokens_per_s"]
    assert whole == pytest.approx(result["tokens_per_s"])
    table = run_sluice("train", *flags, "out=other").out
    assert "of them useful" in table and "% padding" in table


def test_packed_documents_leave_less_padding(run_sluice, tokenizer, flags):
    apart = run_sluice("train", *flags, "packing=off", "out=a", "--json").json()
    packed = run_sluice("train", *flags, "packing=documents", "seq_len=192", "out=b", "--json").json()
    assert packed["padded_fraction"] < 0.2 < apart["padded_fraction"]
    assert packed["job_hash"] != apart["job_hash"]


@pytest.mark.parametrize("packing", ["documents", "stream", "off"])
def test_a_run_goes_on_in_the_middle_of_an_epoch_bit_for_bit(run_sluice, tokenizer, flags, packing):
    words = [*[word for word in flags if word != "--no-checkpoint"], f"packing={packing}", "steps=8"]
    whole = run_sluice("train", *words, "--json", "out=whole").json()
    run_sluice("train", *words, "steps=3", "out=run")
    rest = run_sluice("train", *words, "--json", "out=run", "--resume").json()
    assert rest["resumed_after"] == 3
    for key in ("weights_sha256", "state_sha256", "loss", "val_loss"):
        assert rest[key] == whole[key]


def test_another_plan_gives_the_same_bits_with_masks_and_documents(run_sluice, tokenizer, flags):
    words = [*flags, "packing=documents", "--json"]
    one = run_sluice("train", *words, "out=a", "plan.rounds=1").json()
    two = run_sluice("train", *words, "out=b", "plan.rounds=4", "plan.keep=input").json()
    assert one["plan_hash"] != two["plan_hash"]
    for key in ("weights_sha256", "state_sha256", "loss", "val_loss"):
        assert one[key] == two[key]


def test_long_conversations_are_cut_and_those_with_nothing_to_learn_left_out(run_sluice, tokenizer, flags, tmp_path):
    chats = conversations(6)
    chats += [[{"role": "user", "content": "x" * 400}, {"role": "assistant", "content": "y"}]]
    chats += [[{"role": "user", "content": "x"}, {"role": "assistant", "content": "y" * 400}]]
    write_jsonl(tmp_path / "chat.jsonl", [{"messages": chat} for chat in chats])
    said = run_sluice("train", *flags, "seq_len=128", "out=run").out
    assert "1 cut off at seq_len" in said and "1 left out: nothing to learn within seq_len" in said


@pytest.mark.parametrize(
    "record, reason",
    [
        ('{"messages": [{"role": "user", "content": "x"}]}', "messages: has no message of the assistant"),
        ('{"messages": [{"role": "user", "text": "x"}]}', "messages[0].content: is missing"),
        ('{"messages": 3}', "messages: must be a list"),
        ('{"messages": ', "chat.jsonl:3: "),
        ("[]", "must be an object"),
    ],
)
def test_a_bad_line_is_left_out_or_refused_by_file_line_and_field(
    refuses, run_sluice, tokenizer, flags, tmp_path, record, reason
):
    path = tmp_path / "chat.jsonl"
    lines = path.read_text().splitlines()
    lines.insert(2, record)
    path.write_text("\n".join(lines))
    refuses(["train", *flags, "strict=true"], "chat.jsonl:3: ", reason)
    run = run_sluice("train", *flags, "out=run")
    assert "24 conversations of chat.jsonl" in run.out
    assert "left out 1 row (" in run.err and "first at chat.jsonl:3" in run.err


def test_what_cannot_be_is_refused(refuses, tokenizer, flags, tmp_path):
    refuses(["train", *flags, "data=text.txt", "packing=documents"], "packing: documents needs documents")
    refuses(["train", *flags, "template=zephyr"], "zephyr", "is not one of chatml, ")
    refuses(["train", *flags, "packing=of"], "packing", "did you mean \"off\"")
    refuses(["train", *flags, "seq_len=2"], "documents to learn within 3 tokens")
    refuses(["train", *flags, "dataset_dir=nowhere", "data=x"], "dataset_dir", "dataset_info.json")
    config = json.loads((tmp_path / "model" / "tokenizer_config.json").read_text())
    (tmp_path / "model" / "tokenizer_config.json").write_text(json.dumps({**config, "chat_template": "{{ 1 }}"}))
    refuses(["train", *flags], "24 of 24 rows", "the assistant's words cannot be told apart")
    (tmp_path / "model" / "tokenizer.json").unlink()
    refuses(["train", *flags, "data_format=messages"], "tokenizer.json", "data_format=text")


def test_unknown_records_are_text_only_where_that_is_asked_for(refuses, run_sluice, tokenizer, flags, tmp_path):
    write_jsonl(tmp_path / "qa.jsonl", [{"question": "q", "answer": TEXT[:200]}] * 8)
    words = ["train", *flags, "data=qa.jsonl", "seq_len=16"]
    refuses(words, "its fields are question, answer", "data_format: text")
    assert "tokens of qa.jsonl" in run_sluice(*words, "data_format=text", "out=run").out


def test_without_a_tokenizer_records_are_bytes_only_where_that_is_asked_for(refuses, run_sluice, flags, tmp_path):
    write_model(tmp_path / "model", CONFIG)
    refuses(["train", *flags], "model has none", "data_format=text")
    assert "data: bytes of chat.jsonl" in run_sluice("train", *flags, "data_format=text", "out=run").out

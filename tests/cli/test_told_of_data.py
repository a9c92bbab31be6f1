"""What is told of data before they are trained on is what is trained: shares, windows, token ids, rows left out, ends."""

import datetime
import json

import pytest
from chat_data import conversations, tokenizer, tokens_and_labels, write_jsonl  # noqa: F401
from conftest import available_verbs
from model_fixtures import llama_shapes, random_tensors, save_tensors, write_folder
from small_run import CONFIG, small_flags, write_model

pytestmark = pytest.mark.skipif("data" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")
numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")


def chat(question, answer):
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def write_chats(folder, chats, name="chat.jsonl"):
    write_jsonl(folder / name, [{"messages": each} for each in chats])


def share_within(tokenizer, chats, seq_len):
    """The learnt share of the places that are trained on, in percent, where each conversation has its own sequence."""
    made = [tokens_and_labels(tokenizer, each) for each in chats]
    kept = [(ids, learnt) for ids, learnt in made if any(learnt[1 : seq_len + 1])]
    return 100 * sum(sum(learnt[1 : seq_len + 1]) for _, learnt in kept) / sum(min(seq_len, len(ids) - 1) for ids, _ in kept)


def train_flags(tmp_path, seq_len):
    return [*small_flags(tmp_path, "model"), "data=chat.jsonl", "--seq-len", str(seq_len), "--no-checkpoint", "--dry-run"]


@pytest.mark.parametrize("case", ["answers that are cut off", "rows that are left out"])
def test_the_learnt_share_is_that_of_what_is_trained(run_sluice, tokenizer, tmp_path, case):
    seq_len = 128
    if case == "answers that are cut off":
        chats = [chat("x" * (seq_len - 50), "y" * 600)] * 8
        while share_within(tokenizer, chats, seq_len) > 2.9:
            chats = [chat(chats[0][0]["content"] + "x", "y" * 600)] * 8
    else:
        chats = [chat("red?", "good and new " * 2)] * 8 + [chat("x" * 2000, "y")] * 8
    write_chats(tmp_path, chats)
    expected = share_within(tokenizer, chats, seq_len)
    said = run_sluice("train", *train_flags(tmp_path, seq_len))
    assert f"{expected:.1f} % of the tokens are learnt" in said.out
    few = "of the tokens are learnt: see what" in said.err
    assert few == (expected < 3) == (case == "answers that are cut off")
    shown = run_sluice("data", "--model", "model", "--data", "chat.jsonl", "--seq-len", seq_len).out
    assert f"learnt       {expected:.1f} % of the tokens that are trained on: " in shown
    made = [tokens_and_labels(tokenizer, each) for each in chats]
    everything = sum(sum(learnt) for _, learnt in made) / sum(len(ids) for ids, _ in made)
    assert (everything > 0.03) == (case == "answers that are cut off")


def test_ids_that_train_refuses_are_refused_by_data(refuses, run_sluice, tmp_path):
    write_model(tmp_path / "shape", CONFIG)
    ids = numpy.arange(600) % 250
    ids[321] = 256
    numpy.save(tmp_path / "ids.npy", ids)
    words = ["--model", "shape", "--data", "ids.npy", "--seq-len", "32"]
    for verb in (["data", *words], ["train", *words, "--batch-size", "2", "--machine", "here", "--backend", "host"]):
        refuses(verb, "ids.npy", "321", "token 256 is beyond the model's vocabulary, 0 to 255")
    run_sluice("data", "--model", "bytes-2m", "--data", "ids.npy", "--seq-len", "32", exit_code=2)


def test_windows_that_are_left_out_are_counted(run_sluice, validate, tmp_path):
    write_model(tmp_path / "shape", CONFIG)
    numpy.save(tmp_path / "ids.npy", numpy.arange(321) % 250)
    mask = numpy.zeros(321, dtype=bool)
    mask[:100] = True  # Windows 0 to 3 of 32 places learn something, the other six nothing.
    numpy.save(tmp_path / "ids.mask.npy", mask)
    words = ["data", "--model", "shape", "--data", "ids.npy", "--seq-len", "32"]
    said = run_sluice(*words, "--json").json()
    validate(said, "data")
    assert said["left_out_windows"] == 6 and said["training_sequences"] + said["validation_sequences"] == 4
    shown = run_sluice(*words).out
    assert "left out     6 windows: nothing to learn in them\n" in shown
    assert f"learnt       {100 * 99 / 128:.1f} % of the tokens that are trained on: 99 of 128\n" in shown


def test_strict_refuses_rows_with_nothing_to_learn_within_seq_len(refuses, tokenizer, tmp_path):
    write_chats(tmp_path, conversations(20) + [chat("x" * 2000, "y")] * 3)
    told = ("strict: 3 rows would be left out: nothing to learn within seq_len 128", "the first is number 21 of chat.jsonl")
    refuses(["data", "--model", "model", "--data", "chat.jsonl", "--seq-len", "128", "--strict"], *told)
    refuses(["train", *train_flags(tmp_path, 128), "--strict"], *told)


def test_strict_lists_the_rows_of_every_data_set(run_sluice, tokenizer, tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        rows = [{"messages": each} for each in conversations(8)] + [{"messages": chat("red", "")}]
        write_jsonl(tmp_path / name, rows)
    words = ["data", "--model", "model", "--seq-len", "64", "--strict", "--data", "[a.jsonl, b.jsonl]"]
    said = run_sluice(*words, exit_code=2).err
    for name in ("a.jsonl", "b.jsonl"):
        assert f"strict: 1 row would be left out: {name}:9: messages[1].content: is empty" in said
    words[-1] = "[gone.jsonl, a.jsonl, missing.jsonl]"
    said = run_sluice(*words, exit_code=2).err
    assert "there is no file gone.jsonl" in said and "there is no file missing.jsonl" in said


def test_rows_of_every_data_set_are_shown(run_sluice, validate, tokenizer, tmp_path):
    for word, name in (("red", "a.jsonl"), ("blue", "b.jsonl")):
        write_chats(tmp_path, [chat(f"{word} {i}?", "good") for i in range(6)], name)
    words = ["data", "--model", "model", "--seq-len", "64", "--data", "[a.jsonl, b.jsonl]"]
    said = run_sluice(*words, "--json").json()
    validate(said, "data")
    assert [row["set"] for row in said["rows"]] == ["a.jsonl", "a.jsonl", "b.jsonl"]
    shown = run_sluice(*words).out
    for text in ("--- row 1 of a.jsonl: ", "--- row 2 of a.jsonl: ", "--- row 1 of b.jsonl: ", "red 1?", "blue 0?"):
        assert text in shown, text


def test_completions_without_an_end_are_told(run_sluice, tokenizer, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [{"prompt": f"{i} red?", "completion": " good"} for i in range(9)])
    words = ["data", "--model", "model", "--seq-len", "64", "--data", "rows.jsonl"]
    assert "warning" not in run_sluice(*words).err
    (tmp_path / "model/tokenizer_config.json").write_text("{}")
    said = run_sluice(*words).err
    assert "completions end without a token that ends them" in said and "model/tokenizer_config.json names no eos_token" in said


@pytest.mark.parametrize("differs", [False, True])
def test_a_head_that_a_tied_config_leaves_unused_is_told(run_sluice, tmp_path, differs):
    folder = write_folder(tmp_path / "model")
    tensors = random_tensors(llama_shapes(CONFIG))
    head = tensors["model.embed_tokens.weight"].copy()
    head[-1, -1] += 1 if differs else 0
    save_tensors({**tensors, "lm_head.weight": head}, folder / "model.safetensors")
    flags = [*small_flags(tmp_path, "model"), "steps=1", "--no-checkpoint"]
    generate = ["generate", "model", "--prompt", "x", "--max-new-tokens", "1", "--machine", "here", "--backend", "host"]
    # Without a tokenizer, ids of 256 tokens are bytes.
    for words in (["train", *flags], generate):
        said = run_sluice(*words).err
        assert ("lm_head.weight differs from the embedding" in said) == differs
        assert ('"tie_word_embeddings": false' in said) == differs


def write_messages(path, given):
    path.write_text(json.dumps(given))
    return ["--messages", path]


THINK = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
    "{% if enable_thinking is defined and not enable_thinking %}{{ 'no thoughts' }}{% endif %}{% endif %}"
)


@pytest.fixture
def prompt(run_sluice, tokenizer, tmp_path):
    """Text of the prompt that `generate` renders with a template that knows enable_thinking."""
    from tokenizers import decoders

    tokenizer.decoder = decoders.ByteLevel()
    (tmp_path / "model/tokenizer_config.json").write_text(json.dumps({"chat_template": THINK, "eos_token": "<|endoftext|>"}))
    shape = json.loads((tmp_path / "model/config.json").read_text())
    save_tensors(random_tensors(llama_shapes(shape)), tmp_path / "model/model.safetensors")
    words = ["generate", "model", "--max-new-tokens", "1", "--machine", "here", "--backend", "host", "--json"]

    def of(*more, **options):
        ids = run_sluice(*words, *more, **options).json()["prompt_ids"]
        return tokenizer.decode(ids, skip_special_tokens=False)

    return of


def test_messages_are_asked_as_they_are_learnt(run_sluice, prompt, tmp_path):
    turn = {"role": "user", "content": "red?"}
    plain = "<|im_start|>user\nred?<|im_end|>\n<|im_start|>assistant\n"
    file = tmp_path / "asked.json"
    assert prompt(*write_messages(file, [turn])) == plain
    off = {"enable_thinking": False}
    assert prompt(*write_messages(file, {"messages": [turn], "chat_template_kwargs": off})) == plain + "no thoughts"
    assert prompt(*write_messages(file, {"messages": [turn], **off})) == plain + "no thoughts"
    parts = [{"type": "text", "text": "re"}, {"type": "text", "text": "d?"}]
    assert prompt(*write_messages(file, [{"role": "user", "content": parts}])) == plain
    others = [{**turn, "role": "environment"}, {"role": "assistant", "content": ""}, turn]
    assert prompt(*write_messages(file, others)).endswith("<|im_start|>assistant\n<|im_end|>\n" + plain)


def test_parts_that_are_no_text_are_refused_by_their_place(refuses, prompt, tmp_path):
    parts = [{"type": "text", "text": "what?"}, {"type": "image", "url": "a.png"}]
    words = write_messages(tmp_path / "asked.json", [{"role": "user", "content": parts}])
    words = ["generate", "model", *words, "--machine", "here", "--backend", "host"]
    refuses(words, "asked.json: messages[0].content[1]: a part of type image: text alone is read")


def test_the_end_of_a_files_last_line_is_no_part_of_a_message(prompt, tmp_path):
    plain = "<|im_start|>user\nred?<|im_end|>\n<|im_start|>assistant\n"
    for text in ("red?", "red?\n", "\ufeffred?\r\n"):
        (tmp_path / "asked.txt").write_bytes(text.encode())
        assert prompt("--chat", "--prompt-file", "asked.txt") == plain
    # A text that is continued may end in a line feed.
    assert prompt("--prompt-file", "asked.txt", "--no-special-tokens") == "red?\r\n"


def test_positions_beyond_the_models_are_told(run_sluice, prompt, tmp_path):
    words = ["generate", "model", "--machine", "here", "--backend", "host", "--prompt", "red " * 30]
    said = run_sluice(*words, "--max-new-tokens", "40").err
    assert "go beyond the 64 positions that the model was made for (max_position_embeddings)" in said
    assert "warning" not in run_sluice(*words, "--max-new-tokens", "1").err
    (tmp_path / "text.txt").write_text("red green blue " * 99)
    words = ["eval", "model", "--data", "text.txt", "--machine", "here", "--backend", "host"]
    assert "seq_len 96 is above the model's max_position_embeddings (64)" in run_sluice(*words, "--seq-len", "96").err
    assert "warning" not in run_sluice(*words, "--seq-len", "64").err


def test_the_date_of_a_prompt_is_the_runs_or_todays_or_the_one_given(run_sluice, refuses, prompt, tmp_path):
    config = tmp_path / "model/tokenizer_config.json"
    dated = {"chat_template": THINK + "{{ strftime_now('%d %b %Y') }}", "eos_token": "<|endoftext|>"}
    config.write_text(json.dumps(dated))
    words = ["--chat", "--prompt", "red?"]
    days = [datetime.datetime.now(datetime.timezone.utc).strftime("%d %b %Y")]
    said = prompt(*words)
    days.append(datetime.datetime.now(datetime.timezone.utc).strftime("%d %b %Y"))
    assert any(said.endswith(day) for day in days)
    assert prompt(*words, "--date", "01 Feb 2003").endswith("01 Feb 2003")
    write_chats(tmp_path, [chat("red?", "good")] * 8)
    run_sluice("train", *small_flags(tmp_path, "model"), "data=chat.jsonl", "--seq-len", "64", "steps=1", "out=run",
               "date_string=04 May 2006")  # fmt: skip
    of_run = ["generate", "run", "--max-new-tokens", "1", "--machine", "here", "--backend", "host", "--json", *words]
    step = ["generate", "run/checkpoints/step-1", *of_run[2:]]
    expected = run_sluice("generate", "model", *of_run[2:], "--date", "04 May 2006").json()["prompt_ids"]
    assert run_sluice(*of_run).json()["prompt_ids"] == expected == run_sluice(*step).json()["prompt_ids"]
    config.write_text(json.dumps({**dated, "chat_template": THINK}))
    refuses(["generate", "model", *of_run[2:], "--date", "01 Feb 2003"], "date_string", "writes no date")


def test_words_for_nothing_in_csv_are_told(run_sluice, tokenizer, tmp_path):
    rows = [("red?", "NaN", "good"), ("blue?", "", "bad"), ("one?", "nan", "two"), ("None?", "None", "None")]
    (tmp_path / "rows.csv").write_text("instruction,input,output\n" + "".join(",".join(row) + "\n" for row in rows))
    said = run_sluice("data", "--model", "model", "--data", "rows.csv", "--seq-len", "64")
    assert 'rows.csv: 1 row, rows.csv:2: input: "NaN", a word of other programs for nothing, is learnt' in said.err
    assert said.err.count("a word of other programs") == 2 and '"None"' not in said.err


def test_messages_that_are_learnt_one_by_one_as_texts_are_told(run_sluice, tokenizer, tmp_path):
    rows = [{"role": role, "text": "red is good. " * 9, "parent": i} for i in range(4) for role in ("prompter", "assistant")]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    words = ["data", "--model", "model", "--data", "rows.jsonl", "--seq-len", "32"]
    assert "rows.jsonl: 8 rows, the first rows.jsonl:1: text: stands beside a role" in run_sluice(*words).err


def test_contents_with_marks_of_turns_are_told(run_sluice, tokenizer, tmp_path):
    rendered = "<|im_start|>user\nred?<|im_end|>\n<|im_start|>assistant\n"
    write_jsonl(tmp_path / "rows.jsonl", [{"instruction": rendered, "output": "good"}, {"instruction": "red?", "output": "good"}] * 4)
    said = run_sluice("data", "--model", "model", "--data", "rows.jsonl", "--seq-len", "128").err
    assert "rows.jsonl: 4 rows, the first rows.jsonl:1: messages[].content: holds <|im_end|>, by which the chat template ends turns" in said


def test_arguments_of_calls_that_a_template_quotes_are_told(run_sluice, tokenizer, tmp_path):
    def rows(arguments):
        call = {"type": "function", "function": {"name": "f", "arguments": arguments}}
        turns = [{"role": "user", "content": "red?"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
        return [{"messages": turns, "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}] * 8

    words = ["data", "--model", "model", "--data", "chat.jsonl", "--seq-len", "512", "template=qwen2.5"]
    write_jsonl(tmp_path / "chat.jsonl", rows('{"place": "Ulm"}'))
    said = run_sluice(*words)
    assert "8 rows, the first chat.jsonl:1: tool_calls: arguments are JSON text, and the chat template writes them quoted" in said.err
    assert "writes them quoted" in run_sluice(*words).err  # Also where the tokens are kept.
    write_jsonl(tmp_path / "chat.jsonl", rows({"place": "Ulm"}))
    assert "quoted" not in run_sluice(*words).err

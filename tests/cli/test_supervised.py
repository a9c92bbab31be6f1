"""Supervised fine-tuning beside transformers: rows with system turns, tools, several turns, thoughts and weights give its
ids and masks, and twenty steps its losses, in fp32 on the host backend."""

import json
import re
import subprocess

import pytest
from chat_data import sequence_at, write_chat_model, write_jsonl
from conftest import REPOSITORY, available_verbs, once
from small_run import CONFIG, small_flags

PYTHON = REPOSITORY / ".venv-transformers" / "bin" / "python"
pytestmark = [
    pytest.mark.skipif("data" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"),
    pytest.mark.skipif(not PYTHON.exists(), reason="transformers is not installed (scripts/install tests, from PyPI)"),
    once,
]
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")

STEPS, BATCH, LENGTH, LR = 20, 4, 448, 2e-3
MODEL = {**CONFIG, "vocab_size": 320, "head_dim": 16, "max_position_embeddings": 512}
# Tools and thoughts as Qwen3's template writes them; a thought stays in every turn.
TEMPLATE = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
    {{- '# Tools' }}
    {%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {{- '<|im_start|>user\\n' + message.content + '<|im_end|>\\n' }}
    {%- elif message.role == 'tool' %}
        {{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
    {%- elif message.role == 'assistant' %}
        {{- '<|im_start|>assistant\\n' }}
        {%- generation %}
        {%- if message.reasoning_content %}
            {{- '<think>\\n' + message.reasoning_content + '\\n</think>\\n\\n' }}
        {%- endif %}
        {{- message.content or '' }}
        {%- for call in message.tool_calls or [] %}
            {{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>' }}
        {%- endgeneration %}
        {{- '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""
UNMARKED = re.sub(r"\s*\{%- (end)?generation %\}", "", TEMPLATE)
TOOLS = [
    {"type": "function", "function": {
        "name": "weather", "description": "Weather of a place, caf\u00e9 or not.",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}}},
]  # fmt: skip
WORDS = "red green blue grey black white one two three four five good bad new old".split()


PROMPTS = [
    {"messages": [{"role": "user", "content": "is red good?"}]},
    {"messages": [
        {"role": "system", "content": "Be red."}, {"role": "user", "content": "caf\u00e9?"},
        {"role": "assistant", "content": "good.", "reasoning_content": "is it?"}, {"role": "user", "content": "and bad?"},
    ], "tools": TOOLS},
]  # fmt: skip


def row_of(i):
    """A row; which of system, tools, thoughts, a second turn and weights it has depends on its number."""
    word = WORDS[i % len(WORDS)]
    messages = [{"role": "system", "content": f"Be {word}."}] if i % 3 == 0 else []
    messages.append({"role": "user", "content": f"is {word} good?"})
    row = {"messages": messages}
    if i % 4 == 0:
        call = {"type": "function", "function": {"name": "weather", "arguments": {"place": word, "days": i}}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "content": f'{{"{word}": {i}}}'})
        row["tools"] = TOOLS
    answer = {"role": "assistant", "content": f"{word} is good. " * (1 + i % 3)}
    if i % 2 == 0:
        answer["reasoning_content"] = f"is it {word}? \u00e9t\u00e9\n{i}"
    messages.append(answer)
    if i % 5 < 2:
        messages.append({"role": "user", "content": "and bad?"})
        messages.append({"role": "assistant", "content": f"{word} is bad."})
        answer["weight"] = i % 2
    return row


def prepare(folder, template):
    write_chat_model(folder / "model", MODEL, template)
    config = json.loads((folder / "model" / "tokenizer_config.json").read_text())
    config["tokenizer_class"] = "PreTrainedTokenizerFast"
    (folder / "model" / "tokenizer_config.json").write_text(json.dumps(config))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder with model, rows, task.json and what transformers makes of them."""
    folder = tmp_path_factory.mktemp("supervised")
    prepare(folder, TEMPLATE)
    rows = [row_of(i) for i in range(40)]
    write_jsonl(folder / "rows.jsonl", rows)
    training = len(rows) - max(1, len(rows) // 20)
    order = [sequence_at(position, training) for position in range(STEPS * BATCH)]
    task = {"prompts": PROMPTS, "seq_len": LENGTH, "lr": LR, "batches": [order[i : i + BATCH] for i in range(0, len(order), BATCH)]}
    (folder / "task.json").write_text(json.dumps(task))
    script = REPOSITORY / "tests" / "reference" / "supervised_side.py"
    done = subprocess.run([str(PYTHON), str(script), str(folder)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def expected(made):
    return json.loads((made / "expected.json").read_text())


@pytest.mark.parametrize("template", [TEMPLATE, UNMARKED], ids=["marked", "located"])
def test_ids_and_masks_are_those_of_transformers(run_sluice, made, tmp_path, template):
    prepare(tmp_path, template)
    shown = run_sluice("data", "--model", "model", "--data", made / "rows.jsonl", "--seq-len", str(LENGTH), "--rows", "40", "--json")
    shown = shown.json()
    assert [set["left_out"] for set in shown["sets"]] == [[]] and len(shown["rows"]) == 40
    for i, (row, (ids, mask)) in enumerate(zip(shown["rows"], expected(made)["rows"])):
        assert row["ids"] == ids, i
        assert row["learnt"] == [bool(each) for each in mask], i


def test_the_losses_of_twenty_steps_are_those_of_transformers(run_sluice, made, tmp_path):
    flags = small_flags(tmp_path, str(made / "model"))
    flags[flags.index("optimizer.lr=0.003")] = f"optimizer.lr={LR}"
    run_sluice(
        "train", *flags, f"data={made / 'rows.jsonl'}", f"batch_size={BATCH}", f"steps={STEPS}", f"seq_len={LENGTH}",
        "compute=fp32", "optimizer.weight_decay=0", "schedule=constant", "--no-checkpoint", "out=run", "limits.hbm=64MiB",
    )  # fmt: skip
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    losses = expected(made)["losses"]
    assert len(lines) == len(losses) == STEPS and losses[-1] < 0.8 * losses[0]
    for line, loss in zip(lines, losses):
        assert line["loss"] == pytest.approx(loss, rel=1e-5)


def test_a_chats_greedy_answer_is_that_of_transformers(run_sluice, validate, made, tmp_path):
    machine = ["--machine", "here", "--backend", "host", "--host", "1GiB", "--hbm", "64MiB", "--compute", "fp32"]
    for prompt, answer in zip(PROMPTS, expected(made)["answers"]):
        (tmp_path / "chat.json").write_text(json.dumps(prompt))
        words = ["generate", made / "model", "--max-new-tokens", "24", *machine, "--json"]
        found = run_sluice(*words, "--messages", "chat.json").json()
        validate(found, "generate")
        assert found["prompt_ids"] == answer["prompt_ids"]
        assert found["ids"] == answer["ids"]
    said = run_sluice(*words, "--chat", "--prompt", PROMPTS[0]["messages"][0]["content"]).json()
    assert said["prompt_ids"] == expected(made)["answers"][0]["prompt_ids"]


def test_what_cannot_be_answered_is_refused(refuses, made, tmp_path):
    words = ["generate", str(made / "model"), "--dry-run"]
    refuses([*words, "--messages", "x.json", "--prompt", "y"], "--messages: is given beside --prompt", "keep one of them")
    refuses(words, "give --prompt TEXT, --prompt-file FILE or --messages FILE")
    for text, reason in (("[", "is not JSON"), ("[]", "must be a list of messages"), ('["x"]', "messages[0]: must be an object with a role"),
                         ('{"messages": [{"content": "x"}]}', "messages[0]")):  # fmt: skip
        (tmp_path / "x.json").write_text(text)
        refuses([*words, "--messages", "x.json"], "x.json: ", reason)
    refuses(["generate", "bytes-2m", "--chat", "--prompt", "x"], "--chat: needs the tokenizer of the model's folder")

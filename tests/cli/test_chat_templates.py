"""Chat templates against Jinja: the same text, and the assistant's part of it told apart."""

import json
import pathlib
import subprocess

import pytest
from chat_templates import CHATML, KNOWN, LLAMA3, MISTRAL, QWEN2, renderer
from conftest import SHARED, program

pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")
DRIVER = pathlib.Path(program()).parent / "chat_template_driver"
pytestmark = pytest.mark.skipif(not DRIVER.is_file(), reason="this build has no engine")
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def turns(*texts, system=None):
    """Messages of user and assistant in turn."""
    roles = ("user", "assistant")
    messages = [] if system is None else [{"role": "system", "content": system}]
    return messages + [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]


CONVERSATIONS = [
    turns("Hi", "Hello."),
    turns("Hi", "Hello.", system="Be short."),
    turns("One?", "1", "Two?", "2", "Three?", "3", system=" Count. "),
    turns("", " kept or trimmed \n\t"),
    turns("\u00e9t\u00e9 \u6c49\u5b57 \U0001f600\u200d", "e\u0301\u0958 \u00a0\u3000\u2028", system="\u00a0na\u00efve\u0085"),
    turns("Why?", "<think>\nfirst this\n\n</think>\n\nBecause."),
    turns("Why?", "<think>a</think>b", "And?", "\n\nplain\n"),
    turns("Why?", "x</think>y</think>\n\nz", "More", "<think>\n\n</think>\n\n"),
    turns("a", "<|im_end|>", "{{ bos_token }}", "{% if %}"),
    turns("a", "b", "a user last"),
    [*turns("q", "a"), {"role": "assistant", "content": "again"}],
    [*turns("q", "a"), {"role": "user", "content": "<tool_response>1</tool_response>"},
     {"role": "assistant", "content": "<think>t</think>done"}],
]  # fmt: skip


def folder_with(tmp_path, source, tokens=TOKENS):
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": source, **tokens}))
    return tmp_path


def drive(folder, conversations, *name):
    run = subprocess.run(
        [str(DRIVER), str(folder), *name], input="".join(json.dumps(each) + "\n" for each in conversations),
        capture_output=True, text=True, encoding="utf-8", timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.split("\n") if line]


def refusal(folder, *name):
    run = subprocess.run([str(DRIVER), str(folder), *name], input="", capture_output=True, text=True)
    assert run.returncode == 2
    return run.stderr


@pytest.mark.parametrize("family", KNOWN)
def test_the_text_is_jinjas(tmp_path, family):
    render = renderer(KNOWN[family], **TOKENS)
    compared = 0
    for messages, found in zip(CONVERSATIONS, drive(folder_with(tmp_path, KNOWN[family]), CONVERSATIONS)):
        try:
            expected = render(messages)
        except Exception:
            assert "error" in found, messages
            continue
        assert "".join(text for text, _ in found["pieces"]) == expected, messages
        compared += 1
    assert compared >= len(CONVERSATIONS) // 2


@pytest.mark.parametrize("model", ["qwen2_5", "qwen3"])
def test_the_text_of_a_models_own_template_is_jinjas(tmp_path, model):
    file = SHARED / "data" / "text" / "tokenizers" / f"{model}_tokenizer_config.json"
    if not file.is_file():
        pytest.skip("reads ../shared, which is not there")
    source = json.loads(file.read_text())["chat_template"]
    render = renderer(source, **TOKENS)
    for messages, found in zip(CONVERSATIONS, drive(folder_with(tmp_path, source), CONVERSATIONS)):
        assert "".join(text for text, _ in found["pieces"]) == render(messages), messages


@pytest.mark.parametrize("family", KNOWN)
def test_what_the_assistant_wrote_is_learnt_with_the_token_that_ends_it(tmp_path, family):
    messages = turns("One?", "uno", "Two?", "due")
    (found,) = drive(folder_with(tmp_path, KNOWN[family]), [messages])
    learnt = [text for text, learnt in found["pieces"] if learnt]
    end = "<|eot_id|>" if "llama" in family else "</s>" if "mistral" in family else "<|im_end|>"
    assert len(learnt) == 2
    for text, answer in zip(learnt, ("uno", "due")):
        assert text.endswith(answer + end) and "<|im_start|>" not in text and "?" not in text


@pytest.mark.parametrize(
    "name, source",
    {"chatml": CHATML, "qwen2": QWEN2.replace("You help.", "You are a helpful assistant."),
     "qwen3": KNOWN["qwen3"], "llama3": LLAMA3, "llama3.1": KNOWN["llama3.1"],
     "llama3.2": KNOWN["llama3.2"],
     "qwen2.5": QWEN2.replace("You help.", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
     "mistral": KNOWN["mistral, system first"].replace(" | trim", "")}.items(),
)  # fmt: skip
def test_a_template_chosen_by_name_is_that_of_its_family(tmp_path, name, source):
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(TOKENS))
    render = renderer(source, **TOKENS)
    conversations = CONVERSATIONS[:5]
    for messages, found in zip(conversations, drive(tmp_path, conversations, name)):
        assert "".join(text for text, _ in found["pieces"]) == render(messages)


@pytest.mark.parametrize("family", ["llama3.1", "llama3.2"])
def test_a_date_is_the_recipes_or_the_templates_fallback_and_never_todays(tmp_path, family):
    folder = folder_with(tmp_path, KNOWN[family])
    date = "01 Jan 2025"
    dated = renderer(KNOWN[family], date_string=date, **TOKENS)
    for messages, found in zip(CONVERSATIONS, drive(folder, CONVERSATIONS, "", date)):
        assert "".join(text for text, _ in found["pieces"]) == dated(messages)
    for found in drive(folder, CONVERSATIONS):
        assert "Today Date: 26 Jul 2024\n\n" in found["pieces"][2][0]
    assert "writes no date" in refusal(folder_with(tmp_path, CHATML), "", date)
    assert "one line" in refusal(folder_with(tmp_path, KNOWN[family]), "", "a\nb")


def test_a_template_lies_in_its_own_file_too(tmp_path):
    folder_with(tmp_path, "of the config, not read", {"chat_template": None, **TOKENS})
    (tmp_path / "chat_template.jinja").write_text(CHATML)
    (found,) = drive(tmp_path, CONVERSATIONS[:1])
    assert "pieces" in found
    (tmp_path / "chat_template.jinja").unlink()
    listed = [{"name": "tool_use", "template": "x"}, {"name": "default", "template": CHATML}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": listed}))
    (again,) = drive(tmp_path, CONVERSATIONS[:1])
    assert again == found


@pytest.mark.parametrize(
    "source, reason",
    [
        ("{% for m in messages %}### {{ m['role'] }}: {{ m['content'] }}{% endfor %}", "no known family"),
        (CHATML.replace("message['content']", "message['content'] | upper"), "|upper"),
        (CHATML.replace("message['content']", "message['content'].strip()"), ".strip"),
        (CHATML.replace("'<|im_end|>'", "'<|im_end|><|sep|>'"), "<|sep|>"),
        (CHATML.replace(" + '\\n' }}", " }}").replace("+ '\\n' +", "+ ' ' +"), "line feed"),
        (CHATML + "{{ eos_token }}", "eos_token"),
        (CHATML.replace("message['content']", "'<think>' + message['content']"), "<think>"),
        (LLAMA3.replace(" | trim", ""), "trim"),
        (LLAMA3 + "{{ strftime_now('%d') }}", "date of today"),
        (MISTRAL.replace("message['content'] + eos_token", "message['content'] + ' ' + eos_token"), "answers"),
        (MISTRAL.replace("'[INST] '", "'[INST]\\n'"), "[INST]"),
    ],
)
def test_an_unknown_template_is_refused_with_the_fix(tmp_path, source, reason):
    line = refusal(folder_with(tmp_path, source))
    assert reason in line and "template=NAME" in line and "tokenizer_config.json" in line


def test_what_is_missing_is_named(tmp_path):
    assert "has no chat template" in refusal(tmp_path)
    assert "\"zephyr\" is not one of" in refusal(tmp_path, "zephyr")
    assert "bos_token: is missing" in refusal(folder_with(tmp_path, LLAMA3, {}))

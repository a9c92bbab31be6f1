"""Chat templates against Jinja: the same text, and the assistant's part of it told apart."""

import json

import pytest
from chat_templates import CHATML, KNOWN, LLAMA3, MISTRAL, QWEN2, renderer
from conftest import SHARED
from template_driving import TOKENS, drive, folder_with, needs_driver, refusal, run_driver, turns

pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")
pytestmark = needs_driver


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
        assert "Today Date: 26 Jul 2024\n\n" in found["pieces"][0][0]
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
    "source",
    [
        "{% for m in messages %}### {{ m['role'] }}: {{ m['content'] }}\n\n{% endfor %}",
        CHATML.replace("message['content']", "message['content'] | upper"),
        CHATML.replace("message['content']", "message['content'].strip()"),
        CHATML.replace("'<|im_end|>'", "'<|im_end|><|sep|>'"),
        CHATML.replace(" + '\\n' }}", " }}").replace("+ '\\n' +", "+ ' ' +"),
        CHATML + "{{ eos_token }}",
        LLAMA3.replace(" | trim", ""),
        MISTRAL.replace("message['content'] + eos_token", "message['content'] + ' ' + eos_token"),
        MISTRAL.replace("'[INST] '", "'[INST]\\n'"),
    ],
)
def test_a_template_of_no_family_is_run(tmp_path, source):
    render = renderer(source, **TOKENS)
    rendered = 0
    for messages, found in zip(CONVERSATIONS, drive(folder_with(tmp_path, source), CONVERSATIONS)):
        try:
            expected = render(messages)
        except Exception:
            assert "error" in found
            continue
        assert "".join(text for text, _ in found["pieces"]) == expected
        learnt = [text for text, learnt in found["pieces"] if learnt]
        assert learnt or not any(each["role"] == "assistant" for each in messages)
        rendered += 1
    assert rendered >= len(CONVERSATIONS) // 2


USUAL = ["\x01", "\x01", "[INST] ", "[/INST]", " ", "0", "1", "", ""]
LLAMAS_DATE = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"
DESCRIBED = {  # What 0.1.0 hashed: family, default system message, preamble, marks of questions and answers, tokens.
    "chatml": ["0", *USUAL],
    "qwen2": ["0", "You help.", *USUAL[1:]],
    "qwen2.5": ["0", "You are a test.", *USUAL[1:]],
    "qwen3": ["1", *USUAL],
    "llama3": ["2", *USUAL[:7], "<s>", ""],
    "llama3.1": ["2", "\x01", LLAMAS_DATE, *USUAL[2:7], "<s>", ""],
    "llama3.2": ["2", "\x01", LLAMAS_DATE, *USUAL[2:7], "<s>", ""],
    "mistral": ["3", "\x01", "\x01", "[INST] ", " [/INST]", "", "0", "0", "<s>", "</s>"],
    "mistral, system first": ["3", "\x01", "\x01", "[INST] ", "[/INST]", " ", "1", "1", "<s>", "</s>"],
    "mistral, system last": ["3", "\x01", "\x01", "[INST] ", "[/INST]", " ", "1", "2", "<s>", "</s>"],
}


@pytest.mark.parametrize("family", KNOWN)
def test_a_run_of_0_1_0_finds_its_template_again(tmp_path, family):
    """So that it goes on: its data's hash covers this description."""
    run = run_driver(folder_with(tmp_path, KNOWN[family]), [])
    assert f"0.1.0 hashed {json.dumps(chr(0x1f).join(DESCRIBED[family]))}\n" in run.stderr


def test_a_template_that_0_1_0_took_for_another_has_no_description(tmp_path):
    source = CHATML.replace("message['content']", "message['content'] + '!'")
    assert "0.1.0" not in run_driver(folder_with(tmp_path, source), []).stderr


def test_what_is_missing_is_named(tmp_path):
    assert "has no chat template" in refusal(tmp_path)
    assert "\"zephyr\" is not one of" in refusal(tmp_path, "zephyr")
    assert "bos_token: is missing" in refusal(folder_with(tmp_path, LLAMA3, {}))

"""Templates and rows as people have them (docs/field_cases/templates.md): rendered as jinja2 renders them, learnt
where the assistant speaks, refused by name where a field would be lost."""

import json

import pytest
from chat_templates import CHATML, KNOWN, LLAMA3, QWEN3, renderer
from template_driving import (
    TOKENS, WEATHER, assistant, called, drive, folder_with, learnt_of, needs_driver, refusal, run_driver, text_of, turns, user,
)  # fmt: skip

pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")
pytestmark = needs_driver

PROMPT = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
# The shape that LLaMA-Factory writes into the tokenizers it exports.
DEFAULT_SYSTEM = (
    "{%- set system_message = 'You know the sea.' -%}"
    "{%- if messages[0]['role'] == 'system' -%}{%- set loop_messages = messages[1:] -%}"
    "{%- set system_message = messages[0]['content'] -%}{%- else -%}{%- set loop_messages = messages -%}{%- endif -%}"
    "{%- if system_message is defined -%}{{ '<|im_start|>system\\n' + system_message + '<|im_end|>\\n' }}{%- endif -%}"
    "{%- for message in loop_messages -%}{%- set content = message['content'] -%}"
    "{%- if message['role'] == 'user' -%}"
    "{{ '<|im_start|>user\\n' + content + '<|im_end|>\\n<|im_start|>assistant\\n' }}"
    "{%- elif message['role'] == 'assistant' -%}{{ content + '<|im_end|>\\n' }}{%- endif -%}{%- endfor -%}"
)
SUFFIXED = CHATML.replace(
    "message['content']", "message['content'] + (' /no_think' if message['role'] == 'user' else '')"
)
LINE_BEFORE = "A chat.\n" + CHATML
WITHOUT_SYSTEM = CHATML.replace("in messages %}", "in messages if message['role'] != 'system' %}")
OTHER_LLAMA3 = (
    "{{ bos_token }}{% if messages[0]['role'] != 'system' %}{{ '<|start_header_id|>system<|end_header_id|>\\n\\n"
    "Answer in verse.<|eot_id|>' }}{% endif %}" + LLAMA3.replace("bos_token + content", "content")
)
KEEPS_THOUGHTS = QWEN3.replace("{%- if loop.index0 > ns.last_query_index and (loop.last or thought) %}", "{%- if thought %}")
STRIPS_ANSWERS = CHATML.replace("message['content']", "(message['content'] | trim)")
TAGGED = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
ENDS_LAST = (
    "{% for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content + '<|end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}"
)
MERGES_SYSTEM = (  # As Mistral's: the system message goes into the last question.
    "{{ bos_token }}{% set system = messages[0].content if messages[0].role == 'system' else '' %}"
    "{% set rest = messages[1:] if system else messages %}{% for m in rest %}{% if m.role == 'user' %}"
    "{{ '[INST] ' + (system + '\\n\\n' if system and loop.index >= rest | length - 1 else '') + m.content + '[/INST]' }}"
    "{% else %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}"
)
MACROS = (
    "{% macro turn(m) %}{{ '<|im_start|>' + m.role }}\n{{ m.content }}{{ '<|im_end|>' }}\n{% endmacro %}"
    "{% set all = namespace(n=0) %}{% for m in messages %}{{ turn(m) }}{% set all.n = all.n + 1 %}{% endfor %}"
    "{{ '' if all.n else raise_exception('nobody speaks') }}" + PROMPT
)
NO_PROMPT_NO_END = "{% for m in messages %}{{ m.role | capitalize }}: {{ m.content }}\n\n{% endfor %}"
CASES = {
    "A1 default system text in a variable": (DEFAULT_SYSTEM, "<|im_end|>"),
    "A2 suffix after each question": (SUFFIXED, "<|im_end|>"),
    "A2 line before the loop": (LINE_BEFORE, "<|im_end|>"),
    "A2 loop without the system message": (WITHOUT_SYSTEM, "<|im_end|>"),
    "A2 another default of Llama 3": (OTHER_LLAMA3, "<|eot_id|>"),
    "A3 thoughts of earlier turns": (KEEPS_THOUGHTS, "<|im_end|>"),
    "answers trimmed": (STRIPS_ANSWERS, "<|im_end|>"),
    "tags of its own": (TAGGED, "</assistant>"),
    "an end of the last turn alone": (ENDS_LAST, "<|end|>"),
    "a system message in the last question": (MERGES_SYSTEM, "</s>"),
    "B2 macros and namespaces": (MACROS, "<|im_end|>"),
    "no prompt and no end": (NO_PROMPT_NO_END, ""),
}
CONVERSATIONS = [
    turns("One?", "uno", "Two?", "due"),
    turns("One?", "uno", "Two?", "due", system="Count."),
    turns("Why?", "<think>\na\n</think>\n\nb", "And?", "<think>\nc\n</think>\n\nd"),
]


@pytest.mark.parametrize("case", CASES)
def test_a_template_is_run_and_the_answers_in_it_are_found(tmp_path, case):
    source, end = CASES[case]
    render = renderer(source, **TOKENS)
    for messages, found in zip(CONVERSATIONS, drive(folder_with(tmp_path, source), CONVERSATIONS)):
        assert text_of(found) == render(messages)
        answers = [each["content"].split("</think>")[-1].strip() for each in messages if each["role"] == "assistant"]
        learnt = learnt_of(found)
        assert len(learnt) == len(answers)
        for text, answer in zip(learnt, answers):
            assert answer in text and (text.endswith(end) if end else text.rstrip().endswith(answer))
            assert "?" not in text and "<|im_start|>" not in text and "<|assistant|>" not in text
        if case.startswith("A3") and "think" in messages[1]["content"]:
            assert "a\n</think>" in learnt[0]


def test_a_default_system_text_is_learnt_by_nobody_and_rendered_once(tmp_path):
    (found,) = drive(folder_with(tmp_path, DEFAULT_SYSTEM), CONVERSATIONS[:1])
    assert text_of(found).count("You know the sea.") == 1
    assert learnt_of(found) == ["uno<|im_end|>", "due<|im_end|>"]


# --- A5: fields beside content.

REASONING = "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}" + PROMPT  # fmt: skip
TOOLS = (
    "{% if tools %}<|im_start|>system\n{% for t in tools %}{{ t | tojson }}\n{% endfor %}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}{% for c in m.tool_calls or [] %}"
    "<tool_call>{{ c.function.name }} {{ c.function.arguments | tojson }}</tool_call>{% endfor %}<|im_end|>\n{% endfor %}" + PROMPT
)
NAMES = "{% for m in messages %}<|im_start|>{{ m.role }}{% if m.name %} {{ m.name }}{% endif %}{{ '\\n' + m.content }}<|im_end|>\n{% endfor %}" + PROMPT  # fmt: skip
CALLS = [
    user("Weather in Ulm?"),
    {"role": "assistant", "content": None, "tool_calls": [called("weather", {"place": "Ulm"})]},
    {"role": "tool", "name": "weather", "tool_call_id": "a1b2c3d4e", "content": "rain"},
    assistant("It rains."),
]


@pytest.mark.parametrize("field", ["reasoning_content", "thinking"])
def test_a_thought_is_given_to_the_template_that_reads_it(tmp_path, field):
    (found,) = drive(folder_with(tmp_path, REASONING), [[user("Why?"), assistant("So.", **{field: "hm"})]])
    assert learnt_of(found) == ["<think>hm</think>So.<|im_end|>"]


def test_calls_tools_and_results_are_given_to_the_template_that_reads_them(tmp_path):
    (found,) = drive(folder_with(tmp_path, TOOLS), [{"messages": CALLS, "variables": {"tools": [WEATHER]}}])
    assert json.dumps(WEATHER) in text_of(found) and "None" not in text_of(found)
    assert learnt_of(found) == ['<tool_call>weather {"place": "Ulm"}</tool_call><|im_end|>', "It rains.<|im_end|>"]


def test_a_name_is_given_to_the_template_that_reads_it(tmp_path):
    (found,) = drive(folder_with(tmp_path, NAMES), [[user("Hi", name="Ann"), assistant("Hello")]])
    assert "user Ann\nHi" in text_of(found)


@pytest.mark.parametrize(
    "line, field",
    [
        ([user("Why?"), assistant("So.", reasoning_content="hm")], "messages[1].reasoning_content"),
        ([user("Why?"), assistant("So.", thinking="hm")], "messages[1].thinking"),
        ([user("Why?", name="Ann"), assistant("So.")], "messages[0].name"),
        ([user("Why?"), assistant("So.", tool_calls=[called("weather", {})])], "messages[1].tool_calls"),
        ({"messages": turns("Why?", "So."), "variables": {"tools": [WEATHER]}}, "tools"),
        ({"messages": turns("Why?", "So."), "variables": {"documents": [{"title": "t", "text": "x"}]}}, "documents"),
    ],
)
def test_a_field_that_the_template_does_not_use_is_refused_by_name(tmp_path, line, field):
    (found,) = drive(folder_with(tmp_path, CHATML), [line])
    assert found["error"].startswith(field + ": the chat template does not use it")


def test_what_says_nothing_is_not_refused(tmp_path):
    plain = [user("Why?", name=None), assistant("So.", tool_calls=[], reasoning_content="", id=7)]
    line = {"messages": plain, "variables": {"tools": [], "documents": None, "enable_thinking": False}}
    (found,) = drive(folder_with(tmp_path, CHATML), [line])
    assert learnt_of(found) == ["So.<|im_end|>"]


def test_thoughts_that_the_template_drops_from_earlier_turns_are_no_fault(tmp_path):
    source = QWEN3.replace("{%- if '</think>' in content %}", "{%- if message.reasoning_content %}{%- set thought = message.reasoning_content %}{%- elif '</think>' in content %}")  # fmt: skip
    earlier = [user("Why?"), assistant("So.", reasoning_content="hm"), *turns("And?", "Then.")]
    (found,) = drive(folder_with(tmp_path, source), [earlier])
    assert learnt_of(found) == ["So.<|im_end|>", "<think>\n\n</think>\n\nThen.<|im_end|>"]


def test_a_turn_that_is_not_to_be_learnt_is_rendered_and_not_learnt(tmp_path):
    line = {"messages": turns("One?", "uno", "Two?", "due"), "learnt": [True, False, True, True]}
    for source in (CHATML, KNOWN["qwen3"]):
        (found,) = drive(folder_with(tmp_path, source), [line])
        assert "uno" in text_of(found)
        assert [text.split("\n")[-1] for text in learnt_of(found)] == ["due<|im_end|>"]


# --- Where templates lie, and which is chosen.


def test_a_file_is_a_template_and_a_folder_may_have_several(tmp_path):
    file = tmp_path / "mine.jinja"
    file.write_text(NAMES)
    listed = [{"name": "default", "template": CHATML}, {"name": "tool_use", "template": TOOLS}]
    folder = folder_with(tmp_path, listed)
    (named,) = drive(folder, [turns("Hi", "Hello")], str(file))
    assert text_of(named) == renderer(NAMES)(turns("Hi", "Hello"))
    plain, tools = drive(folder, [turns("Hi", "Hello"), {"messages": CALLS, "variables": {"tools": [WEATHER]}}])
    assert text_of(plain) == renderer(CHATML)(turns("Hi", "Hello"))
    assert learnt_of(tools)[0].startswith("<tool_call>weather")
    (chosen,) = drive(folder, [CALLS], "tool_use")
    assert learnt_of(chosen)[1] == "It rains.<|im_end|>"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": listed[1:]}))
    assert "tool_use and none called default" in refusal(tmp_path)
    assert "there is no file" in refusal(tmp_path, "missing.jinja")


def test_additional_templates_are_files_beside_the_folders_own(tmp_path):
    (tmp_path / "chat_template.jinja").write_text(CHATML)
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "tool_use.jinja").write_text(TOOLS)
    (found,) = drive(tmp_path, [{"messages": CALLS, "variables": {"tools": [WEATHER]}}])
    assert "tool_call" in learnt_of(found)[0]


def test_a_named_template_that_differs_from_the_folders_is_said_with_an_example_of_both(tmp_path):
    instruct = CHATML  # As the 2507 releases of Qwen3: no <think> in an answer.
    run = run_driver(folder_with(tmp_path, instruct), [turns("Hi", "Hello")], "qwen3")
    assert run.returncode == 0
    (warning,) = [line for line in run.stderr.splitlines() if "warning" in line]
    assert "qwen3 (shipped) writes" in warning and "<think>" in warning
    assert "tokenizer_config.json of" in warning and "<|im_start|>assistant\\nHello.<|im_end|>" in warning
    same = run_driver(folder_with(tmp_path, KNOWN["qwen3"]), [turns("Hi", "Hello")], "qwen3")
    assert "warning" not in same.stderr


def test_special_tokens_are_those_of_transformers(tmp_path):
    source = "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ pad_token }}{% endfor %}{{ additional_special_tokens | join('+') }}"
    tokens = {"bos_token": {"content": "<b>", "lstrip": False}, "pad_token": "<p>", "additional_special_tokens": ["<x>", {"content": "<y>"}]}
    (found,) = drive(folder_with(tmp_path, source, tokens), [turns("1", "2")])
    assert text_of(found) == "<b>1<p>2<p><x>+<y>"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": LLAMA3, "tokenizer_class": "LlamaTokenizer"}))
    (usual,) = drive(tmp_path, [turns("1", "2")])
    assert text_of(usual).startswith("<s><|start_header_id|>user")
    assert "bos_token: is missing" in refusal(folder_with(tmp_path, None, {"bos_token": None}, tokenizer_class="LlamaTokenizer"), "llama3")


def test_a_template_asks_for_the_date_and_gets_the_runs(tmp_path):
    source = "{{ strftime_now('%Y-%m-%d') }}{% for m in messages %}{{ m.content }}{% endfor %}"
    folder = folder_with(tmp_path, source)
    assert text_of(drive(folder, [turns("a", "b")], "", "03 Feb 2026")[0]) == "2026-02-03ab"
    assert text_of(drive(folder, [turns("a", "b")])[0]) == "2024-07-26ab"
    assert "must be a date" in drive(folder, [turns("a", "b")], "", "some day")[0]["error"]


def test_a_prompt_ends_where_an_answer_begins(tmp_path):
    for source in (CHATML, QWEN3):  # The second writes no prompt when asked for one.
        run = run_driver(folder_with(tmp_path, source), [{"messages": [user("Hi")], "prompt": True}])
        assert json.loads(run.stdout) == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(
    "source, reason",
    [
        ("{% for m in messages %}", "is no Jinja template"),
        ("{{ messages | nothing }}", "No filter named 'nothing'"),
        ("{{ 'a' ", "is no Jinja template"),
    ],
)
def test_what_is_no_template_is_refused_with_the_file(tmp_path, source, reason):
    line = refusal(folder_with(tmp_path, source))
    assert reason in line and "tokenizer_config.json" in line and line.count("\n") == 1


def test_a_row_that_the_template_refuses_is_left_out_with_its_words(tmp_path):
    bad, good = drive(folder_with(tmp_path, KNOWN["mistral"]), [turns("a", "b", system="s"), turns("a", "b")])
    assert bad["error"] == "the chat template refuses it: Conversation roles must alternate"
    assert learnt_of(good) == ["b</s>"]


def test_a_role_that_the_prompt_spells_in_another_way_is_not_learnt(tmp_path):
    source = CHATML.replace("'<|im_start|>assistant\\n'", "'<|im_start|>assistant\\n<think>\\n'")
    source = source.replace("message['role'] + '\\n'", "message['role'] + ': '")
    (found,) = drive(folder_with(tmp_path, source), [turns("a", "b", "c", "d")])
    assert learnt_of(found) == ["b<|im_end|>", "d<|im_end|>"]


def test_an_answer_written_twice_is_ambiguous_and_left_out(tmp_path):
    source = "{% for m in messages %}{{ m.content }}{% endfor %}{{ messages[-1].content }}{{ messages | length }}"
    (found,) = drive(folder_with(tmp_path, source), [turns("a", "b", "c", "d")])
    assert "cannot be told apart" in found["error"]


def test_a_token_that_opens_the_next_question_ends_no_answer(tmp_path):
    metharme = (
        "{{ bos_token }}{% for m in messages %}{{ {'system': '<|system|>', 'user': '<|user|>', 'assistant': '<|model|>'}[m.role] + m.content }}"
        "{% endfor %}{% if add_generation_prompt %}<|model|>{% else %}{{ eos_token }}{% endif %}"
    )
    (found,) = drive(folder_with(tmp_path, metharme), [turns("one?", "yes", "two?", "no")])
    assert learnt_of(found) == ["yes", "no</s>"]

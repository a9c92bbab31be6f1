"""Answers of long conversations are found by one rendering with a mark in place of every content: the same as one by one."""

import pytest
from chat_templates import LLAMA32, MISTRAL, QWEN3, QWEN25
from conftest import REPOSITORY
from template_driving import WEATHER, assistant, called, drive, folder_with, learnt_of, needs_driver, text_of, turns, user

pytestmark = needs_driver
SHIPPED = sorted((REPOSITORY / "engine" / "chat" / "templates").glob("*.jinja"))
ANSWERS = 14


def talk(*answers, count=ANSWERS):
    return turns(*(text for i in range(count) for text in (f"q {i}", answers[i % len(answers)].format(i))))


def tool_talk():
    result = {"role": "tool", "name": "weather", "tool_call_id": "a1b2c3d4e", "content": "22"}
    return [
        message
        for i in range(ANSWERS // 2)
        for message in (user(f"q {i}"), assistant("" if i % 2 else "Let me see.", tool_calls=[called("weather", {"place": str(i)})]),
                        result, assistant(f"It is {i}."))
    ]  # fmt: skip


CONVERSATIONS = [
    {"messages": talk("answer {}.", "same")},
    {"messages": [{"role": "system", "content": "Be short."}, *talk("<think>\nhm {}\n</think>\n\nanswer")]},
    {"messages": talk("answer {}", " kept \n\t", "<|im_end|>", "a<|im_end|>b", "user\n"), "variables": {"enable_thinking": False}},
    {"messages": [each if each["role"] == "user" else {**each, "reasoning_content": "hm"} for each in talk("answer {}")]},
    {"messages": tool_talk(), "variables": {"tools": [WEATHER]}},
    {"messages": [*talk("answer {}"), user("bye")]},
]


def spans(found):
    """[start, end) of what is learnt."""
    at, out = 0, []
    for text, learnt in found["pieces"]:
        if learnt:
            out.append((at, at + len(text)))
        at += len(text)
    return out


def alone(line):
    """The conversation once for each answer, which alone is learnt: so it is found by a rendering of its own."""
    said = [i for i, each in enumerate(line["messages"]) if each["role"] == "assistant"]
    return [{**line, "learnt": [i == index for i in range(len(line["messages"]))]} for index in said]


SOURCES = {"QWEN3": QWEN3, "QWEN25": QWEN25, "LLAMA32": LLAMA32, "MISTRAL": MISTRAL} | {each.stem: each.read_text() for each in SHIPPED}


@pytest.mark.parametrize("name", SOURCES)
def test_the_answers_are_those_that_are_found_one_by_one(tmp_path, name):
    source = SOURCES[name].replace("{%- generation %}", "").replace("{%- endgeneration %}", "")
    compared = 0
    for line in CONVERSATIONS:
        whole, *each = drive(folder_with(tmp_path, source), [line, *alone(line)])
        if "error" in whole:
            assert any("error" in one for one in each), whole["error"]
            continue
        found = sorted(span for one in each for span in spans(one))
        text = text_of(whole)
        assert [text[a:b] for a, b in spans(whole)] == [text[a:b] for a, b in found]
        assert spans(whole) == found and len(found) == len(each)
        compared += 1
    assert compared >= 2


def test_a_conversation_of_a_thousand_turns_takes_no_longer_than_a_template_may(tmp_path):
    line = {"messages": talk("<think>\nhm\n</think>\n\nanswer {}", count=500)}
    (found,) = drive(folder_with(tmp_path, QWEN3), [line])
    assert len(learnt_of(found)) == 500 and learnt_of(found)[7] == "answer 7<|im_end|>"

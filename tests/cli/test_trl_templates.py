"""Every chat template that TRL ships, read from the installed package: the text is transformers', and what
{% generation %} encloses is learnt. Conversations reach tools, calls, results, thoughts, system messages and names."""

import importlib.util
import json
import pathlib
import subprocess

import pytest
from conftest import REPOSITORY, once
from template_driving import WEATHER, assistant, called, drive, folder_with, learnt_of, needs_driver, text_of, turns, user

PYTHON = REPOSITORY / ".venv-transformers" / "bin" / "python"
TOKENS = {"bos_token": "<s>", "eos_token": "<|endoftext|>", "pad_token": "<|pad|>"}


def templates():
    """The package's .jinja files; none where it is not installed."""
    found = importlib.util.find_spec("trl")
    places = list(found.submodule_search_locations or []) if found else []
    places += [str(path) for path in REPOSITORY.glob(".venv/lib/python3*/site-packages/trl")]
    for place in places:
        files = sorted((pathlib.Path(place) / "chat_templates").glob("*.jinja"))
        if files:
            return files
    return []


FILES = templates()
pytestmark = [
    needs_driver,
    once,
    pytest.mark.skipif(not FILES, reason="PyPI's trl is not installed (scripts/install tests)"),
    pytest.mark.skipif(not PYTHON.exists(), reason="transformers is not installed (scripts/install tests, from PyPI)"),
]


def result(text, call="a1b2c3d4e"):
    return {"role": "tool", "name": "weather", "tool_call_id": call, "content": text}


TOOLS = {"tools": [WEATHER]}
CONVERSATIONS = [
    (turns("Hi", "Hello."), {}),
    (turns("Hi", "Hello.", "Two?", "2", "Three?", "3", system="Be short."), {}),
    (turns("Hi", "Hello.", "a user last"), {}),
    (turns("Why?", "<think>\na\n</think>\n\nb", "And?", "<think>\nc\n</think>\n\nd"), {}),
    ([user("Why?"), assistant("b", reasoning_content="a"), user("And?"), assistant("d", reasoning_content="c")], {}),
    (turns("Hi", "Hello.", "x", "y"), {"enable_thinking": False}),
    ([user("Hi", name="Ann"), assistant("Hello.")], {}),
    (turns("", " kept \n\t", "<|im_end|>", "<|im_end|>\u00e9\u3000\U0001f600"), {}),
    ([user("Ulm?"), assistant("", tool_calls=[called("weather", {"place": "Ulm"})]), result("22"), assistant("22.")], TOOLS),
    ([{"role": "system", "content": "s"}, user("Ulm?"),
      assistant("Let me see.", tool_calls=[called("weather", {"place": "Ulm"}), called("weather", {"place": "Bonn"}, "b1b2c3d4e")]),
      result("22"), result("23", "b1b2c3d4e"), assistant("22."), *turns("Thanks", "Bye")], TOOLS),
    ([user("Ulm?"), assistant("", reasoning_content="hm", tool_calls=[called("weather", {"place": "Ulm"})]), result("22"),
      assistant("22.", reasoning_content="so")], TOOLS),
    ([user("Ulm?"), assistant("", tool_calls=[called("weather", '{"place": "Ulm"}')]), result("22"), assistant("22.")], TOOLS),
]  # fmt: skip


@pytest.fixture(scope="module")
def expected():
    """transformers' answer to each conversation, by template."""
    lines = [
        {"source": file.read_text(), "messages": messages, "variables": variables, "tokens": TOKENS}
        for file in FILES
        for messages, variables in CONVERSATIONS
    ]
    side = REPOSITORY / "tests" / "reference" / "template_side.py"
    done = subprocess.run([str(PYTHON), str(side)], input="".join(json.dumps(each) + "\n" for each in lines),
                          capture_output=True, text=True, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    per = len(CONVERSATIONS)
    return {file.stem: answers[i * per : (i + 1) * per] for i, file in enumerate(FILES)}


def marked(answer):
    """The texts that {% generation %} encloses; neighbours are one."""
    spans = []
    for start, end in sorted(span for span in answer["marks"] if span[0] < span[1]):
        if spans and spans[-1][1] == start:
            spans[-1][1] = end
        else:
            spans.append([start, end])
    return [answer["text"][start:end] for start, end in spans]


def has_marks(file):
    return "{%- generation" in file.read_text() or "{% generation" in file.read_text()


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_the_text_and_the_marks_are_those_of_transformers(tmp_path, expected, file):
    lines = [{"messages": messages, "variables": variables} for messages, variables in CONVERSATIONS]
    compared = 0
    for line, answer, found in zip(lines, expected[file.stem], drive(folder_with(tmp_path, file.read_text(), TOKENS), lines)):
        if "error" in found:
            # What the template refuses, what it would lose, or an answer that is ambiguous.
            reasons = ("refuses it", "does not use it", "cannot be told apart")
            assert any(reason in found["error"] for reason in reasons), found["error"]
            assert "refuses it" not in found["error"] or "error" in answer, found["error"]
            continue
        if "error" in answer:
            continue
        thought = any("reasoning_content" in message for message in line["messages"])
        if thought and text_of(found) != answer["text"]:
            continue  # Transformers 5 also gives a thought under the name that this template reads.
        assert text_of(found) == answer["text"]
        compared += 1
        if has_marks(file) and answer["marks"]:
            joined = "".join(learnt_of(found))
            assert joined == "".join(marked(answer))
        else:
            assert learnt_of(found)
    if all("error" in answer for answer in expected[file.stem]):
        pytest.skip("the template takes parts of images and texts alone, and transformers refuses texts too")
    assert compared >= 5


SHIPPED = {"llama3": "llama3", "qwen2.5": "qwen2_5", "qwen3": "qwen3", "qwen3_nothink": "qwen3_instruct_2507", "llama3.1": "llama3_1", "llama3.2": "llama3_2"}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_template_writes_tools_calls_and_results_as_the_one_whose_name_it_bears(tmp_path, name):
    (named,) = [file for file in FILES if file.stem == SHIPPED[name]]
    shipped = REPOSITORY / "engine" / "chat" / "templates" / f"{name}.jinja"
    lines = [{"messages": messages, "variables": variables} for messages, variables in CONVERSATIONS]
    ours, theirs = (drive(folder_with(tmp_path, file.read_text(), TOKENS), lines) for file in (shipped, named))
    for line, one, other in zip(lines, ours, theirs):
        assert ("error" in one) == ("error" in other)
        if "error" in one:
            continue
        assert text_of(one) == text_of(other)
        if "enable_thinking" not in line["variables"]:  # There ours also learns the thought that a prompt begins with.
            assert learnt_of(one) == learnt_of(other)
    assert sum("error" not in each for each in ours) >= 6

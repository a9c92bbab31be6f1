"""Rows of preferences are refused with the `columns` that train on the chosen answers, which do so."""

import re

import pytest
from chat_data import write_jsonl
from conftest import available_verbs
from row_data import END, chat, read, refused, tokenizer, words  # noqa: F401

pytestmark = pytest.mark.skipif("data" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")

ASKED = [{"role": "user", "content": "q"}]
SAID = [{"role": "assistant", "content": "good"}]
WHOLE = [ASKED + SAID, ASKED + [{"role": "assistant", "content": "bad"}]]
FROM = [{"from": "human", "value": "q"}, {"from": "gpt", "value": "good"}]


@pytest.mark.parametrize(
    "row, columns, learnt",
    [
        ({"prompt": "q", "chosen": "good", "rejected": "bad"}, "{prompt: prompt, response: chosen}", f"good{END}"),
        ({"instruction": "q", "input": "of", "chosen": "good", "rejected": "bad"},
         "{prompt: instruction, query: input, response: chosen}", f"good{END}"),
        ({"prompt": "q", "chosen": WHOLE[0], "rejected": WHOLE[1]}, "{messages: chosen}", f"good{END}"),
        ({"chosen": FROM, "rejected": FROM}, "{messages: chosen}", f"good{END}"),
        ({"prompt": ASKED, "chosen": SAID, "rejected": SAID}, "{prompt: prompt, completion: chosen}", f"good{END}"),
        ({"chosen": "Human: q Assistant: good", "rejected": "bad"}, "{text: chosen}", "Human: q Assistant: good"),
        ({"question": "q", "chosen answer": "good", "rejected answer": "bad"},
         '{prompt: question, response: "chosen answer"}', f"good{END}"),
        ({**chat("q", "good"), "rejected_response": "bad"}, "{messages: messages}", f"good{END}"),
        ({**chat("q", "good"), "label": True}, "{messages: messages}", f"good{END}"),
        ({"prompt": "q", "completion": "good", "label": True}, "{prompt: prompt, completion: completion}", "good"),
        ({"text": "the fox", "score": 2, "messages": chat("q", "good")["messages"]}, "{messages: messages}", f"good{END}"),
    ],
)  # fmt: skip
def test_the_columns_that_are_advised_learn_the_chosen_answer(refused, read, tmp_path, row, columns, learnt):
    write_jsonl(tmp_path / "rows.jsonl", [row] * 4)
    error = refused("rows.jsonl", "preference data").err
    assert re.search(r"columns: (\{.*?\})", error).group(1) == columns
    assert read("rows.jsonl", f"columns={columns}", "packing=documents").learnt() == [learnt] * 4


def test_of_a_judged_answer_the_advice_says_that_bad_ones_would_be_learnt(refused, tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [{**chat("q", "a"), "label": False}] * 4)
    refused("rows.jsonl", "label", "put the rows whose answers are good into a file of their own", "bad ones too")


def test_an_answer_that_no_columns_name_is_written_as_a_message(refused, tmp_path):
    ranking = {"conversations": FROM[:1], "chosen": FROM[1], "rejected": FROM[1]}
    write_jsonl(tmp_path / "rows.jsonl", [ranking] * 4)
    refused("rows.jsonl", "chosen", "write it as the last message of the row's messages")

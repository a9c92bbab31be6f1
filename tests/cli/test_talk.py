"""`generate --chat` without a prompt: a conversation whose messages are lines of stdin, of a terminal or of a pipe."""

import json
import os
import pty

import pytest
from chat_data import write_chat_model
from chat_templates import CHATML
from conftest import available_verbs
from running import start
from small_run import CONFIG, tensors_of

pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytestmark = pytest.mark.skipif("generate" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")

HOST = ["--machine", "here", "--backend", "host", "--hbm", "8MiB", "--host", "1GiB"]
WORDS = ["generate", "model", "--chat", "--max-new-tokens", "6", "--ignore-eos", *HOST]


@pytest.fixture
def talk(tmp_path, run_sluice):
    """A model folder, and its answers to messages given one a line."""
    pytest.importorskip("torch", reason="python3-torch is not installed")
    save = pytest.importorskip("safetensors.torch", reason="PyPI's safetensors is not installed (scripts/install tests)")
    config = {**CONFIG, "max_position_embeddings": 256}
    write_chat_model(tmp_path / "model", config, CHATML)
    tensors = tensors_of({**config, "vocab_size": 320})
    save.save_file({k: v * 8 if v.dim() == 2 else v for k, v in tensors.items()}, str(tmp_path / "model" / "model.safetensors"))

    def answers(text, *more, **options):
        return run_sluice(*WORDS, *more, stdin=text, cwd=tmp_path, **options)

    return answers


def asked(run_sluice, tmp_path, messages):
    """The answer to a conversation by itself, and the tokens that it has."""
    (tmp_path / "messages.json").write_text(json.dumps(messages))
    return run_sluice(*[word for word in WORDS if word != "--chat"], "--messages", "messages.json", "--json", cwd=tmp_path).json()


def test_each_line_is_answered_with_all_turns_before_it(talk, run_sluice, tmp_path):
    first = asked(run_sluice, tmp_path, [{"role": "user", "content": "red is?"}])["text"]
    turns = [{"role": "user", "content": "red is?"}, {"role": "assistant", "content": first}, {"role": "user", "content": "and blue?"}]
    second = asked(run_sluice, tmp_path, turns)["text"]
    assert asked(run_sluice, tmp_path, turns[2:])["text"] != second  # What was said before counts.
    said = talk("red is?\n\nand blue?\r\n")
    assert said.out == f"{first}\n{second}\n"
    assert said.err.count("the answer was cut after 6 tokens") == 2
    assert talk("red is?\n/clear\nred is?\n/exit\nnever\n").out == f"{first}\n{first}\n"
    assert talk("").out == ""


def test_a_terminal_is_asked_and_goes_on_after_a_fault(talk, run_sluice, tmp_path):
    first = asked(run_sluice, tmp_path, [{"role": "user", "content": "red is?"}])["text"]
    for end in (b"/exit\n", b"\x04"):
        ours, theirs = pty.openpty()
        words = [*WORDS, "--seq-len", "64"]
        process = start(words, tmp_path, stdin=theirs)
        os.write(ours, b"good " * 60 + b"\n")  # Too long for 64 tokens.
        os.write(ours, b"red is?\n")
        os.write(ours, end)
        out, err = process.communicate()
        os.close(theirs)
        os.close(ours)
        assert process.returncode == 0, err
        assert out == first + "\n"
        assert err.count("> ") == 3 and "/exit or Ctrl-D ends" in err
        assert "sluice: error: --chat: the message has" in err and "there is room for 64" in err


def test_turns_that_no_longer_fit_are_left_out_and_told(talk, run_sluice, tmp_path):
    said = talk("red is?\nand blue, which is good?\nred is?\n", "--seq-len", "72")
    assert "turns are left out: there is room for 72 tokens" in said.err
    assert len(said.out.splitlines()) >= 3


def test_what_cannot_be_a_talk_is_refused(talk, refuses, tmp_path):
    talk("x" * 5000 + "\n", "--seq-len", "64", exit_code=2)
    refuses([*WORDS, "--json"], "--json: needs a prompt", cwd=tmp_path)
    refuses([*WORDS, "--seq-len", "6"], "--max-new-tokens: 6 new tokens leave no room", cwd=tmp_path)
    refuses([word for word in WORDS if word != "--chat"], "--prompt TEXT", "or --chat alone", cwd=tmp_path)
    (tmp_path / "m.json").write_text('[{"role": "user", "content": "q"}]')
    refuses([*WORDS, "--prompt", "a", "--messages", "m.json"], "--messages: is given beside --prompt", "keep one of them", cwd=tmp_path)
    refuses([*WORDS, "--prompt", "a", "--prompt-file", "m.json"], "--prompt: is given beside --prompt-file", cwd=tmp_path)
    assert "tokens of prompt" in talk("never read\n", "--dry-run").out

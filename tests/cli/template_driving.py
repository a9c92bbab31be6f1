"""Drives chat_template_driver (tests/engine): folders with a template, conversations in, pieces out."""

import json
import os
import pathlib
import subprocess

import pytest
from conftest import program

DRIVER = pathlib.Path(program()).parent / "chat_template_driver"
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
needs_driver = pytest.mark.skipif(not DRIVER.is_file(), reason="this build has no engine")


def turns(*texts, system=None):
    """Messages of user and assistant in turn."""
    roles = ("user", "assistant")
    messages = [] if system is None else [{"role": "system", "content": system}]
    return messages + [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]


def user(text, **fields):
    return {"role": "user", "content": text, **fields}


def assistant(text, **fields):
    return {"role": "assistant", "content": text, **fields}


def called(name, arguments, call="a1b2c3d4e"):
    """An entry of tool_calls."""
    return {"type": "function", "id": call, "function": {"name": name, "arguments": arguments}}


WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Weather of a place.",
        "parameters": {"type": "object", "properties": {"place": {"type": "string", "description": "Its name."}},
                       "required": ["place"]},
    },
}  # fmt: skip


def folder_with(folder, source, tokens=TOKENS, **config):
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": source, **tokens, **config}))
    return folder


def run_driver(folder, lines, *words, env=None, timeout=120):
    environment = {**os.environ, **{key: str(value) for key, value in (env or {}).items()}}
    return subprocess.run(
        [str(DRIVER), str(folder), *words], input="".join(json.dumps(each) + "\n" for each in lines), env=environment,
        capture_output=True, text=True, encoding="utf-8", timeout=timeout,
    )  # fmt: skip


def start_driver(folder, lines):
    """The driver's process, with `lines` written to it."""
    process = subprocess.Popen(
        [str(DRIVER), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    process.stdin.write("".join(json.dumps(each) + "\n" for each in lines).encode())
    process.stdin.close()
    return process


def drive(folder, conversations, *words):
    """The driver's answer to each conversation."""
    run = run_driver(folder, conversations, *words)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.split("\n") if line]


def refusal(folder, *words, code=2, **options):
    """What the driver says where it refuses."""
    run = run_driver(folder, [], *words, **options)
    assert run.returncode == code, run.stderr
    return run.stderr


def text_of(found):
    return "".join(text for text, _ in found["pieces"])


def learnt_of(found):
    return [text for text, learnt in found["pieces"] if learnt]

"""Conversations, a tokenizer and a model folder for tests of training on them, and what plain Python makes of them."""

import json
import struct

import pytest
from chat_templates import QWEN2, renderer
from small_run import CONFIG, TEXT, write_model

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
WORDS = "red green blue grey black white one two three four five good bad new old".split()


def conversations(count):
    """One or two questions each, of lengths that vary, some with a system message."""
    made = []
    for i in range(count):
        word = WORDS[i % len(WORDS)]
        turns = [("user", f"{word} is?"), ("assistant", f"{word} is good. " * (1 + i % 4))]
        if i % 3 == 0:
            turns += [("user", "caf\u00e9 \u00e9t\u00e9?"), ("assistant", f"e\u0301t\u00e9 {i}")]
        if i % 5 == 0:
            turns.insert(0, ("system", "Be\nshort."))
        made.append([{"role": role, "content": text} for role, text in turns])
    return made


def write_jsonl(path, records):
    path.write_text("".join(json.dumps(each) + "\n" for each in records))


def write_chats(folder):
    """24 conversations as chat.jsonl."""
    write_jsonl(folder / "chat.jsonl", [{"messages": each} for each in conversations(24)])


def write_chat_model(folder, config=CONFIG, template=QWEN2):
    """A model folder with a tokenizer of 320 tokens, NFC and chat marks; returns the tokenizer."""
    import tokenizers
    from tokenizers import models, normalizers, pre_tokenizers, trainers

    made = tokenizers.Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=320, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=SPECIAL,
    )  # fmt: skip
    made.train_from_iterator([TEXT, "user\nassistant\nsystem\n"], trainer)
    write_model(folder, {**config, "vocab_size": 320})
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": template, "eos_token": "<|endoftext|>"})
    )
    return made


def tokens_and_labels(tokenizer, messages, template=QWEN2):
    """Ids of the rendered conversation, and which of them the assistant wrote: by the template itself, asked
    for the text up to each of its turns."""
    render = renderer(template)
    text = render(messages)
    encoding = tokenizer.encode(text, add_special_tokens=False)
    spans = []
    for i, message in enumerate(messages):
        if message["role"] == "assistant":
            begin = len(render(messages[:i])) + len("<|im_start|>assistant\n")
            spans.append((begin, begin + len(message["content"]) + len("<|im_end|>")))
    learnt = [
        any(begin < b and end > a for a, b in spans) for begin, end in encoding.offsets
    ]
    return encoding.ids, learnt


def read_documents(path):
    """(ids, learnt) of each document of a cache."""
    raw = path.read_bytes()
    _, documents, tokens = struct.unpack_from("<3q", raw)
    starts = struct.unpack_from(f"<{documents + 1}q", raw, 24)
    values = struct.unpack_from(f"<{tokens}i", raw, 24 + 8 * (documents + 1))
    return [
        ([~v if v < 0 else v for v in values[a:b]], [v >= 0 for v in values[a:b]])
        for a, b in zip(starts, starts[1:])
    ]


def mixed(x):
    """SplitMix64's finalizer."""
    mask = (1 << 64) - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def shuffled(index, size, seed, epoch):
    """Where the order of an epoch puts sequence `index`: a Feistel network, walked until it lands inside."""
    half = (max(2, size.bit_length()) + 1) // 2
    mask = (1 << half) - 1
    key = mixed(mixed(seed) ^ epoch)
    while True:
        left, right = index >> half, index & mask
        for turn in range(4):
            left, right = right, left ^ (mixed((key + (turn << 56) + right) & ((1 << 64) - 1)) & mask)
        index = left << half | right
        if index < size:
            return index


def sequence_at(position, count, seed=1):
    """The training sequence, of `count`, that the run reads at a position."""
    return shuffled(position % count, count, seed, position // count)


@pytest.fixture
def tokenizer(tmp_path):
    """The tokenizer of a chat model in the folder `model`, which is made here."""
    return write_chat_model(tmp_path / "model")

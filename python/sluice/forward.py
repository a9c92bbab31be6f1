"""Forward passes of a model or of a run's newest weights, and its weights as a folder: evaluate, generate, export."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _program
from .catalogue import Machine, Record
from .errors import BadRequest
from .run_words import RunWords


class Evaluated(Record):
    """The loss of a text, as ``sluice eval --json`` prints it: ``loss`` (nats a token), ``perplexity``, ``bits_per_byte`` (None for
    data sets), ``predicted_tokens``, ``seconds``, ``tokens_per_s``, ``weights_from``."""

    loss: float
    perplexity: float
    bits_per_byte: float | None
    predicted_tokens: int
    seconds: float
    tokens_per_s: float
    weights_from: str


class Generated(Record):
    """Text that continues a prompt, as ``sluice generate --json`` prints it: ``text``, ``ids``, ``prompt_ids``, ``ended_by``
    (``"end"``, ``"stop"`` or ``"length"``), ``seconds``, ``tokens_per_s``, ``weights_from``."""

    text: str
    ids: list[int]
    prompt_ids: list[int]
    ended_by: str
    seconds: float
    tokens_per_s: float
    weights_from: str


class Exported(Record):
    """A Hugging Face model folder that was written, as ``sluice export --json`` prints it: ``folder``, ``checkpoint``, ``step``,
    ``dtype``, ``files`` (``name``, ``bytes``, ``sha256``) and ``copied``, the names of files of the model that it was trained from."""

    folder: str
    checkpoint: str
    step: int
    dtype: str
    files: list[dict[str, Any]]
    copied: list[str]


def _flags(values: Mapping[str, Any]) -> list[str]:
    """Words of flags: true stands alone, None and false are left out."""
    words: list[str] = []
    for flag, value in values.items():
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words += [flag, str(value)]
    return words


def evaluate(
    subject: str | os.PathLike[str],
    data: Any,
    *,
    seq_len: int | None = None,
    stride: int | None = None,
    special_tokens: bool = False,
    machine: str | os.PathLike[str] | Machine | None = None,
    progress: _program.Told | None = None,
    set: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Evaluated:
    """The loss and perplexity of a text or data set under a model, by forward passes. It runs the program, ``sluice eval``.

    Args:
        subject: a model folder, a run's folder or one of its checkpoints.
        data: what to evaluate, as in RUN.yaml. seq_len: tokens of a window.
        stride: tokens from one window's start to the next one's; less than seq_len gives every token more before it.
        special_tokens: add the tokenizer's special tokens around the text.
        progress: called with the passes done, their number and a record.
        machine, set, settings: as for :func:`sluice.predict` (``backend="host"``, ``batch_size=8``, ...).

    Raises:
        BadRequest, DoesNotFit, EnvironmentFailed: as :func:`sluice.train` does.
        ImportError: the module came without the program.
    """
    words = RunWords(os.fspath(subject), {"data": data, "seq_len": seq_len, "machine": machine, **settings}, set)
    flags = _flags({"--stride": stride, "--special-tokens": bool(special_tokens)})
    return Evaluated(_program.run("sluice.evaluate", ["eval", *words.words, *flags], progress))


def generate(
    subject: str | os.PathLike[str],
    prompt: str | None = None,
    *,
    messages: Sequence[Mapping[str, Any]] | Mapping[str, Any] | None = None,
    chat: bool = False,
    max_new_tokens: int = 128,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    stop: str | Iterable[str] = (),
    ignore_eos: bool = False,
    machine: str | os.PathLike[str] | Machine | None = None,
    progress: _program.Told | None = None,
    set: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Generated:
    """Text that continues a prompt, or answers a conversation. It runs the program, ``sluice generate``.

    Args:
        subject: a model folder, a run's folder or one of its checkpoints.
        prompt: text to continue; with `chat` a message, which the model's chat template renders.
        messages: in its place a conversation to answer, a list of messages or ``{"messages": ..., "tools": ...}``.
        max_new_tokens, temperature (0 takes the most likely token), top_k, top_p: of sampling; ``seed=1`` in `settings` too.
        stop: texts before which it ends. ignore_eos: go on after the model's end token.
        progress: called with the tokens so far, None, and a record whose ``text`` is what has come since.
        machine, set, settings: as for :func:`sluice.predict`.

    Raises:
        BadRequest, DoesNotFit, EnvironmentFailed: as :func:`sluice.train` does.
        ImportError: the module came without the program.
    """
    if (prompt is None) == (messages is None):
        raise BadRequest("prompt: give a prompt, or messages in its place")
    words = RunWords(os.fspath(subject), {"machine": machine, **settings}, set)
    flags = _flags(
        {
            "--prompt": prompt, "--chat": bool(chat), "--max-new-tokens": max_new_tokens, "--temperature": temperature,
            "--top-k": top_k, "--top-p": top_p, "--ignore-eos": bool(ignore_eos),
        }
    )  # fmt: skip
    for text in [stop] if isinstance(stop, str) else stop:
        flags += ["--stop", text]
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        if messages is not None:
            file = pathlib.Path(folder) / "messages.json"
            file.write_text(json.dumps(messages if isinstance(messages, Mapping) else list(messages)))
            flags += ["--messages", str(file)]
        return Generated(_program.run("sluice.generate", ["generate", *words.words, *flags], progress))


def export(
    run: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    dtype: str = "bf16",
    shard_size: str | int | None = None,
    step: int | None = None,
    progress: _program.Told | None = None,
) -> Exported:
    """Writes a run's weights as a Hugging Face model folder. It runs the program, ``sluice export``.

    Args:
        run: a run's folder or one of its checkpoints. folder: to write; it must not exist.
        dtype: ``"bf16"``, ``"fp16"`` or ``"fp32"``. shard_size: largest size of a file, bytes or text with a unit.
        step: of the checkpoint; the newest intact one where it is None.
        progress: called with the parameters written, their number and a record.

    Raises:
        BadRequest, EnvironmentFailed: as :func:`sluice.train` does.
        ImportError: the module came without the program.
    """
    shard = f"{shard_size} B" if isinstance(shard_size, int) else shard_size
    flags = _flags({"--output": os.fspath(folder), "--dtype": dtype, "--shard-size": shard, "--step": step})
    return Exported(_program.run("sluice.export", ["export", os.fspath(run), *flags], progress))

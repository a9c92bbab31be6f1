"""What a run learns, before anything is trained, where the module is built with the engine: data."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import Any

from .catalogue import Record
from .errors import BadRequest
from .run_words import RunWords
from .training import engine_extension


class LeftOut(Record):
    """Rows that are left out for one ``reason``: how many ``rows``, and the place of the ``first``, ``FILE:LINE``."""

    reason: str
    rows: int
    first: str


class DataSet(Record):
    """One data set of a run: its ``name``, ``files`` and ``format``, how often an epoch reads it (``weight``), ``rows_read``,
    ``rows_used``, how many of these an epoch takes (``num_samples``, or None for all), what is ``left_out`` and why
    (a list of :class:`LeftOut`), and ``replaced_surrogates``."""

    name: str
    files: list[str]
    format: str
    weight: float
    num_samples: int | None
    rows_read: int
    rows_used: int
    left_out: list[LeftOut]
    replaced_surrogates: int

    def __init__(self, fields: dict[str, Any]):
        super().__init__(fields)
        self.left_out = [LeftOut(each) for each in fields["left_out"]]


class DataRow(Record):
    """A row as it is trained: the parts of its ``text`` (each with ``text`` and ``learnt``), its tokens' ``ids``, and which
    of them are ``learnt``; with several data sets also the ``set`` that it is of."""

    text: list[dict[str, Any]]
    ids: list[int]
    learnt: list[bool]


class Data(Record):
    """What a run learns, as ``sluice data --json`` prints it; ``to_dict()`` is that object.

    Attributes:
        sets: the run's data sets, each a :class:`DataSet`.
        rows: the first rows, each a :class:`DataRow`.
        tokenizer, template: the tokenizer's file, and the chat template's name and place, or None.
        packing: "stream", "documents" or "off". seq_len: tokens of a sequence.
        documents, tokens, learnt_tokens: how many the data hold. lengths: a histogram of the documents' lengths.
        training_sequences, validation_sequences: how many there are to train on, and to validate with.
        places, used_places, learnt_places: places for a token in all sequences, those that hold one, and those
            whose target is learnt. packed_sequences: how many sequences packing would make instead, or None.
        cut_off, nothing_within, left_out_windows: documents that are cut at seq_len, documents without a learnt token
            within it, and windows of a stream without one.
    """

    sets: list[DataSet]
    rows: list[DataRow]
    tokenizer: str | None
    template: str | None
    packing: str
    seq_len: int
    documents: int
    lengths: list[dict[str, int]]
    tokens: int
    learnt_tokens: int
    training_sequences: int
    validation_sequences: int
    places: int
    used_places: int
    learnt_places: int
    packed_sequences: int | None
    cut_off: int
    nothing_within: int
    left_out_windows: int

    def __init__(self, fields: dict[str, Any]):
        super().__init__(fields)
        self.sets = [DataSet(each) for each in fields["sets"]]
        self.rows = [DataRow(each) for each in fields["rows"]]

    @property
    def learnt_share(self) -> float:
        """Share of the tokens in sequences that is learnt."""
        return self.learnt_places / self.used_places if self.used_places else 0.0

    def __repr__(self) -> str:
        return f"<sluice.Data {self.documents} documents, {self.tokens} tokens, {100 * self.learnt_share:.1f} % learnt>"


def data(
    run: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    model: str | os.PathLike[str] | None = None,
    data: Any = None,
    seq_len: int | None = None,
    rows: int = 3,
    strict: bool = False,
    set: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Data:
    """What a run would learn, or has learnt, as ``sluice data`` shows it; nothing is planned or trained.

    Args:
        run: a RUN.yaml, a run's folder, or a mapping with RUN.yaml's keys; what else is given overrides it.
        model, data, seq_len: as in RUN.yaml.
        rows: how many rows of each data set are shown.
        strict: refuse rows that would be left out, with all their places.
        set: as for :func:`sluice.predict`; so are `settings` (``template="chatml"``, ``columns={"text": "body"}``, ...).

    Raises:
        BadRequest: naming the field and the fix, as :func:`sluice.train` would.
        EnvironmentFailed: no Python has what reads the files (jinja2, pyarrow).
        ImportError: the module is built without the engine.
    """
    extension = engine_extension("sluice.data")
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
        raise BadRequest(f"rows: {rows!r} must be a whole number of at least 0")
    words = RunWords(run, {"model": model, "data": data, "seq_len": seq_len, **settings}, set)
    text, notes = extension.data(words.words, rows, bool(strict))
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return Data(json.loads(text))

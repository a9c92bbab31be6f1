"""Tasks over time, predicted or measured."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .errors import BadRequest
from .frames import frame
from .sources import text_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_ALWAYS = ("id", "lane", "kind", "start_s", "end_s")
_TEXTS = ("id", "lane", "kind", "source")


class Trace:
    """Spans of tasks, one element a task, in file order: those of each lane in the order they run.

    Columns, each also an attribute: ``id``, ``lane``, ``kind`` (str), ``start_s``, ``end_s`` (seconds from the
    start), and where they are known ``bytes`` (moved by the task; 0 for compute), ``source`` (``simulated``,
    ``cupti``, ``event``, ``clock``), ``step`` (1, 2, 3), ``round``, ``unit`` (0 is the embedding, then the blocks,
    last the head) and ``micro_batch``.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]):
        self.columns: dict[str, npt.NDArray[Any]] = {
            name: np.array(list(values), dtype=str) if name in _TEXTS else np.asarray(values)
            for name, values in columns.items()
        }

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        try:
            columns: dict[str, npt.NDArray[Any]] = self.__dict__["columns"]
            return columns[name]
        except KeyError:
            raise AttributeError(f"this trace has no column {name!r}") from None

    def __len__(self) -> int:
        return len(self.columns["id"])

    def __repr__(self) -> str:
        return f"<sluice.Trace of {len(self)} tasks on {', '.join(self.lanes)}: {self.end_s.max():.6g} s>"

    @property
    def lanes(self) -> list[str]:
        """Names of lanes, in order of first appearance."""
        return list(dict.fromkeys(self.columns["lane"].tolist()))

    @property
    def duration_s(self) -> npt.NDArray[Any]:
        """Seconds of each task."""
        return np.asarray(self.end_s - self.start_s)

    def select(self, mask: npt.NDArray[Any]) -> Trace:
        """The tasks for which a boolean array holds: ``trace.select(trace.lane == "h2d")``."""
        return Trace({name: column[mask] for name, column in self.columns.items()})

    def between(self, start_s: float, end_s: float) -> Trace:
        """The tasks that run at some time between two instants, in seconds."""
        return self.select((self.end_s > start_s) & (self.start_s < end_s))

    def period(self) -> tuple[float, float]:
        """The steady step's start and end, in seconds: the ends of ``s2/grads`` and ``s3/grads``."""
        ends = dict(zip(self.columns["id"].tolist(), self.end_s.tolist()))
        return ends["s2/grads"], ends["s3/grads"]

    def to_numpy(self) -> npt.NDArray[Any]:
        """A structured array with one element a task and the columns as fields."""
        table = np.empty(len(self), dtype=[(name, each.dtype) for name, each in self.columns.items()])
        for name, each in self.columns.items():
            table[name] = each
        return table

    def to_frame(self) -> pandas.DataFrame:
        """A pandas DataFrame with one row per task and, after the columns, ``duration_s``. Needs pandas."""
        return frame({**self.columns, "duration_s": self.duration_s})

    def plot(self, ax: Axes | None = None, lanes: Iterable[str] | None = None, **options: Any) -> Axes:
        """Draws lanes over time (:func:`sluice.plotting.timeline`). Needs Matplotlib."""
        from .plotting import timeline

        return timeline(self, ax=ax, lanes=lanes, **options)


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Reads a trace file, predicted or measured: what ``sluice train`` leaves as ``predicted.trace`` and
    ``measured.trace``, and ``--trace-out`` writes. Raises BadRequest where it is none."""
    where = os.fspath(path)
    try:
        tasks = json.loads(text_of(where, "trace")[0])["tasks"]
        names = [*dict.fromkeys([*_ALWAYS, *(tasks[0] if tasks else ())])]
        return Trace({name: [task[name] for task in tasks] for name in names})
    except (ValueError, KeyError, TypeError, IndexError) as error:
        if isinstance(error, BadRequest):
            raise
        raise BadRequest(f"{where}: is no trace of tasks ({error}); give a predicted.trace or measured.trace") from error

"""Experiments, predicted: a baseline and factors around it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import _core
from .catalogue import Record
from .frames import Rows, frame
from .run_words import RunWords, flattened, number
from .sources import text_of

if TYPE_CHECKING:
    import pandas


class Cell(Record):
    """One cell: ``name``, ``levels`` (by factor), ``status`` (``fits``, ``does not fit``, ``refused``), ``reason``,
    ``tier`` and ``short_bytes`` where it does not fit, ``plan`` in words, ``optimality_gap`` (a plan that is faster by so
    large a share of the step may exist; None where nothing was searched for), and ``prediction``, the object that
    ``sluice predict --json`` prints, or None."""

    name: str
    levels: list[str]
    status: str
    reason: str
    tier: str | None
    short_bytes: int
    plan: str
    optimality_gap: float | None
    prediction: dict[str, Any] | None

    def __repr__(self) -> str:
        fits = self.prediction if self.status == "fits" else None
        step = f"{fits['step_s']:.4g} s" if fits is not None else self.status
        return f"<sluice.Cell {self.name}: {step}>"


class AblationResult:
    """The cells of an experiment in the order of its design.

    Attributes: ``name``, ``question``, ``factors`` (names), ``cells``.
    """

    def __init__(self, name: str, question: str, factors: list[str], cells: Rows[Cell], columns: list[str] | None = None):
        self.name, self.question, self.factors, self.cells = name, question, factors, cells
        self._columns = columns or factors

    def to_frame(self) -> pandas.DataFrame:
        """One row per cell: a column for each factor (``factor.NAME`` where its name is another column's), then as in ``cells.csv`` ``status``, ``reason``, ``tier``, ``short_bytes``, ``step_s``, ``step_s_low``,
        ``step_s_high`` (seconds), ``tokens_per_s``, ``model_tflops``, ``mfu``, ``bound_s``, ``bound_by``, ``limited_by``,
        ``hbm_peak_bytes``, ``host_peak_bytes``, ``plan`` and ``optimality_gap``. Needs pandas."""
        rows = []
        for cell in self.cells:
            row: dict[str, Any] = dict(zip(self._columns, cell.levels))
            row |= {"status": cell.status, "reason": cell.reason, "tier": cell.tier, "short_bytes": cell.short_bytes if cell.tier else None}
            found = cell.prediction or {}
            for field in (
                "step_s", "step_s_low", "step_s_high", "tokens_per_s", "model_tflops", "mfu", "bound_s", "bound_by", "limited_by",
            ):  # fmt: skip
                row[field] = found.get(field)
            for tier in ("hbm", "host"):
                row[f"{tier}_peak_bytes"] = found["memory"][tier]["peak_bytes"] if found else None
            rows.append(row | {"plan": cell.plan, "optimality_gap": cell.optimality_gap})
        return frame(rows)

    def __repr__(self) -> str:
        return f"<sluice.AblationResult {self.name}: {len(self.cells)} cells over {', '.join(self.factors)}>"


def ablate(
    experiment: Mapping[str, Any] | str | os.PathLike[str],
    baseline: Mapping[str, Any] | None = None,
    effort: float | None = None,
    progress: Callable[[int, int, Cell], None] | None = None,
) -> AblationResult:
    """Predicts every cell of an experiment, as ``sluice ablate --on simulation`` does, and writes nothing.

    Args:
        experiment: EXPERIMENT.yaml, or a mapping with its keys (docs/ablations.md).
        baseline: keys of the baseline to override: ``{"machine": "rtx-4090", "machine.h2d": "0.5x"}``. Levels that set
            them keep their own.
        effort: search so many times as long for each plan; in place of the experiment's.
        progress: called after each cell with how many are done, of how many, and the cell.

    Raises:
        BadRequest: naming the file, the line and the nearest known key, or the factor that sets an overridden key in
            every cell.
    """
    text, where = text_of(experiment, "experiment")
    changes = RunWords(None, {}, None if baseline is None else flattened("baseline", baseline))
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        models = os.path.join(folder, "models")
        core = _core.Ablation(text, where, changes.settings(), number("effort", effort), models)
        cells: Rows[Cell] = Rows()
        for index in range(len(core)):
            fields = core.predict(index)
            if fields["prediction"] is not None:
                fields["prediction"] = json.loads(fields["prediction"])
            cells.append(Cell(fields))
            if progress is not None:
                progress(index + 1, len(core), cells[-1])
        return AblationResult(core.name, core.question, list(core.factors), cells, list(core.columns))

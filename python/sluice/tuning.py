"""Plans measured on this machine until their predictions hold: autotune."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _program
from .catalogue import Machine, Record
from .run_words import RunWords, joined_names


class Tuned(Record):
    """What tuning came to, as ``sluice autotune --json`` prints it.

    Attributes:
        holds: whether the last iteration's prediction was within 5 % of what was measured; where not, a warning says why.
        rounds: each iteration: ``plan_hash``, ``predicted_s``, ``measured_s``, ``error`` and ``largest_miss``.
        plan_file: the stored plan, which :func:`sluice.train` takes for this job; None where a plan was given.
        calibration_file, report_file: what was measured, and a page that shows it.
    """

    holds: bool
    rounds: list[dict[str, Any]]
    plan_file: str | None
    calibration_file: str
    report_file: str

    def __repr__(self) -> str:
        last = self.rounds[-1]
        return f"<sluice.Tuned {len(self.rounds)} iterations, {last['predicted_s']:.3g} s predicted, {last['measured_s']:.3g} s measured>"


def autotune(
    run: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    model: str | os.PathLike[str] | None = None,
    machine: str | os.PathLike[str] | Machine | None = None,
    minutes: float | None = None,
    steps: int | None = None,
    sweep: str | Iterable[str] | None = None,
    verify: bool = False,
    free: str | Iterable[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    progress: _program.Told | None = None,
    set: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Tuned:
    """Plans a run, measures a few steps of it on synthetic tokens, and plans again with what was learnt until the prediction
    holds; weights and data are not touched. It runs the program, ``sluice autotune``.

    Args:
        run, model, machine: as for :func:`sluice.train`.
        minutes: begin no iteration after this many (10). steps: of an iteration (10).
        sweep: fields of the plan whose values are then measured one by one (``"prefetch_depth"``, ...).
        verify: then predict two plans that never ran, run them and compare.
        free: job sizes to choose first, ``"micro_batch"`` or ``"loss_chunk"``; they change bits.
        report: the HTML page's file.
        progress: called after each iteration with its number, None, and a record with ``predicted_s``, ``measured_s`` and ``error``.
        set, settings: as for :func:`sluice.predict`.

    Raises:
        BadRequest, DoesNotFit, EnvironmentFailed: as :func:`sluice.train` does.
        ImportError: the module came without the program.
    """
    words = RunWords(run, {"model": model, "machine": machine, **settings}, set)
    flags: list[str] = []
    for flag, value in (
        ("--minutes", minutes), ("--steps", steps), ("--sweep", joined_names("sweep", sweep)), ("--free", joined_names("free", free)),
        ("--report", None if report is None else os.fspath(report)),
    ):  # fmt: skip
        if value is not None:
            flags += [flag, str(value)]
    if verify:
        flags.append("--verify")
    return Tuned(_program.run("sluice.autotune", ["autotune", *words.words, *flags], progress))

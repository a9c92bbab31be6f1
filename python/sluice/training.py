"""Runs of training on the host backend or a GPU, where the module is built with the engine: train."""

from __future__ import annotations

import importlib.util
import json
import os
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .catalogue import Machine, Record
from .errors import DoesNotFit
from .run_words import RunWords

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from . import _training as _extension


class Step(Record):
    """One step: ``step`` (from 1), ``loss`` (nats a target), ``grad_norm`` (before clipping), ``lr``, ``step_s`` (seconds)
    and ``tokens``."""

    step: int
    loss: float
    grad_norm: float
    lr: float
    step_s: float
    tokens: int


class Trained(Record):
    """What a run came to, as ``sluice train --json`` prints it, and its steps.

    Attributes:
        losses: the loss of each step that this call made, nats a target, a NumPy array.
        step_times_s: seconds of each of them, likewise.
        weights_sha256, state_sha256: of the weights and of the moments at the end; equal jobs with equal numerics
            have equal ones, whatever the plan.
        data: what was trained on, in a line: rows, sequences, padding, what was left out, and the share that is learnt.
        run: the run folder, with metrics.jsonl, traces, report.html and checkpoints.
        checkpoint: the last checkpoint's folder, or None.
        steps: steps of the run that are done. resumed_after: the step that it went on after, or None.
        step_s: the median step's seconds, or None; ``predicted_s`` is what was promised.
        loss, val_loss: of the last step, and of the last evaluation.
    """

    losses: npt.NDArray[np.float64]
    step_times_s: npt.NDArray[np.float64]
    weights_sha256: str
    state_sha256: str
    data: str
    run: str
    checkpoint: str | None
    steps: int
    resumed_after: int | None
    step_s: float | None
    predicted_s: float
    loss: float | None
    val_loss: float | None

    def __init__(self, outcome: _extension.TrainOutcome):
        super().__init__(json.loads(outcome.json))
        self.data = outcome.data
        self.losses = outcome.losses
        self.step_times_s = outcome.step_times_s

    def __repr__(self) -> str:
        return f"<sluice.Trained {self.steps} steps, loss {self.loss}, in {self.run}>"


def engine_extension(caller: str) -> Any:
    """The extension that is built with the engine; raises ImportError, for the function `caller`, where it is not there."""
    if importlib.util.find_spec("sluice._training") is None:
        raise ImportError(
            f"{caller} needs the engine, which this build of the module lacks: build it with "
            "cmake --preset cpu && cmake --build build --target sluice_python and put build/python on PYTHONPATH, or with "
            "pip install . --config-settings=cmake.define.SLUICE_ENGINE=ON"
        )
    from . import _training

    return _training


def train(
    run: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    model: str | os.PathLike[str] | None = None,
    machine: str | os.PathLike[str] | Machine | None = None,
    data: str | os.PathLike[str] | None = None,
    steps: int | None = None,
    plan: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    checkpoint: bool = True,
    progress: Callable[[int, int, Step], object] | None = None,
    set: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Trained:
    """Trains a run with the given or stored plan, or plans first, as ``sluice train`` does: the same bits, the same folder.

    Messages about the run and its data are Python warnings. Other threads of Python run meanwhile. Ctrl-C, or what `progress` raises, ends the run behind the step that it is
    at: it is saved, and then the exception is raised.

    Args:
        run: a RUN.yaml, with `resume` also a run's folder, or a mapping with RUN.yaml's keys; what else is given
            overrides it.
        model, machine, data: as in RUN.yaml; `machine` must be this one (``"here"``, the default, or its profile).
        steps: of the run in all. plan: a plan file. out: the run's folder; a new one in ``runs`` where it is None.
        resume: go on from the newest intact checkpoint of the run's folder, `run` or `out`.
        checkpoint: write checkpoints (12 bytes a parameter).
        progress: called after each step with its number, the number of steps, and a :class:`Step`.
        set: as for :func:`sluice.predict`; so are `settings` (``backend="host"``, ``seq_len=1024``, ...).

    Raises:
        BadRequest: naming the field and the fix; also where the loss stops being a number.
        DoesNotFit: no plan fits, or the given one does not.
        EnvironmentFailed: a file cannot be written, or this machine cannot train.
        ImportError: the module is built without the engine.
    """
    extension = engine_extension("sluice.train")
    words = RunWords(
        run,
        {"model": model, "machine": machine, "data": data, "steps": steps, "plan": plan, "out": out, **settings},
        set,
    )
    told = None if progress is None else (lambda step, all_, fields: progress(step, all_, Step(fields)))
    outcome = extension.train(words.words, bool(resume), bool(checkpoint), told)
    for note in outcome.notes:
        warnings.warn(note, stacklevel=2)
    if not outcome.fits:
        raise DoesNotFit(json.loads(outcome.json))
    return Trained(outcome)

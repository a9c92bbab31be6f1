"""Prediction of a run's step without the machine (predict), and the search for the best plan (plan)."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from . import _core
from .catalogue import Machine, Record
from .errors import DoesNotFit, write_text
from .frames import frame
from .run_words import RunWords, joined_names, number, path_text, token_count
from .trace import Trace

if TYPE_CHECKING:
    import pandas


class TierMemory(Record):
    """One memory: ``peak_bytes``, ``capacity_bytes`` and ``parts`` (bytes by what they hold, at the peak)."""

    peak_bytes: int
    capacity_bytes: int
    parts: dict[str, int]

    def __repr__(self) -> str:
        return f"<{self.peak_bytes / 2**30:.4g} of {self.capacity_bytes / 2**30:.4g} GiB>"


class Memory(Record):
    """``hbm``, ``host`` and ``disk``, each a :class:`TierMemory`; also by name: ``memory["hbm"]``."""

    hbm: TierMemory
    host: TierMemory
    disk: TierMemory

    def __getitem__(self, tier: str) -> TierMemory:
        return TierMemory(self._fields[tier])

    def __getattr__(self, name: str) -> Any:
        if name in ("hbm", "host", "disk"):
            return self[name]
        return super().__getattr__(name)

    def __repr__(self) -> str:
        return f"<sluice.Memory hbm {self.hbm} host {self.host} disk {self.disk}>"


class Plan(Record):
    """Every choice that changes time or memory but no result: ``weight_buffers``, ``gradient_buffers``,
    ``prefetch_depth``, ``rounds``, ``micro_batches_per_round``, ``copy_chunk_bytes``, ``threads``, and ``layers`` with
    what each keeps and where it lives.
    """

    weight_buffers: int
    gradient_buffers: int
    prefetch_depth: int
    rounds: int
    micro_batches_per_round: int
    copy_chunk_bytes: int
    threads: int
    layers: list[dict[str, Any]]

    def __init__(self, fields: dict[str, Any], file: str):
        super().__init__(fields)
        self._file = file

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a plan file, which ``plan=PATH`` here and ``--plan FILE`` of the program take.

        Raises:
            EnvironmentFailed: it cannot be written.
        """
        write_text(path, self._file)

    def __repr__(self) -> str:
        return (
            f"<sluice.Plan weight_buffers={self.weight_buffers}, prefetch_depth={self.prefetch_depth}, "
            f"rounds={self.rounds}, micro_batches_per_round={self.micro_batches_per_round}>"
        )


class Waterfall(Record):
    """From the bound to the step: ``bound_s``, ``bound_by``, ``terms_s`` (seconds by name) and ``step_s``, which is
    their sum."""

    bound_s: float
    bound_by: str
    terms_s: dict[str, float]
    step_s: float

    def __repr__(self) -> str:
        terms = "".join(f" + {name} {value:.4g}" for name, value in self.terms_s.items() if value > 0)
        return f"<sluice.Waterfall bound by {self.bound_by} {self.bound_s:.4g}{terms} = {self.step_s:.4g} s>"

    def plot(self, ax: Any = None) -> Any:
        """Draws the waterfall. Needs Matplotlib."""
        from .plotting import waterfall

        return waterfall(self.terms_s, self.bound_s, self.step_s, ax)


class Ratio(Record):
    """A step over another: ``ratio``, with ``low`` and ``high``, the ends of its 90 % interval."""

    ratio: float
    low: float
    high: float

    def __repr__(self) -> str:
        return f"<sluice.Ratio {self.ratio:.4g} ({self.low:.4g} to {self.high:.4g})>"


class Basis(Record):
    """What a predicted step rests on, as ``sluice predict --explain --json`` prints it.

    Attributes:
        half_width_s: half the width of the step's 90 % interval.
        numbers: every number, the largest share of the variance first: ``name``, ``value`` and ``unit``, ``critical_s``
            (seconds of the critical path that rest on it), ``relative_deviation``, ``deviation_s``, ``group``,
            ``variance_share``, ``evidence`` and ``source``. Deviations of one group add linearly, groups in quadrature.
        narrow: measurements that would narrow the interval, the best first: ``name``, ``what``, ``half_width_s``.
        errors: causes of the step's error, which a comparison of two steps takes.
    """

    half_width_s: float
    numbers: list[dict[str, Any]]
    narrow: list[dict[str, Any]]
    errors: dict[str, Any]

    def to_frame(self) -> pandas.DataFrame:
        """One row per number. Needs pandas."""
        return frame(self.numbers)

    def __repr__(self) -> str:
        return f"<sluice.Basis {len(self.numbers)} numbers, +-{self.half_width_s:.3g} s>"


class Prediction(Record):
    """What one plan of a run does on a machine, as ``sluice predict --json`` prints it.

    Attributes:
        step_s: seconds of an optimizer step, in the steady state; ``step_s_low`` and ``step_s_high`` are its 90 %
            interval. Where steps take turns it is their mean, and ``step_cycle_s`` lists their lengths (else it is
            absent).
        tokens_per_s: tokens a second.
        model_tflops: model TFLOP/s: matrix products and causal attention, no recomputation. ``mfu``: over the
            machine's dense bf16 peak, or None where it has none.
        bound_s: seconds that no plan beats on this machine; ``bound_by`` says what sets it (``compute``, ``h2d``,
            ``d2h``, ``dram``, ``cpu``, ``disk``, ``chain``), ``bound_ratio`` is step over bound, ``bounds`` are all.
        memory: peaks, capacities and parts of ``hbm``, ``host`` and ``disk``, in bytes.
        busy: share of the step in which each lane works.
        compute_s, stalls: seconds of compute, and of the compute lane's waits by what it waits for; they sum to
            the step.
        evidence: shares of the step that rest on what was ``measured``, ``fitted``, or read from a ``datasheet``.
        plan: the :class:`Plan`.
        parameters, plan_hash, job_hash, profile_hash, cost_model_hash, numerics_id: what was predicted with what;
            ``parameters`` is the model's number of them.
        days, rent_usd, buy_usd: with ``tokens``, of all of them, and with ``prices``; None where unknown.
    """

    step_s: float
    step_s_low: float
    step_s_high: float
    tokens_per_s: float
    model_tflops: float
    mfu: float | None
    bound_s: float
    bound_by: str
    bound_ratio: float
    bounds: dict[str, float]
    busy: dict[str, float]
    compute_s: float
    stalls: dict[str, float]
    evidence: dict[str, float]
    parameters: int
    plan_hash: str
    job_hash: str
    profile_hash: str
    cost_model_hash: str
    numerics_id: str

    def __init__(self, outcome: Any):
        super().__init__(json.loads(outcome.json))
        self._outcome = outcome

    @property
    def memory(self) -> Memory:
        """Peaks, capacities and parts of each tier, in bytes."""
        return Memory(self._fields["memory"])

    @property
    def plan(self) -> Plan:
        """The predicted plan: its description, its choices, and the file that ``sluice train --plan`` takes."""
        return Plan(self._fields["plan"], self._outcome.plan_file_json())

    @property
    def waterfall(self) -> Waterfall:
        """The terms by which the step exceeds its bound."""
        return Waterfall(self._outcome.waterfall())

    def explain(self) -> Basis:
        """Number by number, what the step rests on and how sure each is."""
        return Basis(json.loads(self._outcome.basis_json()))

    def beside(self, other: Prediction) -> Ratio:
        """This step over that of ``other``. What both rest on cancels in the interval."""
        return Ratio(json.loads(self._outcome.beside_json(other._outcome)))

    def trace(self) -> Trace:
        """Every task of three consecutive steps; the second to the third ``grads`` is ``step_s`` (or, where steps take
        turns, one of ``step_cycle_s``)."""
        return Trace(self._outcome.columns())

    def graph(self) -> dict[str, Any]:
        """The step graph, which :func:`sluice.simulate` takes: its ``period_s`` is ``step_s``."""
        graph: dict[str, Any] = json.loads(self._outcome.graph_json())
        return graph

    def __repr__(self) -> str:
        return (
            f"<sluice.{type(self).__name__} {self.step_s:.4g} s a step "
            f"({self.step_s_low:.3g} to {self.step_s_high:.3g}), {self.tokens_per_s:.0f} tokens/s, "
            f"{self.bound_ratio:.3g} times the bound by {self.bound_by}>"
        )


class PlanResult(Prediction):
    """What ``sluice plan --json`` prints: a :class:`Prediction` of the best plan found, with

    Attributes:
        space_log10: log10 of the number of plans; ``considered`` and ``simulated`` of them were looked at.
        optimality_gap: how far the best plan can be below the one found: (step - least bound) / step.
        explanation: what binds, what would shorten the step, and ``left_out``.
    """

    space_log10: float
    considered: int
    simulated: int
    optimality_gap: float
    explanation: dict[str, Any]


P = TypeVar("P", bound=Prediction)


def _result(outcome: _core.StepOutcome, kind: type[P]) -> P:
    for note in outcome.notes:
        warnings.warn(note, stacklevel=3)
    if not outcome.fits:
        fields = json.loads(outcome.json)
        error = DoesNotFit(fields)
        error.prediction = kind(outcome) if outcome.has_step else None
        raise error
    return kind(outcome)


def predict(
    model: str | os.PathLike[str] | None = None,
    machine: str | os.PathLike[str] | Machine | None = None,
    *,
    seq_len: int | None = None,
    batch_size: int | None = None,
    micro_batch: int | None = None,
    run: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    policy: str | os.PathLike[str] | None = None,
    plan: str | os.PathLike[str] | None = None,
    hbm: str | int | None = None,
    host: str | int | None = None,
    disk: str | int | None = None,
    threads: int | None = None,
    residency: str | None = None,
    set: Mapping[str, Any] | None = None,
    tokens: str | float | None = None,
    prices: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Prediction:
    """Predicts the best plan found for a run, or a given plan's or policy's step. Needs no GPU.

    Args:
        model: catalogue name, config.json, model folder or cached Hugging Face id.
        machine: catalogue name, profile file, :class:`Machine`, or ``"here"`` (the default).
        seq_len: tokens of a sequence. batch_size: sequences a step. micro_batch: sequences a micro-batch (1).
        run: a RUN.yaml, or a mapping with its keys; what else is given overrides it.
        policy: a peer's schedule, or FILE.yaml, in place of a search. plan: a plan file to predict.
        hbm, host, disk: bytes to use, or text with a unit (``"24 GiB"``).
        threads: of the CPU optimizer. residency: ``"host"`` keeps master, m and v out of HBM.
        set: paths under ``machine.``, ``plan.`` and ``policy.``: ``{"machine.h2d": "0.5x"}``.
        tokens: to train on, a number or ``"10B"``; prices: file of dated prices. They add days and cost.
        settings: any other key of RUN.yaml (``loss_chunk``, ``gradient_wire``, ``optimizer={"clip": "off"}``), and
            the parts of a machine: ``gpu``, ``cpu``, ``ram``, ``ssd``.

    Raises:
        BadRequest: naming the field and the fix.
        DoesNotFit: with the shortage and remedies; its ``prediction`` is there for a given plan or policy.
    """
    words = RunWords(
        run,
        {
            "model": model, "machine": machine, "seq_len": seq_len, "batch_size": batch_size,
            "micro_batch": micro_batch, "policy": policy, "plan": plan, "hbm": hbm, "host": host, "disk": disk,
            "threads": threads, "residency": residency, **settings,
        },
        set,
    )  # fmt: skip
    return _result(_core.predict(words.words, token_count(tokens), path_text("prices", prices)), Prediction)


def plan(
    model: str | os.PathLike[str] | None = None,
    machine: str | os.PathLike[str] | Machine | None = None,
    *,
    seq_len: int | None = None,
    batch_size: int | None = None,
    micro_batch: int | None = None,
    run: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    effort: float | None = None,
    seconds: float | None = None,
    front: str | Sequence[str] | None = None,
    free: str | Sequence[str] | None = None,
    hide_link: bool = False,
    set: Mapping[str, Any] | None = None,
    **settings: Any,
) -> PlanResult:
    """Searches for the fastest plan that fits, and explains its step time.

    Args:
        effort: search so many times as long (1): a number of simulations, so that the same request gives the same
            plan everywhere.
        seconds: in place of ``effort``, about so many seconds by the clock for all of it; what is found then depends
            on the machine, and ``explanation["left_out"]`` lists what there was no time for.
        front: then plans that trade step time for ``"hbm,host,tokens"``, any of (the result's ``fronts``); or a list.
        free: job sizes to choose too, ``"micro_batch,loss_chunk"`` or a list: they change bits.
        hide_link: then the batch size at which no copy is waited for.
        The run is stated as for :func:`predict`.

    Raises:
        BadRequest, DoesNotFit: as :func:`predict`.
    """
    words = RunWords(
        run,
        {
            "model": model, "machine": machine, "seq_len": seq_len, "batch_size": batch_size,
            "micro_batch": micro_batch, **settings,
        },
        set,
    )  # fmt: skip
    outcome = _core.plan(
        words.words,
        number("effort", effort),
        number("seconds", seconds),
        joined_names("front", front),
        joined_names("free", free),
        bool(hide_link),
    )
    return _result(outcome, PlanResult)

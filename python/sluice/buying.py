"""Which machine to buy or rent for a run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from .catalogue import Machine, Record
from .frames import Rows
from .run_words import RunWords, names, number, path_text, token_count


class Advice(Record):
    """What ``sluice buy --json`` prints.

    Attributes:
        verdict: sentences, the conclusion first.
        rows: machines, fitting ones first, fastest first: ``machine``, ``fits``, ``step_s`` (seconds),
            ``tokens_per_s``, ``days`` (for the tokens), ``price`` and ``cost`` (US dollars), ``limit``, ``evidence``.
        upgrades: changes to the base machine: ``what``, ``setting``, ``step_s``, ``speedup``, ``days_saved``, ``price``.
        break_even: of the machine to buy that pays soonest: ``months`` with ``months_low`` and ``months_high``, ``run``.
        elasticity: d ln(step) / d ln(resource) of the base machine, by resource.
        page: the advice as one page of HTML that loads nothing else, as ``sluice buy --html`` writes it.
    """

    verdict: list[str]
    break_even: dict[str, Any] | None
    elasticity: dict[str, float]

    def __init__(self, fields: dict[str, Any], page: str = ""):
        super().__init__(fields)
        self.page = page

    @property
    def rows(self) -> Rows[Record]:
        """The machines that were ranked, one a row, as the class describes them."""
        return Rows(Record(row) for row in self._fields["rows"])

    @property
    def upgrades(self) -> Rows[Record]:
        """What can be changed in the base machine, one a row: ``step_s`` (seconds) and ``speedup`` with it, ``days_saved``
        (negative where it costs some, as more DIMMs may, which then run slower), ``price`` where one is known."""
        return Rows(Record(row) for row in self._fields["upgrades"])

    def __repr__(self) -> str:
        return f"<sluice.Advice on {len(self._fields['rows'])} machines: {' '.join(self.verdict[:1])}>"


def buy(
    model: str | os.PathLike[str] | None = None,
    machine: str | os.PathLike[str] | Machine | None = None,
    *,
    seq_len: int | None = None,
    batch_size: int | None = None,
    micro_batch: int | None = None,
    run: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    machines: str | Sequence[str] = (),
    tokens: str | float | None = None,
    days: float | None = None,
    budget_usd: float | None = None,
    prices: str | os.PathLike[str] | None = None,
    rent: bool = False,
    own: bool = False,
    runs_per_month: float | None = None,
    use: float | None = None,
    usd_per_kwh: float | None = None,
    resale: float = 0.0,
    seconds: float | None = None,
    set: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Advice:
    """Ranks machines for a run, and upgrades of one.

    Args:
        machine: the base of upgrades and elasticity. machines: which to rank, a list or text
            separated by commas; the whole catalogue by default.
        tokens: to train on, a number or ``"10B"``. days: to train in. budget_usd: US dollars.
        prices: file of dated prices; none is ever guessed. rent: price by the hour.
        own: the machine is yours. runs_per_month, or use (0 to 1, of its time): how much a bought machine works.
        usd_per_kwh: price of electricity. resale: share of its price that a machine is sold for in the end.
        seconds: within which to answer, about; without it the search over builds ends by itself.
        The run is stated as for :func:`sluice.predict`.

    Raises:
        BadRequest: naming the field and the fix. A machine on which the run does not fit is a row.
    """
    words = RunWords(
        run,
        {
            "model": model, "machine": machine, "seq_len": seq_len, "batch_size": batch_size,
            "micro_batch": micro_batch, **settings,
        },
        set,
    )  # fmt: skip
    report, page = _core.buy(
        words.words,
        names("machines", machines),
        token_count(tokens),
        number("days", days),
        number("budget_usd", budget_usd),
        path_text("prices", prices),
        bool(rent),
        bool(own),
        number("runs_per_month", runs_per_month),
        number("use", use),
        number("usd_per_kwh", usd_per_kwh),
        float(resale),
        number("seconds", seconds),
    )
    return Advice(json.loads(report), page)

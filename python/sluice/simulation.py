"""Any graph of tasks on lanes that share links and pools, simulated."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from . import _core
from .catalogue import Record
from .sources import text_of
from .trace import Trace


class Simulated(Record):
    """What ``sluice sim --json`` prints.

    Attributes: ``makespan_s``; ``period_s`` where the graph names a period; ``lanes`` (``busy_s`` by name), ``links``
    (``moved``, in the link's unit), ``pools`` (``peak``), ``critical_path`` (ids, from the last end back), ``bounds``
    (``chain_s``, ``lane_s``, ``link_s``) and ``bound_s``. Times are seconds.
    """

    makespan_s: float
    lanes: dict[str, dict[str, float]]
    links: dict[str, dict[str, float]]
    pools: dict[str, dict[str, float]]
    critical_path: list[str]
    bounds: dict[str, Any]
    bound_s: float

    def __init__(self, fields: dict[str, Any], trace: Trace):
        super().__init__(fields)
        self._trace = trace

    def trace(self) -> Trace:
        """The tasks over time; ``kind`` is ``fixed`` or ``flow``."""
        return self._trace

    def __repr__(self) -> str:
        return f"<sluice.Simulated: {len(self._trace)} tasks in {self.makespan_s:.6g} s>"


def simulate(
    graph: Mapping[str, Any] | str | os.PathLike[str], set: Mapping[str, Any] | None = None
) -> Simulated:
    """Simulates a graph: its JSON object, or a file of one.

    Args:
        graph: lanes, links, pools and tasks, as the graph file has them (docs/contracts.md).
        set: capacities to change: ``{"links.dram": "0.5x", "pools.hbm": 80e9}``.

    Raises:
        BadRequest: naming the task, link or pool: a cycle, a deadlock, an unknown name.
    """
    text, where = text_of(graph, "graph")
    overrides = [f"{path}={value}" for path, value in (set or {}).items()]
    result, columns = _core.simulate(text, where, overrides)
    return Simulated(json.loads(result), Trace(columns))

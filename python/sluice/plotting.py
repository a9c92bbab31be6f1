"""Figures of results, with Matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, whose colours readers with any colour vision can tell apart.
COLOURS = {
    "forward": "#0072B2",
    "backward": "#56B4E9",
    "recompute": "#CC79A7",
    "loss": "#004B7A",
    "update": "#D55E00",
    "load_weights": "#009E73",
    "load_activation": "#74C7A5",
    "load_gradient": "#F0E442",
    "load_state": "#B8860B",
    "store_gradient": "#E69F00",
    "store_state": "#8C564B",
    "save_activation": "#9ACD32",
    "launch": "#999999",
}
_OTHER = "#555555"
_VISIBLE = 0.002  # Share of the width below which a kind is left out of the legend.


def _axes(ax: Axes | None, **size: Any) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("a figure needs Matplotlib: pip install matplotlib") from error
    made: Axes = plt.subplots(**size)[1]
    return made


def timeline(
    trace: Trace,
    ax: Axes | None = None,
    lanes: Iterable[str] | None = None,
    origin_s: float | None = None,
    legend: bool = True,
) -> Axes:
    """Draws each task as a bar on its lane, coloured by kind.

    Args:
        trace: what to draw; :meth:`Trace.between` cuts a part out.
        lanes: which lanes, from the top; all by default.
        origin_s: instant that is 0 on the axis, in seconds; the first start by default.
    """
    shown = list(lanes) if lanes is not None else trace.lanes
    ax = _axes(ax, figsize=(9, 1.2 + 0.42 * len(shown)), layout="constrained")
    origin = float(trace.start_s.min()) if origin_s is None else origin_s
    longest = max(float((trace.end_s - origin).max()), 1e-9)
    unit, factor = ("ms", 1e3) if longest < 1 else ("s", 1)
    kinds = list(dict.fromkeys(trace.kind.tolist()))
    for kind in kinds:
        of_kind = trace.select(trace.kind == kind)
        if not of_kind.duration_s.any():
            continue
        for row, lane in enumerate(shown):
            part = of_kind.select(of_kind.lane == lane)
            if len(part) == 0:
                continue
            bars = [
                (factor * (start - origin), factor * (end - start))
                for start, end in zip(part.start_s.tolist(), part.end_s.tolist())
            ]
            ax.broken_barh(bars, (row - 0.4, 0.8), facecolors=COLOURS.get(kind, _OTHER), linewidth=0)
        if of_kind.duration_s.sum() > _VISIBLE * longest:
            ax.plot([], [], color=COLOURS.get(kind, _OTHER), linewidth=6, label=kind.replace("_", " "))
    ax.set_yticks(range(len(shown)), shown)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlabel(f"time ({unit})")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    if legend:
        below = -0.25 - 0.9 / len(shown)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, below), ncols=6, frameon=False, fontsize="small")
    return ax


def waterfall(terms: Mapping[str, float], bound_s: float, step_s: float, ax: Axes | None = None) -> Axes:
    """Draws the terms by which the step exceeds its bound, in seconds."""
    shown = {name: value for name, value in terms.items() if abs(value) > 1e-4 * step_s}
    ax = _axes(ax, figsize=(7, 0.8 + 0.35 * (len(shown) + 2)), layout="constrained")
    labels, at = ["bound"], bound_s
    ax.barh(0, bound_s, color="#999999")
    for row, (name, value) in enumerate(shown.items(), 1):
        ax.barh(row, value, left=at, color="#D55E00" if value > 0 else "#009E73")
        at += value
        ax.text(max(at, at - value), row, f" {value:+.3g} s", va="center", fontsize="small")
        labels.append(name.replace("_", " "))
    ax.barh(len(labels), step_s, color="#0072B2")
    ax.text(step_s, len(labels), f" {step_s:.4g} s", va="center", fontsize="small")
    labels.append("step")
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.15 * max(step_s, at))
    ax.set_xlabel("time of a step (s)")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax

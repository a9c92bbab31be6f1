#!/usr/bin/env python3
"""How much faster passes ran the more the GPU had rested, and what a share of the boost explains.

passes.py SPANS...: of `prediction_study --replay DIR --passes SPANS`, one file a study. A line is a pass: run, cost, rest of the compute lane
over 35 ms at its start, seconds, bytes of element-wise kernels, and what delays.py reads. Prints, for costs that ran after
different rest, speed over that after the least, by fifths of rest; then the scatter of log(time) within costs, once without a boost, once
with one that all passes take alike, once by the share 1 - (bytes / 4 TB/s) / time / limit, gain and most fitted to all runs.
"""
import re
import sys
from collections import defaultdict
from statistics import median

import numpy as np

BANDWIDTH = 4e12


def read(path):
    passes, moved = defaultdict(list), {}
    for line in open(path):
        run, cost, rest, seconds, moved[cost], *_ = line.split()
        passes[cost].append((run, float(rest), float(seconds)))
    return passes, {cost: float(count) / BANDWIDTH for cost, count in moved.items()}


def by_rest(passes, element_wise):
    for cost in sorted(passes):
        bins = defaultdict(list)
        for _, rest, seconds in passes[cost]:
            bins[int(rest * 5)].append(seconds)
        bins = {b: median(v) for b, v in sorted(bins.items()) if len(v) >= 12}
        if len(bins) < 2 or max(bins) - min(bins) < 2:
            continue
        base = bins[min(bins)]
        name = re.sub(r"\|h(\d+)\..*\|s(\d+)\.b(\d+).*", r" width \1, \3 x \2", cost)
        speeds = ", ".join(f"{b / 5:.1f}: {base / t:.3f}" for b, t in bins.items())
        print(f"  {name:40s} {1e3 * base:7.2f} ms, element-wise {100 * element_wise[cost] / base:4.1f} % of it; {speeds}")


def points(passes, element_wise):
    found = []
    for cost, each in passes.items():
        bins = defaultdict(list)
        for run, rest, seconds in each:
            bins[run, int(rest * 20)].append((seconds, rest))
        rows = np.array([np.median(v, axis=0) for v in bins.values() if len(v) >= 4])
        if len(rows) > 1:
            found.append((rows, element_wise[cost] / rows[:, 0].max()))
    return found


def scatter(found, gain, most, share):
    total = count = 0
    for rows, moved in found:
        logs = np.log(rows[:, 0] * (1 + share(moved) * (np.minimum(most, 1 + gain * rows[:, 1]) - 1)))
        total += np.sum(np.minimum(np.abs(logs - np.median(logs)), 0.08) ** 2)
        count += len(logs)
    return (total / count) ** 0.5


def main():
    forms = {"no boost": lambda moved: 0, "all alike": lambda moved: 1}
    forms |= {f"limit {limit}": lambda moved, limit=limit: max(0, 1 - moved / limit) for limit in (0.15, 0.2, 0.25, 0.3, 0.4)}
    for path in sys.argv[1:]:
        passes, element_wise = read(path)
        print(path)
        by_rest(passes, element_wise)
        found = points(passes, element_wise)
        for name, share in forms.items():
            best = min((scatter(found, gain, most, share), gain, most) for gain in np.arange(0.1, 1.01, 0.1) for most in np.arange(1.06, 1.32, 0.02))
            print(f"  {name}: passes scatter by {100 * best[0]:.2f} %, gain {best[1]:.1f}, most {best[2]:.2f}")


main()

#!/usr/bin/env python3
"""How well measured ablations were predicted: judge.py RESULTS...  (folders of `sluice ablate --on device`)

Of each: cells that ran; mean absolute error and bias of their steps and the worst; mean error of throughput beside the first cell's; and of
pairs of cells whose measured steps are more than 3 % apart, in how many the prediction names the faster one. Then all of them together.
"""

import csv
import itertools
import pathlib
import statistics
import sys

APART = 0.03


def judge(name, groups):
    errors, ratios, right, pairs = [], [], 0, 0
    for cells in groups:
        errors += [predicted / measured - 1 for predicted, measured in cells]
        first = cells[0]
        ratios += [abs((first[0] / p) / (first[1] / m) - 1) for p, m in cells[1:]]
        for a, b in itertools.combinations(cells, 2):
            if abs(a[1] / b[1] - 1) > APART:
                pairs += 1
                right += (a[0] - b[0]) * (a[1] - b[1]) > 0  # A tie names neither.
    print(f"{name}: {len(errors)} cells, mean error {statistics.mean(map(abs, errors)):.1%}, bias {statistics.mean(errors):+.1%}, "
          f"worst {max(errors, key=abs):+.1%}, of throughput beside the first {statistics.mean(ratios):.1%}; faster named in {right} of {pairs}")  # fmt: skip


def main():
    groups = {}
    for folder in sys.argv[1:]:
        if not (cells := pathlib.Path(folder) / "cells.csv").is_file():
            sys.exit(f"judge.py: {folder}: no cells.csv: name a results folder of sluice ablate")
        with open(cells, newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["measured_s"]]
        groups[pathlib.Path(folder).name] = [(float(row["step_s"]), float(row["measured_s"])) for row in rows]
    if not all(len(cells) > 1 for cells in groups.values()) or not groups:
        sys.exit(__doc__)
    for name, cells in groups.items():
        judge(name, [cells])
    judge("all", list(groups.values()))


if __name__ == "__main__":
    main()

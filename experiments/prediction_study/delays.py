#!/usr/bin/env python3
"""How much longer passes take while copies run, by kernel.

delays.py SPANS...: of `prediction_study --replay DIR --passes SPANS`, one file a study. For every cost whose passes ran both beside copies
and without, least squares of time over the shares of it in which copies to the device and from it ran, passes after the
same rest together; printed: seconds alone, kernels, and microseconds a kernel that each direction adds, as medians over the files given.
"""
import re
import sys
from collections import defaultdict
from statistics import median

import numpy as np


def slopes(path):
    by_cost = defaultdict(list)
    for line in open(path):
        _, cost, rest, seconds, _, kernels, down, up = line.split()
        by_cost[cost, int(kernels)].append((float(rest), float(seconds), float(down), float(up)))
    for (cost, kernels), rows in by_cost.items():
        rest, seconds, down, up = np.array(rows).T
        if len(rows) < 100 or min(down.std(), up.std()) < 0.2:
            continue
        groups = np.unique(np.floor(rest * 10), return_inverse=True)[1]
        design = np.column_stack([down, up, *(groups == g for g in range(groups.max() + 1))])
        kept = np.abs(seconds / median(seconds) - 1) < 0.3
        for _ in range(5):  # without what another task held up
            found = np.linalg.lstsq(design[kept], seconds[kept], rcond=None)[0]
            missed = np.abs(seconds - design @ found)
            kept = missed < 3 * 1.4826 * np.median(missed[kept])
        yield cost, kernels, median(seconds), found[:2]


def main():
    all_found = defaultdict(list)
    for path in sys.argv[1:]:
        for cost, kernels, seconds, found in slopes(path):
            all_found[cost, kernels].append((seconds, *(1e6 * found / kernels)))
    order = sorted(all_found, key=lambda c: (c[0].split("|")[0], median(row[0] for row in all_found[c])))
    for cost, kernels in order:
        seconds, down, up = (median(row[i] for row in all_found[cost, kernels]) for i in range(3))
        name = re.sub(r"\|h(\d+)\..*\|s(\d+)\.b(\d+).*", r" width \1, \3 x \2", cost)
        print(
            f"{name:40s} {1e3 * seconds:7.2f} ms, {kernels:2d} kernels; {down:5.2f} us a kernel beside copies to the device, {up:5.2f} from it "
            f"({len(all_found[cost, kernels])} studies)"
        )


if __name__ == "__main__":
    main()

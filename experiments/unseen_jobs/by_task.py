#!/usr/bin/env python3
"""Predicted and measured time of all tasks of each kind, from what `prediction_study RUNS --replay RECORDED --misses 99` printed.

    by_task.py OUTPUT

With 99 for 8, which prints the tasks that are furthest off, all tasks of a run are listed and summed.
"""

import collections
import re
import sys

SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6}
TASK = re.compile(r"\s+(\S+)\s+([\d.]+) (s|ms|us) predicted\s+([\d.]+) (s|ms|us) measured")


def kind_of(key):
    """A task's cost key without the job and the size: update/cpu/t4, backward/block."""
    return re.sub(r"/\d+$", "", "/".join(key.split("|")[0].split("/")[:3]))


def main():
    sums = collections.defaultdict(lambda: [0, 0, 0])
    with open(sys.argv[1]) as file:
        for line in file:
            found = TASK.match(line)
            if not found:
                continue
            each = sums[kind_of(found[1])]
            each[0] += 1
            each[1] += float(found[2]) * SECONDS[found[3]]
            each[2] += float(found[4]) * SECONDS[found[5]]
    print("kind\ttasks\tpredicted s\tmeasured s\terror")
    for kind, (count, predicted, measured) in sorted(sums.items(), key=lambda entry: -entry[1][2]):
        if measured > 0.05:
            print(f"{kind}\t{count}\t{predicted:.2f}\t{measured:.2f}\t{100 * (predicted / measured - 1):+.1f} %")


if __name__ == "__main__":
    main()

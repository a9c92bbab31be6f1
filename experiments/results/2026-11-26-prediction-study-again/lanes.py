"""By what each kind of task was predicted too quick or slow in the six sittings, replayed: lanes.py PREDICTION_STUDY"""

import collections
import os
import re
import sys

from sittings import SITTINGS, replayed

program = os.path.abspath(sys.argv[1])
TAUGHT = "teach-05b teach-15b-stream teach-15b-long teach-3b-stream 7b-cpu teach-7b 15b-cpu-4 15b-cpu-8".split()
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
MODELS = ("05b", "15b", "3b", "7b", "8b", "small")


def kind_of(key):
    parts = key.split("|")[0].split("/")
    return "/".join(parts[:2]) if parts[0] in ("copy", "update", "recompute") else parts[0]


sums = collections.defaultdict(lambda: [0.0, 0.0, 0.0])  # Of kind, model, sitting: predicted, measured, steps.
for sitting in SITTINGS:
    printed, _ = replayed(program, sitting, TAUGHT, "--misses", "60")
    model = None
    for line in printed.splitlines():
        if run := re.match(r"(replayed|calibrated on) (\S+): .* ([\d.]+) (\w+) measured", line):
            name = run[2].removeprefix("teach-")
            model = name.split("-")[0] if run[1] == "replayed" else None
            step = float(run[3]) * UNITS[run[4]]
        elif model and (cost := re.match(r"    (\S+)\s+([\d.]+) (\w+) predicted\s+([\d.]+) (\w+) measured", line)):
            total = sums[kind_of(cost[1]), model, sitting]
            total[0] += float(cost[2]) * UNITS[cost[3]]
            total[1] += float(cost[4]) * UNITS[cost[5]]
            total[2] += step
print("predicted over measured time, less one (and its share of those runs' steps), by sitting:", ", ".join(s[1:] or "first" for s in SITTINGS))
for kind in sorted({kind for kind, _, _ in sums}):
    for model in MODELS:
        cells = [sums.get((kind, model, sitting)) for sitting in SITTINGS]
        if any(cell and cell[1] > 0.003 * cell[2] for cell in cells):
            print(f"{kind:20s} {model:6s}", " ".join(f"{100 * (c[0] / c[1] - 1):+6.1f} % ({100 * c[1] / c[2]:4.1f} %)" if c and c[1] > 0 else " " * 17 for c in cells))

"""Errors of the nine sittings, replayed, by how much of the step the CPU updated: by_updates.py PREDICTION_STUDY"""

import os
import re
import sys

from sittings import SITTINGS, replayed

program = os.path.abspath(sys.argv[1])
TAUGHT = "teach-05b 15b-1024 15b-4096-input 3b-rounds-2 7b-cpu teach-7b 15b-cpu-4 15b-cpu-8".split()
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
EDGES = (0.1, 0.25, 0.5, 10)
errors = {edge: [] for edge in EDGES}
seldom = {}  # Of each sitting, where the CPU updates for less than a quarter.
for sitting in SITTINGS:
    printed, found = replayed(program, sitting, TAUGHT, "--misses", "60")
    step = {run["name"]: run for run in found}
    updates, name = {}, None
    for line in printed.splitlines():
        if run := re.match(r"(replayed|calibrated on) (\S+):", line):
            name = run[2] if run[1] == "replayed" else None
        elif name and (cost := re.match(r"    update/cpu/\S+ .* predicted\s+([\d.]+) (\w+) measured", line)):
            updates[name] = updates.get(name, 0) + float(cost[1]) * UNITS[cost[2]]
    for name, run in step.items():
        share = updates.get(name, 0) / run["measured_s"]
        errors[next(edge for edge in EDGES if share < edge)].append(run["predicted_s"] / run["measured_s"] - 1)
        if share < 0.25:
            seldom.setdefault(sitting, []).append(abs(run["predicted_s"] / run["measured_s"] - 1))
least = 0
for edge, found in errors.items():
    sizes = sorted(map(abs, found))
    print(f"the CPU updates for {100 * least:.0f} % {f'to {100 * edge:.0f} %' if edge < 1 else 'or more'} of the step: {len(found)} runs, mean absolute error "
          f"{100 * sum(sizes) / len(sizes):.2f} %, 95th percentile {100 * sizes[-(-95 * len(sizes) // 100) - 1]:.1f} %, bias {100 * sum(found) / len(found):+.2f} %")
    least = edge
for sitting, sizes in seldom.items():
    print(f"under 25 %, {sitting[1:] or 'first'}: {len(sizes)} runs, mean absolute error {100 * sum(sizes) / len(sizes):.2f} %, worst {100 * max(sizes):.1f} %")

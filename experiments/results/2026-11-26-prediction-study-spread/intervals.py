"""How many runs of the eleven sittings before lie inside their 90 % intervals, replayed, by what they rest on: intervals.py PREDICTION_STUDY"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "2026-11-26-prediction-study-parts"))
from sittings import SITTINGS, replayed  # noqa: E402

TAUGHT = "teach-05b 15b-1024 15b-4096-input 3b-rounds-2 7b-cpu teach-7b 15b-cpu-4 15b-cpu-8".split()
# Their passes are of models or lengths that no teaching run has, and the CPU updates for little of the step.
NEVER_MEASURED = "05b-long 05b-512 05b-2048 05b-8192 15b-8192 3b-64k 7b-2048 8b 8b-2048-8 8b-offload".split()
groups = {"passes never measured": [], "others": [], "all": []}
for sitting in SITTINGS:
    for run in replayed(os.path.abspath(sys.argv[1]), sitting, TAUGHT)[1]:
        error = run["predicted_s"] / run["measured_s"] - 1
        width = run["predicted_s_high"] / run["predicted_s"] - 1
        inside = run["predicted_s_low"] <= run["measured_s"] <= run["predicted_s_high"]
        rests = "passes never measured" if run["name"].removeprefix("teach-") in NEVER_MEASURED else "others"
        for group in (rests, "all"):
            groups[group].append((error, width, inside))
for group, runs in groups.items():
    mean_square = sum(error**2 for error, _, _ in runs) / len(runs)
    print(f"{group}: {len(runs)} runs, root of the mean square error {100 * mean_square**0.5:.2f} %, half an interval {100 * sum(width for _, width, _ in runs) / len(runs):.2f} %, "
          f"inside {sum(inside for _, _, inside in runs)}")  # fmt: skip

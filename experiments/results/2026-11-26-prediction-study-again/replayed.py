"""The six sittings of one day replayed by today's model, taught by several eights of their runs: replayed.py PREDICTION_STUDY"""

import os
import sys

from sittings import SITTINGS, replayed

program = os.path.abspath(sys.argv[1])
SETS = {
    "the first three sittings'": "teach-05b teach-15b-stream teach-15b-long teach-3b-stream teach-05b-long teach-7b teach-8b teach-8b-offload",
    "the fourth's": "teach-05b teach-15b-stream teach-15b-long teach-3b-stream 7b-cpu teach-7b 15b-cpu-4 8b-2048",
    "the fifth's and sixth's": "teach-05b teach-15b-stream teach-15b-long teach-3b-stream 7b-cpu teach-7b 15b-cpu-4 15b-cpu-8",
    "with keep=input": "teach-05b teach-15b-stream 15b-4096-input teach-3b-stream 7b-cpu teach-7b 15b-cpu-4 15b-cpu-8",
    "with keep=input and selective": "teach-05b 3b-selective 15b-4096-input teach-3b-stream 7b-cpu teach-7b 15b-cpu-4 15b-cpu-8",
}
for what, names in SETS.items():
    means = []
    for sitting in SITTINGS:
        printed, found = replayed(program, sitting, names.split())
        inside = sum(run["predicted_s_low"] <= run["measured_s"] <= run["predicted_s_high"] for run in found)
        means.append(sum(abs(run["predicted_s"] / run["measured_s"] - 1) for run in found) / len(found))
        print(f"{what}; {sitting[1:] or 'first'}: {next(line for line in printed.splitlines() if line.startswith('whole'))}; {inside} of {len(found)} inside")
    print(f"{what}; mean of six: {100 * sum(means) / len(means):.2f} %")

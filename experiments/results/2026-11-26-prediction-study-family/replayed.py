"""The nine sittings of one day replayed by a program's model, taught by two eights of their runs: replayed.py PREDICTION_STUDY"""

import os
import sys

from sittings import SITTINGS, replayed

program = os.path.abspath(sys.argv[1])
SETS = {
    "the seventh's": "teach-05b teach-15b-stream 15b-4096-input teach-3b-stream 7b-cpu teach-7b 15b-cpu-4 15b-cpu-8",
    "the eighth's and ninth's": "teach-05b 15b-1024 15b-4096-input 3b-rounds-2 7b-cpu teach-7b 15b-cpu-4 15b-cpu-8",
}
for what, names in SETS.items():
    means, inside_all, runs_all = [], 0, 0
    for sitting in SITTINGS:
        printed, found = replayed(program, sitting, names.split())
        inside = sum(run["predicted_s_low"] <= run["measured_s"] <= run["predicted_s_high"] for run in found)
        means.append(sum(abs(run["predicted_s"] / run["measured_s"] - 1) for run in found) / len(found))
        inside_all, runs_all = inside_all + inside, runs_all + len(found)
        print(f"{what}; {sitting[1:] or 'first'}: {next(line for line in printed.splitlines() if line.startswith('whole'))}; {inside} of {len(found)} inside")
    print(f"{what}; mean of {len(means)}: {100 * sum(means) / len(means):.2f} %; {inside_all} of {runs_all} inside")

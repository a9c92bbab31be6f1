"""How much faster passes still are long after a rest: after_rest.py SPANS...

SPANS: of `prediction_study --replay DIR --passes SPANS`. Passes over blocks beside few copies whose rest, over 35 ms, is below 0.05: speed over that of the
same passes in runs whose GPU never rests, by the time that the GPU has worked since it last rested for long.
"""

import re
import sys
from collections import defaultdict
from statistics import median

NEVER = ("3b-1024", "3b-input", "3b-selective", "7b-any", "15b-1024", "teach-15b", "7b-150k")
EDGES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
for path in sys.argv[1:]:
    passes, alone = defaultdict(list), defaultdict(list)
    for line in open(path):
        run, cost, rest, seconds, _, _, down, up = line.split()
        if not re.match("(forward|backward)/block", cost):
            continue
        passes[run].append((cost, float(rest), float(seconds), float(down) + float(up)))
        if run in NEVER and float(rest) < 0.02:
            alone[cost].append(float(seconds))
    bins = defaultdict(lambda: defaultdict(list))
    for run, each in passes.items():
        worked = None
        for cost, rest, seconds, copies in each:
            worked = 0 if rest > 0.5 else None if worked is None else worked + seconds
            if worked and rest < 0.05 and copies < 0.2 and len(alone[cost]) > 50:
                edge = next((edge for edge in EDGES if worked < edge), None)
                if edge:
                    bins[edge][run, cost].append(median(alone[cost]) / seconds)
    # Runs and kinds of pass count alike.
    told = [f"{edge} s: {median(median(v) for v in kinds.values() if len(v) >= 10):.3f} ({sum(len(v) >= 10 for v in kinds.values())})"
            for edge, kinds in sorted(bins.items()) if any(len(v) >= 10 for v in kinds.values())]  # fmt: skip
    print(f"{path}: worked for less than", ", ".join(told))

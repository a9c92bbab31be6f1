"""What each run's steps took, burst by burst, and by how much bursts differ: bursts.py FOLDER...

FOLDER: of a study, with rec.tar.xz. A step is from the end of its last task to that of the one before.
"""

import json
import math
import pathlib
import statistics
import sys
import tarfile

for folder in sys.argv[1:]:
    spreads = []
    with tarfile.open(pathlib.Path(folder) / "rec.tar.xz") as archive:
        for member in sorted((m for m in archive if m.name.endswith(".json")), key=lambda m: m.name):
            bursts = []
            for steps in json.load(archive.extractfile(member))["bursts"]:
                last, ends = 0, []
                for numbers in steps:
                    end = 0
                    for since, duration in zip(numbers[::2], numbers[1::2]):
                        last += since
                        end = max(end, last + duration)
                    ends.append(end)
                bursts.append([1e-9 * (b - a) for a, b in zip(ends, ends[1:])])
            means = [statistics.mean(burst) for burst in bursts]
            spread = f", bursts differ by {100 * statistics.stdev(map(math.log, means)):.1f} %" if len(means) > 1 else ""
            print(f"{pathlib.Path(folder).name}: {pathlib.Path(member.name).stem}: " + "; ".join(" ".join(f"{t:.4f}" for t in burst) for burst in bursts) + " s" + spread)

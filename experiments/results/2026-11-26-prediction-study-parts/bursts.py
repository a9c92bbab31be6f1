"""How much a run's step differs from burst to burst, minutes apart, in the two sittings that have several: bursts.py"""

import json
import math
import pathlib
import statistics
import tarfile

here = pathlib.Path(__file__).resolve().parent
ON_CPU = "05b-stream-4 15b-cpu-12 15b-after 7b-cpu-8 8b-2048 teach-15b-cpu-4 teach-15b-cpu-8 teach-7b-cpu-14"  # Updates for half the step.
for sitting in ("bursts", "rounds"):
    spreads = {}
    with tarfile.open(here.parent / f"2026-11-26-prediction-study-{sitting}" / "rec.tar.xz") as archive:
        for member in archive:
            if not member.name.endswith(".json"):
                continue
            times = []
            for steps in json.load(archive.extractfile(member))["bursts"]:
                last, ends = 0, []
                for numbers in steps:
                    end = 0
                    for since, duration in zip(numbers[::2], numbers[1::2]):
                        last += since
                        end = max(end, last + duration)
                    ends.append(end)
                times.append(statistics.median(b - a for a, b in zip(ends, ends[1:])) * 1e-9)
            if len(times) > 1:
                name = pathlib.Path(member.name).stem
                spreads[name] = statistics.stdev(math.log(time) for time in times)
                print(f"{sitting}: {name}: {' '.join(f'{time:.4f}' for time in times)} s, standard deviation {100 * spreads[name]:.1f} %")
    for what, names in (("on the CPU for half the step", ON_CPU.split()), ("others", [name for name in spreads if name not in ON_CPU.split()])):
        found = [spreads[name] ** 2 for name in names if name in spreads]
        print(f"{sitting}, {what}: {100 * math.sqrt(sum(found) / len(found)):.1f} %, root of the mean square of {len(found)} runs")

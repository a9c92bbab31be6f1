#!/usr/bin/env python3
"""How far measured grids of contention agree with themselves, beside what the model misses on held-out points.

    experiments/contention/noise.py GRID.json ... [--program build/bin/sluice]

GRID.json: written by `sluice probe --grid`, with the repetitions of every point. For each grid and each kind of rate
(updates on the CPU, copies to the device, copies from it) it prints, in percent:

- repeat: standard deviation of one repetition, the mean over points and the worst point;
- mean known to: standard error of a point's mean over its repetitions (mean over points, worst point);
- halves: how far the means of odd and of even repetitions of one point differ (mean over points, worst point). Each
  half has half of the repetitions, so the mean of all is known to half of that difference;
- chance alone: the mean and the worst error of held-out points that a model without any error would show, because
  each measured mean is off by its standard error (mean over 2000 draws by a fixed seed);
- held out: mean and worst error of the model on points that it was not fitted to (`sluice probe --fit-grid`).
"""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

RATES = {"update": "update_per_s", "h2d": "h2d_bytes_per_s", "d2h": "d2h_bytes_per_s"}
HELD_OUT = re.compile(r"held out (\S+)\s+(\d+) points: mean\s+([\d.]+) %, worst\s+([+-]?[\d.]+) %")
DRAWS = 2000


def read_points(path):
    points = json.loads(path.read_text(encoding="utf-8"))["points"]
    if not any(len(point[key].get("rounds", [])) > 1 for point in points for key in RATES.values() if key in point):
        sys.exit(f"noise.py: {path}: no repetitions of its points were kept")
    return points


def repetitions(points, key):
    """Repetitions of each point with two or more, as shares of their mean."""
    kept = [point[key]["rounds"] for point in points if key in point and len(point[key].get("rounds", [])) > 1]
    return [[rate / statistics.mean(rates) for rate in rates] for rates in kept]


def standard_errors(rates):
    return [statistics.stdev(each) / len(each) ** 0.5 for each in rates]


def halves(rates):
    return [abs(statistics.mean(each[::2]) - statistics.mean(each[1::2])) for each in rates]


def chance(errors, held_out):
    """Mean and worst absolute error of `held_out` points that are off by their standard errors alone."""
    draw = random.Random(42)
    means, worst = [], []
    for _ in range(DRAWS):
        drawn = [abs(draw.gauss(0, error)) for error in draw.choices(errors, k=held_out)]
        means.append(statistics.mean(drawn))
        worst.append(max(drawn))
    return statistics.mean(means), statistics.mean(worst)


def model_misses(program, path):
    """Held-out errors in percent by kind of rate: points, mean, worst."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, "probe", "--fit-grid", str(path), "-o", f"{folder}/profile.json"],
                              capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"noise.py: {path}: {done.stderr.strip()}")
    return {kind: (int(count), float(mean), abs(float(worst)))
            for kind, count, mean, worst in HELD_OUT.findall(done.stdout)}  # fmt: skip


def cell(values, scale=100):
    return f"{scale * statistics.mean(values):.1f}, {scale * max(values):.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grids", nargs="+", type=pathlib.Path)
    parser.add_argument("--program", default=os.environ.get("SLUICE_BIN", "build/bin/sluice"))
    arguments = parser.parse_args()
    if shutil.which(arguments.program) is None:
        sys.exit(f"noise.py: no program {arguments.program}: build it, or name it with --program")
    print("| grid | rate | repetitions | repeat | mean known to | halves | chance alone | held out |")
    print("|---|---|---|---|---|---|---|---|")
    for path in arguments.grids:
        points = read_points(path)
        misses = model_misses(arguments.program, path)
        for kind, key in RATES.items():
            rates = repetitions(points, key)
            counts = [len(each) for each in rates]
            errors = standard_errors(rates)
            held_out, mean, worst = misses[kind]
            by_chance = chance(errors, held_out)
            name = path.parent.name if path.stem == "grid" else path.stem
            cells = [name, kind, f"{min(counts)} to {max(counts)}", cell([statistics.stdev(each) for each in rates]),
                     cell(errors), cell(halves(rates)), f"{100 * by_chance[0]:.1f}, {100 * by_chance[1]:.1f}",
                     f"{mean:.1f}, {worst:.1f}"]  # fmt: skip
            print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

"""By what each kind of task was predicted too quick or slow in the six sittings, replayed: lanes.py PREDICTION_STUDY"""

import collections
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

here = pathlib.Path(__file__).resolve().parent
program = os.path.abspath(sys.argv[1])
TAUGHT = "teach-05b teach-15b-stream teach-15b-long teach-3b-stream 7b-cpu teach-7b 15b-cpu-4 15b-cpu-8".split()
SITTINGS = ("", "-sure", "-narrow", "-eight", "-pooled", "-again")
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
MODELS = ("05b", "15b", "3b", "7b", "8b", "small")


def lines_of(sitting):
    words = [line.split(maxsplit=2) for line in (here.parent / f"2026-11-26-prediction-study{sitting}" / "runs").read_text().splitlines()]
    return [w for w in words if w and not w[0].startswith("#")]


def kind_of(key):
    parts = key.split("|")[0].split("/")
    return "/".join(parts[:2]) if parts[0] in ("copy", "update", "recompute") else parts[0]


name_of = {flags: name for name, _, flags in lines_of("-narrow")}
sums = collections.defaultdict(lambda: [0.0, 0.0, 0.0])  # Of kind, model, sitting: predicted, measured, steps.
for sitting in SITTINGS:
    source = here.parent / f"2026-11-26-prediction-study{sitting}"
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        with tarfile.open(source / "rec.tar.xz") as archive:
            archive.extractall(folder)
        lines = lines_of(sitting)
        runs = [[name, "calibrate" if name_of[flags] in TAUGHT else "predict", flags] for name, kind, flags in lines if name != "defaults"]
        runs.sort(key=lambda run: TAUGHT.index(name_of[run[2]]) if run[1] == "calibrate" else 99)
        defaults = next(words for words in lines if words[0] == "defaults")
        (folder / "runs").write_text("\n".join(" ".join(words) for words in [defaults, *runs]) + "\n")
        (folder / "profile.json").write_bytes((source / "profile.json").read_bytes())
        done = subprocess.run([program, "runs", "--replay", "rec", "--json", "again.json", "--commit", "again", "--misses", "60"], cwd=folder, check=True, capture_output=True, text=True)
    model = None
    for line in done.stdout.splitlines():
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

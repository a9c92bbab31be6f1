"""What CPU updates of each size ran at beside no or few stores, in two sittings: rates.py SLUICE"""

import collections
import os
import pathlib
import runpy
import sys
import tarfile
import tempfile

import numpy as np

here = pathlib.Path(__file__).resolve().parent
results, program = here.parent, os.path.abspath(sys.argv[1])
NAMES = "05b-stream-4 15b-cpu-4 15b-cpu-8 15b-cpu-12 15b-after 7b-cpu 7b-cpu-8 7b-2048 8b-4096".split()
for sitting in ("sure", "narrow"):
    source = results / f"2026-11-26-prediction-study-{sitting}"
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(source / "rec.tar.xz") as archive:
            archive.extractall(folder)
        for name in ("runs", "profile.json"):
            (pathlib.Path(folder) / name).write_bytes((source / name).read_bytes())
        # Its functions, for no run: it changes to the folder.
        sys.argv = ["update_rates.py", program, folder]
        of = runpy.run_path(str(results / "2026-11-24-prediction-study-updates/update_rates.py"))
        for name in NAMES:
            record = of["json"].load(open(f"rec/{name}.json"))
            tasks, steps = of["tasks_of"](name, record["plan"]), of["spans_of"](record["bursts"][0])
            lanes = {lane: sorted(span for step in steps for task, span in zip(tasks, step) if task.get("lane") == lane) for lane in ("h2d", "d2h")}
            starts = {lane: [span[0] for span in spans] for lane, spans in lanes.items()}
            rates = collections.defaultdict(list)
            for step in steps[1:-1]:
                for task, (begin, end) in zip(tasks, step):
                    if task.get("lane") != "cpu" or task.get("amount", 0) < 1e6:
                        continue
                    down, up = (of["length"](of["overlap"](begin, end, lanes[lane], starts[lane])) / (end - begin) for lane in ("h2d", "d2h"))
                    if up < 0.15:
                        rates[round(task["amount"] / 1e6)].append((task["amount"] / (end - begin), down))
            text = "; ".join(f"{size} M {np.median(rows, axis=0)[0]:.2f} G/s ({len(rows)} updates, beside loads {np.median(rows, axis=0)[1]:.2f} of the time)" for size, rows in sorted(rates.items()) if len(rows) > 2)
            print(f"{sitting}, {name}, {record['plan']['threads']} threads: {text}")
        os.chdir(here)

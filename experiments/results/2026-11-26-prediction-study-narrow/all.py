"""Judges the three sittings of one day together, as they were promised and by today's intervals: all.py PREDICTION_STUDY"""

import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parents[1] / "prediction_study"))
import judge  # noqa: E402

sittings = ("2026-11-26-prediction-study", "2026-11-26-prediction-study-sure", "2026-11-26-prediction-study-narrow")
rows = []
for sitting in sittings:
    rows += [row for row in judge.read(here.parent / sitting / "ledger.jsonl", here.parent / sitting / "runs") if row[2]]
# Pairs of one job are of one machine: those are in each sitting's own output.
print("as promised:", judge.statistics(rows).split("; pairs")[0])
for sitting in sittings:
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(here.parent / sitting / "rec.tar.xz") as archive:
            archive.extractall(folder)
        for name in ("runs", "profile.json"):
            (pathlib.Path(folder) / name).write_bytes((here.parent / sitting / name).read_bytes())
        out = subprocess.run([sys.argv[1], "runs", "--replay", "rec", "--json", "again.json", "--commit", "again"], cwd=folder, check=True, capture_output=True, text=True).stdout
        runs = json.loads((pathlib.Path(folder) / "again.json").read_text())["runs"]
        inside = [run["predicted_s_low"] <= run["measured_s"] <= run["predicted_s_high"] for run in runs]
        print(f"{sitting} by today's model: {next(line for line in out.splitlines() if line.startswith('whole'))}; {sum(inside)} of {len(inside)} inside")

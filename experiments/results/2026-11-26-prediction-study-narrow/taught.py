"""The three sittings of one day replayed, taught by other eight of their runs: taught.py PREDICTION_STUDY"""

import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile

here = pathlib.Path(__file__).resolve().parent
SETS = {
    "as it was": "teach-05b teach-15b-stream teach-15b-long teach-3b-stream teach-05b-long teach-7b teach-8b teach-8b-offload",
    "4, 8, 14 and 16 threads": "teach-05b teach-15b-stream teach-15b-long teach-3b-stream 7b-cpu teach-7b 15b-cpu-4 8b-2048",
    "4, 8, 12, 14 and 16": "teach-05b teach-15b-stream 15b-cpu-12 teach-3b-stream 7b-cpu teach-7b 15b-cpu-4 8b-2048",
    "4, 8, 12, 14 and 16, small models": "teach-05b teach-15b-stream teach-15b-long 15b-after 15b-cpu-12 teach-7b 15b-cpu-4 8b-2048",
    "4, 8, 14 and 16, another two": "teach-05b teach-15b-stream teach-15b-long teach-3b-stream 15b-after teach-7b 15b-cpu-4 teach-8b",
    "4, 8, 14 and 16, other three": "teach-05b 15b-one-buffer teach-15b-long teach-3b-stream 15b-after teach-7b 15b-cpu-4 7b-cpu-8",
}
for name, taught in SETS.items():
    for sitting in ("2026-11-26-prediction-study", "2026-11-26-prediction-study-sure", "2026-11-26-prediction-study-narrow"):
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(here.parent / sitting / "rec.tar.xz") as archive:
                archive.extractall(folder)
            lines = [line.split(maxsplit=2) for line in (here.parent / sitting / "runs").read_text().splitlines()]
            lines = [words for words in lines if words and words[0] != "#"]
            first = [words for words in lines if words[0] == "defaults"]
            runs = [[words[0], "calibrate" if words[0] in taught.split() else "predict", words[2]] for words in lines if words[0] != "defaults"]
            runs.sort(key=lambda words: words[1])
            (pathlib.Path(folder) / "runs").write_text("\n".join(" ".join(words) for words in first + runs) + "\n")
            (pathlib.Path(folder) / "profile.json").write_bytes((here.parent / sitting / "profile.json").read_bytes())
            done = subprocess.run([sys.argv[1], "runs", "--replay", "rec", "--json", "again.json", "--commit", "again"], cwd=folder, check=True, capture_output=True, text=True)
            found = json.loads((pathlib.Path(folder) / "again.json").read_text())["runs"]
            inside = sum(run["predicted_s_low"] <= run["measured_s"] <= run["predicted_s_high"] for run in found)
            print(f"{name}; {sitting}: {next(line for line in done.stdout.splitlines() if line.startswith('whole'))}; {inside} of {len(found)} inside")

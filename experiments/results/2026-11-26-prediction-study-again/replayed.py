"""The six sittings of one day replayed by today's model, taught by several eights of their runs: replayed.py PREDICTION_STUDY"""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

here = pathlib.Path(__file__).resolve().parent
program = os.path.abspath(sys.argv[1])
# Names are the third sitting's; other sittings call the same runs otherwise by what they were for.
SETS = {
    "the first three sittings'": "teach-05b teach-15b-stream teach-15b-long teach-3b-stream teach-05b-long teach-7b teach-8b teach-8b-offload",
    "the fourth's": "teach-05b teach-15b-stream teach-15b-long teach-3b-stream 7b-cpu teach-7b 15b-cpu-4 8b-2048",
    "the fifth's and sixth's": "teach-05b teach-15b-stream teach-15b-long teach-3b-stream 7b-cpu teach-7b 15b-cpu-4 15b-cpu-8",
    "with keep=input": "teach-05b teach-15b-stream 15b-4096-input teach-3b-stream 7b-cpu teach-7b 15b-cpu-4 15b-cpu-8",
    "with keep=input and selective": "teach-05b 3b-selective 15b-4096-input teach-3b-stream 7b-cpu teach-7b 15b-cpu-4 15b-cpu-8",
}
SITTINGS = ("", "-sure", "-narrow", "-eight", "-pooled", "-again")


def lines_of(sitting):
    words = [line.split(maxsplit=2) for line in (here.parent / f"2026-11-26-prediction-study{sitting}" / "runs").read_text().splitlines()]
    return [w for w in words if w and not w[0].startswith("#")]


name_of = {flags: name for name, _, flags in lines_of("-narrow")}
for what, names in SETS.items():
    means = []
    for sitting in SITTINGS:
        source = here.parent / f"2026-11-26-prediction-study{sitting}"
        with tempfile.TemporaryDirectory() as text:
            folder = pathlib.Path(text)
            with tarfile.open(source / "rec.tar.xz") as archive:
                archive.extractall(folder)
            lines = lines_of(sitting)
            runs = [[name, "calibrate" if name_of[flags] in names.split() else "predict", flags] for name, kind, flags in lines if name != "defaults"]
            runs.sort(key=lambda run: names.split().index(name_of[run[2]]) if run[1] == "calibrate" else 99)
            defaults = next(words for words in lines if words[0] == "defaults")
            (folder / "runs").write_text("\n".join(" ".join(words) for words in [defaults, *runs]) + "\n")
            (folder / "profile.json").write_bytes((source / "profile.json").read_bytes())
            done = subprocess.run([program, "runs", "--replay", "rec", "--json", "again.json", "--commit", "again"], cwd=folder, check=True, capture_output=True, text=True)
            found = json.loads((folder / "again.json").read_text())["runs"]
        inside = sum(run["predicted_s_low"] <= run["measured_s"] <= run["predicted_s_high"] for run in found)
        means.append(sum(abs(run["predicted_s"] / run["measured_s"] - 1) for run in found) / len(found))
        print(f"{what}; {sitting[1:] or 'first'}: {next(line for line in done.stdout.splitlines() if line.startswith('whole'))}; {inside} of {len(found)} inside")
    print(f"{what}; mean of six: {100 * sum(means) / len(means):.2f} %")

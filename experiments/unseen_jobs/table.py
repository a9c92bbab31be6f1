#!/usr/bin/env python3
"""Tables of predictions of unseen jobs: before the runs, and beside what was measured.

    table.py predictions OUT    OUT/predictions/JOB.KIND.json as lines "job kind seconds low high" (tab-separated)
    table.py judge OUT          those and OUT/taught.json: errors by kind of knowledge, then job by job
"""

import json
import math
import pathlib
import sys

KINDS = ["catalogue", "stated", "quick", "full", "taught"]


def predictions(out):
    print("job\tkind\tseconds\tlow\thigh")
    for file in sorted((out / "predictions").glob("*.json")):
        job, kind = file.stem.rsplit(".", 1)
        step = json.loads(file.read_text())
        print(f"{job}\t{kind}\t{step['step_s']:.9g}\t{step['step_s_low']:.9g}\t{step['step_s_high']:.9g}")


def quantile(values, share):
    """The smallest value that at least `share` of the values do not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def judge(out):
    predicted = {}
    for line in (out / "predictions.tsv").read_text().splitlines()[1:]:
        job, kind, *numbers = line.split("\t")
        predicted[job, kind] = [float(number) for number in numbers]
    measured = {}
    for run in json.loads((out / "taught.json").read_text())["runs"]:
        measured[run["name"]] = run["measured_s"]
        predicted[run["name"], "taught"] = [run["predicted_s"], run["predicted_s_low"], run["predicted_s_high"]]
    print("| knowledge | jobs | mean error | bias | 95th percentile | worst | inside the 90 % interval | mean width of it |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in KINDS:
        rows = [(predicted[job, kind], seconds) for job, seconds in measured.items() if (job, kind) in predicted]
        if not rows:
            continue
        errors = [100 * (step[0] / seconds - 1) for step, seconds in rows]
        inside = sum(low <= seconds <= high for (_, low, high), seconds in rows)
        width = sum((high - low) / step for (step, low, high), _ in rows) / len(rows)
        print(
            f"| {kind} | {len(rows)} | {sum(map(abs, errors)) / len(rows):.1f} % | {sum(errors) / len(rows):+.1f} % "
            f"| {quantile([abs(error) for error in errors], 0.95):.1f} % | {max(errors, key=abs):+.1f} % "
            f"| {inside} | {100 * width:.0f} % |"
        )
    print("\n| job | measured | " + " | ".join(KINDS) + " |\n|---|---|" + "---|" * len(KINDS))
    for job, seconds in measured.items():
        cells = [f"{100 * (predicted[job, kind][0] / seconds - 1):+.1f} %" if (job, kind) in predicted else "-" for kind in KINDS]
        print(f"| {job} | {seconds:.4g} s | " + " | ".join(cells) + " |")
    lost = sorted({job for job, _ in predicted} - set(measured))
    print("\npredicted and never run: " + (", ".join(lost) or "none"))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("predictions", "judge"):
        sys.exit(__doc__)
    {"predictions": predictions, "judge": judge}[sys.argv[1]](pathlib.Path(sys.argv[2]))

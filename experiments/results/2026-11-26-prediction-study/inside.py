"""How many runs of this study and the one before lie inside their 90 % intervals, as they are and narrower: inside.py"""

import json
import pathlib

RESULTS = pathlib.Path(__file__).resolve().parents[1]


def misses(study):
    """Each run's error over half of its interval's width."""
    lines = [json.loads(line) for line in (RESULTS / study / "ledger.jsonl").read_text().splitlines()]
    promised = {line["hash"]: line for line in lines if line["kind"] == "prediction"}
    for line in lines:
        if line["kind"] == "measurement":
            promise = promised[line["prediction"]]
            yield abs(line["step_s"] - promise["step_s"]) / ((promise["step_s_high"] - promise["step_s_low"]) / 2)


here = list(misses("2026-11-26-prediction-study"))
before = [miss for part in ("points", "rest", "updates") for miss in misses(f"2026-11-24-prediction-study-{part}")]
for name, runs in (("this study", here), ("the one before", before), ("both", here + before)):
    inside = ", ".join(f"{width:g}: {sum(miss <= width for miss in runs) / len(runs):.1%}" for width in (1, 0.9, 0.8, 0.7, 0.6))
    print(f"{name}, {len(runs)} runs, inside of so many times their intervals: {inside}")

"""Judges the nine blind sittings of one day, each as it was promised, and all together: all.py"""

import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parents[1] / "prediction_study"))
import judge  # noqa: E402
from sittings import SITTINGS  # noqa: E402

rows = []
for sitting in SITTINGS:
    source = here.parent / f"2026-11-26-prediction-study{sitting}"
    found = [row for row in judge.read(source / "ledger.jsonl", source / "runs") if row[2]]
    print(f"{sitting[1:] or 'first'}: {judge.statistics(found)}")
    rows += found
# Pairs are of one machine.
print(f"all: {judge.statistics(rows).split('; pairs')[0]}")

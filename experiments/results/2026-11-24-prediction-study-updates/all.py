"""Judges the three sittings of this study's runs together: all.py, beside their ledgers."""
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parents[1] / "prediction_study"))
import judge  # noqa: E402

rows = []
for sitting in ("points", "rest", "updates"):
    folder = here.parent / f"2026-11-24-prediction-study-{sitting}"
    rows += [row for row in judge.read(folder / "ledger.jsonl", folder / "runs") if row[2]]
print(judge.statistics(rows))

#!/usr/bin/env python3
"""Judges predictions by what was measured after them: judge.py LEDGER RUNS [LEDGER RUNS...]

LEDGER: of prediction_study; RUNS: the lines it ran, whose `predict` lines are the ledger's predictions in order. Prints every run, then
the statistics by group of runs: plans of the study, the small machine (small-*), plans by hand and policies (after those). A run that
was predicted and not run is named. Of several sittings, each with the last line's hash of its ledger, all runs are judged together at the
end; pairs are of one sitting.
"""
import json
import math
import sys


def read(ledger, runs):
    lines = [json.loads(line) for line in open(ledger)]
    names = [line.split()[0] for line in open(runs) if line.split()[1:2] == ["predict"]]
    predictions = [line | {"sitting": ledger} for line in lines if line["kind"] == "prediction"]
    measured = {line["prediction"]: line for line in lines if line["kind"] == "measurement"}
    assert len(predictions) == len(names), f"{len(predictions)} predictions of {len(names)} runs"
    return [(name, p, measured.get(p["hash"])) for name, p in zip(names, predictions)]


def statistics(rows):
    errors = [p["step_s"] / m["step_s"] - 1 for _, p, m in rows]
    sizes = sorted(map(abs, errors))
    inside = sum(p["step_s_low"] <= m["step_s"] <= p["step_s_high"] for _, p, m in rows)
    text = (f"{len(rows)} runs: mean absolute error {100 * sum(sizes) / len(sizes):.2f} %, 95th percentile "
            f"{100 * sizes[math.ceil(0.95 * len(sizes)) - 1]:.1f} %, worst {100 * sizes[-1]:.1f} %, bias {100 * sum(errors) / len(errors):+.2f} %, within 2 % "
            f"{sum(s <= 0.02 for s in sizes)}, within 5 % {sum(s <= 0.05 for s in sizes)}, inside the interval {100 * inside / len(rows):.0f} %")
    for least in (0.03, 0.08):
        pairs = [(a, b) for i, a in enumerate(rows) for b in rows[:i]
                 if a[1]["job_hash"] == b[1]["job_hash"] and a[1]["sitting"] == b[1]["sitting"]
                 and abs(a[2]["step_s"] - b[2]["step_s"]) > least * min(a[2]["step_s"], b[2]["step_s"])]
        ordered = sum((a[1]["step_s"] < b[1]["step_s"]) == (a[2]["step_s"] < b[2]["step_s"]) for a, b in pairs)
        text += f"; pairs over {100 * least:.0f} % apart in order: {ordered} of {len(pairs)}"
    return text


def judge(ledger, runs):
    """Prints one sitting; returns what ran."""
    rows = read(ledger, runs)
    for name, p, m in rows:
        if m is None:
            print(f"{name:20s} predicted {p['step_s']:.4g} s, not run")
            continue
        print(f"{name:20s} predicted {p['step_s']:.4g} s ({p['step_s_low']:.4g} to {p['step_s_high']:.4g}), measured {m['step_s']:.4g} s, "
              f"{100 * (p['step_s'] / m['step_s'] - 1):+.1f} %")
    ran = [row for row in rows if row[2] is not None]
    small = [row for row in ran if row[0].startswith("small-")]
    last = max((i for i, row in enumerate(ran) if row[0].startswith("small-")), default=len(ran) - 1)
    groups = {"plans of the study": [row for row in ran[:last + 1] if row not in small],
              "the small machine": small, "by hand and policies": ran[last + 1:],
              "all of one machine": [row for row in ran if row not in small]}
    for name, group in groups.items():
        if group:
            print(f"{name}: {statistics(group)}")
    return ran


def main():
    words = sys.argv[1:]
    if len(words) < 2 or len(words) % 2:
        sys.exit("judge.py: error: give a ledger and its runs, once or for each sitting")
    together = []
    for ledger, runs in zip(words[::2], words[1::2]):
        if len(words) > 2:
            last = json.loads(open(ledger).read().splitlines()[-1])["hash"]
            print(f"== {ledger}, whose last line is {last}")
        together += judge(ledger, runs)
    if len(words) > 2:
        small = [row for row in together if row[0].startswith("small-")]
        print(f"== all sittings together\nthe small machine: {statistics(small)}\nall runs: {statistics(together)}" if small else f"all runs: {statistics(together)}")


if __name__ == "__main__":
    main()

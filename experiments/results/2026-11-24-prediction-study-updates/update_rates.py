"""What CPU updates ran at in records of a study, and beside which copies: update_rates.py SLUICE FOLDER NAME...

FOLDER has runs, profile.json and rec/ (prediction_study --record rec).
"""
import bisect
import json
import os
import subprocess
import sys

import numpy as np

program, folder, names = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
os.chdir(folder)
flags = {words[0]: words[1:] for words in (line.split() for line in open("runs")) if words and words[0] != "#"}
probed = {point["threads"]: point["rate_per_s"]["value"] / 1e9 for point in json.load(open("profile.json"))["update"]}


def without_plan(words):
    kept = []
    for word in words:
        if word.startswith("plan.") and kept and kept[-1] == "--set":
            kept.pop()
        else:
            kept.append(word)
    return kept


def tasks_of(name, plan):
    json.dump(plan, open("plan.tmp.json", "w"))
    words = without_plan(flags["defaults"] + flags[name][1:])
    subprocess.run([program, "predict", *words, "--plan", "plan.tmp.json", "--graph-out", "graph.tmp.json"], check=True, capture_output=True)
    tasks = json.load(open("graph.tmp.json"))["tasks"]
    os.remove("plan.tmp.json"), os.remove("graph.tmp.json")
    return [task for task in tasks if task["id"].startswith("s2/")]


def spans_of(burst):
    steps, last = [], 0
    for numbers in burst:
        spans = []
        for after, length in zip(numbers[::2], numbers[1::2]):
            last += after
            spans.append((last, last + length))
        steps.append(spans)
    return steps


def overlap(begin, end, spans, starts):
    pieces = []
    for start, stop in spans[max(0, bisect.bisect_right(starts, begin) - 1):]:
        if start >= end:
            break
        if min(end, stop) > max(begin, start):
            pieces.append((max(begin, start), min(end, stop)))
    return pieces


def length(pieces):
    return sum(end - begin for begin, end in pieces)


for name in names:
    record = json.load(open(f"rec/{name}.json"))
    tasks, steps = tasks_of(name, record["plan"]), spans_of(record["bursts"][0])
    lanes = {lane: sorted(span for step in steps for task, span in zip(tasks, step) if task.get("lane") == lane) for lane in ("h2d", "d2h")}
    starts = {lane: [span[0] for span in spans] for lane, spans in lanes.items()}
    rows = []
    for number, step in enumerate(steps[1:-1], 1):
        for task, (begin, end) in zip(tasks, step):
            if task.get("lane") != "cpu" or end - begin < 2e6:
                continue
            down, up = (overlap(begin, end, lanes[lane], starts[lane]) for lane in ("h2d", "d2h"))
            both = sum(length(overlap(*piece, lanes["d2h"], starts["d2h"])) for piece in down)
            rows.append((number, task["amount"] / (end - begin), end - begin, length(down) - both, length(up) - both, both))
    if not rows:
        continue
    table = np.array(rows)
    rate, time = table[:, 1], table[:, 2]
    threads = record["plan"]["threads"]
    shares = [column.sum() / time.sum() for column in table[:, 3:].T]
    alone = table[:, 2] - table[:, 3:].sum(axis=1)
    parts = np.column_stack([alone, table[:, 3:]]) / (rate * time)[:, None]
    rates = np.linalg.lstsq(parts, np.ones(len(rows)), rcond=None)[0]
    told = "; ".join(f"{what} {value:.2f} G/s" for what, value, share in zip(("alone", "beside copies down", "up", "both"), rates, [1 - sum(shares), *shares]) if share > 0.1)
    by_step = " ".join(f"{np.median(rate[table[:, 0] == number]):.2f}" for number in np.unique(table[:, 0]))
    slow, quick = np.quantile(rate, [0.1, 0.9])
    print(f"{name}: {threads} threads, the probe says {probed.get(threads, 0):.2f} G/s; {(rate * time).sum() / time.sum():.2f} G/s in {len(rows)} updates, medians by step {by_step}, tenths {slow:.2f} and {quick:.2f}; "
          f"beside copies down {shares[0]:.2f}, up {shares[1]:.2f}, both {shares[2]:.2f} of the time; by least squares {told}")

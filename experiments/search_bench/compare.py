"""Compares the steps of two outputs of search_bench, job by job: compare.py BEFORE AFTER"""

import re
import sys

NAMED = re.compile(r"^(?P<job>.*?) (?P<budget>(?:effort|seconds) [0-9.]+) .*? CPU +[0-9.]+ s +(?P<found>.*)$")
STEP = re.compile(r"gap +([0-9.]+) % +step +([0-9.]+) s")


def found_in(path):
    with open(path) as file:
        lines = [NAMED.match(line) for line in file]
    return {(" ".join(line["job"].split()), line["budget"]): line["found"].strip() for line in lines if line}


def main(before, after):
    first, second = found_in(before), found_in(after)
    changes = []
    for job, was in first.items():
        now = second[job]
        old, new = STEP.search(was), STEP.search(now)
        if old and new:
            changes.append((float(new[2]) / float(old[2]) - 1, job, was, now))
        elif was != now:
            print(f"{job[0]}, {job[1]}: {was} -> {now}")
    changes.sort(reverse=True)
    for change, job, was, now in changes:
        if abs(change) >= 5e-6:
            print(f"{100 * change:+.3f} %  {job[0]}, {job[1]}: {was} -> {now}")
    gaps = [[float(STEP.search(found)[1]) for found in (was, now)] for _, _, was, now in changes]
    means = [sum(column) / len(column) for column in zip(*gaps)]
    print(f"{len(first)} jobs, {len(changes)} with a plan; steps {100 * changes[-1][0]:+.3f} to {100 * changes[0][0]:+.3f} %; mean gap {means[0]:.2f} -> {means[1]:.2f} %")


main(*sys.argv[1:])

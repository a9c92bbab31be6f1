"""Switches ways of the search off; what no job misses by more than the tolerance stays off: ablate.py BENCH JOBS.json LOG WAY...

Ways joined by + are tried together, then by halves. JOBS.json holds, by the name that search_bench prints, each job's `set`, its first `step`,
its present `asked` (the switches that its search comes to) and `cpu`; a job is run only where it comes to one of the switches that are tried."""

import json
import os
import re
import subprocess
import sys

BENCH, JOBS, LOG = sys.argv[1:4]
TOLERANCE = 0.002
with open(JOBS) as file:
    jobs = json.load(file)
off, fails, log = [], {}, open(LOG, "a", buffering=1)


def run(job, without):
    env = dict(os.environ, WAYS_OFF=",".join(without), WAYS_LOG="1")
    line = subprocess.run([BENCH, "--jobs", jobs[job]["set"], job, "1"], env=env, capture_output=True, text=True).stdout
    step, asked = re.search(r"step +([0-9.]+) s", line), re.search(r"asked (\S*),", line)
    return float(step[1]) if step else float("inf"), asked[1].split(","), float(re.search(r"CPU +([0-9.]+) s", line)[1])


def tried(ways):
    todo = [job for job, known in jobs.items() if set(ways) & set(known["asked"])]
    todo.sort(key=lambda job: (-fails.get(job, 0), jobs[job]["cpu"]))
    found, most = {}, (-1.0, "")
    for job in todo:
        found[job] = run(job, off + ways)
        slower = found[job][0] / jobs[job]["step"] - 1
        most = max(most, (slower, job))
        if slower > TOLERANCE:
            fails[job] = fails.get(job, 0) + 1
            log.write(f"{'kept' if len(ways) == 1 else 'not all'} {' '.join(ways)}: {job}, {100 * slower:+.2f} %\n")
            return False
    off.extend(ways)
    for job, (_, asked, cpu) in found.items():
        jobs[job].update(asked=asked, cpu=cpu)
    log.write(f"removed {' '.join(ways)}: {len(todo)} jobs come to it, the slowest {most[1]} {100 * most[0]:+.3f} %\n")
    return True


def remove(ways):
    if not tried(ways) and len(ways) > 1:
        half = (len(ways) + 1) // 2
        remove(ways[:half])
        remove(ways[half:])


for each in sys.argv[4:]:
    remove(each.split("+"))

"""Unclipped jobs of a file, searched for so many seconds each, one after another: seconds.py SLUICE SECONDS JOBS"""

import json
import pathlib
import subprocess
import sys

program, seconds, jobs = sys.argv[1:]
gaps = []
for job in pathlib.Path(jobs).read_text().splitlines():
    model, machine, seq_len, batch, *host = job.split()
    words = [program, "plan", "--model", model, "--machine", machine, "--seq-len", seq_len, "--batch-size", batch,
             "--seconds", seconds, "--set", "job.optimizer.clip=off", "--json"] + (["--host", *host] if host else [])  # fmt: skip
    plan = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    gaps.append(plan["optimality_gap"])
    print(f"{job}: {plan['step_s']:.4f} s, {plan['plan']['rounds']} rounds, at most {100 * gaps[-1]:.2f} % above the best", flush=True)
print(f"{len(gaps)} jobs: {100 * sum(gaps) / len(gaps):.2f} % on average, {sum(gap <= 0.02 for gap in gaps)} within 2 %, the most {100 * max(gaps):.2f} %")

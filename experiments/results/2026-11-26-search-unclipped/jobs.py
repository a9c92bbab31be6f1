"""Unclipped jobs on catalogue machines, searched with as much effort each: jobs.py SLUICE EFFORT"""

import concurrent.futures
import json
import subprocess
import sys

JOBS = """qwen2.5-14b h100-pcie 8192 16
llama-3.1-70b h100-sxm 4096 16 1TiB
qwen2.5-7b h200 1024 32
llama-3.1-8b gh200 1024 64 512GiB
llama-3.1-8b a100-80-sxm 1024 64 2TiB
llama-3.1-70b rtx-3090 8192 4 1TiB
qwen3-14b l40s 8192 4 1TiB
qwen2.5-32b l40s 4096 16 512GiB
qwen2.5-14b b200 2048 16 256GiB
qwen3-32b a100-80-sxm 4096 16 2TiB
qwen3-32b h200 4096 16 2TiB
qwen2.5-14b b200 8192 16 1TiB
llama-3.1-70b h100-sxm 4096 8 2TiB
qwen2.5-32b h100-pcie 4096 16
qwen2.5-7b rtx-3090 2048 16
qwen3-14b h200 8192 4 2TiB
qwen2.5-32b h100-pcie 1024 64 2TiB
qwen2.5-32b rtx-5090 1024 32 1TiB
qwen2.5-32b h100-pcie 8192 16 1TiB
qwen2.5-7b h100-sxm 4096 16
qwen2.5-14b h200 4096 16
qwen2.5-32b h200-64c 4096 16 2TiB
llama-3.1-70b h200-64c 4096 16 2TiB
llama-3.1-8b rtx-4090 4096 16 256GiB
qwen2.5-14b rtx-4090 4096 16 512GiB
llama-3.1-405b h200-64c 4096 16 8TiB
qwen2.5-7b rtx-4090 4096 16""".splitlines()


def searched(job):
    model, machine, seq_len, batch, *host = job.split()
    words = [sys.argv[1], "plan", "--model", model, "--machine", machine, "--seq-len", seq_len, "--batch-size", batch,
             "--effort", sys.argv[2], "--set", "job.optimizer.clip=off", "--json"] + (["--host", *host] if host else [])  # fmt: skip
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    found = list(pool.map(searched, JOBS))
for job, plan in zip(JOBS, found):
    print(f"{job}: {plan['step_s']:.4f} s, {plan['plan']['rounds']} rounds, at most {100 * plan['optimality_gap']:.2f} % above the best")
gaps = [plan["optimality_gap"] for plan in found]
print(f"{len(gaps)} jobs: {100 * sum(gaps) / len(gaps):.2f} % on average, {sum(gap <= 0.02 for gap in gaps)} within 2 %, the most {100 * max(gaps):.2f} %")

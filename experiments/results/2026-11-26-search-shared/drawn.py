"""Jobs drawn at random, searched for so many seconds each; those that fit are printed: drawn.py SLUICE SECONDS SEED JOBS clip|unclipped"""

import json
import random
import subprocess
import sys

program, seconds, seed, jobs, clip = sys.argv[1:]
random.seed(int(seed))
MODELS = ["qwen2.5-7b", "llama-3.1-8b", "qwen2.5-14b", "qwen2.5-32b", "llama-3.1-70b", "qwen2.5-72b", "llama-3.1-405b", "qwen3-8b", "qwen3-14b", "qwen3-32b"]
MACHINES = ["h200", "h100-sxm", "gh200", "rtx-4090", "rtx-3090", "a100-80-sxm", "l40s", "rtx-5090", "b200", "h100-pcie", "h200-64c"]
SHAPES = [(1024, 32), (2048, 16), (4096, 8), (4096, 16), (8192, 4), (1024, 64), (8192, 16)]
gaps = []
for _ in range(int(jobs)):
    model, machine = random.choice(MODELS), random.choice(MACHINES)
    seq_len, batch = random.choice(SHAPES)
    clips = random.random() < 0.5
    host = random.choice([None, "256GiB", "512GiB", "1TiB", "2TiB"])
    if clips != (clip == "clip"):
        continue
    words = [program, "plan", "--model", model, "--machine", machine, "--seq-len", str(seq_len), "--batch-size", str(batch),
             "--seconds", seconds, "--json"]  # fmt: skip
    words += ["--host", host] if host else []
    words += [] if clips else ["--set", "job.optimizer.clip=off"]
    plan = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)
    if not plan.get("fits"):
        continue
    gaps.append(plan["optimality_gap"])
    print(f"{model} {machine} {seq_len} x {batch} host {host or 'as sold'}: {plan['step_s']:.3f} s, at most {100 * gaps[-1]:.2f} % above the best", flush=True)
print(f"{len(gaps)} jobs: {100 * sum(gaps) / len(gaps):.2f} % on average, {sum(gap <= 0.02 for gap in gaps)} within 2 %, the most {100 * max(gaps):.2f} %")

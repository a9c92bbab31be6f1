"""Gaps of 70 plans drawn from models, machines and batches: build/bin/sluice plan --effort 0.5 --host 8TiB."""

import itertools
import json
import random
import subprocess

MODELS = ["qwen2.5-7b", "qwen2.5-14b", "qwen2.5-32b", "llama-3.1-70b", "llama-3.1-405b"]
MACHINES = ["h200-64c", "h100-sxm", "h100-pcie", "a100-80-pcie", "rtx-4090", "l40s", "gh200", "b200", "rtx-pro-6000", "rtx-3090"]
BATCHES = [(32, 1024, 1), (32, 1024, 4), (8, 8192, 1), (4, 4096, 1), (128, 1024, 4), (64, 2048, 2)]

jobs = list(itertools.product(MODELS, MACHINES, BATCHES))
random.seed(1)
random.shuffle(jobs)
for model, machine, (sequences, length, micro_batch) in jobs[:70]:
    sizes = ["--seq-len", length, "--batch-size", sequences, "--micro-batch", micro_batch]
    words = ["build/bin/sluice", "plan", "--model", model, "--machine", machine, *sizes, "--host", "8TiB", "--effort", "0.5", "--json"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    found = json.loads(done.stdout)
    gap = found.get("optimality_gap")
    step = found.get("prediction", found).get("step_s")
    shown = "does not fit" if gap is None else f"{100 * gap:6.2f} %  {step} s"
    print(f"{shown:>22}  {model} {machine} {sequences} x {length} / {micro_batch}", flush=True)

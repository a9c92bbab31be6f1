"""Steps and gaps of fourteen small jobs in little memory by effort: scan.py SLUICE EFFORT..."""
import json
import subprocess
import sys

JOBS = [(model, length, batch, micro, hbm, machine) for machine in ("h200", "h100-sxm") for model, length, batch, micro, hbm in (("qwen2.5-1.5b", 1024, 16, 4, 16), ("qwen2.5-1.5b", 1024, 32, 4, 14), ("qwen2.5-3b", 1024, 32, 4, 24), ("qwen2.5-3b", 2048, 8, 2, 32), ("qwen2.5-7b", 1024, 16, 4, 60), ("llama-3.1-8b", 2048, 8, 2, 48), ("qwen3-1.7b", 1024, 16, 4, 16))]
program, efforts = sys.argv[1], sys.argv[2:]
for model, length, batch, micro, hbm, machine in JOBS:
    said = []
    for effort in efforts:
        flags = f"--model {model} --seq-len {length} --batch-size {batch} --micro-batch {micro} --hbm {hbm}GiB --host 110GiB --residency host --machine {machine} --effort {effort} --json"
        plan = json.loads(subprocess.run([program, "plan", *flags.split()], capture_output=True, check=True).stdout)
        said.append(f"effort {effort}: {1e3 * plan['step_s']:.1f} ms, {100 * plan['optimality_gap']:.1f} %")
    print(f"{model} {length} x {batch} by {micro}, {hbm} GiB of {machine}: {'; '.join(said)}", flush=True)

"""What the host holds for one plan of one round whose records are of two sizes, in several orders: layouts.py SLUICE"""

import json
import pathlib
import subprocess
import sys
import tempfile

JOB = "--model llama-3.1-70b --machine a100-80-sxm --seq-len 4096 --batch-size 16 --host 1.2TiB --hbm 120GiB".split()
INPUT, ALL, DEVICE, SELECTIVE = ("input", "host"), ("all", "host"), ("all", "hbm"), ("selective", "host")


def spread(*groups):
    """As evenly as counts of blocks go."""
    blocks = sum(count for count, _ in groups)
    placed, order = [0] * len(groups), []
    for i in range(blocks):
        due = [count * (i + 1) / blocks - done if done < count else -1 for (count, _), done in zip(groups, placed)]
        next_group = due.index(max(due))
        placed[next_group] += 1
        order.append(groups[next_group][1])
    return order


def sluice(*words):
    return subprocess.run([sys.argv[1], *words], capture_output=True, text=True, check=True).stdout


with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "plan.json"
    sluice("plan", *JOB, "--set", "plan.rounds=1", "--effort", "0.2", "-o", str(path))
    plan = {key: value for key, value in json.loads(path.read_text()).items() if key not in ("layout", "prediction")}
    plan |= dict(weight_buffers=3, prefetch_depth=2, gradient_buffers=2, activation_buffers=6, stream_buffers=3, state_buffers=0)
    for end in (plan["layers"][0], plan["layers"][-1]):
        end |= dict(weights="host", gradients="host", state="host", executor="cpu", when="forward")
    orders = {
        "all spread": spread((61, INPUT), (15, ALL), (4, DEVICE)),
        "the device's first, the host's spread": [DEVICE] * 4 + spread((61, INPUT), (15, ALL)),
        "the device's first, small ones, large ones": [DEVICE] * 4 + [INPUT] * 61 + [ALL] * 15,
        "the device's first, the host's of one size": [DEVICE] * 4 + [SELECTIVE] * 76,
    }
    for name, records in orders.items():
        for block, (layer, (keep, tier)) in enumerate(zip(plan["layers"][1:-1], records)):
            layer |= dict(keep=keep, keep_tier=tier, weights="host", state="host", executor="cpu", when="forward")
            layer["gradients"] = "hbm" if block < 11 else "host"
        path.write_text(json.dumps(plan))
        memory = json.loads(sluice("predict", *JOB, "--plan", str(path), "--json"))["memory"]
        print(f"{name}: host {memory['host']['peak_bytes'] / 1e9:.1f} GB, device {memory['hbm']['peak_bytes'] / 1e9:.1f} GB")

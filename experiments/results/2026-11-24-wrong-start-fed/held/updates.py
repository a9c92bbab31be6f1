"""Steps, and what updates of 3 B's blocks ran at, of runs in the order they ran in: updates.py NAME..."""
import json
import lzma
import sys

for name in sys.argv[1:]:
    run = json.load(open(f"{name}.json"))
    tasks = json.load(lzma.open(f"{name}.trace.json.xz"))["tasks"]
    times = sorted(task["end_s"] - task["start_s"] for task in tasks if task["lane"] == "cpu" and "/update/L" in task["id"])
    median, slow, quick = (77076992e-9 / times[len(times) * part // 10] for part in (5, 9, 1))
    print(f"{name}: step {run['step_s']:.4f} s of {run['predicted_s']:.4f} predicted; {len(times)} updates of blocks, median {median:.2f}, slowest tenth {slow:.2f}, quickest {quick:.2f} G parameters/s")

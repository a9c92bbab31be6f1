"""Flags of a plan whose first blocks and evenly spread others lie in device memory, the rest on the host.

    python3 pins.py RESIDENT mixFIRST|back 0
"""

import sys

BLOCKS = 64
resident, order, on_disk = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
if order == "back":
    in_hbm = set(range(BLOCKS - resident + 1, BLOCKS + 1))
else:
    first = int(order.removeprefix("mix"))
    rest = resident - first
    in_hbm = set(range(1, first + 1)) | {first + 1 + int((i + 0.5) * (BLOCKS - first) / rest) for i in range(rest)}
outside = [i for i in range(1, BLOCKS + 1) if i not in in_hbm]
disk = {outside[int((i + 0.5) * len(outside) / on_disk)] for i in range(on_disk)}

common = {"when": "backward", "rounds": 1, "keep": "input", "keep_tier": "hbm", "gradients": "hbm", "threads": 28}
flags = [f"plan.{key}={value}" for key, value in common.items()]
for i in range(BLOCKS + 2):
    places = ("hbm", "hbm", "gpu") if i in in_hbm else ("host", "disk" if i in disk else "host", "cpu")
    flags += [f"plan.layers[{i}].{key}={place}" for key, place in zip(("weights", "state", "executor"), places)]
print(" ".join(f"--set {flag}" for flag in flags))

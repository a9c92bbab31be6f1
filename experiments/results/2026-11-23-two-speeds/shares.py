"""What expert_share in planner/profile_rates.hpp rests on: shares.py experts.output FASTEST HBM (of profile.json: FLOP/s, bytes/s).

Of each product: share = flops / ((time - bytes / HBM) FASTEST fill), fill and bytes as expert_product_time has them; then the medians.
"""

import re
import statistics
import sys

SHAPES = {"qwen3-30b-a3b": (2048, 768), "mixtral-8x7b": (4096, 14336)}  # hidden, an expert's intermediate size
fastest, hbm = float(sys.argv[2]), float(sys.argv[3])
shares = {}
for line in open(sys.argv[1]):
    if head := re.match(r"(\S+), (\d+) tokens, (\d+) experts of (\d+) rows", line):
        (hidden, wide), experts, rows = SHAPES[head[1]], int(head[3]), int(head[4])
    product = re.match(r"(forward|input_gradient|weight_gradient) (gate, up|down)\s+(\S+)", line)
    if not product:
        continue
    kind, ends = product[1], (hidden, 2 * wide) if product[2] == "gate, up" else (wide, hidden)  # columns in and out
    if kind == "weight_gradient":
        fill, moved = rows / (rows + 16), 2 * rows * sum(ends) + 8 * ends[0] * ends[1]
    else:
        fill, moved = rows / (rows + 64), 2 * rows * sum(ends) + 2 * ends[0] * ends[1]
    seconds = float(product[3]) * 1e-3 - experts * moved / hbm
    share = 2 * experts * rows * ends[0] * ends[1] / (seconds * fastest * fill)
    shares.setdefault(kind, []).append(share)
    print(f"{kind} {product[2]}, {experts} experts of {rows} rows: {share:.3f}")
for kind, of in shares.items():
    print(f"{kind}: median {statistics.median(of):.3f}, {min(of):.3f} to {max(of):.3f}")

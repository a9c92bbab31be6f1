"""Says what lies between pieces of one tensor on the copy lanes of a trace: stalls.py TRACE.json.xz ..."""
import json
import lzma
import sys

for name in sys.argv[1:]:
    tasks = json.load(lzma.open(name))["tasks"]
    print(name)
    for lane in ("h2d", "d2h"):
        spans = sorted((t["start_s"], t["end_s"], t["id"]) for t in tasks if t["lane"] == lane)
        pairs = [((b[0] - a[1]) * 1e6, a, b) for a, b in zip(spans, spans[1:]) if a[2].rsplit("/", 1)[0] == b[2].rsplit("/", 1)[0]]
        gaps = sorted(g for g, _, _ in pairs)
        print(f"  {lane}: {len(gaps)} gaps between pieces of one tensor in three steps: median {gaps[len(gaps) // 2]:.2f} us; {sum(40 < g <= 500 for g in gaps)} of 40 to 500 us, {sum(g for g in gaps if 40 < g <= 500) / 1e3:.1f} ms; {sum(g > 500 for g in gaps)} above, {sum(g for g in gaps if g > 500) / 1e3:.1f} ms")

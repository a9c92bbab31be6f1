"""Says what lies between pieces of one tensor on the copy lanes of an autotune report: gaps.py REPORT.html"""
import json
import sys

page = open(sys.argv[1]).read()
page = page[page.index('{"kind"') :]
timeline = json.JSONDecoder().raw_decode(page)[0]["timeline"]
row = timeline["rows"][1]
for lane in ("h2d", "d2h"):
    spans = sorted((row["start_ns"][i], row["end_ns"][i], timeline["ids"][row["id"][i]]) for i in range(row["tasks"]) if timeline["lanes"][row["lane"][i]] == lane)
    pairs = [((b[0] - a[1]) / 1e3, a, b) for a, b in zip(spans, spans[1:]) if a[2].rsplit("/", 1)[0] == b[2].rsplit("/", 1)[0]]
    gaps = sorted(g for g, _, _ in pairs)
    print(f"{lane}: {len(gaps)} gaps between pieces of one tensor: median {gaps[len(gaps) // 2]:.2f} us; {sum(40 < g <= 500 for g in gaps)} of 40 to 500 us; {sum(g > 500 for g in gaps)} above, {sum(g for g in gaps if g > 500) / 1e3:.1f} ms")
    for gap, a, b in pairs:
        if gap > 500:
            print(f"  {gap / 1e3:.2f} ms  {a[2]} -> {b[2]}")

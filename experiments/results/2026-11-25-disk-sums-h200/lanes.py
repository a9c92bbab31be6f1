"""How fast the disk's lanes of a trace moved, by how much of each task the other lane was busy.

    xz -dk before/measured.trace.xz && python3 lanes.py before/measured.trace
"""

import collections
import re
import sys

TASK = re.compile(
    r'"lane": "(disk-\w+)".*"start_s": ([\d.e+-]+), "end_s": ([\d.e+-]+), "bytes": (\d+)'
)
LANES = ("disk-read", "disk-write")


def shared(begin, end, others):
    return sum(max(0, min(end, e) - max(begin, b)) for b, e, _ in others)


tasks = {lane: [] for lane in LANES}
with open(sys.argv[1]) as trace:
    for line in trace:
        if match := TASK.search(line):
            tasks[match[1]].append((float(match[2]), float(match[3]), int(match[4])))
for lane, other in (LANES, LANES[::-1]):
    groups = collections.defaultdict(lambda: [0, 0, 0.0])
    for begin, end, size in tasks[lane]:
        share = round(5 * shared(begin, end, tasks[other]) / (end - begin)) / 5
        group = groups[share]
        group[0] += 1
        group[1] += size
        group[2] += end - begin
    print(lane)
    for share, (count, size, seconds) in sorted(groups.items()):
        print(
            f"  other busy {share:.1f}: {count} tasks, {size / 1e9:.2f} GB, "
            f"{size / seconds / 1e9:.3f} GB/s"
        )
    ordered = sorted(tasks[lane])
    busy = sum(end - begin for begin, end, _ in ordered)
    print(f"  busy {busy:.1f} of {ordered[-1][1] - ordered[0][0]:.1f} s")

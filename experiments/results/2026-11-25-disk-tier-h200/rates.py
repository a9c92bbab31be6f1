"""What the disk's lanes of a measured trace moved, by tenths of the time.

    tar -xJf traces.tar.xz && python3 rates.py all.trace half.trace small.trace
"""

import re
import sys

TASK = re.compile(
    r'"lane": "(disk-\w+)".*"start_s": ([\d.e+-]+), "end_s": ([\d.e+-]+), "bytes": (\d+)'
)
PARTS = 10

for name in sys.argv[1:]:
    lanes = {"disk-read": [], "disk-write": []}
    with open(name) as trace:
        for line in trace:
            if match := TASK.search(line):
                lane, begin, end, size = match.groups()
                lanes[lane].append((float(begin), float(end), int(size)))
    first = min(task[0] for tasks in lanes.values() for task in tasks)
    last = max(task[1] for tasks in lanes.values() for task in tasks)
    print(f"{name}: GB/s read and written, and how busy each lane is")
    for part in range(PARTS):
        begin = first + (last - first) * part / PARTS
        end = first + (last - first) * (part + 1) / PARTS
        text = ""
        for tasks in lanes.values():
            busy = moved = 0
            for start, stop, size in tasks:
                shared = min(stop, end) - max(start, begin)
                if shared > 0:
                    busy += shared
                    moved += size * shared / (stop - start)
            text += f"  {moved / (end - begin) / 1e9:.2f} ({100 * busy / (end - begin):3.0f} %)"
        print(f"  {begin:5.0f} to {end:5.0f} s{text}")

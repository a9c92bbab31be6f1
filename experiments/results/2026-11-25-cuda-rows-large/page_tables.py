"""What runs of the CUDA table held on the device beside their arena, and what is left of it less the page tables.

    python3 page_tables.py ../*/output
"""

import pathlib
import re
import sys

for name in sorted(sys.argv[1:]):
    pinned = None
    for line in pathlib.Path(name).read_text(errors="replace").splitlines():
        if match := re.search(r"arenas: device [\d.]+ GiB, host ([\d.]+) GiB", line):
            pinned = float(match[1])
        match = re.search(r"besides the arena ([\d.]+) GiB", line)
        if match and pinned is not None:
            beside = float(match[1])
            left = beside - pinned * 8 / 4096
            run = pathlib.Path(name).parent.name
            print(f"{run}: host arena {pinned:5.1f} GiB, beside the device's {beside:.3f}, less 1/512 of the host's {left:.3f} GiB")
            pinned = None

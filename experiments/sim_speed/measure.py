"""Measures `sluice sim GRAPH --json` on graphs of several sizes: seconds and peak memory a task, on one core.

    python3 experiments/sim_speed/measure.py build/bin/sluice [TASKS...]

The last line compares time a task of the largest graph with that of the smallest: 1 is linear, and a reader that looks at
each task again for every task would show the ratio of the two sizes. This is a measurement, not a test: it has no limits.
"""

import os
import pathlib
import sys
import tempfile
import time

from graph import write_graph

SIZES = [50_000, 200_000, 500_000, 1_000_000]


def run(program, graph):
    """Wall seconds, processor seconds and peak bytes of one run, whose output goes to a file beside the graph."""
    with open(f"{graph}.out", "wb") as output:
        began = time.monotonic()
        child = os.posix_spawn(
            program, [program, "sim", graph, "--json"], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, output.fileno(), 1)]
        )
        _, status, used = os.wait4(child, 0)
        wall = time.monotonic() - began
    if status != 0:
        sys.exit(f"{program} sim {graph} failed")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main():
    program = sys.argv[1]
    sizes = [int(word) for word in sys.argv[2:]] or SIZES
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print("tasks      graph    wall      processor   a task      peak memory   a task")
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for tasks in sizes:
            graph = pathlib.Path(folder) / f"{tasks}.json"
            write_graph(graph, tasks)
            wall, processor, peak = run(program, str(graph))
            times.append(processor / tasks)
            print(
                f"{tasks:<9}  {graph.stat().st_size / 1e6:5.1f} MB {wall:6.2f} s  {processor:6.2f} s    {processor / tasks * 1e6:5.2f} us"
                f"    {peak / 1e6:7.1f} MB   {peak / tasks:7.0f} B",
                flush=True,
            )
    print(f"time a task, {sizes[-1]} over {sizes[0]} tasks: {times[-1] / times[0]:.2f} (linear: 1, quadratic: {sizes[-1] / sizes[0]:.0f})")


if __name__ == "__main__":
    main()

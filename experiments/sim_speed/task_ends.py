"""Task ends a second and core of one or more builds of `sim_bench`, measured alternately.

    python3 experiments/sim_speed/task_ends.py build/bin/sim_bench [OTHER/sim_bench...]

Each program runs each of its graphs (a thousand to ten million tasks) TIMES times; of the processor seconds that
google-benchmark reports the least counts, because other programs on the machine only add to them.
"""

import json
import subprocess
import sys

GRAPHS = ["simulate_eight_flows", "simulate_fixed_times"]
TIMES = {1_000: 10, 10_000: 10, 100_000: 10, 1_000_000: 5, 10_000_000: 2}


def nanoseconds(program, graph, tasks):
    """Least processor nanoseconds a task of one call."""
    command = [program, f"--benchmark_filter=^{graph}/{tasks}$", "--benchmark_min_time=0.1", "--benchmark_format=json"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return min(run["cpu_time"] for run in json.loads(output)["benchmarks"]) / tasks


def main():
    programs = sys.argv[1:]
    print(f"{'graph':<22} {'tasks':>9}  " + "  ".join(f"{program:>34}" for program in programs))
    for graph in GRAPHS:
        for tasks, times in TIMES.items():
            least = dict.fromkeys(programs, float("inf"))
            for _ in range(times):
                for program in programs:
                    least[program] = min(least[program], nanoseconds(program, graph, tasks))
            row = "  ".join(f"{least[p]:7.1f} ns a task, {1e3 / least[p]:6.2f} M a second" for p in programs)
            print(f"{graph:<22} {tasks:>9}  {row}", flush=True)


if __name__ == "__main__":
    main()

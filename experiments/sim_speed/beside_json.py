"""Compares `sluice sim GRAPH --json` with what Python's json module takes to read and to write the same file.

    python3 experiments/sim_speed/beside_json.py build/bin/sluice [TASKS] [TIMES]

Processor seconds of processes of their own, least of TIMES (5) alternating runs each: a simulation (which reads the graph, checks
it, simulates it and writes its result), `json.load` of the graph as a script calls it, the same without the garbage collector,
and with `json.dumps` of what was loaded. What Python takes to start is subtracted. The last lines are the ratios.
"""

import os
import pathlib
import sys
import tempfile

from graph import write_graph

LOAD = "import json, sys; json.load(open(sys.argv[1]))"
PYTHON = {
    "start of python": "import json",
    "json.load": LOAD,
    "json.load, gc off": "import gc; gc.disable(); " + LOAD,
    "json.load and json.dumps": "import json, sys; sys.stdout.write(json.dumps(json.load(open(sys.argv[1]))))",
}


def processor_seconds(command):
    """Processor seconds of one run, whose output is dropped."""
    drop = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(command[0], command, os.environ, file_actions=drop)
    _, status, used = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"{command[0]} failed")
    return used.ru_utime + used.ru_stime


def main():
    program = sys.argv[1]
    tasks = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    with tempfile.TemporaryDirectory() as folder:
        graph = str(pathlib.Path(folder) / "graph.json")
        write_graph(graph, tasks)
        print(f"{tasks} tasks, {pathlib.Path(graph).stat().st_size / 1e6:.1f} MB, python {sys.version.split()[0]}")
        commands = {"sluice sim --json": [program, "sim", graph, "--json"]}
        commands |= {name: [sys.executable, "-c", text, graph] for name, text in PYTHON.items()}
        least = {name: float("inf") for name in commands}
        for _ in range(times):
            for name, command in commands.items():
                least[name] = min(least[name], processor_seconds(command))
    start = least.pop("start of python")
    for name in PYTHON.keys() & least.keys():
        least[name] -= start
    for name, seconds in least.items():
        print(f"{name:<26} {seconds:6.3f} s")
    for name in list(least)[1:]:
        print(f"sluice sim over {name:<26} {least['sluice sim --json'] / least[name]:5.2f}")


if __name__ == "__main__":
    main()

"""How well the contention model fits the grid by the number of rounds that each point is of: rounds.py SLUICE"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

grid = json.loads((pathlib.Path(__file__).parent / "grid.json").read_text())


def middle(rates):
    out = len(rates) // 5
    rates = sorted(rates)
    return statistics.mean(rates[out : len(rates) - out])


for name, rounds, value in (("mean of 2 rounds", slice(0, 2), statistics.mean), ("median of 5", slice(0, 5), statistics.median), ("mean of the middle of 5", slice(0, 5), middle),
                            ("mean of the last 5", slice(-5, None), middle), ("median of all", slice(None), statistics.median), ("mean of the middle of all", slice(None), middle)):
    some = json.loads(json.dumps(grid))
    for point in some["points"]:
        for rate in (each for each in point.values() if isinstance(each, dict)):
            rate["value"] = value(rate.pop("rounds")[rounds])
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(some))
        file.flush()
        text = subprocess.run([sys.argv[1], "probe", "--fit-grid", file.name], capture_output=True, text=True, check=True).stdout
    print(name)
    print("\n".join(line for line in text.splitlines() if line.startswith("  held out")))

"""A node's host (planner/catalogue/parts/nodes.json) against copies on 1, 2 and 4 links beside AdamW, and a fit of it to them.

    python3 experiments/several_gpus/fit_node.py          # errors of the catalogue's numbers
    python3 experiments/several_gpus/fit_node.py --fit    # numbers that err least, from those of the catalogue

node_host.csv holds the rows `host` of results/current/several-gpus-links: totals of all links, GB/s, and G parameters/s. The model
is that of docs/design/contention.md: flows share host memory by weighted max-min fairness, each below a cap and with a
weight that other lanes lower by factors.
"""

import argparse
import csv
import json
import math
import pathlib

HERE = pathlib.Path(__file__).parent
CATALOGUE = HERE.parents[1] / "planner/catalogue"
UPDATE_BYTES = 28
SCALARS = ("dram_gb_s", "h2d_dram", "d2h_dram", "h2d_weight", "d2h_weight")


def at_threads(node, counts, values, threads):
    """A value that is stated for some numbers of threads, between them by their logarithms."""
    counts = node[counts]
    if threads <= counts[0]:
        return values[0]
    for low, high, a, b in zip(counts, counts[1:], values, values[1:], strict=False):
        if threads <= high:
            return a + (b - a) * math.log(threads / low) / math.log(high / low)
    return values[-1]


def shared(flows, capacity):
    """Rates of flows (number, weight, cap, use of memory a unit) by progressive filling of one link."""
    rates, open_flows = {}, dict(flows)
    while open_flows:
        left = capacity - sum(flows[name][0] * rate * flows[name][3] for name, rate in rates.items())
        level = left / sum(count * weight * use for count, weight, _, use in open_flows.values())
        capped = {name: cap for name, (_, weight, cap, _) in open_flows.items() if cap <= level * weight}
        rates.update(capped or {name: level * flow[1] for name, flow in open_flows.items()})
        open_flows = {name: flow for name, flow in open_flows.items() if name not in rates}
    return rates


def predicted(node, machine, row):
    """Totals of h2d, d2h (GB/s) and adamw (G parameters/s) for a measured row."""
    loads, links, threads = row["loads"].split("+"), int(row["links"]), int(row["threads"])
    down, up, updates = ("h2d" in loads and links), ("d2h" in loads and links), "adamw" in loads
    factors = {(one["on"], one["from"]): at_threads(node, "interference_threads", one["factors"], threads) for one in node["interference"]}
    flows = {}
    for lane, other, runs in (("h2d", "d2h", down), ("d2h", "h2d", up)):
        if runs:
            rate = machine[f"{lane}_duplex" if (up if lane == "h2d" else down) else lane]
            cap = rate * (factors[lane, "cpu"] if updates else 1)
            flows[lane] = (links, cap * node[f"{lane}_weight"], cap, node[f"{lane}_dram"])
    if updates:
        alone = at_threads(node, "update_threads", node["update_gigaparameters_s"], threads)
        cap = alone * (factors["cpu", "h2d"] if down else 1) * (factors["cpu", "d2h"] if up else 1)
        flows["adamw"] = (1, cap, cap, UPDATE_BYTES)
    rates = shared(flows, node["dram_gb_s"])
    return {lane: flows[lane][0] * rate for lane, rate in rates.items()}


def errors(node, machine, rows):
    """Relative errors of all measured totals, predicted over measured less one."""
    found = []
    for row in rows:
        for lane, value in predicted(node, machine, row).items():
            measured = float(row[{"h2d": "h2d_GB_s", "d2h": "d2h_GB_s", "adamw": "adamw_Gparam_s"}[lane]])
            found.append((value / measured - 1, f"{lane} of {row['loads']} on {row['links']} links, {row['threads']} threads"))
    return found


def fitted(node, machine, rows):
    """Numbers near `node` that err least in the mean square of logarithms, by coordinates with ever smaller steps."""
    node = json.loads(json.dumps(node))
    places = [(node, name) for name in SCALARS] + [(one["factors"], i) for one in node["interference"] for i in range(len(one["factors"]))]

    def loss():
        return sum(math.log1p(error) ** 2 for error, _ in errors(node, machine, rows))

    step, best = 0.1, loss()
    while step > 0.001:
        before = best
        for owner, place in places:
            for factor in (1 + step, 1 / (1 + step)):
                kept = owner[place]
                owner[place] = min(1.0, kept * factor) if isinstance(place, int) else kept * factor
                now = loss()
                if now < best:
                    best = now
                else:
                    owner[place] = kept
        if best > before * (1 - 1e-4):
            step /= 2
    return node


def shown(node, machine, rows):
    found = errors(node, machine, rows)
    worst = max(found, key=lambda one: abs(one[0]))
    mean = sum(abs(error) for error, _ in found) / len(found)
    return f"{len(found)} totals: {100 * mean:.1f} % off on average, {100 * worst[0]:+.0f} % at worst ({worst[1]})"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", action="store_true")
    asked = parser.parse_args()
    node = json.loads((CATALOGUE / "parts/nodes.json").read_text())["nodes"][0]
    profile = json.loads((CATALOGUE / "machines/h100-sxm.json").read_text())["facts"]
    machine = {lane: profile[f"{lane}_bytes_per_s"]["value"] / 1e9 for lane in ("h2d", "d2h", "h2d_duplex", "d2h_duplex")}
    rows = list(csv.DictReader((HERE / "node_host.csv").open()))
    print("catalogue", shown(node, machine, rows))
    if asked.fit:
        best = fitted(node, machine, rows)
        print("fitted   ", shown(best, machine, rows))
        print(json.dumps({name: round(best[name], 3) for name in SCALARS}))
        for one in best["interference"]:
            print(json.dumps({**one, "factors": [round(factor, 3) for factor in one["factors"]]}))


if __name__ == "__main__":
    main()

"""Public measurements of NCCL's collectives between hosts beside the model's rates (`machine.hosts`, `machine.nic`).

Names the program: python3 experiments/several_gpus/between_hosts.py build/bin/sluice
"""

import json
import pathlib
import subprocess
import sys
import tempfile

#: Hosts of eight H100 with eight NICs: bus bandwidths in GB/s, which are the bytes that a rank receives in a second. nccl-tests finds 48
#: GB/s at a NIC of 400 Gbit/s; the second report does not state its NICs, which are taken for such. The first one asks why a connection
#: of its hosts carries 13.1 GB/s, where the network carries NICs at their full rate.
POINTS = [
    ("nccl#2409", 2, "gather", 101.0, 8 * 48.0),
    ("nccl#2409", 2, "exchange", 25.0, 8 * 48.0),
    ("nccl#2409, its connections' rate", 2, "gather", 101.0, 8 * 13.1),
    ("nccl#2409, its connections' rate", 2, "exchange", 25.0, 8 * 13.1),
    ("nccl#1218", 32, "gather", 200.0, 8 * 48.0),
]


def rates(program, hosts, nic):
    """Bytes/s of a rank in the longest gather and exchange of a step."""
    ranks = 8 * hosts
    job = ["--model", "qwen2.5-7b", "--seq-len", "1024", "--micro-batch", "1", "--batch-size", str(ranks), "--groups", str(ranks)]
    machine = ["--machine", "8x-h100-sxm", "--devices", str(ranks)]
    machine += ["--set", f"machine.hosts={hosts}", "--set", f"machine.nic={nic} GB/s", "--set", "plan.hosts=1"]
    with tempfile.TemporaryDirectory() as folder:
        plan, graph = pathlib.Path(folder) / "plan.json", pathlib.Path(folder) / "graph.json"
        run = {"check": True, "capture_output": True, "text": True}
        subprocess.run([program, "plan", *job, *machine, "--effort", "0.0001", "-o", plan], **run)
        subprocess.run([program, "predict", *job, *machine, "--plan", plan, "--graph-out", graph], **run)
        tasks = [task for task in json.loads(graph.read_text())["tasks"] if task["lane"] == "fabric" and task["id"].startswith("s2/")]
    longest = {}
    for task in sorted(tasks, key=lambda task: task["amount"]):
        longest[task["id"].split("/")[1]] = task["amount"] / (task["latency"] + task["amount"] / task["cap"])
    return longest


def main():
    print("| report | hosts | NIC, GB/s a host | collective | measured, GB/s | model | |\n|---|---|---|---|---|---|---|")
    for report, hosts, operation, measured, nic in POINTS:
        found = rates(sys.argv[1], hosts, nic)[operation] / 1e9
        print(f"| {report} | {hosts} | {nic:g} | {operation} | {measured:g} | {found:.0f} | {found / measured - 1:+.0%} |")


if __name__ == "__main__":
    main()

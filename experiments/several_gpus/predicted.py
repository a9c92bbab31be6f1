"""Tokens/s that sluice plan finds for several GPUs of one host, as a table for each machine (README.md)."""

import argparse
import json
import os
import subprocess
import tempfile

TABLES = {
    "qwen2.5-7b": {"h100-sxm": (1, 2, 4, 8), "rtx-pro-6000": (1, 2, 4, 8)},
    "qwen2.5-1.5b": {"rtx-4090 + threadripper-9970x": (1, 2, 4)},
}
BATCHES = (32, 64, 128)


def planned(sluice, model, machine, devices, batch, effort, home):
    """The plan of a step as JSON; none where nothing fits (exit code 3)."""
    name = machine if devices == 1 else f"{devices}x-{machine}"
    words = ["plan", "--model", model, "--seq-len", "1024", "--micro-batch", "4", "--batch-size", str(batch), "--machine", name]
    words += ["--devices", str(devices), "--effort", effort, "--json"]
    done = subprocess.run([sluice, *words], capture_output=True, text=True, check=False, env={**os.environ, "SLUICE_HOME": home})
    if done.returncode not in (0, 3):
        raise SystemExit(done.stderr)
    return json.loads(done.stdout) if done.returncode == 0 else None


def shown(step):
    """Tokens/s, with the lane that is busiest where that is not compute."""
    if step is None:
        return "does not fit"
    busiest = max(step["busy"], key=step["busy"].get)
    return f"{step['tokens_per_s']:,.0f}" + ("" if busiest == "compute" else f" {busiest}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sluice", default="build/bin/sluice")
    parser.add_argument("--effort", default="0.1", help="of each search, as sluice plan has it")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:  # Nothing learnt and no stored plan counts.
        for model, machines in TABLES.items():
            for machine, numbers in machines.items():
                print(f"\n| {model} on {machine} | " + " | ".join(f"{batch} K tokens a step" for batch in BATCHES) + " |")
                print("|---" * (len(BATCHES) + 1) + "|")
                for devices in numbers:
                    cells = [shown(planned(asked.sluice, model, machine, devices, batch, asked.effort, home)) for batch in BATCHES]
                    print(f"| {devices} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

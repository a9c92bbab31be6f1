#!/usr/bin/env python3
"""Trains one job with each option and several seeds, and compares the losses at the end.

    run.py RUN.yaml --data ids.npy --out FOLDER [--seeds 1 2 3] [--options base fp8 ...] [--set key=value ...]

FOLDER/OPTION-SEED.csv has a row a step (step, loss); FOLDER/losses.json all that `table` prints. A run whose
file is there already is not made again."""

import argparse
import csv
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

OPTIONS = {
    "base": [],
    "fp8": ["compute=fp8"],
    "fp8-tensorwise": ["compute=fp8-tensorwise"],
    "state-bf16": ["optimizer.state=bf16"],
    "state-int8": ["optimizer.state=int8"],
    "muon": ["optimizer.kind=muon"],
}
LAST = 50  # Steps whose mean loss is a run's training loss at its end.


def train(arguments: argparse.Namespace, option: str, seed: int) -> dict:
    """Losses of one run: one a step, and the last of the validation."""
    folder = arguments.out / f"{option}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    command = [arguments.sluice, "train", arguments.run, f"data={arguments.data}", f"seed={seed}", f"out={folder}",
               "--no-checkpoint", "--no-hashes", *OPTIONS[option], *arguments.more]
    print(" ".join(map(str, command)), flush=True)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{option}, seed {seed}: {done.stderr}")
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    shutil.rmtree(folder)
    return {"train": [row["loss"] for row in rows if "loss" in row],
            "validation": [row["val_loss"] for row in rows if "val_loss" in row][-1]}


def table(runs: dict[str, list[dict]]) -> list[dict]:
    """A row an option: means over seeds at the end, and the difference from `base` with its noise."""
    rows = []
    ends = {option: [statistics.mean(run["train"][-LAST:]) for run in of] for option, of in runs.items()}
    for option, of in runs.items():
        validation = [run["validation"] for run in of]
        base = [run["validation"] for run in runs["base"]]
        both = list(zip(validation, base))
        rows.append({
            "option": option, "seeds": len(of),
            "train": statistics.mean(ends[option]), "validation": statistics.mean(validation),
            # Seeds decide weights and order, so options are compared seed by seed.
            "above_base": statistics.mean(a / b - 1 for a, b in both),
            "of_each_seed": [a / b - 1 for a, b in both],
            "seed_to_seed": statistics.stdev(base) / statistics.mean(base) if len(base) > 1 else None})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--options", nargs="+", default=list(OPTIONS), choices=list(OPTIONS))
    parser.add_argument("--sluice", default="build/bin/sluice")
    parser.add_argument("--set", dest="more", nargs="+", default=[], help="key=value of the run")
    arguments = parser.parse_args()
    arguments.options = list(dict.fromkeys(["base", *arguments.options]))  # All are compared with it.
    arguments.out.mkdir(parents=True, exist_ok=True)
    runs: dict[str, list[dict]] = {option: [] for option in arguments.options}
    for seed in arguments.seeds:
        for option in arguments.options:
            kept = arguments.out / f"{option}-{seed}.json"
            if not kept.exists():
                kept.write_text(json.dumps(train(arguments, option, seed)))
            runs[option].append(json.loads(kept.read_text()))
            with (arguments.out / f"{option}-{seed}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([("step", "loss"), *enumerate(runs[option][-1]["train"], 1)])
    rows = table(runs)
    (arguments.out / "losses.json").write_text(json.dumps(rows, indent=1) + "\n")
    for row in rows:
        noise = "" if row["seed_to_seed"] is None else f", seed to seed {row['seed_to_seed']:.2%}"
        print(f"{row['option']:10}  train {row['train']:.4f}  validation {row['validation']:.4f}  "
              f"above base {row['above_base']:+.2%}{noise}")


if __name__ == "__main__":
    main()

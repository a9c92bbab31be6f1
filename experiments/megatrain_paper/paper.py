#!/usr/bin/env python3
"""The figures of the MegaTrain paper on a GH200 beside what its schedule, simulated, comes to.

    experiments/megatrain_paper/paper.py ../shared/data/throughput/megatrain_paper.csv

Prints, for each row, the paper's TFLOP/s (6 N tokens / step time) and two predictions:

- program: `sluice predict --policy megatrain --machine gh200`, nothing fitted: the public code's third
  forward pass, its eager operators and its passes of the CPU are in the policy;
- staged: the same with copies to the device held to one rate, since the public code packs each layer into
  a pinned buffer before it is copied; the rate is the one number fitted, to the ratio of the row without
  double buffering.

A depth's batch, which the paper's rows do not state, is the largest multiple of 8 up to 160 whose plan fits
the GH200's HBM; that of 32 B is 96. Ratios are to the first row of each table.
"""

import argparse
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

MODELS = {"7B": "qwen2.5-7b", "14B": "qwen2.5-14b", "32B": "qwen2.5-32b"}
ABLATIONS = {
    "full": [],
    "no double buffering": ["plan.weight_buffers=1"],
    "no gradient slab pool": ["plan.gradient_buffers=1"],
    "checkpoint every layer": [],
}


def deep_config(layers):
    return {"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": layers,
            "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "rms_norm_eps": 1e-6,
            "max_position_embeddings": 32768, "tie_word_embeddings": False}  # fmt: skip


def job_of(row, folder):
    """Model, batch and --set words of a row; None for one that this schedule does not have."""
    batch = int(row["batch"] or 96)
    if row["table"] == "throughput":
        return MODELS[row["case"]], batch, []
    if row["table"].startswith("ablation"):
        return "qwen2.5-14b", batch, ABLATIONS[row["case"]]
    if row["table"].startswith("depth"):
        layers = int(row["case"].split()[0])
        path = pathlib.Path(folder) / f"{layers}.json"
        path.write_text(json.dumps(deep_config(layers)))
        return str(path), batch, []
    if row["table"].startswith("context"):
        return "qwen2.5-7b", batch, []
    sys.exit(f"unknown table {row['table']}")


def predict(program, job, sequence, rate=None, policy="megatrain", micro_batch=None):
    model, batch, settings = job
    words = [program, "predict", "--json", "--machine", "gh200", "--policy", policy, "--model", model,
             "--seq-len", sequence, "--batch-size", str(batch), "--micro-batch", str(micro_batch or batch)]  # fmt: skip
    for setting in settings:
        words += ["--set", setting]
    if rate:
        words += ["--set", f"machine.h2d={rate:.3g} GB/s"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(words)}\n{done.stderr}")
    return json.loads(done.stdout)


def fits_device(answer):
    return answer["memory"]["hbm"]["peak_bytes"] <= answer["memory"]["hbm"]["capacity_bytes"]


def deepest_batch(program, job, sequence):
    for batch in range(160, 0, -8):
        if fits_device(predict(program, (job[0], batch, job[2]), sequence)):
            return job[0], batch, job[2]
    sys.exit(f"{job[0]}: no batch fits")


def staging_rate(program, rows, folder):
    """GB/s at which the program loses about what the paper's loses without double buffering: the nearest ratio of all
    rates up to 100 GB/s, in steps of 5 %, at which the full program loses less than a tenth to copies. (With slower
    ones both rows wait for the same copies.)"""
    by_case = {row["case"]: row for row in rows if row["table"].startswith("ablation")}
    full, single = by_case["full"], by_case["no double buffering"]
    wanted = float(single["tflops"]) / float(full["tflops"])

    def step(row, rate=None):
        return predict(program, job_of(row, folder), row["sequence"], rate)["step_s"]

    rates = [rate for rate in (1.05**n for n in range(95)) if step(full, rate) < 1.1 * step(full)]
    return min(rates, key=lambda rate: abs(step(full, rate) / step(single, rate) - wanted))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv")
    parser.add_argument("--program", default=os.environ.get("SLUICE_BIN", "build/bin/sluice"))
    arguments = parser.parse_args()
    if shutil.which(arguments.program) is None:
        sys.exit(f"paper.py: no program {arguments.program}: build it, or name it with --program")
    if not pathlib.Path(arguments.csv).is_file():
        sys.exit(f"paper.py: no file {arguments.csv}")
    with open(arguments.csv, encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    with tempfile.TemporaryDirectory() as folder:
        rate = staging_rate(arguments.program, rows, folder)
        print(f"staging rate fitted to the row without double buffering: {rate:.2f} GB/s to the device\n")
        print("| table | case | batch | paper | program | off | staged | off | paper, ratio | staged, ratio |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        first = {}
        for row in rows:
            job = job_of(row, folder)
            if row["table"].startswith("depth"):
                job = deepest_batch(arguments.program, job, row["sequence"])
            answers = [predict(arguments.program, job, row["sequence"], r) for r in (None, rate)]
            parameters = answers[0]["parameters"]
            steps = [answer["step_s"] for answer in answers]
            tokens = job[1] * int(row["sequence"])
            work = 6e-12 * parameters * tokens
            paper = float(row["tflops"])
            if row["table"].startswith("context"):  # stated with attention's work: compared as step times
                paper = work / float(row["note"].split()[1])
            tflops = [work / step for step in steps]
            unfit = "" if answers[0]["fits"] else " (does not fit)"
            base = first.setdefault(row["table"], (paper, tflops[1]))
            cells = [row["table"], row["case"] + unfit, str(job[1]), f"{paper:.0f}"]
            for value in tflops:
                cells += [f"{value:.0f}", f"{100 * (value / paper - 1):+.0f} %"]
            cells += [f"{value / start:.2f}" for value, start in zip((paper, tflops[1]), base)]
            print("| " + " | ".join(cells) + " |")
        print("\nZeRO-3 offload at 14 B, 143.6 TFLOP/s in the paper; zero-infinity, copies as the catalogue has them:")
        for micro_batch in (1, 2, 4, 8):
            answer = predict(arguments.program, ("qwen2.5-14b", 96, []), "1024", None, "zero-infinity", micro_batch)
            work = 6e-12 * answer["parameters"] * 96 * 1024
            print(f"  micro-batch {micro_batch}: {work / answer['step_s']:.0f} TFLOP/s")


if __name__ == "__main__":
    main()

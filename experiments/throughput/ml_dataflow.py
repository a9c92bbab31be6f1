#!/usr/bin/env python3
"""Predicts the rows of a streaming engine's tables from catalogue entries, and says how far off.

    experiments/throughput/ml_dataflow.py ../shared/data/throughput/ml_dataflow_h100_rtx3090.csv

Each row's plan columns go to `sluice predict --policy ml_dataflow --set policy.COLUMN=...` as they
stand; rows of equal plan are averaged. Nothing is fitted to a step time. The memory rule's one
constant (the workspace) was fitted to `used_dev_mem_gb`; --memory says on how many rows of the half
with odd numbers the rule tells fit from no fit. Prints a table by machine, model and sequence length.
"""

import argparse
import collections
import concurrent.futures
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

MACHINES = {"H100_SXM5_80GB": "h100-sxm", "RTX3090": "rtx-3090"}
SHAPES = {  # hidden, layers, heads, kv_heads, head_dim, intermediate, vocab
    "1": (2048, 16, 32, 8, 64, 8192, 128256),
    "8": (4096, 32, 32, 8, 128, 14336, 128256),
    "15": (4096, 64, 32, 8, 128, 14336, 128256),
    "32": (5120, 64, 40, 8, 128, 27648, 152064),
}
PLAN = ("chunk_size", "num_inp_only_saved", "num_inp_attn_saved", "num_full_saved", "total_home_acts",
        "total_dev_acts", "num_rounds_per_step", "seqs_per_step")
GROUP = ("gpu", "model_size_b", "seq_len", "dev_mem_gb") + PLAN


def config_of(size):
    hidden, layers, heads, kv_heads, head_dim, intermediate, vocab = SHAPES[size]
    return {"model_type": "llama", "hidden_size": hidden, "num_hidden_layers": layers,
            "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": head_dim,
            "intermediate_size": intermediate, "vocab_size": vocab, "tie_word_embeddings": False}


def predict(program, folder, row, plan):
    """The prediction of one row; with `plan` its columns, else only its memory caps."""
    command = [program, "predict", "--json", "--model", f"{folder}/{row['model_size_b']}.json",
               "--machine", MACHINES.get(row["gpu"], row["gpu"]), "--seq-len", row["seq_len"],
               "--batch-size", row["seqs_per_step"] or row["batch"], "--policy", "ml_dataflow"]
    for column in ("dev_mem_gb", "host_mem_gb"):
        command += ["--set", f"policy.{column}={row[column]}"]
    for column in PLAN if plan else ():
        command += ["--set", f"policy.{column}={int(float(row[column]))}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def print_times(groups, predicted):
    errors = collections.defaultdict(list)
    worst = []
    for key, rows in groups.items():
        measured = statistics.mean(float(row["avg_step_time_s"]) for row in rows)
        error = predicted[key]["step_s"] / measured - 1
        gpu, size, length = key[:3]
        for name in ((gpu, size, int(length)), (gpu, "all", 0), ("all", "all", 0)):
            errors[name].append(error)
        worst.append((abs(error), error, key, measured, predicted[key]["step_s"]))
    print(f"{'machine':16}{'model':>6}{'length':>9}{'rows':>6}{'median':>9}{'|median|':>10}{'|p90|':>8}")
    for name in sorted(errors, key=lambda n: (n[0], n[1] == "all", n[1], n[2])):
        sizes = [abs(e) for e in errors[name]]
        print(f"{name[0]:16}{name[1]:>6}{name[2] or 'all':>9}{len(sizes):>6}"
              f"{100 * statistics.median(errors[name]):>8.1f}%{100 * statistics.median(sizes):>9.1f}%"
              f"{100 * quantile(sizes, 0.9):>7.1f}%")
    print("largest errors:")
    for _, error, key, measured, step in sorted(worst, reverse=True)[:10]:
        print(f"  {100 * error:+6.1f}%  measured {measured:.2f} s, predicted {step:.2f} s:",
              " ".join(f"{name}={value}" for name, value in zip(GROUP, key)))


def print_memory(program, folder, rows, pool):
    held_out = rows[1::2]
    for row in held_out:
        chunk = 16384 if row["gpu"].startswith("H100") else 8192
        row["batch"] = str(max(1, chunk // int(row["seq_len"])))
        row["seqs_per_step"] = row["seqs_per_step"] or row["batch"]
    fits = pool.map(lambda row: predict(program, folder, row, False)["fits"], held_out)
    counts = collections.Counter(
        (row["status"] == "ok", fit) for row, fit in zip(held_out, fits))
    right = counts[True, True] + counts[False, False]
    print(f"fit or no fit: right in {right} of {len(held_out)} rows "
          f"({100 * right / len(held_out):.1f} %); said to fit and failed {counts[False, True]}, "
          f"said not to fit and ran {counts[True, False]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--program", default="build/bin/sluice")
    parser.add_argument("--gpu", help="only rows of this gpu")
    parser.add_argument("--every", type=int, default=1, help="only every Nth plan")
    parser.add_argument("--memory", action="store_true", help="also judge fit or no fit")
    parser.add_argument("-o", "--out", type=pathlib.Path, help="write row by row as CSV")
    arguments = parser.parse_args()
    with open(arguments.table, newline="", encoding="utf-8") as file:
        lines = (line for line in file if not line.startswith("#"))
        rows = [row for row in csv.DictReader(lines) if arguments.gpu in (None, row["gpu"])]
    groups = collections.defaultdict(list)
    for row in rows:
        if row["status"] == "ok":
            groups[tuple(row[name] for name in GROUP)].append(row)
    keys = list(groups)[:: arguments.every]
    groups = {key: groups[key] for key in keys}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(
            os.cpu_count()) as pool:
        for size in SHAPES:
            pathlib.Path(folder, f"{size}.json").write_text(json.dumps(config_of(size)))
        steps = pool.map(lambda key: predict(arguments.program, folder, groups[key][0], True), keys)
        predicted = dict(zip(keys, steps))
        print_times(groups, predicted)
        sys.stdout.flush()
        if arguments.memory:
            print_memory(arguments.program, folder, rows, pool)
    if arguments.out:
        with open(arguments.out, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(GROUP + ("rows", "measured_s", "predicted_s", "low_s", "high_s"))
            for key in keys:
                measured = statistics.mean(float(row["avg_step_time_s"]) for row in groups[key])
                step = predicted[key]
                writer.writerow(key + (len(groups[key]), measured, step["step_s"],
                                       step["step_s_low"], step["step_s_high"]))


if __name__ == "__main__":
    main()

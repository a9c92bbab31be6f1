#!/usr/bin/env python3
"""Draws training jobs at random: shapes of models, lengths, budgets and pinned choices that no list of the project has.

    experiments/unseen_jobs/draw.py SEED COUNT OUT [--sluice PROGRAM] [--machine M] [--host SIZE] [--threads N]

Writes OUT/models/NAME/config.json and OUT/runs, lines for prediction_study. A job is kept if it fits the machine (by default h100-sxm with
112 GiB of host memory) and one step is predicted to take 0.15 to 6 s there; else the next one of the same seed is drawn, and counted on stderr.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys

VOCABULARIES = [32000, 50304, 65536, 100352, 128256, 151936, 200064, 256000]
LENGTHS = [512, 1024, 2048, 4096, 8192, 16384]
BUDGETS = ["12GiB", "16GiB", "24GiB", "32GiB", "48GiB", "64GiB", None, None]


def model(rng):
    """A llama-like shape of 0.5 to 9 B parameters."""
    while True:
        head_dim = rng.choice([64, 80, 128])
        heads = rng.choice([8, 10, 12, 14, 16, 20, 24, 28, 30, 32, 36, 40, 48])
        hidden = heads * head_dim
        if not 896 <= hidden <= 5120:
            continue
        groups = [each for each in (1, 2, 3, 4, 5, 6, 7, 8) if heads % each == 0]
        kv_heads = heads // rng.choice(groups)
        intermediate = round(hidden * rng.uniform(2.4, 5.4) / 256) * 256
        vocab, tied = rng.choice(VOCABULARIES), rng.random() < 0.4
        block = hidden * (2 * heads + 2 * kv_heads) * head_dim + 3 * hidden * intermediate
        outer = vocab * hidden * (1 if tied else 2)
        wanted = 10 ** rng.uniform(8.7, 9.954)
        layers = round((wanted - outer) / block)
        total = layers * block + outer
        if 8 <= layers <= 64 and 0.5e9 <= total <= 9e9:
            break
    return total, {
        "model_type": "llama", "hidden_size": hidden, "intermediate_size": intermediate, "num_hidden_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": head_dim, "vocab_size": vocab,
        "hidden_act": "silu", "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": tied,
        "attention_bias": False, "mlp_bias": False, "max_position_embeddings": 16384, "initializer_range": 0.02,
    }


def flags(rng):
    """Length, batch, budget and pinned choices of a job."""
    length = rng.choice(LENGTHS)
    micro = max(1, rng.choice([2048, 4096, 8192, 16384]) // length)
    micros = rng.choice([1, 2, 4, 8, 16])
    words = ["--seq-len", length, "--micro-batch", micro, "--batch-size", micro * micros]
    budget = rng.choice(BUDGETS)
    if budget:
        words += ["--hbm", budget]
    if rng.random() < 0.5:
        words += ["--residency", "host"]
    if rng.random() < 0.3:
        words += ["--set", "job.optimizer.clip=off"]
    if rng.random() < 0.4:
        words += ["--threads", rng.choice([4, 8, 12])]
    pinned = rng.random()
    if pinned < 0.15:
        words += ["--set", "plan.keep=input"]
    elif pinned < 0.3:
        words += ["--set", "plan.keep=selective"]
    elif pinned < 0.4:
        words += ["--set", "plan.executor=cpu"]
    return [str(word) for word in words]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--sluice", default="build/bin/sluice")
    parser.add_argument("--machine", default="h100-sxm")
    parser.add_argument("--host", default="112GiB")
    parser.add_argument("--threads", default="14", help="of the optimizer where the job states none")
    wanted = parser.parse_args()
    rng = random.Random(wanted.seed)
    defaults = ["--backend", "cuda", "--machine", wanted.machine, "--host", wanted.host, "--loss-chunk", "2048"]
    lines, passed_over = [], {"does not fit": 0, "takes too short or too long": 0}
    while len(lines) < wanted.count:
        total, config = model(rng)
        words = flags(rng)
        if "--threads" not in words:
            words += ["--threads", wanted.threads]
        name = f"{len(lines) + 1:02}-{total / 1e9:.1f}b-{config['head_dim']}x{config['num_attention_heads']}-{words[1]}".replace(".", "")
        file = wanted.out / "models" / name / "config.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(config, indent=1) + "\n")
        asked = [wanted.sluice, "predict", "--model", str(file), *defaults, *words, "--json"]
        done = subprocess.run(asked, capture_output=True, text=True)
        reason = None
        if done.returncode == 3:
            reason = "does not fit"
        elif done.returncode != 0:
            sys.exit(f"{' '.join(asked)}: {done.stderr.strip()}")
        elif not 0.15 <= json.loads(done.stdout)["step_s"] <= 6:
            reason = "takes too short or too long"
        if reason:
            passed_over[reason] += 1
            file.unlink()
            file.parent.rmdir()
            continue
        lines.append(f"{name} predict --model {file} {' '.join(words)}")
        print(lines[-1], file=sys.stderr)
    head = [f"# Drawn by experiments/unseen_jobs/draw.py {wanted.seed} {wanted.count}; passed over: "
            + ", ".join(f"{count} {reason}" for reason, count in passed_over.items()), "defaults " + " ".join(defaults)]
    (wanted.out / "runs").write_text("\n".join(head + lines) + "\n")


if __name__ == "__main__":
    main()

"""The loss curve of Sluice on the curve of PyTorch fp32: 200 steps on real text, byte by byte.

Both start from the same fp32 weights, read the same batches and run the same recipe (AdamW,
clipping, warm-up and half a cosine). Other seeds, that is other weights and another order of the
text, run in PyTorch fp32 alone: how far their curves lie apart is the seed-to-seed noise. Exit 1
unless, of curves smoothed over 11 steps, Sluice's mean distance from PyTorch fp32 is within the
mean noise and no step's distance exceeds twice the noise around that step. A run in PyTorch bf16
(autocast over fp32 weights) stands beside them for scale; it decides nothing.

  python3 experiments/transformers/curve.py --tool build/cuda/bin/reference_run --text text.txt \\
      --out curve
  python3 experiments/transformers/curve.py --tool build/bin/reference_run --cpu --tiny

writes OUT.csv (a line a step) and OUT.json (settings and verdict). Without --text the text of
scripts/sample_text is made in build/.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import torch

import models
import sluice_run

WINDOW = 11  # Steps of smoothing.
NOISE_WINDOW = 21  # Steps over which the noise is pooled.
RECIPE = {
    "lr": 1e-3,
    "betas": [0.9, 0.95],
    "eps": 1e-8,
    "weight_decay": 0.1,
    "clip": 1.0,
}
FINAL_FRACTION = 0.1


def model_config(arguments):
    """A llama or qwen2 shape of 38 M parameters, or of half a million."""
    sizes = (
        {"hidden": 128, "intermediate": 256, "layers": 2, "heads": 2, "kv_heads": 1}
        if arguments.tiny
        else {"hidden": 512, "intermediate": 1408, "layers": 12, "heads": 8, "kv_heads": 4}
    )
    return models.config_of(arguments.family, head_dim=64, vocab=256, **sizes)


def batches(arguments, data, seed):
    """int32 (tokens, targets) [steps x batch_size, seq_len]."""
    count = arguments.steps * arguments.batch_size
    return models.text_windows(data, arguments.seq_len, seed, count)


def train_torch(arguments, config, weights, tokens, targets, autocast=False):
    """Loss of every step in PyTorch, weights and optimizer in fp32."""
    reference = models.Reference(config, weights, torch.float32, arguments.device)
    parameters = list(reference.parameters.values())
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for p in parameters if p.dim() >= 2]},
            {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
        ],
        lr=RECIPE["lr"],
        betas=tuple(RECIPE["betas"]),
        eps=RECIPE["eps"],
        weight_decay=RECIPE["weight_decay"],
    )
    device_type = torch.device(arguments.device).type
    tokens = tokens.view(arguments.steps, arguments.batch_size, -1).to(arguments.device)
    targets = targets.view_as(tokens).to(arguments.device)
    losses = []
    for step in range(arguments.steps):
        for group in optimizer.param_groups:
            group["lr"] = models.learning_rate(
                step + 1,
                arguments.steps,
                lr=RECIPE["lr"],
                warmup=arguments.warmup,
                final_fraction=FINAL_FRACTION,
            )
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type, dtype=torch.bfloat16, enabled=autocast):
            loss = reference.loss(tokens[step], targets[step])
        reference.backward(loss)
        torch.nn.utils.clip_grad_norm_(parameters, RECIPE["clip"])
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).double().cpu()


def train_sluice(arguments, config, weights, tokens, targets):
    """Loss of every step in Sluice; refuses a schedule other than PyTorch's."""
    run = {
        "seq_len": arguments.seq_len,
        "batch_size": arguments.batch_size,
        "micro_batch": arguments.micro_batch,
        "loss_chunk": 1024,
        "steps": arguments.steps,
        "optimizer": RECIPE,
        "schedule": {
            "kind": "cosine",
            "warmup_steps": arguments.warmup,
            "final_fraction": FINAL_FRACTION,
        },
        "machine": arguments.machine,
        "backend": "host" if arguments.cpu else "cuda",
    }
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        folder = pathlib.Path(scratch) / "job"
        sluice_run.write_job(folder, config, weights, tokens, targets, run)
        lines = sluice_run.run(arguments.tool, folder)
    for line in lines:
        lr = models.learning_rate(
            line["step"],
            arguments.steps,
            lr=RECIPE["lr"],
            warmup=arguments.warmup,
            final_fraction=FINAL_FRACTION,
        )
        if abs(lr - line["lr"]) > 1e-9 * lr:
            raise ValueError(f"step {line['step']}: lr {line['lr']} is not PyTorch's {lr}")
    return torch.tensor([line["loss"] for line in lines], dtype=torch.float64)


def rolling_mean(values, window):
    """Centred mean over `window` values (odd), fewer at the ends; along the last dimension."""
    length = values.shape[-1]
    half = window // 2
    sums = torch.cat((torch.zeros_like(values[..., :1]), values.cumsum(-1)), dim=-1)
    index = torch.arange(length)
    begin, end = (index - half).clamp(min=0), (index + half + 1).clamp(max=length)
    return (sums[..., end] - sums[..., begin]) / (end - begin)


def judge(sluice, exact, seeds):
    """Distance and noise by step, and the verdict. `seeds` [n, steps] includes `exact`'s curve."""
    distance = (rolling_mean(sluice, WINDOW) - rolling_mean(exact, WINDOW)).abs()
    variance = rolling_mean(seeds, WINDOW).var(dim=0, unbiased=True)
    noise = rolling_mean(variance, NOISE_WINDOW).sqrt()
    ratio = distance / noise
    verdict = {
        "mean_distance": float(distance.mean()),
        "mean_noise": float(noise.mean()),
        "largest_distance_over_noise": float(ratio.max()),
        "largest_at_step": int(ratio.argmax()) + 1,
    }
    verdict["passed"] = bool(distance.mean() <= noise.mean() and ratio.max() <= 2)
    return distance, noise, verdict


def read_text(arguments):
    path = pathlib.Path(arguments.text or sluice_run.ROOT / "build" / "sample_text.txt")
    if not path.exists() and not arguments.text:
        script = sluice_run.ROOT / "scripts" / "sample_text"
        if subprocess.run([str(script), str(path)], check=False).returncode != 0:
            raise sluice_run.RunError("--text: this system has too little text: give a file")
    try:
        return path.read_bytes()
    except OSError as error:
        raise sluice_run.RunError(f"--text: {path}: {error.strerror}") from error


def write_results(arguments, columns, summary):
    path = pathlib.Path(arguments.out)
    with open(path.with_suffix(".csv"), "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("step", *columns))
        for step in range(arguments.steps):
            values = (f"{float(column[step]):.6f}" for column in columns.values())
            writer.writerow((step + 1, *values))
    path.with_suffix(".json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tool", default="build/bin/reference_run", help="the C++ program")
    parser.add_argument("--text", help="text file")
    parser.add_argument("--out", help="results, without suffix")
    parser.add_argument("--family", choices=("llama", "qwen2"), default="llama")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=4, help="PyTorch fp32 runs, all of them")
    parser.add_argument("--seq-len", type=int, default=None)
    parser.add_argument("--batch-size", type=int, default=None)
    parser.add_argument("--micro-batch", type=int, default=4)
    parser.add_argument("--machine", help="as the catalogue names it")
    parser.add_argument("--scratch", help="folder for weights and tokens")
    parser.add_argument("--cpu", action="store_true", help="the host backend and PyTorch's CPU")
    parser.add_argument("--tiny", action="store_true", help="half a million parameters")
    arguments = parser.parse_args()
    arguments.device = "cpu" if arguments.cpu else "cuda"
    arguments.seq_len = arguments.seq_len or (64 if arguments.tiny else 512)
    arguments.batch_size = arguments.batch_size or (8 if arguments.tiny else 16)
    if arguments.seeds < 3:
        parser.error("--seeds: noise needs at least 3")
    return arguments


def main():
    arguments = parse_arguments()
    if not arguments.cpu and not torch.cuda.is_available():
        raise sluice_run.RunError("PyTorch sees no GPU: give --cpu --tiny to check the script")
    arguments.machine = arguments.machine or sluice_run.machine_of(arguments.device)
    models.set_exact_fp32()
    data = read_text(arguments)
    config = model_config(arguments)
    print(models.describe(arguments.device), flush=True)
    columns, took = {}, {}

    def timed(name, train, seed, **options):
        weights = models.draw_weights(config, seed)
        tokens, targets = batches(arguments, data, seed)
        began = time.monotonic()
        columns[name] = train(arguments, config, weights, tokens, targets, **options)
        took[name] = time.monotonic() - began
        last = float(columns[name][-10:].mean())
        print(f"{name}: loss {float(columns[name][0]):.4f} to {last:.4f}, {took[name]:.1f} s",
              flush=True)

    timed("sluice", train_sluice, 0)
    for seed in range(arguments.seeds):
        timed(f"torch_fp32_seed{seed}", train_torch, seed)
    timed("torch_bf16_seed0", train_torch, 0, autocast=True)

    exact = columns["torch_fp32_seed0"]
    seeds = torch.stack([columns[f"torch_fp32_seed{seed}"] for seed in range(arguments.seeds)])
    distance, noise, verdict = judge(columns["sluice"], exact, seeds)
    _, _, beside = judge(columns["torch_bf16_seed0"], exact, seeds)
    columns.update(distance=distance, noise=noise)
    summary = {
        "source": models.describe(arguments.device),
        "config": config,
        "recipe": RECIPE,
        "steps": arguments.steps,
        "seq_len": arguments.seq_len,
        "batch_size": arguments.batch_size,
        "text_bytes": len(data),
        "seconds": took,
        "sluice": verdict,
        "torch_bf16": beside,
        "largest_step_difference": float((columns["sluice"] - exact).abs().max()),
    }
    if arguments.out:
        write_results(arguments, columns, summary)
    for name, one in (("Sluice", verdict), ("torch bf16", beside)):
        print(f"{name}: mean distance from torch fp32 {one['mean_distance']:.5f}, mean noise "
              f"{one['mean_noise']:.5f}; largest distance / noise "
              f"{one['largest_distance_over_noise']:.2f} at step {one['largest_at_step']}")
    print("passed" if verdict["passed"] else "FAILED")
    return 0 if verdict["passed"] else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (sluice_run.RunError, ImportError, ValueError) as problem:
        print(f"curve: error: {problem}", file=sys.stderr)
        sys.exit(4)

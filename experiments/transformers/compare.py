"""Loss and every gradient of one step: Sluice beside PyTorch bf16, both against PyTorch fp32.

All three start from the same bf16-exact weights and read the same tokens. PyTorch takes the whole
batch at once, so that its bf16 gradients are not rounded between micro-batches; Sluice takes it in
micro-batches. The error of a tensor is |g - g_fp32| / |g_fp32| (2-norms), its root mean square over
the seeds. Exit 1 if any tensor's error is larger than PyTorch bf16's by more than the slack, or the
root mean square of all n loss errors by more than 2 / sqrt(n), two standard errors of that ratio.

  python3 experiments/transformers/compare.py --tool build/cuda/bin/reference_run --out compare.csv
  python3 experiments/transformers/compare.py --tool build/bin/reference_run --cpu --tiny
"""

import argparse
import csv
import math
import pathlib
import sys
import tempfile

import torch

import models
import sluice_run

LARGE = {"hidden": 1024, "intermediate": 2816, "layers": 4, "vocab": 32000}
TINY = {"hidden": 256, "intermediate": 512, "layers": 2, "vocab": 1024}


def cases(tiny):
    """name -> config.json, over families, head sizes 64 and 128, tied and untied heads."""
    sizes = TINY if tiny else LARGE
    heads = {64: sizes["hidden"] // 64, 128: sizes["hidden"] // 128}

    def case(family, head_dim, tied, count=None):
        count = count or heads[head_dim]
        kv_heads = max(1, count // 4)
        return models.config_of(
            family, heads=count, kv_heads=kv_heads, head_dim=head_dim, tied=tied, **sizes
        )

    return {
        "llama-64": case("llama", 64, False),
        "llama-128-tied": case("llama", 128, True),
        "qwen2-64-tied": case("qwen2", 64, True),
        "qwen2-128": case("qwen2", 128, False),
        # Qwen3's heads are wider than the stream.
        "qwen3-128-tied": case("qwen3", 128, True, 2 * heads[128]),
        "qwen3-64": case("qwen3", 64, False),
    }


def torch_step(config, weights, tokens, targets, dtype, device):
    """(loss, gradients by name in that dtype) of PyTorch."""
    reference = models.Reference(config, weights, dtype, device)
    loss = reference.loss(tokens, targets)
    reference.backward(loss)
    return float(loss.detach()), {n: p.grad.detach() for n, p in reference.parameters.items()}


def sluice_step(arguments, config, weights, tokens, targets, scratch):
    """(loss, gradients by name on the CPU) of Sluice."""
    run = {
        "seq_len": tokens.shape[1],
        "batch_size": tokens.shape[0],
        "micro_batch": arguments.micro_batch,
        "loss_chunk": arguments.loss_chunk,
        "steps": 1,
        "machine": arguments.machine,
        "backend": "host" if arguments.cpu else "cuda",
    }
    sluice_run.write_job(scratch, config, weights, tokens, targets, run)
    losses = sluice_run.run(arguments.tool, scratch, gradients=True)
    gradients = {n: sluice_run.gradient(scratch, n, w.shape) for n, w in weights.items()}
    return losses[0]["loss"], gradients


def relative_error(value, exact):
    """|value - exact| / |exact| in double."""
    exact = exact.double()
    return float((value.to(exact.device).double() - exact).norm() / exact.norm())


def compare_case(arguments, config, seed):
    """({tensor: (Sluice's error, bf16's)}, (fp32, bf16, Sluice's) loss) of one seed."""
    weights = models.draw_weights(
        config, seed, std=arguments.std, norm_std=0.1, bias_std=0.1, bf16_exact=True
    )
    tokens, targets = models.zipf_tokens(
        config["vocab_size"], arguments.batch_size, arguments.seq_len, seed + 1000
    )
    device = arguments.device
    exact_loss, exact = torch_step(config, weights, tokens, targets, torch.float32, device)
    bf16_loss, bf16 = torch_step(config, weights, tokens, targets, torch.bfloat16, device)
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        loss, gradients = sluice_step(
            arguments, config, weights, tokens, targets, pathlib.Path(scratch) / "job"
        )
    errors = {
        name: (relative_error(gradients[name], value), relative_error(bf16[name], value))
        for name, value in exact.items()
    }
    return errors, (exact_loss, bf16_loss, loss)


def root_mean_square(values):
    values = list(values)
    return math.sqrt(sum(value * value for value in values) / len(values))


def run_case(arguments, name, config):
    """Rows (case, tensor, Sluice's error, bf16's, ratio) and the losses of every seed; prints a
    summary."""
    errors, losses = [], []
    for seed in range(arguments.seeds):
        one, loss = compare_case(arguments, config, seed)
        errors.append(one)
        losses.append(loss)
        print(f"{name} seed {seed}: loss fp32 {loss[0]:.7f}, torch bf16 {loss[1] - loss[0]:+.2e},"
              f" Sluice {loss[2] - loss[0]:+.2e}", flush=True)
    rows = []
    for tensor in errors[0]:
        ours = root_mean_square(one[tensor][0] for one in errors)
        bf16 = root_mean_square(one[tensor][1] for one in errors)
        rows.append((name, tensor, ours, bf16, ours / bf16 if bf16 > 0 else math.inf))
    rows.sort(key=lambda row: -row[4])
    middle = rows[len(rows) // 2][4]
    larger = sum(row[4] > 1 for row in rows)
    print(f"  {len(rows)} tensors: median ratio {middle:.3f}, {larger} above 1; largest:")
    for _, tensor, ours, bf16, ratio in rows[:3]:
        print(f"    {ratio:6.3f}  Sluice {ours:.3e}  torch bf16 {bf16:.3e}  {tensor}", flush=True)
    return rows, losses


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tool", default="build/bin/reference_run", help="the C++ program")
    parser.add_argument("--out", help="CSV of every tensor")
    parser.add_argument("--case", action="append", help="only this one (may be given again)")
    parser.add_argument("--seeds", type=int, default=3, help="root mean squares are over them")
    parser.add_argument("--slack", type=float, default=0.05, help="statistical, of the ratio")
    parser.add_argument("--std", type=float, default=0.02, help="of the matrices")
    parser.add_argument("--seq-len", type=int)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--micro-batch", type=int, default=2)
    parser.add_argument("--loss-chunk", type=int, default=1024)
    parser.add_argument("--machine", help="as the catalogue names it")
    parser.add_argument("--scratch", help="folder for weights and gradients")
    parser.add_argument("--cpu", action="store_true", help="the host backend and PyTorch's CPU")
    parser.add_argument("--tiny", action="store_true", help="models of two million parameters")
    arguments = parser.parse_args()
    for name in arguments.case or []:
        if name not in cases(arguments.tiny):
            parser.error(f"--case: {name} is none of {', '.join(cases(arguments.tiny))}")
    arguments.device = "cpu" if arguments.cpu else "cuda"
    arguments.seq_len = arguments.seq_len or (128 if arguments.tiny else 1024)
    return arguments


def main():
    arguments = parse_arguments()
    chosen = cases(arguments.tiny)
    if not arguments.cpu and not torch.cuda.is_available():
        raise sluice_run.RunError("PyTorch sees no GPU: give --cpu --tiny to check the script")
    arguments.machine = arguments.machine or sluice_run.machine_of(arguments.device)
    models.set_exact_fp32()
    print(models.describe(arguments.device), flush=True)
    rows, losses = [], []
    for name, config in chosen.items():
        if arguments.case and name not in arguments.case:
            continue
        case_rows, case_losses = run_case(arguments, name, config)
        rows += case_rows
        losses += case_losses
    if arguments.out:
        with open(arguments.out, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("case", "tensor", "sluice_error", "torch_bf16_error", "ratio"))
            writer.writerows(rows)
    bf16_loss = root_mean_square(loss[1] - loss[0] for loss in losses)
    our_loss = root_mean_square(loss[2] - loss[0] for loss in losses)
    limit = 1 + arguments.slack
    loss_limit = 1 + 2 / math.sqrt(len(losses))
    beyond = [row for row in rows if not row[4] <= limit]
    above = sum(row[4] > 1 for row in rows)
    print(f"loss error, root mean square of {len(losses)}: Sluice {our_loss:.2e}, torch bf16 "
          f"{bf16_loss:.2e}; ratio allowed {loss_limit:.2f}")
    print(f"{len(rows)} tensors; {above} with an error above torch bf16's, worst ratio "
          f"{max(row[4] for row in rows):.3f}; {len(beyond)} beyond the slack of "
          f"{100 * arguments.slack:.0f} %")
    failed = bool(beyond) or not our_loss <= loss_limit * bf16_loss
    print("FAILED" if failed else "passed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (sluice_run.RunError, ImportError, ValueError) as problem:
        print(f"compare: error: {problem}", file=sys.stderr)
        sys.exit(4)

#!/usr/bin/env python3
"""One long sequence through `eval` and `train` beside transformers', which reads it in pieces.

    long.py --sluice BIN/sluice --text FILE --out FOLDER [--seq-len 131072] [--family llama] [--backend cuda] [--pieces-only]

A tiny model (4 layers of 256) learns the text by PyTorch in short windows, its weights are rounded to bf16, and then one sequence of `--seq-len` tokens
is asked about: its loss, by PyTorch in fp32 in pieces of 2048 queries against the kept keys and values of all before them; its loss and
gradient norm, by PyTorch in fp32 as a whole (memory-efficient attention); the same in bf16; and Sluice's, whose attention and MLP run backward in
blocks at such lengths. Exit status 1 where a loss of Sluice is off by more than bf16's (at least 1e-4 of itself), or the norm by more
than bf16's whole gradient is (at least 1e-3), or the pieces do not agree with the whole (1e-5). `--pieces-only` leaves out the whole, which
takes many minutes at half a million tokens: the loss alone is compared then, and bf16 is read in pieces, too.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import whole
from whole import side

torch = side.torch
try:
    # Heads that share keys have no memory-efficient kernel of PyTorch's in fp32; repeated, they have.
    from transformers.integrations import sdpa_attention

    sdpa_attention.use_gqa_in_sdpa = lambda *_, **__: False
except ImportError:
    pass  # An older transformers repeats them anyway.
PIECE = 2048


def load(like, folder, dtype):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    fused = hasattr(torch.nn.functional, "scaled_dot_product_attention")
    return type(like).from_pretrained(folder, attn_implementation="sdpa" if fused else "eager").to(device, dtype).eval()


@torch.no_grad()
def loss_in_pieces(model, tokens):
    """Mean loss of every token after the first."""
    ids = torch.tensor([tokens], device=model.device)
    cache, total = None, 0.0
    for start in range(0, len(tokens) - 1, PIECE):
        end = min(start + PIECE, len(tokens) - 1)
        out = model(ids[:, start:end], past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        total += float(torch.nn.functional.cross_entropy(out.logits[0].float(), ids[0, start + 1 : end + 1], reduction="sum"))
    return total / (len(tokens) - 1)


def step_as_a_whole(model, tokens):
    """Loss and gradient."""
    ids = torch.tensor([tokens], device=model.device)
    model.zero_grad()
    logits = model(ids[:, :-1], use_cache=False).logits[0].float()
    loss = torch.nn.functional.cross_entropy(logits, ids[0, 1:])
    loss.backward()
    return float(loss), torch.cat([each.grad.double().flatten() for each in model.parameters()])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sluice", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--seq-len", type=int, default=131072)
    parser.add_argument("--family", default="llama", choices=list(whole.FAMILIES))
    parser.add_argument("--machine", default="h200")
    parser.add_argument("--host", default="100GiB")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--pieces-only", action="store_true", help="compare the loss alone, with pieces")
    arguments = parser.parse_args()
    folder, run = arguments.out / arguments.family, arguments.out / "run"
    folder.mkdir(parents=True, exist_ok=True)
    side.SIZES["max_position_embeddings"] = arguments.seq_len

    text = arguments.text.read_text()
    tokenizer = side.train_tokenizer(text[: whole.CHARACTERS], folder / "tokenizer.json")
    # As few characters as have two sequences' tokens: one is trained on, one kept for the loss.
    characters = 2 * arguments.seq_len
    while len(tokenizer.encode(text[:characters]).ids) < 2 * arguments.seq_len + 1:
        characters += characters // 8
        if characters > len(text):
            sys.exit(f"long.py: {arguments.text} is too short for two sequences of {arguments.seq_len} tokens")
    (arguments.out / "text.txt").write_text(text[:characters])
    tokens = tokenizer.encode(text[:characters]).ids
    model, learned = whole.make_model(arguments.family, 0, tokens)
    print(f"trained {whole.STEPS} steps by PyTorch, loss {learned:.4f}; {len(tokens)} tokens", flush=True)
    model.save_pretrained(folder, safe_serialization=True)

    sizes = ["--data", arguments.out / "text.txt", "--seq-len", arguments.seq_len, "--batch-size", 1, "--micro-batch", 1]
    flags = ["--machine", arguments.machine, "--host", arguments.host, "--backend", arguments.backend, "--json"]
    words = [arguments.sluice, "train", "--model", folder, *sizes, *flags, "steps=1", "optimizer.clip=off", "optimizer.lr=0", f"out={run}"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr[-2000:]}")
    step = json.loads((run / "metrics.jsonl").read_text().splitlines()[0])

    first = tokens[: arguments.seq_len + 1]
    pieces = loss_in_pieces(load(model, folder, torch.float32), first)
    errors, limits, whole_numbers = {"loss": abs(step["loss"] / pieces - 1)}, {}, {}
    if arguments.pieces_only:
        loss16 = loss_in_pieces(load(model, folder, torch.bfloat16), first)
        limits["loss"] = max(1e-4, abs(loss16 / pieces - 1))
    else:
        loss, gradient = step_as_a_whole(load(model, folder, torch.float32), first)
        loss16, gradient16 = step_as_a_whole(load(model, folder, torch.bfloat16), first)
        norm, apart = float(gradient.norm()), float((gradient16 - gradient).norm() / gradient.norm())
        errors |= {"grad_norm": abs(step["grad_norm"] / norm - 1), "pieces": abs(pieces / loss - 1)}
        limits = {"loss": max(1e-4, abs(loss16 / loss - 1)), "grad_norm": max(1e-3, apart), "pieces": 1e-5}
        whole_numbers = {"loss": loss, "norm": norm}
    print(f"loss      {step['loss']:.6f} of {pieces:.6f} in pieces: {errors['loss']:.1e} (bf16 {abs(loss16 / whole_numbers.get('loss', pieces) - 1):.1e})")
    if whole_numbers:
        print(f"pieces    {pieces:.6f} of {loss:.6f} as a whole: {errors['pieces']:.1e}")
        print(f"grad_norm {step['grad_norm']:.6f} of {norm:.6f}: {errors['grad_norm']:.1e}"
              f" (bf16 {abs(float(gradient16.norm()) / norm - 1):.1e}, its whole gradient {apart:.1e})")  # fmt: skip
    failed = [name for name, error in errors.items() if not error <= limits[name]]
    (arguments.out / "long.json").write_text(json.dumps(
        {"torch": torch.__version__, "transformers": side.transformers.__version__, "seq_len": arguments.seq_len, "step": step,
         "pieces": pieces, **whole_numbers, "bf16_loss": loss16, "errors": errors, "failed": failed}, indent=1))  # fmt: skip
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Models that transformers makes, through the whole program on the cuda backend: evaluated, continued, trained a step, exported.

    whole.py --sluice BIN/sluice --text FILE --out FOLDER [--machine h200] [--host 100GiB] [--families llama mixtral]

For llama, qwen2, qwen3, qwen3_moe and mixtral shapes, each first trained by PyTorch on the text until it knows it (so that greedy tokens are decided by
more than rounding) and then rounded to bf16, it prints Sluice's numbers (bf16, fp32 accumulation) beside
transformers' in fp32, and how far transformers' own bf16 is from them: loss of a text, loss and gradient norm of one step, greedy
tokens (where a token differs, how much likelier fp32 holds its own choice), and the logits of the export, which must be equal.
Exit status 1 where a loss is off by more than transformers' bf16 (at least 1e-4 of itself), a norm by more than bf16's whole gradient is
(|g - fp32| / |fp32|: the norms of gradients so far apart differ by up to that, and by chance by much less; at least 1e-3), a greedy token is another, or
an export differs.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")  # Else transformers_side hides GPUs.
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "reference"))
import transformers_side as side  # noqa: E402

torch, transformers = side.torch, side.transformers
side.SIZES.update(hidden_size=256, intermediate_size=704, num_hidden_layers=4, vocab_size=512, max_position_embeddings=512)
FAMILIES = {
    "llama": ("Llama", {"tie_word_embeddings": False}),
    "qwen2": ("Qwen2", {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3", {"tie_word_embeddings": False, "head_dim": 64}),
    "qwen3_moe": ("Qwen3Moe", {
        "tie_word_embeddings": False, "head_dim": 64, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 128,
        "norm_topk_prob": True}),
    "mixtral": ("Mixtral", {
        "tie_word_embeddings": False, "intermediate_size": 256, "num_local_experts": 8, "num_experts_per_tok": 2}),
}
LEAST = {"text_loss": 1e-4, "step_loss": 1e-4, "grad_norm": 1e-3}  # Relative errors that are right whatever bf16's are.
SEQ_LEN, NEW_TOKENS, CHARACTERS, STEPS = 64, 64, 6000, 600


def make_model(family, seed, tokens):
    """A model of `family` that has learned `tokens` by heart, its weights exact in bf16; its last training loss."""
    prefix, own = FAMILIES[family]
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = getattr(transformers, prefix + "ForCausalLM")(getattr(transformers, prefix + "Config")(**{**side.SIZES, **own})).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.0)
    text = torch.tensor(tokens, device=device)
    for _ in range(STEPS):
        starts = torch.randint(0, len(text) - SEQ_LEN - 1, (16,))
        windows = torch.stack([text[start : start + SEQ_LEN + 1] for start in starts])
        logits = model(windows[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    with torch.no_grad():
        for each in model.parameters():
            each.copy_(each.bfloat16().float())
    return model.cpu().eval(), loss.item()


def load(like, folder, dtype):
    return type(like).from_pretrained(folder, dtype=dtype, attn_implementation="eager").eval()


def step_of(model, tokens):
    """Loss and gradient of one step over all training windows, and their number."""
    windows = (len(tokens) - 1) // SEQ_LEN
    training = windows - max(1, windows // 20)
    model.zero_grad()
    loss = side.mean_loss(model, tokens, 0, training * SEQ_LEN, SEQ_LEN)
    loss.backward()
    return loss.item(), torch.cat([each.grad.double().flatten() for each in model.parameters()]), training


@torch.no_grad()
def numbers_of(model, tokens):
    return float(side.mean_loss(model, tokens, 0, len(tokens) - 1, SEQ_LEN))


@torch.no_grad()
def likelier(model, prompt, chosen):
    """At the first token of `chosen` that is not the model's own: its place, and how much larger the model's logit is."""
    logits = model(torch.tensor([prompt + chosen])).logits[0].float()
    for i, token in enumerate(chosen):
        row = logits[len(prompt) + i - 1]
        if int(row.argmax()) != token:
            return i, float(row.max() - row[token])
    return None


def error(row, of):
    return abs(row[of] / row["fp32"] - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sluice", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--machine", default="h200")
    parser.add_argument("--host", default="100GiB")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    flags = ["--machine", arguments.machine, "--host", arguments.host, "--backend", arguments.backend]

    def sluice(*words):
        done = subprocess.run([arguments.sluice, *map(str, words), *flags], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"sluice {' '.join(map(str, words))}: {done.stderr[-2000:]}")
        return json.loads(done.stdout)

    text = arguments.text.read_text()[:CHARACTERS]
    start = text.find("\n", CHARACTERS // 3) + 1
    opening = text[start : text.find("\n", start + 40)]
    (arguments.out / "text.txt").write_text(text)
    rows, failed = {}, []
    for seed, family in enumerate(FAMILIES):
        if family not in arguments.families:
            continue
        folder, run = arguments.out / family, arguments.out / f"{family}-run"
        folder.mkdir(exist_ok=True)
        tokenizer = side.train_tokenizer(text, folder / "tokenizer.json")
        tokens, prompt = tokenizer.encode(text).ids, tokenizer.encode(opening).ids
        model, learned = make_model(family, seed, tokens)
        print(f"{family:9} trained    {STEPS} steps by PyTorch, loss {learned:.4f}; prompt {opening!r}", flush=True)
        model.save_pretrained(folder, safe_serialization=True)
        fp32, (loss, gradient, training) = numbers_of(model, tokens), step_of(model, tokens)
        half = load(model, folder, torch.bfloat16)
        bf16, (loss16, gradient16, _) = numbers_of(half, tokens), step_of(half, tokens)

        sizes = ["--data", arguments.out / "text.txt", "--seq-len", SEQ_LEN]
        ours = sluice("eval", folder, *sizes, "--loss-chunk", "64", "--batch-size", "4", "--micro-batch", "4", "--json")["loss"]
        sluice("train", "--model", folder, *sizes, "--batch-size", training, "--micro-batch", "1", "steps=1", "optimizer.clip=off",
               "optimizer.lr=0", f"out={run}", "--json")
        step = json.loads((run / "metrics.jsonl").read_text().splitlines()[0])
        made = sluice("generate", folder, "--prompt", opening, "--max-new-tokens", NEW_TOKENS, "--ignore-eos", "--json")
        done = subprocess.run([arguments.sluice, "export", run, "-o", arguments.out / f"{family}-out", "--dtype", "fp32"])
        again = load(model, arguments.out / f"{family}-out", torch.float32)
        rows[family] = {
            "text_loss": {"sluice": ours, "fp32": fp32, "bf16": bf16},
            "step_loss": {"sluice": step["loss"], "fp32": loss, "bf16": loss16},
            "grad_norm": {"sluice": step["grad_norm"], "fp32": float(gradient.norm()), "bf16": float(gradient16.norm()),
                          "bf16_gradient": float((gradient16 - gradient).norm() / gradient.norm())},
            "greedy": {"tokens": len(made["ids"]), "first_other": likelier(model, prompt, made["ids"]),
                       "tokens_per_s": made["tokens_per_s"]},
            "export_equal": done.returncode == 0 and side.logits_of(again) == side.logits_of(model),
        }  # fmt: skip
        for name in LEAST:
            row = rows[family][name]
            whole = f", its whole gradient {row['bf16_gradient']:.1e}" if "bf16_gradient" in row else ""
            said = f"{row['sluice']:.6f} of fp32 {row['fp32']:.6f}: {error(row, 'sluice'):.1e} (bf16 {error(row, 'bf16'):.1e}{whole})"
            print(f"{family:9} {name:10} {said}")
            if error(row, "sluice") > max(LEAST[name], row.get("bf16_gradient", error(row, "bf16"))):
                failed.append(f"{family} {name}")
        other = rows[family]["greedy"]["first_other"]
        said = "all equal" if other is None else f"the first other at {other[0]}, {other[1]:.4f} less likely in fp32"
        print(f"{family:9} greedy     {len(made['ids'])} tokens: {said}; export equal: {rows[family]['export_equal']}")
        if not rows[family]["export_equal"] or other is not None:
            failed.append(f"{family} greedy or export")
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    (arguments.out / "whole.json").write_text(json.dumps({**versions, "families": rows, "failed": failed}, indent=1))
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()

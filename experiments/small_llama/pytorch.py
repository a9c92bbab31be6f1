#!/usr/bin/env python3
"""Trains the model of config.json by the recipe of run.yaml with PyTorch and transformers, and evaluates.

    pytorch.py TEXT --out losses.json [--seed 1] [--evaluate MODEL_FOLDER ...]

Windows of 256 bytes; the last twentieth of them is validation, the others are shuffled every epoch: Sluice's split. Weights are
fp32, products bf16 (autocast). `--evaluate` gives the validation loss of other checkpoints too, computed by the same code, so that
both trainers are judged by one judge.
"""

import argparse
import json
import math
import pathlib
import time

import torch
from transformers import AutoConfig, AutoModelForCausalLM

LENGTH, BATCH, STEPS, WARMUP = 256, 64, 400, 50
PEAK, LAST = 1e-3, 0.1


def windows_of(text):
    tokens = torch.frombuffer(bytearray(text), dtype=torch.uint8).long()
    count = (len(tokens) - 1) // LENGTH
    inputs = tokens[: count * LENGTH].view(count, LENGTH)
    targets = tokens[1 : count * LENGTH + 1].view(count, LENGTH)
    training = count - max(1, count // 20)
    return (inputs[:training], targets[:training]), (inputs[training:], targets[training:])


def loss_of(model, inputs, targets):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = model(inputs).logits
    return torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


@torch.no_grad()
def validation_loss(model, data):
    model.eval()
    total = 0.0
    for at in range(0, len(data[0]), BATCH):
        inputs, targets = data[0][at : at + BATCH], data[1][at : at + BATCH]
        total += loss_of(model, inputs, targets).item() * len(inputs)
    model.train()
    return total / len(data[0])


def learning_rate(step):
    """Of steps 1 to STEPS: linear up over WARMUP, then half a cosine down."""
    if step <= WARMUP:
        return PEAK * step / WARMUP
    done = (step - WARMUP) / (STEPS - WARMUP)
    return PEAK * (LAST + (1 - LAST) * (1 + math.cos(math.pi * done)) / 2)


def optimizer_of(model):
    """No decay of norms, as transformers groups parameters."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=PEAK, betas=(0.9, 0.95), eps=1e-8)


def train(seed, training, validation):
    torch.manual_seed(seed)
    config = AutoConfig.from_pretrained(pathlib.Path(__file__).parent)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").cuda().float()
    optimizer = optimizer_of(model)
    losses, validations, order, taken = [], {0: validation_loss(model, validation)}, None, 0
    began = time.time()
    for step in range(1, STEPS + 1):
        picked = []
        while len(picked) < BATCH:
            if order is None or taken == len(order):
                order, taken = torch.randperm(len(training[0])).tolist(), 0
            picked.append(order[taken])
            taken += 1
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        loss = loss_of(model, training[0][picked], training[1][picked])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        if step % 100 == 0:
            validations[step] = validation_loss(model, validation)
    return {"seed": seed, "seconds": time.time() - began, "train": losses, "validation": validations}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--evaluate", type=pathlib.Path, nargs="*", default=[])
    arguments = parser.parse_args()
    training, validation = [
        tuple(part.cuda() for part in pair) for pair in windows_of(arguments.text.read_bytes())
    ]
    result = {"torch": torch.__version__, "runs": [], "evaluated": {}}
    for folder in arguments.evaluate:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).cuda()
        result["evaluated"][str(folder)] = validation_loss(model, validation)
        print(f"{folder}: validation loss {result['evaluated'][str(folder)]:.4f}")
    for seed in arguments.seed or [1]:
        run = train(seed, training, validation)
        result["runs"].append(run)
        print(f"PyTorch, seed {seed}: validation losses {run['validation']} in {run['seconds']:.0f} s")
    arguments.out.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Nanoseconds a parameter that PyTorch's serial passes of the CPU take: experiments/peers/host_passes.py

vector_norm of bf16 gradients, as torch.nn.utils.clip_grad_norm_ calls it, and giving pages of bf16 gradients back to the
system, each on one thread. Beside them stands what AdamW takes there for its 28 bytes (`sluice probe --backend host`):
their ratio makes the bytes a parameter of policy megatrain's passes (planner/policies/texts.cpp).
"""

import time

import torch

PARAMETERS = 1 << 25
REPETITIONS = 25


def fastest(work):
    """Seconds of the fastest call of `work`: other programs on the machine only add to them."""
    work()
    best = float("inf")
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def fastest_release():
    best = float("inf")
    for _ in range(REPETITIONS):
        gradients = torch.empty(PARAMETERS, dtype=torch.bfloat16)
        gradients.zero_()  # Every page is there.
        start = time.perf_counter()
        del gradients
        best = min(best, time.perf_counter() - start)
    return best


def main():
    torch.set_num_threads(1)
    gradients = torch.randn(PARAMETERS).to(torch.bfloat16)
    norm = fastest(lambda: torch.linalg.vector_norm(gradients, 2.0))
    print(f"torch {torch.__version__}: norm {1e9 * norm / PARAMETERS:.3f}, "
          f"release {1e9 * fastest_release() / PARAMETERS:.3f} ns a parameter")  # fmt: skip


if __name__ == "__main__":
    main()

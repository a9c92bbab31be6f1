#!/usr/bin/env python3
"""Rates of NCCL's collectives between two "hosts", a process a GPU, under the environment that a run has and with as many
blocks as a run allows: GB/s that each rank receives in a gather among all, and in an exchange with the rank that has its
place on the other host.

    for r in 0 1 2 3; do SIZE=4 RANK=$r NCCL_HOSTID=h$((r / 2)) ... python3 socket_rate.py & done

SIZE is the number of ranks, half of them on each host. Rank r computes on GPU r. Needs PyTorch with CUDA."""

import os
import time

import torch
import torch.distributed as dist

MOST_BLOCKS = 8  # engine/cuda/fabric/gpu_fabric.hpp
BYTES = 128 << 20
REPEATS, WARM_UP = 5, 2

rank, size = int(os.environ["RANK"]), int(os.environ["SIZE"])
torch.cuda.set_device(rank)
options = dist.ProcessGroupNCCL.Options()
options.config.max_ctas = MOST_BLOCKS
dist.init_process_group(
    "nccl", init_method="tcp://127.0.0.1:29777", rank=rank, world_size=size, pg_options=options
)
mine = torch.ones(BYTES // 4, device="cuda")
all_of_it = torch.empty(size * mine.numel(), device="cuda")
other = (rank + size // 2) % size


def seconds(collective):
    """Time of one collective."""
    for repeat in range(REPEATS + WARM_UP):
        if repeat == WARM_UP:
            torch.cuda.synchronize()
            dist.barrier()
            start = time.time()
        collective()
    torch.cuda.synchronize()
    return (time.time() - start) / REPEATS


def exchange():
    """Sends this rank's bytes to the one with its place on the other host, and receives as many."""
    sent = dist.P2POp(dist.isend, mine, other)
    received = dist.P2POp(dist.irecv, all_of_it[: mine.numel()], other)
    for each in dist.batch_isend_irecv([sent, received]):
        each.wait()


gathered = (size - 1) * BYTES / seconds(lambda: dist.all_gather_into_tensor(all_of_it, mine))
exchanged = BYTES / seconds(exchange)
if rank == 0:
    print(f"{size} ranks: gather {gathered / 1e9:.3f}, exchange {exchanged / 1e9:.3f}")
dist.destroy_process_group()

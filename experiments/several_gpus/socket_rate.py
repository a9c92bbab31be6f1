#!/usr/bin/env python3
"""Rate at which NCCL gathers between two processes, a GPU each, under the environment that a run has: GB/s each way.

    R=0 NCCL_HOSTID=a ... python3 socket_rate.py & R=1 NCCL_HOSTID=b ... python3 socket_rate.py

Needs PyTorch with CUDA and two GPUs."""

import os
import time

import torch
import torch.distributed as dist

rank = int(os.environ["R"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29777", rank=rank, world_size=2)
mine = torch.ones(64 << 20, device="cuda")
all_of_it = [torch.empty_like(mine) for _ in range(2)]
for repeat in range(7):
    if repeat == 2:
        torch.cuda.synchronize()
        start = time.time()
    dist.all_gather(all_of_it, mine)
torch.cuda.synchronize()
if rank == 0:
    print(f"{5 * mine.nbytes / (time.time() - start) / 1e9:.3f}")
dist.destroy_process_group()

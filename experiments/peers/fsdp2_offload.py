"""FSDP2: fp32 parameters, gradients and AdamW state on the host, or cut over the GPUs' memory with
--resident; bf16 compute, activation checkpointing, clipping at 1.

  python3 experiments/peers/fsdp2_offload.py --layers 2         # a quick check
  python3 experiments/peers/fsdp2_offload.py                    # Qwen2.5-14B, 32 x 1024, one GPU
  torchrun --nproc-per-node 4 experiments/peers/fsdp2_offload.py --model qwen2.5-7b --resident
"""

import os
import socket
import time

# Pin by registering mapped pages on several threads: allocating pinned memory is slower to start.
os.environ.setdefault(
    "PYTORCH_CUDA_ALLOC_CONF", "pinned_use_cuda_host_register:True,pinned_num_register_threads:8"
)

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import transformers  # noqa: E402
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (  # noqa: E402
    checkpoint_wrapper,
)
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import (  # noqa: E402
    CPUOffloadPolicy,
    MixedPrecisionPolicy,
    OffloadPolicy,
    fully_shard,
)

import exact_pinning  # noqa: E402
import peer_model  # noqa: E402


def start_process_group(device):
    """A world of this process alone, unless torchrun made one."""
    if "RANK" not in os.environ:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        os.environ.update(
            MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK="0", WORLD_SIZE="1", LOCAL_RANK="0"
        )
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("cpu:gloo,cuda:nccl" if device == "cuda" else "gloo")


def sharded_model(arguments):
    """The model with every parameter in (pinned) host memory or on the GPUs, normal(0, 0.02)."""
    device = torch.device(arguments.device)
    with torch.device("meta"):
        causal = transformers.Qwen2ForCausalLM(peer_model.config_of(arguments))
        model = peer_model.LossModel(causal, arguments.loss_chunk)
    on_host = device.type == "cuda" and not arguments.resident
    offload = CPUOffloadPolicy(pin_memory=True) if on_host else OffloadPolicy()
    options = {
        "mesh": init_device_mesh(device.type, (dist.get_world_size(),)),
        "mp_policy": MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32, cast_forward_inputs=False
        ),
        "offload_policy": offload,
    }
    layers = causal.model.layers
    for i, layer in enumerate(layers):
        layers[i] = checkpoint_wrapper(layer)
        fully_shard(layers[i], **options)
    fully_shard(model, **options)
    model.to_empty(device=device if arguments.resident else "cpu")
    peer_model.rotary_on(model, device)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            local = parameter.to_local()
            if name.endswith("bias"):
                local.zero_()
            elif "norm" in name:
                local.fill_(1)
            else:
                # Drawn on the device: the host would take minutes.
                local.copy_(torch.empty(local.shape, device=device).normal_(0, peer_model.INIT_STD))
    return model.train()


def main():
    arguments_parser = peer_model.parser(__doc__)
    arguments_parser.add_argument(
        "--optimizer", choices=("fused", "foreach"), default="fused", help="AdamW on the CPU"
    )
    arguments_parser.add_argument(
        "--loss-chunk", type=int, default=8192, help="tokens whose logits exist at one time"
    )
    arguments_parser.add_argument(
        "--exact-pinning", action="store_true", help="pin no more host memory than tensors have"
    )
    arguments_parser.add_argument("--resident", action="store_true", help="keep the state in the GPUs' memory")
    arguments = peer_model.parse(arguments_parser)
    pinning = exact_pinning.ExactPinning()
    if arguments.exact_pinning and arguments.device == "cuda":
        pinning.install()
    began = time.perf_counter()
    start_process_group(arguments.device)
    model = sharded_model(arguments)
    parameters = list(model.parameters())
    decays = [p for p in parameters if p.dim() >= 2]
    plain = [p for p in parameters if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decays}, {"params": plain, "weight_decay": 0.0}],
        **peer_model.ADAMW,
        **{arguments.optimizer: True},
    )
    peer_model.describe(
        f"FSDP2 {'resident' if arguments.resident else 'with CPU offload'}, {arguments.optimizer} AdamW",
        arguments,
        sum(p.numel() for p in parameters),
    )
    print(f"ready after {time.perf_counter() - began:.0f} s", flush=True)

    def train_step(batches):
        total = 0
        for tokens, targets in batches:
            loss = model(tokens, targets) / len(batches)
            loss.backward()
            total = total + loss.detach()
        norm = torch.nn.utils.clip_grad_norm_(parameters, peer_model.CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        pinning.reuse()
        return total, norm.full_tensor()

    peer_model.time_steps(arguments, train_step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

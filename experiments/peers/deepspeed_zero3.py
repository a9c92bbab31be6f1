"""DeepSpeed ZeRO-3 with parameters and optimizer offloaded to the host, on one GPU: fp32 master
weights and AdamW state (DeepSpeedCPUAdam), bf16 compute, activation checkpointing, clipping at 1.

  python3 experiments/peers/deepspeed_zero3.py --layers 2       # a quick check; compiles CPUAdam
  python3 experiments/peers/deepspeed_zero3.py                  # Qwen2.5-14B, 32 x 1024
"""

import os
import socket
import sys
import time

# CPUAdam is compiled at the first use; a toolkit of another minor version than PyTorch's serves.
os.environ.setdefault("DS_SKIP_CUDA_CHECK", "1")

import torch  # noqa: E402
import transformers  # noqa: E402

try:
    import deepspeed
except ImportError as missing:
    print(f"deepspeed_zero3: error: {missing}; see experiments/peers/README.md", file=sys.stderr)
    sys.exit(4)

import peer_model  # noqa: E402


def start_process_group(device):
    """A world of this process alone, unless a launcher made one."""
    if "RANK" not in os.environ:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        os.environ.update(
            MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK="0", WORLD_SIZE="1", LOCAL_RANK="0"
        )
    deepspeed.init_distributed("nccl" if device == "cuda" else "gloo", auto_mpi_discovery=False)


def settings_of(arguments, pin):
    """DeepSpeed's own configuration: its documented offload recipe."""
    return {
        "train_batch_size": arguments.sequences,
        "train_micro_batch_size_per_gpu": arguments.micro_batch,
        "gradient_accumulation_steps": arguments.sequences // arguments.micro_batch,
        "gradient_clipping": peer_model.CLIP,
        "bf16": {"enabled": True},
        "steps_per_print": 1000000,
        "zero_optimization": {
            "stage": 3,
            "offload_optimizer": {"device": "cpu", "pin_memory": pin},
            "offload_param": {"device": "cpu", "pin_memory": pin},
            "overlap_comm": True,
            "contiguous_gradients": True,
            "sub_group_size": int(1e9),
            "reduce_bucket_size": int(5e8),
            "stage3_prefetch_bucket_size": int(5e8),
            "stage3_param_persistence_threshold": int(1e5),
            "stage3_max_live_parameters": int(1e9),
            "stage3_max_reuse_distance": int(1e9),
        },
    }


def engine_of(arguments, pin):
    """DeepSpeed's engine around the model; weights as the layers draw them (transformers' own
    initialisation finds them partitioned already)."""
    settings = settings_of(arguments, pin)
    with deepspeed.zero.Init(config_dict_or_path=settings):
        causal = transformers.Qwen2ForCausalLM(peer_model.config_of(arguments))
        # ZeRO-3 takes a parameter's gradient once a backward pass, so the logits are one piece.
        model = peer_model.LossModel(causal)
    # Partitioned parameters have no shape while they are away, which only the reentrant kind bears.
    causal.gradient_checkpointing_enable({"use_reentrant": True})
    decays = [p for p in model.parameters() if len(p.ds_shape) >= 2]
    plain = [p for p in model.parameters() if len(p.ds_shape) < 2]
    optimizer = deepspeed.ops.adam.DeepSpeedCPUAdam(
        [{"params": decays}, {"params": plain, "weight_decay": 0.0}],
        adamw_mode=True,
        **peer_model.ADAMW,
    )
    engine, _, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=settings)
    peer_model.rotary_on(engine.module, engine.device)
    engine.train()  # Returns nothing.
    return engine


def main():
    arguments_parser = peer_model.parser(__doc__)
    arguments_parser.add_argument("--no-pin", action="store_true", help="pageable host memory")
    arguments = peer_model.parse(arguments_parser)
    began = time.perf_counter()
    start_process_group(arguments.device)
    engine = engine_of(arguments, pin=not arguments.no_pin and arguments.device == "cuda")
    peer_model.describe(
        f"DeepSpeed {deepspeed.__version__} ZeRO-3 offload",
        arguments,
        sum(p.ds_numel for p in engine.module.parameters()),
    )
    print(f"ready after {time.perf_counter() - began:.0f} s", flush=True)

    def train_step(batches):
        total = 0
        for tokens, targets in batches:
            loss = engine(tokens, targets)
            engine.backward(loss)
            engine.step()
            total = total + loss.detach() / len(batches)
        return total, engine.get_global_grad_norm()

    peer_model.time_steps(arguments, train_step)


if __name__ == "__main__":
    main()

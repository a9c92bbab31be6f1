#!/usr/bin/env python3
"""Time of a hybrid's layers alone in transformers, with nothing streamed: forward and backward of a few
layers in bf16, gradients summed in bf16 as PyTorch does.

    python3 experiments/peers/hybrid_layers.py [--model CONFIG.json] [--layers 4] [--micro-batch 4] [--compile]

Uses the delta rule of `fla` where that package is installed, and says so. Prints milliseconds a layer, the median of
--steps; beside it stand the means of `forward/block` and `backward/block` that step_cuda_bench prints for the same
micro-batch, whose gradients are summed in fp32. Needs a GPU, PyTorch and transformers 5.17 or later."""

import argparse
import importlib.util
import json
import pathlib
import statistics

import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
CONFIG = HERE / "../../planner/catalogue/models/qwen3.5-9b.json"


def arguments():
    result = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--model", type=pathlib.Path, default=CONFIG, help="a config.json of a hybrid")
    result.add_argument("--layers", type=int, default=4, help="the first layers of the model")
    result.add_argument("--seq-len", type=int, default=1024)
    result.add_argument("--micro-batch", type=int, default=4, help="sequences")
    result.add_argument("--steps", type=int, default=20)
    result.add_argument("--compile", action="store_true", help="through torch.compile")
    result.add_argument(
        "--times-alone",
        action="store_true",
        help="also where fla refuses this Triton because it would compute wrong gradients: times are then "
        "of kernels whose results are not used",
    )
    return result.parse_args()


def text_config(path, layers):
    """The text model's config, of its first layers and a small vocabulary."""
    values = json.loads(path.read_text())
    for inner in ("config", "text_config"):
        values = values.get(inner, values)
    values.update(num_hidden_layers=layers, vocab_size=512)
    if "layer_types" in values:
        values["layer_types"] = values["layer_types"][:layers]
    model_type = values.pop("model_type")
    return transformers.AutoConfig.for_model(model_type, **values)


def measure(model, inputs):
    """Milliseconds of one forward and one backward pass."""
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
    marks[0].record()
    output = model(inputs_embeds=inputs, use_cache=False).last_hidden_state
    marks[1].record()
    output.backward(torch.ones_like(output))
    marks[2].record()
    torch.cuda.synchronize()
    return marks[0].elapsed_time(marks[1]), marks[1].elapsed_time(marks[2])


def allow_any_triton():
    """Makes fla run its kernels under a Triton that it refuses."""
    from fla.ops.common import chunk_o

    chunk_o.TRITON_ABOVE_3_7_1 = True


def main():
    given = arguments()
    if given.times_alone:
        allow_any_triton()
    torch.manual_seed(1)
    config = text_config(given.model, given.layers)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = transformers.AutoModel.from_config(config, attn_implementation="sdpa")
    model.train()
    if given.compile:
        model = torch.compile(model)
    inputs = torch.randn(given.micro_batch, given.seq_len, config.hidden_size, device="cuda", requires_grad=True)
    times = [measure(model, inputs) for _ in range(given.steps + 5)][5:]
    forward, backward = (statistics.median(each) / given.layers for each in zip(*times))
    fla = importlib.util.find_spec("fla") is not None and importlib.util.find_spec("fla.ops") is not None
    print(
        f"{given.model.stem}, {given.layers} layers, {given.micro_batch} x {given.seq_len} tokens, "
        f"PyTorch {torch.__version__}, transformers {transformers.__version__}, fla {'used' if fla else 'absent'}, "
        f"{'compiled' if given.compile else 'eager'}: forward {forward:.3f} ms, backward {backward:.3f} ms a layer; "
        f"{given.micro_batch * given.seq_len / (forward + backward) * 1e3:,.0f} tokens/s of one layer"
    )


if __name__ == "__main__":
    main()

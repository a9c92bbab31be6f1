"""The model, the loss and the clock that the peers' scripts share."""

import argparse
import os
import resource
import statistics
import time

import torch
import torch.utils.checkpoint
import transformers

SHAPES = {
    "qwen2.5-7b": dict(
        hidden_size=3584,
        intermediate_size=18944,
        num_hidden_layers=28,
        num_attention_heads=28,
        num_key_value_heads=4,
    ),
    "qwen2.5-14b": dict(
        hidden_size=5120,
        intermediate_size=13824,
        num_hidden_layers=48,
        num_attention_heads=40,
        num_key_value_heads=8,
    ),
    # For checking a script where there is no GPU.
    "tiny": dict(
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=512,
    ),
}
ADAMW = {"lr": 1e-5, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}
CLIP = 1.0
INIT_STD = 0.02


def world_size():
    """Number of processes that torchrun started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", 1))


def is_first():
    return os.environ.get("RANK", "0") == "0"


def parser(description):
    """Arguments of every peer: the job and how many steps of it."""
    result = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("--model", choices=sorted(SHAPES), default="qwen2.5-14b")
    result.add_argument("--layers", type=int, help="fewer, for a quick check")
    result.add_argument("--seq-len", type=int, default=1024)
    result.add_argument("--sequences", type=int, default=32, help="a step")
    result.add_argument("--micro-batch", type=int, default=None,
                        help="sequences; without it the whole step is one micro-batch")
    result.add_argument("--warm-up", type=int, default=1, help="steps that are not timed")
    result.add_argument("--steps", type=int, default=2, help="steps that are")
    result.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    return result


def parse(arguments_parser):
    """Parsed arguments, checked; exits with one line where they are wrong. `sequences` are then
    those of one of the processes that torchrun started."""
    arguments = arguments_parser.parse_args()
    if arguments.sequences % world_size() != 0:
        arguments_parser.error(
            f"--sequences: {arguments.sequences} cannot be dealt to {world_size()} processes"
        )
    arguments.sequences //= world_size()
    arguments.micro_batch = arguments.micro_batch or arguments.sequences
    if arguments.sequences % arguments.micro_batch != 0:
        arguments_parser.error(
            f"--micro-batch: {arguments.micro_batch} does not divide --sequences "
            f"{arguments.sequences}"
        )
    if arguments.device == "cuda" and not torch.cuda.is_available():
        arguments_parser.error("--device: PyTorch sees no GPU")
    return arguments


def config_of(arguments):
    """The Qwen2 configuration of a shape, with sdpa attention."""
    fields = dict(vocab_size=152064, max_position_embeddings=32768, tie_word_embeddings=False)
    fields.update(SHAPES[arguments.model])
    if arguments.layers:
        fields["num_hidden_layers"] = arguments.layers
    config = transformers.Qwen2Config(
        **fields,
        rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        use_cache=False,
    )
    config._attn_implementation = "sdpa"
    return config


class LossModel(torch.nn.Module):
    """Tokens in, mean cross-entropy out. With `loss_chunk` the logits exist that many tokens at a
    time and are computed again in backward."""

    def __init__(self, causal, loss_chunk=None):
        super().__init__()
        self.causal = causal
        self.loss_chunk = loss_chunk

    def _chunk_loss(self, hidden, targets):
        logits = self.causal.lm_head(hidden).float()
        return torch.nn.functional.cross_entropy(logits, targets, reduction="sum")

    def forward(self, tokens, targets):
        hidden = self.causal.model(input_ids=tokens, use_cache=False).last_hidden_state
        hidden = hidden.view(-1, hidden.shape[-1])
        targets = targets.reshape(-1)
        if self.loss_chunk is None:
            return self._chunk_loss(hidden, targets) / targets.numel()
        total = 0
        for part, wanted in zip(hidden.split(self.loss_chunk), targets.split(self.loss_chunk)):
            total = total + torch.utils.checkpoint.checkpoint(
                self._chunk_loss, part, wanted, use_reentrant=False
            )
        return total / targets.numel()


def rotary_on(model, device):
    """Makes the rotary frequencies anew: a model from the meta device has none."""
    rotary = model.causal.model.rotary_emb
    model.causal.model.rotary_emb = type(rotary)(config=model.causal.config).to(device)


def micro_batches(arguments, step):
    """Random (tokens, targets) of a step, int64 [micro_batch, seq_len] on the device."""
    vocab = SHAPES[arguments.model].get("vocab_size", 152064)
    generator = torch.Generator().manual_seed(step + 1000 * int(os.environ.get("RANK", 0)))
    text = torch.randint(
        vocab, (arguments.sequences, arguments.seq_len + 1), generator=generator
    ).to(arguments.device)
    for part in text.split(arguments.micro_batch):
        yield part[:, :-1], part[:, 1:]


def print_first(text):
    """Prints in the first process alone."""
    if is_first():
        print(text, flush=True)


def synchronize(arguments):
    if arguments.device == "cuda":
        torch.cuda.synchronize()


def time_steps(arguments, train_step):
    """Runs train_step(batches) -> (loss, grad_norm) for all steps; prints each, then the median."""
    tokens = arguments.sequences * arguments.seq_len * world_size()
    timed = []
    for step in range(arguments.warm_up + arguments.steps):
        batches = list(micro_batches(arguments, step))
        synchronize(arguments)
        began = time.perf_counter()
        loss, norm = train_step(batches)
        synchronize(arguments)
        seconds = time.perf_counter() - began
        warm_up = step < arguments.warm_up
        if not warm_up:
            timed.append(seconds)
        print_first(
            f"step {step + 1}{' (warm-up)' if warm_up else ''}: {seconds:.2f} s, "
            f"{tokens / seconds:.0f} tokens/s, loss {float(loss):.4f}, grad norm {float(norm):.3f}"
        )
    median = statistics.median(timed)
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    device = torch.cuda.max_memory_allocated() if arguments.device == "cuda" else 0
    reserved = torch.cuda.max_memory_reserved() if arguments.device == "cuda" else 0
    print_first(
        f"median {median:.2f} s a step, {tokens / median:.0f} tokens/s; peak GPU memory "
        f"{device / 2**30:.1f} GiB allocated, {reserved / 2**30:.1f} reserved; "
        f"peak resident host memory {host / 2**30:.1f} GiB"
    )


def describe(name, arguments, parameters):
    gpu = torch.cuda.get_device_name() if arguments.device == "cuda" else "CPU"
    print_first(
        f"{name}, torch {torch.__version__}, transformers {transformers.__version__}, {gpu}: "
        f"{arguments.model}, {parameters / 1e9:.3f} B parameters, {world_size()} x {arguments.sequences} x "
        f"{arguments.seq_len} tokens a step in micro-batches of {arguments.micro_batch}, "
        f"{torch.get_num_threads()} CPU threads"
    )

"""Supervised fine-tuning against a plain PyTorch loop, written as transformers and TRL train: the same batches in
the same order, labels -100 outside the assistant's turns, the loss of a step over all its labels, AdamW, clipping."""

import sys

import pytest
from chat_data import conversations, sequence_at, tokens_and_labels, write_chat_model, write_jsonl
from conftest import REPOSITORY, available_verbs
from small_run import CONFIG, small_flags, tensors_of

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)
torch = pytest.importorskip("torch", reason="python3-torch is not installed")
safetensors_torch = pytest.importorskip(
    "safetensors.torch", reason="PyPI's safetensors is not installed (scripts/install tests)"
)
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")

STEPS, BATCH, LENGTH, COUNT, LR = 50, 4, 64, 40, 2e-3
MODELS = {
    "llama": {**CONFIG, "vocab_size": 320, "head_dim": 16},
    "qwen2": {**CONFIG, "vocab_size": 320, "head_dim": 16, "model_type": "qwen2",
              "architectures": ["Qwen2ForCausalLM"], "tie_word_embeddings": False},
}  # fmt: skip


def weights_of(config):
    tensors = tensors_of(config)
    if config["model_type"] == "qwen2":
        generator = torch.Generator().manual_seed(7)
        for name, tensor in list(tensors.items()):
            if name.split(".")[-2] in ("q_proj", "k_proj", "v_proj"):
                bias = torch.empty(tensor.shape[0]).normal_(0, 0.1, generator=generator)
                tensors[name.replace("weight", "bias")] = bias
    return tensors


def examples(tokenizer, length):
    """Inputs and labels, already shifted against each other, of the conversations that are trained on."""
    made = []
    for chat in conversations(COUNT)[: COUNT - COUNT // 20]:
        ids, learnt = tokens_and_labels(tokenizer, chat)
        ids, learnt = ids[: length + 1], learnt[: length + 1]
        made.append((ids[:-1], [id if wanted else -100 for id, wanted in zip(ids[1:], learnt[1:])]))
    return made


def torch_run(config, batches):
    """Loss and gradient norm of each step; `batches` are lists of (inputs, labels)."""
    sys.path.insert(0, str(REPOSITORY / "tests" / "reference"))
    from torch_model import mean_loss

    torch.set_num_threads(1)
    weights = {name: tensor.clone().requires_grad_() for name, tensor in weights_of(config).items()}
    optimizer = torch.optim.AdamW(weights.values(), lr=LR, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    losses, norms = [], []
    for step, batch in enumerate(batches, start=1):
        for group in optimizer.param_groups:
            group["lr"] = LR * min(1, step / 5)
        width = max(len(inputs) for inputs, _ in batch)
        inputs = torch.tensor([row + [0] * (width - len(row)) for row, _ in batch])
        labels = torch.tensor([row + [-100] * (width - len(row)) for _, row in batch])
        items = int((labels != -100).sum())
        loss = mean_loss(config, weights, inputs, labels) * labels.numel() / items
        optimizer.zero_grad()
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)))
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses, norms


def sluice_run(run_sluice, tmp_path, *words):
    import json

    flags = small_flags(tmp_path, "model")
    flags[flags.index("optimizer.lr=0.003")] = f"optimizer.lr={LR}"
    run_sluice(
        "train", *flags, "data=chat.jsonl", f"batch_size={BATCH}", f"steps={STEPS}", "compute=fp32",
        "optimizer.weight_decay=0", "schedule.warmup_steps=5", "--no-checkpoint", "out=run", *words,
    )  # fmt: skip
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines], [line["grad_norm"] for line in lines]


def prepare(tmp_path, config):
    tokenizer = write_chat_model(tmp_path / "model", config)
    safetensors_torch.save_file(
        weights_of(config), str(tmp_path / "model" / "model.safetensors"), metadata={"format": "pt"}
    )
    write_jsonl(tmp_path / "chat.jsonl", [{"messages": each} for each in conversations(COUNT)])
    return tokenizer


def largest_difference(found, expected):
    assert len(found) == len(expected) == STEPS
    return max(abs(a - b) / b for a, b in zip(found, expected))


@pytest.mark.parametrize("name", MODELS)
def test_losses_are_those_of_a_torch_loop(run_sluice, tmp_path, name):
    config = MODELS[name]
    made = examples(prepare(tmp_path, config), LENGTH)
    order = [made[sequence_at(position, len(made))] for position in range(STEPS * BATCH)]
    losses, norms = torch_run(config, [order[i : i + BATCH] for i in range(0, len(order), BATCH)])
    assert losses[-1] < 0.5 * losses[0]
    found, found_norms = sluice_run(run_sluice, tmp_path, f"seq_len={LENGTH}")
    assert largest_difference(found, losses) < 1e-5
    assert largest_difference(found_norms, norms) < 1e-3


def packed(lengths, room):
    """Best fit decreasing: the pieces of each sequence, as docs/training.md states it."""
    bins = []
    for piece in sorted(range(len(lengths)), key=lambda each: -lengths[each]):
        fitting = [each for each in bins if each[0] >= lengths[piece]]
        if fitting:
            chosen = min(fitting, key=lambda each: each[0])
        else:
            chosen = [room, []]
            bins.append(chosen)
        chosen[0] -= lengths[piece]
        chosen[1].append(piece)
    return sorted(sorted(pieces) for _, pieces in bins)


def test_packed_documents_are_learnt_as_if_each_were_alone(run_sluice, tmp_path):
    """The loop computes every document by itself; the run, several in a sequence."""
    config = MODELS["llama"]
    room = 160
    made = examples(prepare(tmp_path, config), room)
    rows = packed([len(inputs) for inputs, _ in made], room)
    assert max(map(len, rows)) > 1
    batches = []
    for step in range(STEPS):
        chosen = [rows[sequence_at(step * BATCH + i, len(rows))] for i in range(BATCH)]
        batches.append([made[piece] for row in chosen for piece in row])
    losses, norms = torch_run(config, batches)
    found, found_norms = sluice_run(run_sluice, tmp_path, f"seq_len={room}", "packing=documents")
    assert largest_difference(found, losses) < 1e-5
    assert largest_difference(found_norms, norms) < 1e-3

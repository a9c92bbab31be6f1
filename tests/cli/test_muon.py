"""Muon: training against a plain PyTorch loop, prediction and plans, checkpoints, and what does not go with it."""

import json
import struct

import pytest
from conftest import available_verbs
from small_run import bits, small_flags
from test_finetuning import BATCH, LENGTH, LR, MODELS, examples, prepare, weights_of

MUON = "optimizer.kind=muon"
executes = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")
STEPS = 20
PREDICTED = ["--model", "qwen2.5-1.5b", "--machine", "h200", "--seq-len", "1024", "--batch-size", "8"]


def tensor_names(path):
    """Names of a safetensors file's tensors."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return set(json.loads(file.read(length))) - {"__metadata__"}


def orthogonal(torch, matrix, steps):
    """torch.optim.Muon's iteration, in fp32."""
    x = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(steps):
        gram = x @ x.T
        x = 3.4445 * x + (-4.775 * gram + 2.0315 * gram @ gram) @ x
    return x.T if matrix.shape[0] > matrix.shape[1] else x


def torch_run(torch, config, batches, decay):
    """Loss and gradient norm of each step with Muon for the matrices of blocks and AdamW for the rest."""
    from torch_model import mean_loss

    torch.set_num_threads(1)
    weights = {name: tensor.clone().requires_grad_() for name, tensor in weights_of(config).items()}
    matrices = {name: w for name, w in weights.items() if ".layers." in name and w.dim() == 2}
    momenta = {name: torch.zeros_like(w) for name, w in matrices.items()}
    others = [w for name, w in weights.items() if name not in matrices]
    groups = [
        {"params": [w for w in others if w.dim() == 2], "weight_decay": decay},
        {"params": [w for w in others if w.dim() == 1], "weight_decay": 0.0},
    ]
    adamw = torch.optim.AdamW(groups, lr=LR, betas=(0.9, 0.999), eps=1e-8)
    losses, norms = [], []
    for inputs, labels in batches:
        loss = mean_loss(config, weights, inputs, labels) * labels.numel() / int((labels != -100).sum())
        for weight in weights.values():
            weight.grad = None
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)))
        losses.append(float(loss.detach()))
        adamw.step()
        with torch.no_grad():
            for name, weight in matrices.items():
                momenta[name].lerp_(weight.grad, 1 - 0.95)
                update = orthogonal(torch, weight.grad.lerp(momenta[name], 0.95), 5)
                weight.mul_(1 - LR * decay)
                weight.sub_(update, alpha=LR * 0.2 * max(weight.shape) ** 0.5)
    return losses, norms


@executes
def test_losses_are_those_of_a_torch_loop(run_sluice, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch", reason="python3-torch is not installed")
    pytest.importorskip("safetensors.torch", reason="PyPI's safetensors is not installed (scripts/install tests)")
    pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
    pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")
    from chat_data import sequence_at
    from conftest import REPOSITORY

    monkeypatch.syspath_prepend(str(REPOSITORY / "tests" / "reference"))
    config = MODELS["llama"]
    made = examples(prepare(tmp_path, config), LENGTH)
    order = [made[sequence_at(position, len(made))] for position in range(STEPS * BATCH)]
    batches = []
    for at in range(0, len(order), BATCH):
        rows = order[at : at + BATCH]
        width = max(len(inputs) for inputs, _ in rows)
        batches.append((
            torch.tensor([inputs + [0] * (width - len(inputs)) for inputs, _ in rows]),
            torch.tensor([labels + [-100] * (width - len(labels)) for _, labels in rows]),
        ))  # fmt: skip
    losses, norms = torch_run(torch, config, batches, decay=0.1)
    assert losses[-1] < 0.9 * losses[0]
    flags = small_flags(tmp_path, "model")
    flags[flags.index("optimizer.lr=0.003")] = f"optimizer.lr={LR}"
    run_sluice(
        "train", *flags, "data=chat.jsonl", f"batch_size={BATCH}", f"steps={STEPS}", f"seq_len={LENGTH}",
        "compute=fp32", MUON, "optimizer.weight_decay=0.1", "--no-checkpoint", "out=run",
    )  # fmt: skip
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == STEPS
    for line, loss, norm in zip(lines, losses, norms):
        assert abs(line["loss"] - loss) / loss < 1e-5
        assert abs(line["grad_norm"] - norm) / norm < 1e-3


@executes
def test_a_run_goes_on_from_its_momentum_and_with_no_other_optimizer(run_sluice, refuses, validate, flags, tmp_path):
    flags = [*flags, MUON]
    whole = run_sluice("train", *flags, "steps=8", "out=whole", "--json").json()
    said = run_sluice("predict", *flags, "--json").json()
    run_sluice("train", *flags, "steps=4", "out=run")
    folder = tmp_path / "run" / "checkpoints" / "step-4"
    validate(folder / "checkpoint.json", "checkpoint")
    m, v = (tensor_names(folder / name) for name in ("m.safetensors", "v.safetensors"))
    matrices = {name for name in m if ".layers." in name and name.endswith("proj.weight")}
    assert matrices and v == m - matrices
    tensors = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    assert said["checkpoint_bytes"] <= tensors < 1.05 * said["checkpoint_bytes"]
    refuses(
        ["train", *flags, "optimizer.kind=adamw", "steps=8", "out=run", "--resume"],
        "has the state of optimizer.kind muon", "this run states adamw",
    )  # fmt: skip
    result = run_sluice("train", *flags, "steps=8", "out=run", "--resume", "--json", "plan.rounds=2").json()
    assert result["resumed_after"] == 4
    for key in ("loss", "val_loss", "weights_sha256", "state_sha256"):
        assert result[key] == whole[key], key
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")


def test_plans_update_blocks_on_the_device_and_predictions_have_its_work(run_sluice, validate):
    words = ["--model", "bytes-10m", *PREDICTED[2:]]
    planned = run_sluice("plan", *words, MUON, "--json").json()
    validate(planned, "plan-result")
    assert {layer["executor"] for layer in planned["plan"]["layers"][1:-1]} == {"gpu"}
    resident = [f"plan.{field}=hbm" for field in ("weights", "gradients", "state")]
    pins = [*resident, "plan.executor=gpu", "plan.when=after", "plan.rounds=1", "--json"]
    muon, adamw = (run_sluice("predict", *words, *pins, *kind).json() for kind in ([MUON], []))
    # 5 (4 m2 n + 2 m3) FLOPs a matrix, at less than the device's peak.
    shapes = [(384, 384)] * 2 + [(128, 384)] * 2 + [(384, 1024)] * 3
    flops = 6 * sum(5 * (4 * m * m * n + 2 * m**3) for m, n in shapes)
    assert muon["step_s"] - adamw["step_s"] > flops / 989e12
    state = [sum(tier["parts"].get("state", 0) for tier in each["memory"].values()) for each in (muon, adamw)]
    assert state[1] - state[0] == 4 * 6 * sum(m * n for m, n in shapes)


@pytest.mark.parametrize(
    "words, texts",
    [
        ([MUON, "optimizer.state=bf16"], ["optimizer.state", "fp32"]),
        (["optimizer.momentum=0.9"], ["optimizer.momentum", "optimizer.kind"]),
        ([MUON, "optimizer.ns_step=5"], ["optimizer.ns_step", "unknown key"]),
        ([MUON, "optimizer.adjust_lr_fn=rms"], ["optimizer.adjust_lr_fn", "match_rms_adamw"]),
        (["optim=muon"], ["optim", "kind: muon"]),
        (["optimizer.kind=lion"], ["optimizer.kind", "muon"]),
        ([MUON, "plan.executor=cpu"], ["executor", "set executor to gpu"]),
        ([MUON, "limits.disk=100 GiB"], ["limits.disk", "optimizer.kind muon"]),
        ([MUON, "--machine", "2x h200", "devices=2"], ["optimizer.kind", "devices 2"]),
    ],
)
def test_refuses_what_does_not_go_with_it(refuses, words, texts):
    refuses(["predict", *PREDICTED, *words], *texts)

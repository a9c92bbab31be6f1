"""A run whose values stop being finite names the step and the layer, and keeps its last checkpoint."""

import json
import struct

import pytest
from conftest import available_verbs
from small_run import CONFIG, small_flags, tensors_of, write_model

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)


def write_weights(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        bytes_of = tensor.contiguous().numpy().tobytes()
        offsets = [len(data), len(data) + len(bytes_of)]
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": offsets}
        data += bytes_of
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.fixture
def model(tmp_path):
    write_model(tmp_path / "model", CONFIG)
    pytest.importorskip("torch")
    return tensors_of(CONFIG)


@pytest.mark.parametrize("compute", ["fp32", "bf16"])
@pytest.mark.parametrize(
    "tensor, layer",
    [("model.layers.0.input_layernorm.weight", "L0"), ("model.layers.1.post_attention_layernorm.weight", "L1")],
)
def test_the_layer_whose_output_overflows_is_named(refuses, model, tmp_path, compute, tensor, layer):
    """Finite weights, so large that sums of products are not."""
    model[tensor] = model[tensor] * 0 + 3e38
    write_weights(tmp_path / "model/model.safetensors", model)
    refuses(
        ["train", *small_flags(tmp_path, "model"), f"compute={compute}", "--json", "out=run"],
        "the loss of step 1 is not a finite number", f"in the order of forward, is that of {layer},",
        "in micro-batch 1 of the step", "there is no checkpoint before it",
    )  # fmt: skip


def test_a_rate_far_too_high_keeps_the_checkpoint_before_it(run_sluice, refuses, tmp_path):
    write_model(tmp_path / "model", CONFIG)
    flags = [*small_flags(tmp_path, "model"), "steps=12", "save_every=2", "out=run"]
    run_sluice("train", *flags, "steps=5")
    run = refuses(
        ["train", *flags, "--resume", "--json", "optimizer.lr=1e30"],
        "is not a finite number", "the last checkpoint is of step",
    )  # fmt: skip
    step = int(run.err.split("the last checkpoint is of step ")[1])
    assert (tmp_path / f"run/checkpoints/step-{step}/checkpoint.json").exists()
    logged = [json.loads(line)["step"] for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    failed = int(run.err.split(" of step ")[1].split()[0])
    assert logged == list(range(1, failed))

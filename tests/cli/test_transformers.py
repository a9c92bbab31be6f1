"""A model that transformers made, through the whole program: evaluated, continued, trained and exported, with
transformers' numbers beside ours for llama, qwen2, qwen3 and two mixtures of experts, in fp32 on the host backend."""

import json
import os
import subprocess

import numpy
import pytest
from conftest import REPOSITORY, available_verbs, once
from small_run import TEXT

PYTHON = REPOSITORY / ".venv-transformers" / "bin" / "python"
FAMILIES = ["llama", "qwen2", "qwen3", "qwen3_moe", "mixtral"]
SCALED = ["llama-linear", "llama-llama3", "qwen2-yarn", "qwen3-yarn"]  # RoPE scaling.
ROUTED = ["qwen3_moe-normalized", "mixtral-balanced"]
MACHINE = ["--machine", "here", "--backend", "host", "--host", "1GiB", "--compute", "fp32"]

pytestmark = [
    pytest.mark.skipif("generate" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"),
    pytest.mark.skipif(not PYTHON.exists(), reason="transformers is not installed (scripts/install tests, from PyPI)"),
    once,
]
safetensors_numpy = pytest.importorskip(
    "safetensors.numpy", reason="PyPI's safetensors is not installed (scripts/install tests)"
)


def transformers_side(command, folder):
    script = REPOSITORY / "tests" / "reference" / "transformers_side.py"
    done = subprocess.run([str(PYTHON), str(script), command, str(folder)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder with models, text.txt and what transformers computes of them."""
    folder = tmp_path_factory.mktemp("transformers")
    (folder / "text.txt").write_text(TEXT[:1200])
    transformers_side("make", folder)
    return folder


def expected(made, family):
    return json.loads((made / "expected.json").read_text())[family]


def seq_len(made):
    return json.loads((made / "expected.json").read_text())["seq_len"]


@pytest.mark.parametrize("hbm", ["64MiB", "480KiB"], ids=["resident", "streamed"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_perplexity_is_that_of_transformers(run_sluice, validate, made, family, hbm):
    result = run_sluice("eval", made / family, "--data", made / "text.txt", "--seq-len", seq_len(made), "--hbm", hbm,
                        "--loss-chunk", "8", "--batch-size", "2", *MACHINE, "--json").json()  # fmt: skip
    validate(result, "eval")
    assert (result["streamed_bytes"] > 0) == (hbm == "480KiB")
    assert result["loss"] == pytest.approx(expected(made, family)["text_loss"], rel=2e-6)
    assert result["perplexity"] == pytest.approx(numpy.exp(result["loss"]))


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_decoding_gives_the_tokens_of_transformers(run_sluice, validate, made, family):
    for each, hbm in zip(expected(made, family)["generated"], ["64MiB", "480KiB"]):
        result = run_sluice("generate", made / family, "--prompt", each["prompt"], "--max-new-tokens",
                            len(each["ids"]), "--ignore-eos", "--hbm", hbm, *MACHINE, "--json").json()  # fmt: skip
        validate(result, "generate")
        assert result["prompt_ids"] == each["prompt_ids"]
        assert result["ids"] == each["ids"]


@pytest.mark.parametrize("family", FAMILIES + SCALED + ROUTED)
def test_one_step_has_the_loss_and_the_gradients_of_transformers(run_sluice, made, family):
    reference = expected(made, family)
    balance = ["router_aux_loss_coef=0.5"] if family == "mixtral-balanced" else []
    run = made / f"{family}-run"
    run_sluice("train", "--model", made / family, "--data", made / "text.txt", "--seq-len", seq_len(made),
               "--batch-size", reference["training_windows"], *MACHINE, "--hbm", "64MiB", "steps=1", "optimizer.clip=off",
               "optimizer.lr=0.001", *balance, f"out={run}")  # fmt: skip
    line = json.loads((run / "metrics.jsonl").read_text().splitlines()[0])
    assert line["loss"] == pytest.approx(reference["step_loss"], rel=2e-6)
    assert line["grad_norm"] == pytest.approx(reference["grad_norm"], rel=2e-5)
    # After one step from zero the first moment is (1 - beta1) of the gradient.
    found = {}
    for file in sorted((run / "checkpoints" / "step-1").glob("m*.safetensors")):
        if not file.name.startswith("model"):
            found.update(safetensors_numpy.load_file(file))
    gradients = safetensors_numpy.load_file(made / f"{family}.gradients")
    assert sorted(found) == sorted(gradients)
    for name, gradient in gradients.items():
        scale = numpy.abs(gradient).max()
        # Biases of k have no gradient but rounding: a shift of all keys moves no probability.
        slack = 1e-5 * scale + 1e-7
        assert numpy.abs(found[name] / 0.1 - gradient).max() <= slack, name


def test_transformers_loads_the_export_with_equal_logits(run_sluice, made):
    for family in FAMILIES:
        run = made / f"{family}-same"
        run_sluice("train", "--model", made / family, "--data", made / "text.txt", "--seq-len", seq_len(made),
                   "--batch-size", "2", *MACHINE, "--hbm", "64MiB", "steps=1", "optimizer.lr=0", f"out={run}")  # fmt: skip
        run_sluice("export", run, "-o", made / f"{family}-out", "--dtype", "fp32")
    transformers_side("logits", made)
    found = json.loads((made / "logits.json").read_text())
    for family in FAMILIES:
        assert found[family] == expected(made, family)["logits"], family

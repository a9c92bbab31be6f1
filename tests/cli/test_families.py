"""Tiny models of every family through the program: the text and the loss of transformers, and their weights after an export."""

import math

import numpy
import pytest
from conftest import available_verbs
from family_folders import MACHINE, STILL, TEXT, Fixture, names, read_tensors, text_of

pytestmark = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")


def greedy_of(run_sluice, folder, fixture):
    words = ["--prompt", fixture.prompt, "--max-new-tokens", str(len(fixture.greedy)), "--ignore-eos", *MACHINE, "--json"]
    return run_sluice("generate", folder, *words).json()["ids"]


@pytest.mark.parametrize("name", names())
def test_greedy_text_is_that_of_transformers(run_sluice, tmp_path, name):
    fixture = Fixture(name).write(tmp_path / "model")
    assert greedy_of(run_sluice, "model", fixture) == fixture.greedy


@pytest.mark.parametrize("name", names())
def test_the_perplexity_of_a_text_is_that_of_transformers(run_sluice, tmp_path, name):
    fixture = Fixture(name).write(tmp_path / "model")
    text = [*fixture.tokens[0], fixture.targets[0, -1]]
    (tmp_path / "text.txt").write_text(text_of(text))
    logits = fixture.logits.astype("f8")
    loss = numpy.mean(numpy.log(numpy.exp(logits).sum(1)) - logits[range(len(logits)), text[1:]])
    said = run_sluice("eval", "model", "--data", "text.txt", "--seq-len", str(len(logits)), "--batch-size", "1", *MACHINE, "--json")
    assert said.json()["loss"] == pytest.approx(loss, rel=2e-6)
    assert said.json()["perplexity"] == pytest.approx(math.exp(loss), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_weights_that_no_step_changed_are_exported_as_they_were_and_read_back(run_sluice, tmp_path, name):
    fixture = Fixture(name).write(tmp_path / "model")
    (tmp_path / "text.txt").write_text(TEXT)
    run_sluice("train", "--model", "model", "--data", "text.txt", *STILL, *MACHINE, "out=run")
    run_sluice("export", "run", "-o", "exported", "--dtype", "fp32")
    exported = read_tensors(tmp_path / "exported" / "model.safetensors")[1]
    assert exported.keys() == fixture.weights.keys()
    for key, value in fixture.weights.items():
        assert numpy.array_equal(exported[key], value), key
    assert greedy_of(run_sluice, "exported", fixture) == fixture.greedy

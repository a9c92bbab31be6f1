"""eval and generate on runs, checkpoints and model folders: what they take, print and refuse."""

import json
import math

import pytest
from conftest import available_verbs
from small_run import CONFIG, TEXT, small_flags, tensors_of, write_model

pytestmark = pytest.mark.skipif(
    "generate" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)
MACHINE = ["--machine", "here", "--backend", "host", "--hbm", "8MiB", "--host", "1GiB"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model folder with random weights and no tokenizer: its tokens are bytes."""
    torch = pytest.importorskip("torch", reason="python3-torch is not installed")
    safetensors_torch = pytest.importorskip(
        "safetensors.torch", reason="PyPI's safetensors is not installed (scripts/install tests)"
    )
    folder = tmp_path_factory.mktemp("models") / "model"
    write_model(folder, {**CONFIG, "eos_token_id": 300})
    torch.manual_seed(5)
    tensors = {k: v * 8 if v.dim() == 2 else v for k, v in tensors_of(CONFIG).items()}
    safetensors_torch.save_file(tensors, str(folder / "model.safetensors"))
    return folder


def generate(run_sluice, model, *flags):
    return run_sluice("generate", model, "--prompt", "one red is", "--max-new-tokens", "24", *MACHINE, *flags)


def test_a_run_its_checkpoint_and_its_export_have_one_perplexity(run_sluice, validate, tmp_path):
    write_model(tmp_path / "shape", CONFIG)
    flags = small_flags(tmp_path, "shape")
    trained = run_sluice("train", *flags, "steps=6", "out=run", "--json").json()
    run_sluice("export", "run", "-o", "out", "--dtype", "fp32")
    losses = []
    for subject in ["run", "run/checkpoints/step-6", "out"]:
        result = run_sluice("eval", subject, "--data", "text.txt", "--seq-len", "32", *MACHINE, "--json").json()
        validate(result, "eval")
        losses.append(result["loss"])
        assert result["predicted_tokens"] == len(TEXT) - 1
        assert result["bits_per_byte"] == pytest.approx(
            result["loss"] * (len(TEXT) - 1) / len(TEXT) / math.log(2)
        )
        # Weights alone, 2 bytes a parameter, once.
        parts = [result["memory"][tier]["parts"].get("weights", 0) for tier in ("hbm", "host")]
        assert sum(parts) < 2.2 * result["parameters"]
    assert losses[0] == losses[1] == losses[2]
    assert losses[0] == pytest.approx(trained["val_loss"], rel=0.1)


def test_where_weights_lie_and_how_many_pass_at_a_time_changes_no_loss(run_sluice, tmp_path, model):
    (tmp_path / "text.txt").write_text(TEXT)
    words = ["eval", model, "--data", "text.txt", "--seq-len", "16", "--loss-chunk", "16", *MACHINE, "--json"]
    found = {"resident": run_sluice(*words).json(), "one": run_sluice(*words, "--batch-size", "1").json()}
    less = found["resident"]["memory"]["hbm"]["peak_bytes"] - 60_000
    found["streamed"] = run_sluice(*words, "--hbm", f"{less} B").json()
    assert found["resident"]["streamed_bytes"] == 0 < found["streamed"]["streamed_bytes"]
    assert found["one"]["passes"] > found["resident"]["passes"]
    assert found["resident"]["loss"] == found["streamed"]["loss"]
    assert found["one"]["loss"] == pytest.approx(found["resident"]["loss"], rel=1e-12)


def test_a_stride_gives_every_token_more_before_it(run_sluice, tmp_path, model):
    (tmp_path / "text.txt").write_text(TEXT[:200])
    words = ["eval", model, "--data", "text.txt", "--seq-len", "16", *MACHINE, "--json"]
    whole = run_sluice(*words).json()
    strided = run_sluice(*words, "--stride", "4").json()
    assert whole["predicted_tokens"] == strided["predicted_tokens"] == 199
    assert strided["windows"] == 1 + math.ceil((199 - 16) / 4)
    assert strided["loss"] != whole["loss"]


def test_a_dry_run_needs_no_weights(run_sluice, validate, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    result = run_sluice("eval", "bytes-2m", "--data", "text.txt", "--seq-len", "64", *MACHINE, "--dry-run", "--json").json()
    validate(result, "eval")
    assert result["predicted_s"] == pytest.approx(result["passes"] * result["pass_s"])
    result = run_sluice("generate", "bytes-2m", "--prompt", "a", *MACHINE, "--dry-run", "--json").json()
    validate(result, "generate")
    assert result["memory"]["hbm"]["parts"]["keys and values"] > 0


def test_what_does_not_fit_is_refused_with_what_would(run_sluice, validate, tmp_path, model):
    (tmp_path / "text.txt").write_text(TEXT)
    run = run_sluice("eval", model, "--data", "text.txt", "--seq-len", "512", *MACHINE, "--hbm", "1MiB", "--json", exit_code=3)
    refusal = run.json()
    validate(refusal, "predict")
    assert refusal["fits"] is False and refusal["short_bytes"] > 0 and refusal["remedies"]
    setting = refusal["remedies"][0]["setting"]
    run_sluice("eval", model, "--data", "text.txt", "--seq-len", "512", *MACHINE, "--hbm", "1MiB", setting)
    # And with what more memory would, to the setting.
    more = refusal["remedies"][-1]
    assert more["setting"].startswith("--hbm ") and not more["changes_bits"]
    run_sluice("eval", model, "--data", "text.txt", "--seq-len", "512", *MACHINE, *more["setting"].split())
    # Keys and values are planned for, too.
    run = run_sluice("generate", model, "--prompt", "a", "--max-new-tokens", "8000", *MACHINE, "--hbm", "1MiB", exit_code=3)
    assert "keys and values" in run.out and "--max-new-tokens" in run.out


def test_greedy_decoding_is_the_same_streamed_in_parts_and_token_by_token(run_sluice, validate, model):
    whole = generate(run_sluice, model, "--json").json()
    validate(whole, "generate")
    assert whole["ended_by"] == "length" and len(whole["ids"]) == whole["new_tokens"] == 24
    streamed = generate(run_sluice, model, "--json", "--hbm", f"{whole['memory']['hbm']['peak_bytes'] - 60_000} B").json()
    assert streamed["streamed_bytes"] > 0
    assert streamed["ids"] == whole["ids"]
    # The prompt's own continuation, continued.
    text = bytes([*b"one red is", *whole["ids"][:8]])
    try:
        prompt = text.decode()
    except UnicodeDecodeError:
        return
    longer = run_sluice("generate", model, "--prompt", prompt, "--max-new-tokens", "16", *MACHINE, "--json").json()
    assert longer["ids"] == whole["ids"][8:]


def test_text_is_printed_as_utf8_and_ends_before_a_stop(run_sluice, model):
    whole = generate(run_sluice, model, "--json").json()
    expected = bytes(each for each in whole["ids"] if each < 256).decode(errors="replace")
    assert whole["text"] == expected
    assert generate(run_sluice, model).out == expected + "\n"
    stop = expected[3:5]
    cut = generate(run_sluice, model, "--json", "--stop", stop).json()
    assert cut["ended_by"] == "stop" and cut["text"] == expected[: expected.index(stop)]


def test_sampling_follows_its_seed(run_sluice, model):
    flags = ["--temperature", "1.5", "--top-k", "50", "--top-p", "0.95", "--json"]
    first, again, other = (
        generate(run_sluice, model, *flags, "--seed", seed).json()["ids"] for seed in ("1", "1", "2")
    )
    assert first == again != other
    greedy = generate(run_sluice, model, "--json").json()["ids"]
    assert generate(run_sluice, model, "--json", "--temperature", "3", "--top-k", "1").json()["ids"] == greedy
    assert generate(run_sluice, model, "--json", "--temperature", "3", "--top-p", "0").json()["ids"] == greedy


def test_an_end_token_ends_it(run_sluice, tmp_path, model):
    ids = generate(run_sluice, model, "--json").json()["ids"]
    (model / "generation_config.json").write_text(json.dumps({"eos_token_id": [299, ids[5]]}))
    try:
        cut = generate(run_sluice, model, "--json").json()
        assert cut["ended_by"] == "end" and cut["ids"] == ids[: ids.index(ids[5])]
        assert generate(run_sluice, model, "--json", "--ignore-eos").json()["ids"] == ids
    finally:
        (model / "generation_config.json").unlink()


def test_refusals_name_what_is_wrong(refuses, tmp_path, model):
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "one.txt").write_text("x")
    refuses(["eval", "--data", "text.txt"], "give a model folder")
    refuses(["eval", model, *MACHINE], "data is missing")
    refuses(["eval", model, *MACHINE, "--data", "one.txt"], "one.txt", "fewer than two tokens")
    refuses(["eval", model, *MACHINE, "--data", "text.txt", "--stride", "40", "--seq-len", "32"], "--stride", "32")
    refuses(["eval", "bytes-2m", *MACHINE, "--data", "text.txt", "--seq-len", "64"], "bytes-2m", "no weights")
    for words in (["--plan", "gone.json"], ["--policy", "resident"], ["--set", "plan.rounds=1"], ["plan=gone.json"]):
        refuses(["eval", model, *MACHINE, "--data", "text.txt", *words], "plan" if "--policy" not in words else "policy",
                "eval makes forward passes alone")
        refuses(["generate", model, *MACHINE, "--prompt", "a", *words], "generate makes forward passes alone")
    refuses(["generate", model, *MACHINE], "prompt", "--prompt")
    refuses(["generate", model, *MACHINE, "--prompt", ""], "prompt", "no token")
    refuses(["generate", model, *MACHINE, "--prompt", "a", "--max-new-tokens", "0"], "--max-new-tokens")
    refuses(["generate", model, *MACHINE, "--prompt", "a", "--top-p", "2"], "--top-p", "between 0 and 1")

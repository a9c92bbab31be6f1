"""`sluice train --rehearse`: the true steps of a model on a host that is too small for it."""

import hashlib
import json

from small_run import TEXT

MODEL = ["--model", "bytes-2m", "--machine", "here", "--backend", "host", "--seq-len", "32"]
RUN = [*MODEL, "--batch-size", "2", "--hbm", "12MiB", "machine.h2d=400 MB/s", "machine.d2h=400 MB/s"]


def files_of(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_model_much_larger_than_the_host(run_sluice, validate, tmp_path):
    # A hundred small layers: ten times what --host leaves beside the process.
    config = {
        "model_type": "llama", "hidden_size": 64, "intermediate_size": 192, "vocab_size": 256,
        "num_hidden_layers": 100, "num_attention_heads": 4, "num_key_value_heads": 2,
        "rms_norm_eps": 1e-5, "tie_word_embeddings": True, "hidden_act": "silu",
        "max_position_embeddings": 64,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    words = [
        "train", "--rehearse", "--model", "config.json", *RUN[2:], "--residency", "host",
        "--host", "36MiB", "steps=3", "out=run", "--json",
    ]  # fmt: skip
    result = run_sluice(*words).json()
    validate(result, "rehearsal")
    host = result["host"]
    window = host["window_bytes"]
    assert host["in_flight_bytes"] <= window <= 4 * 2**20  # 32 MiB of the 36 are the process.
    assert host["needed_bytes"] - 32 * 2**20 > 10 * window
    assert result["steps"] == 3 and len(result["step_times_s"]) == 3
    assert result["step_s"] > 0 and result["bound_ratio"] == result["step_s"] / result["bound_s"]
    assert result["error"] == result["step_s"] / result["predicted_s"] - 1
    assert result["values"]["fault"] is None and result["values"]["window"]["values"] > 10**5

    # Times are kept, nothing that was computed is; the prediction came first, and both say what
    # they are.
    folder = tmp_path / "run"
    assert files_of(folder) == [
        "ledger.jsonl", "measured.trace", "metrics.jsonl", "plan.json", "predicted.trace",
        "rehearsal.json", "run.yaml",
    ]  # fmt: skip
    assert json.loads((folder / "rehearsal.json").read_text()) == result
    validate(folder / "metrics.jsonl", "metrics")
    validate(folder / "ledger.jsonl", "ledger")
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert all(line["rehearsal"] and line["loss"] is None for line in lines)
    promise, outcome = map(json.loads, (folder / "ledger.jsonl").read_text().splitlines())
    assert promise["rehearsal"] is True and promise["step_s"] == result["predicted_s"]
    assert outcome["prediction"] == promise["hash"] and outcome["step_s"] == result["step_s"]


def test_a_model_that_fits_runs_the_same_graph_both_ways(run_sluice, validate, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    real = ["--host", "200MiB", "--data", "text.txt", "steps=4", "--no-checkpoint"]
    trained = run_sluice("train", *RUN, *real, "out=real", "--trace-out", "a.json", "--json").json()
    validate(trained, "train-result")
    rehearsed = run_sluice(
        "train", "--rehearse", *RUN, "--plan", "real/plan.json", "--host", "64MiB", "steps=4",
        "out=rehearsed", "--trace-out", "b.json", "--json",
    ).json()  # fmt: skip
    assert rehearsed["host"]["window_bytes"] < rehearsed["host"]["needed_bytes"] - 32 * 2**20
    same = ["graph_sha256", "plan_hash", "job_hash", "numerics_id", "predicted_s"]
    assert {key: rehearsed[key] for key in same} == {key: trained[key] for key in same}
    run_sluice("predict", *RUN, "--plan", "real/plan.json", "--graph-out", "graph.json")
    graph = (tmp_path / "graph.json").read_bytes()
    assert hashlib.sha256(graph).hexdigest() == rehearsed["graph_sha256"]
    ids = [
        [(task["id"], task["lane"]) for task in json.loads((tmp_path / name).read_text())["tasks"]]
        for name in ("a.json", "b.json")
    ]
    assert sorted(ids[0]) == sorted(ids[1])
    table = run_sluice("train", "--rehearse", *RUN, "--host", "64MiB", "steps=1", "out=said").out
    assert "losses and weights mean nothing, nothing was saved" in table


def test_offloaded_records_of_many_layers_stay_finite(run_sluice, tmp_path):
    """What is loaded in place of a record must not let the backward pass grow from layer to layer."""
    config = {
        "model_type": "qwen3", "hidden_size": 256, "intermediate_size": 768, "vocab_size": 256,
        "num_hidden_layers": 40, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
        "rms_norm_eps": 1e-6, "tie_word_embeddings": True, "hidden_act": "silu", "max_position_embeddings": 256,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    result = run_sluice(
        "train", "--rehearse", "--model", "config.json", *RUN[2:6], "--seq-len", "256", "--batch-size", "1",
        "--residency", "host", "--hbm", "64MiB", "--host", "120MiB", "plan.keep=all", "plan.keep_tier=host",
        "--loss-chunk", "64", "steps=1", "out=run", "--json",
    ).json()  # fmt: skip
    layers = json.loads((tmp_path / "run" / "plan.json").read_text())["layers"]
    assert sum(layer["keep_tier"] == "host" for layer in layers) >= 40
    assert result["values"]["fault"] is None


def test_a_host_that_does_not_hold_what_is_in_flight(run_sluice, validate, tmp_path):
    words = ["train", "--rehearse", *RUN, "--residency", "host", "--host", "33MiB"]
    lack = run_sluice(*words, "--json", exit_code=3).json()
    assert lack["fits"] is False and lack["tier"] == "host"
    memory = lack["memory"]["host"]
    assert memory["capacity_bytes"] == 33 * 2**20
    assert lack["short_bytes"] == memory["peak_bytes"] - memory["capacity_bytes"] > 0
    line = run_sluice(*words, exit_code=3).out.splitlines()[0]
    assert line.startswith("a rehearsal needs ") and line.endswith(", and 33 MiB may be used")
    # What it says helps: exactly that much is enough.
    enough = [*words[:-1], str(memory["peak_bytes"]) + "B"]
    assert lack["remedies"][0]["setting"].startswith("--host ")
    run_sluice(*enough, "steps=1", "out=enough")


def test_what_a_rehearsal_does_not_do_is_refused(refuses):
    refuses(["train", "--rehearse", "--resume", *RUN], "--rehearse", "--resume")
    refuses(["train", "--rehearse", "--dry-run", *RUN], "--rehearse", "--dry-run")
    refuses(["train", "--rehearse", *RUN, "steps=2", "--trace-out", "t.json"], "steps is 2")

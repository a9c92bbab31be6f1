"""sluice trace: export of a run folder, and the difference of two traces."""

import json

import pytest

from conftest import available_verbs

TEXT = "".join(f"{i}: the quick brown fox jumps over the lazy dog.\n" for i in range(400))
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256, "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0, "tie_word_embeddings": False, "hidden_act": "silu", "max_position_embeddings": 512,
}


def span(id, lane, kind, start, end):
    return {"id": id, "lane": lane, "kind": kind, "start_s": start, "end_s": end, "bytes": 0, "source": "clock"}


def trace_file(path, spans):
    path.write_text(json.dumps({"version": 1, "tasks": spans}))
    return path


def test_diff_counts_kinds_and_lists_unmatched_ids(tmp_path, run_sluice, validate):
    a = trace_file(tmp_path / "a.trace", [span("x", "compute", "forward", 0, 1), span("only-a", "h2d", "load_weights", 0, 1)])
    b = trace_file(tmp_path / "b.trace", [span("x", "compute", "forward", 0, 1.5)])
    report = run_sluice("trace", "diff", a, b, "--json").json()
    validate(report, "trace-diff")
    assert report["kinds"] == [{"name": "forward", "count": 1, "a_s": 1.0, "b_s": 1.5, "difference_s": 0.5}]
    assert report["only_a"] == ["only-a"] and report["only_b"] == []
    text = run_sluice("trace", "diff", a, b).out
    assert "forward" in text and "only-a" in text


def test_a_trace_differs_from_itself_by_nothing(tmp_path, run_sluice):
    a = trace_file(tmp_path / "a.trace", [span("x", "compute", "forward", 0, 1)])
    report = run_sluice("trace", "diff", a, a, "--json").json()
    assert all(row["difference_s"] == 0 for row in report["kinds"] + report["lanes"])


@pytest.mark.parametrize(
    "words, texts",
    [
        (["trace", "nowhere"], ["nowhere", "run folder"]),
        (["trace", "diff", "a"], ["two traces"]),
        (["trace", "diff", "missing-a", "missing-b"], ["missing-a"]),
        (["trace"], ["RUNDIR"]),
    ],
)
def test_wrong_requests_are_refused(refuses, words, texts):
    refuses(words, *texts)


def test_malformed_trace_is_refused_by_name(tmp_path, refuses):
    bad = tmp_path / "bad.trace"
    bad.write_text('{"version": 1, "tasks": [{"id": "x"}]}')
    refuses(["trace", "diff", bad, bad], "bad.trace")


@pytest.fixture
def run_folder(tmp_path, run_sluice):
    if "train" not in available_verbs():
        pytest.skip("this build does not train")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "text.txt").write_text(TEXT)
    folder = tmp_path / "run"
    run_sluice("train", "--model", "config.json", "data=text.txt", "--seq-len", "32", "--batch-size", "4", "steps=6",
               "--backend", "host", f"out={folder}", "--json")
    return folder


def test_export_holds_predicted_and_measured_rows_and_critical_paths(run_folder, run_sluice, validate):
    run = run_sluice("trace", run_folder)
    events = json.loads((run_folder / "trace.json").read_text())["traceEvents"]
    names = {event["args"]["name"] for event in events if event.get("name") == "process_name"}
    assert {"predicted", "measured", "predicted: critical path", "measured: critical path"} <= names
    assert "compute" in run.out and "step" in run.out
    for name in ("predicted.trace", "measured.trace"):
        validate(json.loads((run_folder / name).read_text()), "trace")


def test_predicted_and_measured_traces_hold_the_same_ids(run_folder, run_sluice):
    report = run_sluice("trace", "diff", run_folder / "predicted.trace", run_folder, "--json").json()
    assert report["only_a"] == [] and report["only_b"] == []
    assert report["step_a_s"] > 0 and report["step_b_s"] > 0


@pytest.mark.parametrize("often", ["save_every", "evaluate_every"])
def test_what_a_run_stops_for_is_no_part_of_its_traced_steps(often, tmp_path, run_sluice):
    if "train" not in available_verbs():
        pytest.skip("this build does not train")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "text.txt").write_text(TEXT)
    every = {"save_every": 0, "evaluate_every": 0, often: 1}
    run_sluice("train", "--model", "config.json", "data=text.txt", "--seq-len", "32", "--batch-size", "4", "steps=8", "--backend", "host", "out=run",
               "--json", *(f"{key}={value}" for key, value in every.items()))
    told = run_sluice("trace", "run").out
    assert "They do not overlap" in told and "Most waiting" not in told
    tasks = json.loads((tmp_path / "run" / "measured.trace").read_text())["tasks"]
    spans = sorted((task["start_s"], task["end_s"]) for task in tasks)
    longest, covered = 0, spans[0][1]
    for start, end in spans:
        longest, covered = max(longest, start - covered), max(covered, end)
    # A state is saved and a text looked at in milliseconds; lanes hand work to each other in less than one.
    steps = [json.loads(line)["step_s"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert longest < max(steps)


@pytest.mark.parametrize("steps", [1, 2])
def test_steps_of_a_run_too_short_to_trace_are_kept_and_compared(steps, tmp_path, run_sluice, validate):
    if "train" not in available_verbs():
        pytest.skip("this build does not train")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "text.txt").write_text(TEXT)
    run_sluice("train", "--model", "config.json", "data=text.txt", "--seq-len", "32", "--batch-size", "4", f"steps={steps}",
               "--backend", "host", "out=run", "--json")
    measured = json.loads((tmp_path / "run" / "measured.trace").read_text())
    validate(measured, "trace")
    assert {span["id"].split("/")[0] for span in measured["tasks"]} == {f"s{step + 1}" for step in range(steps)}
    predicted = json.loads((tmp_path / "run" / "predicted.trace").read_text())
    assert len(measured["tasks"]) * 3 == len(predicted["tasks"]) * steps
    told = run_sluice("trace", "run").out
    forward = sum(span["kind"] == "forward" for span in measured["tasks"])
    assert "ended before three steps" in told and " ".join(told.split("forward")[1].split()[:1]) == str(forward)
    assert "only in" not in told
    names = {event["args"]["name"] for event in json.loads((tmp_path / "run" / "trace.json").read_text())["traceEvents"]
             if event.get("name") == "process_name"}
    assert names == {"predicted", "measured", "predicted: critical path"}

"""sluice train: runs that end, stop, refuse, and leave everything behind that later questions need."""

import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest
import running
from conftest import available_verbs, once, program
from running import PATIENCE, steps_done, wait_until
from small_run import CONFIG, TEXT, small_flags

pytestmark = pytest.mark.skipif(
    "train" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)


@pytest.fixture
def small(tmp_path):
    """Flags of a small run: a model of two layers on a text of short sentences."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return small_flags(tmp_path, "config.json")


def lines(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


def test_a_run_leaves_its_folder(run_sluice, validate, small, tmp_path):
    result = run_sluice("train", *small, "steps=12", "--json", "out=runs/a").json()
    validate(result, "train-result")
    folder = tmp_path / "runs" / "a"
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "run.yaml", "plan.json", "predicted.trace", "measured.trace", "metrics.jsonl",
        "ledger.jsonl", "report.html", "manifest.json", "checkpoints", "tensorboard",
    }  # fmt: skip
    validate(folder / "metrics.jsonl", "metrics")
    validate(folder / "ledger.jsonl", "ledger")
    validate(folder / "manifest.json", "manifest")
    metrics = lines(folder / "metrics.jsonl")
    assert [line["step"] for line in metrics] == list(range(1, 13))
    assert metrics[-1]["loss"] == result["loss"]
    assert all(line["tokens"] == 128 for line in metrics)
    assert json.loads((folder / "manifest.json").read_text())["data_sha256"] == hashlib.sha256(
        TEXT.encode()
    ).hexdigest()


def test_the_ledger_holds_the_prediction_and_then_the_measurement(run_sluice, small, tmp_path):
    result = run_sluice("train", *small, "steps=6", "--json", "out=runs/a").json()
    prediction, measurement = lines(tmp_path / "runs/a/ledger.jsonl")
    assert prediction["kind"] == "prediction" and prediction["previous"] == "0" * 64
    assert prediction["step_s"] == result["predicted_s"]
    assert prediction["step_s_low"] <= prediction["step_s"] <= prediction["step_s_high"]
    assert prediction["plan_hash"] == result["plan_hash"]
    assert measurement["prediction"] == measurement["previous"] == prediction["hash"]
    assert measurement["step_s"] == result["step_s"]
    body = {key: value for key, value in prediction.items() if key != "hash"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == prediction["hash"]


def test_equal_jobs_give_equal_bits_whatever_the_plan(run_sluice, small, tmp_path):
    first = run_sluice("train", *small, "steps=4", "--json", "out=runs/a").json()
    other = run_sluice(
        "train", *small, "steps=4", "--json", "out=runs/b", "--set", "plan.rounds=2",
        "--set", "plan.keep=input", "--set", "plan.copy_chunk=8 KiB", "--residency", "host",
    ).json()  # fmt: skip
    assert first["plan_hash"] != other["plan_hash"]
    for key in ("job_hash", "numerics_id", "weights_sha256", "state_sha256", "loss", "val_loss"):
        assert first[key] == other[key], key
    bits = [
        [(line["loss_bits"], line["grad_norm_bits"]) for line in lines(tmp_path / run / "metrics.jsonl")]
        for run in ("runs/a", "runs/b")
    ]
    assert bits[0] == bits[1]


def test_another_seed_gives_other_weights(run_sluice, small):
    runs = [
        run_sluice("train", *small, "steps=1", "--json", f"seed={seed}", f"out=runs/{seed}").json()
        for seed in (1, 2)
    ]
    assert runs[0]["weights_sha256"] != runs[1]["weights_sha256"]
    assert runs[0]["job_hash"] == runs[1]["job_hash"]


def test_it_learns_more_than_how_often_each_byte_occurs(run_sluice, small):
    result = run_sluice(
        "train", *small, "steps=150", "--json", "optimizer.lr=0.01", "compute=fp32"
    ).json()
    assert result["val_loss"] < 0.7 * result["unigram_entropy"]


def resident_before_any_work(folder):
    """Anonymous bytes that the program and its libraries take up while it waits for its input."""
    process = running.start(["sim", "/dev/stdin"], folder, stdin=subprocess.PIPE)
    status = pathlib.Path(f"/proc/{process.pid}/status")
    wait_until(process, lambda: "(sleeping)" in status.read_text())
    resident = int(re.search(r"RssAnon:\s+(\d+) kB", status.read_text()).group(1)) << 10
    process.kill()
    process.wait()
    return resident


@pytest.mark.skipif(
    bool(os.environ.get("SLUICE_SANITIZE")), reason="a sanitizer's own memory counts as resident"
)
def test_memory_is_what_was_predicted(run_sluice, small, tmp_path):
    predicted = run_sluice("predict", *small, "--json").json()
    result = run_sluice("train", *small, "steps=3", "--json").json()
    assert result["plan_hash"] == predicted["plan_hash"]
    peaks, memory = result["peaks"], predicted["memory"]
    assert peaks["hbm_bytes"] == memory["hbm"]["peak_bytes"]
    expected = memory["hbm"]["peak_bytes"] + memory["host"]["peak_bytes"]
    libraries = resident_before_any_work(tmp_path)  # With CUDA's, several times the run's own memory.
    assert abs(peaks["rss_bytes"] - libraries - expected) <= 0.02 * expected + (32 << 20)
    assert peaks["locked_bytes"] <= 64 << 20


def test_a_trace_holds_the_graphs_ids_in_order_on_each_lane(run_sluice, validate, small, tmp_path):
    run_sluice("predict", *small, "--graph-out", "g.json")
    run_sluice("train", *small, "steps=8", "--trace-out", "t.json")
    graph = json.loads((tmp_path / "g.json").read_text())
    trace = json.loads((tmp_path / "t.json").read_text())
    validate(tmp_path / "t.json", "trace")
    for lane in graph["lanes"]:
        planned = [task["id"] for task in graph["tasks"] if task["lane"] == lane]
        ran = sorted(
            (task for task in trace["tasks"] if task["lane"] == lane),
            key=lambda task: (task["start_s"], task["end_s"]),
        )
        assert [task["id"] for task in trace["tasks"] if task["lane"] == lane] == planned
        starts = {task["id"]: (task["start_s"], task["end_s"]) for task in ran}
        for before, after in zip(planned, planned[1:]):
            assert starts[before][1] <= starts[after][0]
    ends = {task["id"]: task["end_s"] for task in trace["tasks"]}
    start = {task["id"]: task["start_s"] for task in trace["tasks"]}
    for task in graph["tasks"]:
        for before in task.get("after", []):
            assert ends[before] <= start[task["id"]]


def test_a_given_plan_is_used(run_sluice, small):
    run_sluice("plan", *small, "-o", "plan.json", "--set", "plan.rounds=4")
    result = run_sluice("train", *small, "steps=2", "--plan", "plan.json", "--json").json()
    assert result["plan_source"] == "given"


def test_a_plan_of_another_job_is_refused(run_sluice, refuses, small):
    run_sluice("plan", *small, "-o", "plan.json")
    refuses(["train", *small, "steps=2", "--plan", "plan.json", "seq_len=16"], "plan", "job")


def test_a_missing_text_is_refused(refuses, small):
    refuses(["train", *small, "data=absent.txt"], "data", "absent.txt")


def test_a_text_too_short_is_refused(refuses, small, tmp_path):
    (tmp_path / "short.txt").write_text("short")
    refuses(["train", *small, "data=short.txt"], "short.txt", "seq_len")


def test_a_run_without_text_is_refused(refuses, small):
    refuses(["train", *[word for word in small if word not in ("--data", "text.txt")]], "data")


def test_a_machine_that_is_not_here_is_refused(refuses, small):
    words = ["h200" if word == "here" else word for word in small]
    refuses(["train", *[w for w in words if w not in ("--backend", "host") and "machine." not in w],
             "limits.hbm=80 GiB", "limits.host=100 GiB"], "cuda", exit_code=4)  # fmt: skip


def test_a_folder_that_holds_a_run_is_refused(run_sluice, refuses, small):
    run_sluice("train", *small, "steps=1", "out=runs/a")
    refuses(["train", *small, "steps=1", "out=runs/a"], "out", "runs/a")


def test_a_limit_too_small_does_not_fit(run_sluice, small):
    run = run_sluice("train", *small, "--json", "limits.hbm=64 KiB", exit_code=3)
    answer = run.json()
    assert answer["fits"] is False and answer["tier"] == "hbm" and answer["short_bytes"] > 0


@once
def test_a_full_disk_ends_the_run_and_keeps_what_was_written(refuses, small, tmp_path):
    """A limit on the size of files stands for the disk: the metrics do not fit below it."""
    wrapper = tmp_path / "limited"
    wrapper.write_text(
        "import os, resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "os.makedirs('runs/a')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)\n"
        "os.execv(sys.argv[2], sys.argv[2:])\n"
    )
    limit = 600_000
    run = subprocess.run(
        ["python3", str(wrapper), str(limit), program(), "train", *small, "steps=100000", "--json",
         "out=runs/a"],
        cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE,
        env={**os.environ, "SLUICE_HOME": str(tmp_path)},
    )  # fmt: skip
    assert run.returncode == 4, run.stderr
    errors = run.stderr.splitlines()
    assert len(errors) == 1 and errors[0].startswith("sluice: error: ")
    metrics = lines(tmp_path / "runs/a/metrics.jsonl")
    assert [line["step"] for line in metrics] == list(range(1, len(metrics) + 1))
    assert metrics and lines(tmp_path / "runs/a/ledger.jsonl")[0]["kind"] == "prediction"


@once
def test_a_long_step_says_on_a_terminal_how_far_it_is(flags, tmp_path):
    slow = ["machine.h2d=30 KB/s", "machine.d2h=100 KB/s", "--residency", "host", "--no-checkpoint"]
    said = running.on_terminal(["train", *flags, *slow, "steps=1", "out=run"], tmp_path)
    shares = [int(each) for each in re.findall(r"step 1 (\d+) %, [\d.]+ s of [\d.]+ s predicted", said)]
    assert shares == sorted(shares) and shares and 0 < shares[0] <= shares[-1] <= 100


def test_a_signal_stops_the_run_at_a_step(small, tmp_path):
    process = running.start(["train", *small, "steps=100000", "--json", "out=runs/a"], tmp_path)
    assert wait_until(process, lambda: steps_done(tmp_path / "runs/a") >= 2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 75
    result = json.loads(out)
    assert result["interrupted"] is True
    assert [line["step"] for line in lines(tmp_path / "runs/a/metrics.jsonl")] == list(range(1, result["steps"] + 1))

"""Files that 0.1.0 wrote (tests/fixtures/0.1.0) open, and runs go on from them to the bits that 0.1.0 computed."""

import hashlib
import json
import pathlib
import platform
import shutil

import pytest
from conftest import REPOSITORY, available_verbs

FIXTURES = REPOSITORY / "tests" / "fixtures" / "0.1.0"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text())
RUNS = sorted(EXPECTED["runs"])
NOT_LISTED = {"README.md", "expected.json"}
EVAL = ["--data", "text.txt", "--seq-len", "32", "--machine", "here", "--backend", "host", "--json"]

needs_engine = pytest.mark.skipif(
    "train" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)


def has_avx2():
    information = pathlib.Path("/proc/cpuinfo")
    flags = information.read_text().split() if information.exists() else []
    return platform.machine() == "x86_64" and "avx2" in flags and "fma" in flags


@pytest.fixture
def old(tmp_path):
    """A copy of the fixtures: the working folder of `sluice`."""
    folder = tmp_path / "old"
    shutil.copytree(FIXTURES, folder)
    return folder


@pytest.fixture
def sluice(run_sluice, old):
    """Runs the program in the copy, with the store that is in it and the matrix kernels that 0.1.0 ran on."""
    environment = {"SLUICE_HOME": str(old / "store")}
    if has_avx2():
        environment["OPENBLAS_CORETYPE"] = EXPECTED["openblas_core"]

    def run(*words, **options):
        return run_sluice(*words, cwd=old, env=environment, **options)

    return run


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def bits(run):
    return [[line["step"], line["loss_bits"], line["grad_norm_bits"]] for line in lines(run / "metrics.jsonl")]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def numerics_id(sluice):
    return sluice("predict", *EXPECTED["plan"]["flags"], "--json").json()["numerics_id"]


def same_numerics(sluice):
    return numerics_id(sluice) == EXPECTED["numerics_id"]


def skip_bits(sluice, said):
    recorded, here = EXPECTED["numerics_id"], numerics_id(sluice)
    pytest.skip(f"bits hold under numerics id {recorded[:12]}, and this build has {here[:12]}: {said}")


def assert_chained(ledger):
    """Every line has its own hash, and the hash of the line before it."""
    before = "0" * 64
    for line in lines(ledger):
        body = {key: value for key, value in line.items() if key != "hash"}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert line["previous"] == before
        assert hashlib.sha256(text.encode()).hexdigest() == line["hash"]
        before = line["hash"]


def flip(path, at=2 / 3):
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 1
    path.write_bytes(data)


def test_every_file_is_the_one_that_was_written():
    found = {
        str(path.relative_to(FIXTURES)): sha256(path)
        for path in FIXTURES.rglob("*")
        if path.is_file() and path.name not in NOT_LISTED
    }
    assert found == EXPECTED["files"]


@needs_engine
@pytest.mark.parametrize("name", RUNS)
def test_a_runs_traces_open_and_compare_as_they_did(sluice, old, name):
    sluice("trace", f"runs/{name}")
    events = json.loads((old / "runs" / name / "trace.json").read_text())["traceEvents"]
    rows = {event["args"]["name"] for event in events if event.get("name") == "process_name"}
    assert {"predicted", "measured"} <= rows
    traces = [f"runs/{name}/{which}.trace" for which in ("predicted", "measured")]
    compared = sluice("trace", "diff", *traces, "--json").json()
    for key, value in EXPECTED["runs"][name]["trace"].items():
        assert compared[key] == value, key


@needs_engine
@pytest.mark.parametrize("name", RUNS)
def test_a_checkpoints_weights_are_exported_byte_for_byte(sluice, old, name):
    said = sluice("export", f"runs/{name}", "-o", "out", "--json").json()
    assert said["files"] == EXPECTED["runs"][name]["export"]
    for file in said["files"]:
        assert sha256(old / "out" / file["name"]) == file["sha256"]


@needs_engine
@pytest.mark.parametrize("name", RUNS)
def test_a_checkpoint_is_evaluated(sluice, name):
    expected = EXPECTED["runs"][name]["eval"]
    said = sluice("eval", f"runs/{name}", *EVAL).json()
    assert said["tokens"] == expected["tokens"]
    assert said["pass_s"] == expected["pass_s"]
    # bf16 activations: another library's sums differ in the third digit at most.
    exact = same_numerics(sluice)
    assert said["loss"] == (expected["loss"] if exact else pytest.approx(expected["loss"], rel=5e-3))


def assert_ends_like_the_uninterrupted_run(said, old, name):
    expected = EXPECTED["runs"][name]["uninterrupted"]
    assert said["steps"] == EXPECTED["steps"]
    assert bits(old / "runs" / name) == expected["bits"]
    for key in ("loss", "val_loss", "weights_sha256", "state_sha256", "job_hash"):
        assert said[key] == expected[key], key


@needs_engine
@pytest.mark.parametrize("name", RUNS)
def test_an_interrupted_run_goes_on_to_the_bits_of_the_uninterrupted_one(sluice, old, name):
    run, expected = old / "runs" / name, EXPECTED["runs"][name]
    before = (run / "ledger.jsonl").read_text()
    assert before.count("\n") == expected["ledger_lines"]
    words = ["train", f"runs/{name}", "--resume", "--json"]
    exact = same_numerics(sluice)
    if not exact:
        refused = sluice(*words, exit_code=2).err
        assert "another numerics id" in refused and refused.count("\n") == 1
        assert (run / "ledger.jsonl").read_text() == before
        if "--allow-numerics-change" not in sluice("train", "--help").out:
            skip_bits(sluice, "--resume refused to go on, as it must")
        words.append("--allow-numerics-change")
    said = sluice(*words).json()
    assert said["resumed_after"] == expected["interrupted_after"]
    after = (run / "ledger.jsonl").read_text()
    assert after.startswith(before) and after.count("\n") == expected["ledger_lines"] + 2
    assert_chained(run / "ledger.jsonl")
    if not exact:
        assert said["steps"] == EXPECTED["steps"]
        assert said["loss"] == pytest.approx(expected["uninterrupted"]["loss"], rel=0.05)
        skip_bits(sluice, "the run went on with --allow-numerics-change")
    assert_ends_like_the_uninterrupted_run(said, old, name)
    for key in ("plan_hash", "graph_sha256", "predicted_s"):
        assert said[key] == expected["uninterrupted"][key], key


@needs_engine
@pytest.mark.parametrize(
    "file", ["model.safetensors", "m.safetensors", "v.safetensors", "checkpoint.json", "config.json"]
)
def test_a_changed_byte_of_the_only_checkpoint_is_noticed(sluice, old, file):
    (checkpoint,) = (old / "runs/experts/checkpoints").iterdir()
    flip(checkpoint / file)
    said = sluice("train", "runs/experts", "--resume", exit_code=2).err
    assert "no checkpoint in runs/experts/checkpoints is intact" in said and file in said


@needs_engine
def test_a_changed_byte_of_the_newest_checkpoint_leaves_the_one_before_it(sluice, old):
    older, newest = EXPECTED["runs"]["dense"]["checkpoints"]
    flip(old / "runs/dense/checkpoints" / newest / "v.safetensors")
    exact = same_numerics(sluice)
    run = sluice("train", "runs/dense", "--resume", "--json", exit_code=0 if exact else 2)
    assert f"{newest}/v.safetensors" in run.err
    if not exact:
        assert f"{older} is of another numerics id" in run.err
        skip_bits(sluice, "the older checkpoint was refused for it alone")
    assert run.json()["resumed_after"] == int(older.removeprefix("step-"))
    assert_ends_like_the_uninterrupted_run(run.json(), old, "dense")


@needs_engine
@pytest.mark.parametrize("ledger", [*(f"runs/{name}/ledger.jsonl" for name in RUNS), "store/ledger.jsonl"])
def test_a_ledger_is_chained(old, ledger):
    assert (old / ledger).read_text().endswith("\n")
    assert_chained(old / ledger)


@needs_engine
def test_a_ledger_with_a_changed_line_is_not_appended_to(sluice, old):
    ledger = old / "runs/dense/ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"step_s":0.0', '"step_s":0.1', 1))
    if not same_numerics(sluice):
        skip_bits(sluice, "--resume is refused before the ledger is read")
    said = sluice("train", "runs/dense", "--resume", exit_code=2).err
    assert "ledger.jsonl:1: `hash` does not match the line" in said


def test_a_plan_has_its_hash_and_its_step_time(sluice):
    expected = EXPECTED["plan"]
    said = sluice("predict", *expected["flags"], "--plan", "plan.json", "--json").json()
    for key in ("plan_hash", "job_hash", "cost_model_hash", "step_s", "bound_s"):
        assert said[key] == expected[key], key
    # What is unsure of a machine is not what 0.1.0 took for it; the interval is no narrower.
    assert said["step_s_low"] <= expected["step_s_low"] < expected["step_s_high"] <= said["step_s_high"]
    assert said["step_s_high"] - said["step_s_low"] <= 1.01 * (expected["step_s_high"] - expected["step_s_low"])


@needs_engine
def test_a_plan_is_trained_with(sluice):
    expected = EXPECTED["plan"]
    said = sluice("train", *expected["flags"], "--plan", "plan.json", "out=planned", "--json").json()
    assert said["plan_source"] == "given" and said["plan_hash"] == expected["plan_hash"]
    if not same_numerics(sluice):
        skip_bits(sluice, "the plan was taken and its hash is the recorded one")
    assert said["weights_sha256"] == expected["weights_sha256"]


def test_a_plan_with_another_job_hash_is_refused(sluice, old):
    file = old / "plan.json"
    plan = json.loads(file.read_text())
    plan["job_hash"] = ("1" if plan["job_hash"][0] == "0" else "0") + plan["job_hash"][1:]
    file.write_text(json.dumps(plan))
    words = ["predict", *EXPECTED["plan"]["flags"], "--plan", "plan.json"]
    assert "another job" in sluice(*words, exit_code=2).err


def test_the_profile_and_its_calibration_open(sluice, old):
    expected = EXPECTED["profile"]
    (file,) = (old / "store/calibration").iterdir()
    samples = lines(file)
    assert len(samples) == expected["calibration_lines"]
    shown = sluice("machines", "show", "here").out
    assert f"profile {expected['hash']}" in shown
    assert f"calibration, {expected['costs']} costs in " in shown
    keys = {sample["cost_key"] for sample in samples if "cost_key" in sample}
    assert keys and all(f"  {key} " in shown for key in keys)


def test_a_profile_file_is_the_machine_of_the_store(sluice, old):
    (file,) = (old / "store/profiles").iterdir()
    shown = sluice("machines", "show", file.relative_to(old)).out
    assert f"profile {EXPECTED['profile']['hash']}" in shown


def test_a_graph_simulates_as_it_did_and_its_trace_opens(sluice, old):
    said = sluice("sim", "graph.json", "--trace", "again.json", "--json").json()
    for key, value in EXPECTED["sim"].items():
        assert said[key] == value, key
    assert json.loads((old / "again.json").read_text()) == json.loads((old / "trace.json").read_text())


def test_a_fitted_kernel_model_costs_what_it_did(sluice):
    said = sluice("cost", *EXPECTED["cost"]["words"], "--json").json()
    for key, value in EXPECTED["cost"]["says"].items():
        # Trees add logarithms: the last digit is the C library's.
        assert said[key] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value), key

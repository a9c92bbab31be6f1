"""State, gradients and weights on the disk: the bits of a run without, and what is said of it."""

import json

import pytest
from conftest import available_verbs, once
from disk_shares import ALL, RATES, TIERS, WAITING
from small_run import CONFIG, bits, small_flags, write_model

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)

def test_any_share_of_the_state_gives_the_same_bits_and_checkpoints(
    run_sluice, validate, flags, tmp_path
):
    runs = {}
    for name, more in TIERS.items():
        words = ["train", *flags, *more, "steps=6", "save_every=2", f"out={name}", "--json"]
        runs[name] = run_sluice(*words).json()
        validate(runs[name], "train-result")
        validate(tmp_path / name / "plan.json", "plan")
        validate(tmp_path / name / "metrics.jsonl", "metrics")
        assert not list((tmp_path / name).glob(".sluice-state*"))
    for name in list(TIERS)[1:]:
        for key in ("loss", "val_loss", "weights_sha256", "state_sha256"):
            assert runs[name][key] == runs["none"][key], (name, key)
        assert bits(tmp_path / name) == bits(tmp_path / "none")
        for file in (tmp_path / "none" / "checkpoints" / "step-6").glob("*.safetensors"):
            other = tmp_path / name / "checkpoints" / "step-6" / file.name
            assert other.read_bytes() == file.read_bytes(), file.name


@pytest.mark.slow
@once
def test_a_model_whose_weights_alone_exceed_the_host_is_trained(
    run_sluice, validate, tmp_path
):
    write_model(tmp_path / "deep", {**CONFIG, "hidden_size": 128, "intermediate_size": 512,
                                    "num_hidden_layers": 32})  # fmt: skip
    flags = small_flags(tmp_path, "deep")
    flags[flags.index("--hbm") + 1] = "16MiB"
    host = flags.index("--host") + 1
    common = ["compute=bf16", "steps=3", "machine.disk_read=1 GB/s", "machine.disk_write=1 GB/s"]
    roomy = run_sluice("train", *flags, *common, "out=roomy", "--json").json()
    process = 32 * 2**20
    weights = 2 * run_sluice("predict", *flags, *common, "--json").json()["parameters"]
    flags[host] = f"{(process + weights * 3 // 4) >> 20}MiB"
    lacking = run_sluice("predict", *flags, *common, "--json", exit_code=3).json()
    assert lacking["tier"] == "host"
    remedy = lacking["remedies"][0]
    assert "weights" in remedy["what"] and remedy["setting"].startswith("--disk ")
    words = [*flags, *common, *remedy["setting"].split(), "out=run"]
    said = run_sluice("train", *words, "--json").json()
    plan = json.loads((tmp_path / "run" / "plan.json").read_text())
    validate(plan, "plan")
    assert any(layer["weights"] == "disk" for layer in plan["layers"])
    predicted = run_sluice("predict", *flags, *common, "--json", "--plan", "run/plan.json").json()
    host_memory = predicted["memory"]["host"]
    assert host_memory["peak_bytes"] < process + weights
    assert host_memory["peak_bytes"] <= host_memory["capacity_bytes"]
    assert predicted["memory"]["disk"]["parts"]["weights"] > 0
    for key in ("loss", "val_loss", "weights_sha256", "state_sha256"):
        assert said[key] == roomy[key], key
    assert bits(tmp_path / "run") == bits(tmp_path / "roomy")
    more = run_sluice("train", *words, "steps=5", "--resume", "--json").json()
    assert more["resumed_after"] == 3
    whole = run_sluice("train", *flags[:host], "1GiB", *flags[host + 1:], *common, "steps=5",
                       "out=roomy", "--resume", "--json").json()  # fmt: skip
    assert more["weights_sha256"] == whole["weights_sha256"]
    losses = [run_sluice("eval", name, "--data", "text.txt", "--json").json()["loss"]
              for name in ("run", "roomy")]  # fmt: skip
    assert losses[0] == losses[1]
    run_sluice("export", "run", "-o", "folder")
    assert (tmp_path / "folder" / "model.safetensors").stat().st_size > weights


def test_predict_says_what_lies_on_the_disk_and_what_steps_write(run_sluice, validate, flags):
    words = ["predict", *flags, *ALL, "machine.disk_endurance=1 TB", "--json"]
    said = run_sluice(*words).json()
    validate(said, "predict")
    disk = said["memory"]["disk"]
    assert disk["peak_bytes"] >= 10 * said["parameters"]
    assert disk["parts"]["state"] > 0
    assert 0 < said["busy"]["disk-write"] <= 1
    wear = said["ssd_wear"]
    assert wear["written_a_step_bytes"] >= 10 * said["parameters"]
    assert wear["steps"] == pytest.approx(1e12 / wear["written_a_step_bytes"])
    without = run_sluice("predict", *flags, *RATES, "--json").json()
    assert "disk-write" not in without["busy"] and without["memory"]["disk"]["peak_bytes"] == 0


def test_a_host_that_is_too_small_is_told_of_the_disk_and_may_use_it(run_sluice, validate, tmp_path):
    words = [
        "predict", "--model", "qwen2.5-7b", "--machine", "h200", "--seq-len", "1024",
        "--batch-size", "8", "--residency", "host", "--host", "64GiB", "--json",
    ]  # fmt: skip
    said = run_sluice(*words, exit_code=3).json()
    validate(said, "predict")
    remedy = said["remedies"][0]
    assert "layers" in remedy["what"] and "on disk: +" in remedy["what"]
    found = run_sluice(*words, *remedy["setting"].split()).json()
    assert found["fits"]
    assert found["memory"]["host"]["peak_bytes"] <= 64 * 2**30
    assert found["memory"]["disk"]["peak_bytes"] > 0
    assert found["step_s"] <= 1.05 * remedy["step_s"]  # This plan comes from a longer search.
    assert found["step_s"] >= found["bound_s"]


@once
def test_a_host_that_lacks_more_than_the_device_would_uses_the_disk(run_sluice):
    words = [
        "predict", "--model", "qwen2.5-72b", "--machine", "h200", "--seq-len", "1024",
        "--batch-size", "4", "--host", "16GiB", "--json",
    ]  # fmt: skip
    # Everything in HBM lacks less than everything on the host does.
    assert run_sluice(*words, exit_code=3).json()["tier"] == "hbm"
    found = run_sluice(*words, "--disk", "4TiB").json()
    assert found["fits"]
    assert found["memory"]["host"]["peak_bytes"] <= 16 * 2**30
    assert found["memory"]["disk"]["parts"]["weights"] > 0
    assert found["step_s"] >= found["bound_s"]


def test_a_disk_that_is_too_small_does_not_fit(run_sluice, flags):
    said = run_sluice("train", *flags, *ALL, "--disk", "1KiB", "--json", exit_code=3).json()
    assert said["fits"] is False and said["tier"] == "disk"


def test_what_a_run_writes_to_the_drive_is_counted_against_its_rating(
    run_sluice, validate, flags, tmp_path
):
    drive = tmp_path / "drive"
    drive.mkdir()
    words = [*flags, *WAITING, "steps=4", "out=run", "--disk-path", "drive", "--ssd-tbw", "1 TB"]
    said = run_sluice("train", *words, "--json").json()
    validate(said, "train-result")
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").open()]
    for line in lines:
        validate(line, "metrics")
    parameters = run_sluice("predict", *words[:-6], "--json").json()["parameters"]
    assert sum(line["moved_bytes"]["disk-write"] for line in lines) > 0
    ssd = said["ssd"]
    # State and gradients of every step, and the state before the first.
    assert ssd["state_bytes"] >= (4 * 14 + 2) * parameters
    assert ssd["checkpoint_bytes"] == 12 * parameters
    assert ssd["share"] == pytest.approx((ssd["state_bytes"] + ssd["checkpoint_bytes"]) / 1e12)
    assert "disk_path: \"drive\"" in (tmp_path / "run" / "run.yaml").read_text()
    said = run_sluice("train", *words[:-2], "out=again").out
    assert "SSD: " in said and "--ssd-tbw" in said
    assert not list(drive.iterdir())

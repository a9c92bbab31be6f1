"""models, machines and init: what they print, what they write, what they refuse."""

import json

import pytest
import yaml
from conftest import available_verbs


def test_models_lists_the_catalogue(run_sluice, validate):
    document = run_sluice("models", "--json").json()
    validate(document, "model-list")
    by_name = {model["name"]: model for model in document["models"]}
    assert by_name["qwen2.5-7b"]["parameters"] == 7_615_616_512
    assert by_name["bytes-2m"]["vocab"] == 256
    assert "llama-3.1-8b" in run_sluice("models").out


def test_models_shows_any_config(run_sluice, validate, tmp_path):
    shown = run_sluice("models", "show", "qwen3-0.6b", "--json").json()
    validate(shown, "model")
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(shown["config"]))
    again = run_sluice("models", str(folder), "--json").json()
    assert again["parameters"] == shown["parameters"] == 596_049_920


def test_machines_lists_names_sources_and_support(run_sluice, validate):
    document = run_sluice("machines", "--json").json()
    validate(document, "machine-list")
    names = [machine["name"] for machine in document["machines"]]
    assert names[0] == "here" and {"h200", "rtx-3090"} <= set(names)
    support = {row["architecture"]: row["state"] for row in document["support"]}
    assert {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"} <= set(support)
    assert support["host"] == "tested"


@pytest.mark.parametrize("words, first", [((), "parts"), (("clouds",), "instances")])
def test_an_example_of_prices_is_a_file_that_buy_reads(run_sluice, tmp_path, words, first):
    (tmp_path / "prices.yaml").write_text(run_sluice("machines", "prices", *words).out)
    assert first in yaml.safe_load((tmp_path / "prices.yaml").read_text())
    words = ("--model", "qwen2.5-1.5b", "--machine", "rtx-4090", "--seq-len", 1024, "--batch-size", 8, "--tokens", "1M")
    assert "throughput" in run_sluice("predict", *words, "--prices", tmp_path / "prices.yaml").out


def test_an_example_of_prices_that_is_not_there_is_refused(run_sluice):
    assert "takes nothing" in run_sluice("machines", "prices", "shops", exit_code=2).err


def test_parts_are_listed_and_the_catalogue_spans_them(run_sluice):
    document = run_sluice("machines", "--json").json()
    machines = {machine["name"]: machine for machine in document["machines"]}
    assert len(machines) >= 25
    wanted = {"rtx-3090", "rtx-4070-ti-super", "rtx-4080", "rtx-4090", "rtx-5080", "rtx-5090", "rtx-a4000",
              "rtx-a5000", "rtx-a6000", "rtx-4000-ada", "rtx-5000-ada", "rtx-6000-ada", "rtx-pro-4000",
              "rtx-pro-4500", "rtx-pro-5000", "rtx-pro-6000", "l4", "l40s", "a100-40-pcie", "a100-40-sxm",
              "a100-80-pcie", "a100-80-sxm", "h100-pcie", "h100-sxm", "h100-nvl", "h200", "gh200", "b200",
              "gb200"}
    assert wanted <= set(machines)
    text = run_sluice("machines", "parts").out
    for word in ["ryzen-9-9950x", "gen4", "rtx-4090", "DDR5", "--ram", "c2c"]:
        assert word in text


def test_parts_as_json_are_those_of_the_text(run_sluice, validate):
    document = run_sluice("machines", "parts", "--json").json()
    validate(document, "part-list")
    assert run_sluice("machines", "--json", "parts").json() == document
    text = run_sluice("machines", "parts").out
    for kind in ("gpus", "cpus", "ssds"):
        names = [part["name"] for part in document[kind]]
        assert names and all(f"\n{name} " in text for name in names)
    gen4 = next(part for part in document["ssds"] if part["name"] == "gen4")
    assert gen4["pcie"] == 4 and gen4["read_bytes_per_s"] > gen4["write_bytes_per_s"] > 1e9
    cpu = next(part for part in document["cpus"] if part["name"] == "ryzen-9-9950x")
    assert cpu["memory"] == "DDR5" and cpu["cores"] == 16 and 2 in cpu["modules"]
    assert 32 * 2**30 in cpu["module_bytes"] and max(cpu["transfers_per_s"]) >= 5600e6


@pytest.mark.parametrize("name", ["here", "h200", "rtx-4090"])
def test_a_shown_machine_is_a_profile_file(run_sluice, validate, tmp_path, name):
    document = run_sluice("machines", "show", name, "--json").json()
    validate(document, "profile")
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(document))
    assert run_sluice("machines", str(path), "--json").json() == document
    assert document["facts"]["h2d_bytes_per_s"]["source"] in ("measured", "estimated")


def test_a_machines_measured_passes_are_shown_and_change_its_hash(run_sluice, validate, refuses, tmp_path):
    document = run_sluice("machines", "show", "h200", "--json").json()
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(document))
    bare = run_sluice("machines", "show", str(path)).out
    key = "forward/block|h896.i4864.a14.2.64.v151936.qkvb.tied|s1024.b4.c1024.bf16"
    document["passes"] = [{"key": key, "seconds": 0.002, "deviation": 1e-5, "count": 9, "note": "quick probe"}]
    validate(document, "profile")
    path.write_text(json.dumps(document))
    shown = run_sluice("machines", "show", str(path)).out
    assert f"  {key}  2.00 ms +- 0.5 %, 9 measured: quick probe\n" in shown
    hashes = [text.split("profile ")[1].split()[0] for text in (bare, shown)]
    assert hashes[0] != hashes[1]
    assert run_sluice("machines", "show", str(path), "--json").json()["passes"] == document["passes"]
    run = ("predict", "--model", "qwen2.5-0.5b", "--seq-len", "1024", "--batch-size", "8", "--micro-batch", "4", "--machine", str(path))
    slow = run_sluice(*run, "--json").json()
    document["passes"][0]["seconds"] = 0.001
    path.write_text(json.dumps(document))
    assert run_sluice(*run, "--json").json()["step_s"] < slow["step_s"]
    document["passes"][0]["seconds"] = 0
    path.write_text(json.dumps(document))
    refuses(("machines", "show", str(path)), "passes[0]: seconds", "more than 0")


def test_a_machine_of_parts_is_shown(run_sluice, refuses):
    parts = ("--gpu", "rtx-4090", "--ram=4x48 GiB DDR5-5600")
    shown = run_sluice("machines", "show", *parts, "--json").json()
    assert shown["name"] == "rtx-4090 + 4x48 GiB DDR5-5600"
    assert run_sluice("machines", "show", "rtx-4090", "--ram", "4x48 GiB DDR5-5600", "--json").json() == shown
    refuses(("machines", "show", "--gpu", "rtx-4090", "--ram", "3x48 GiB DDR5-5600"), "3 modules", "one of 1, 2, 4")
    refuses(("machines", "show", "--gpu"), "--gpu", "a value is missing")
    refuses(("machines", "show", "--gpu", "h200", "--cpu", "ryzen-9-9950x"), "h200", "one of xeon-8468")


def test_init_writes_a_run_that_is_read_back(run_sluice, validate, refuses, tmp_path):
    (tmp_path / "text.txt").write_text("some text")
    words = ["init", "--model", "bytes-2m", "--data", "text.txt", "--hbm", "24 MiB"]
    run_sluice(*words, cwd=tmp_path)
    text = (tmp_path / "RUN.yaml").read_text()
    assert text.count("\n# ") > 8
    run = yaml.safe_load(text)
    validate(run, "run")
    assert run["limits"] == {"hbm": "24 MiB"}
    refuses(words, "RUN.yaml exists already", cwd=tmp_path)
    run_sluice("init", "RUN.yaml", "seq_len=32", "-o", "second.yaml", cwd=tmp_path)
    second = yaml.safe_load((tmp_path / "second.yaml").read_text())
    assert second["seq_len"] == 32 and second["batch_size"] == run["batch_size"]


def test_init_refuses_a_folder_as_data_as_train_does(refuses, run_sluice, tmp_path):
    (tmp_path / "texts").mkdir()
    line = "data: texts holds no data file"
    refuses(["init", "--model", "bytes-2m", "--data", "texts"], line, cwd=tmp_path)
    assert not (tmp_path / "RUN.yaml").exists()
    # A folder beside it is no obstacle to a file of a data set's folder.
    (tmp_path / "set" / "texts").parent.mkdir()
    (tmp_path / "set" / "texts").write_text("some text")
    run_sluice("init", "--model", "bytes-2m", "--data", "texts", "dataset_dir=set", cwd=tmp_path)
    if "train" in available_verbs():
        refuses(["train", "--model", "bytes-2m", "--data", "texts", "--seq-len", "32", "--batch-size", "4"], line,
                cwd=tmp_path)


@pytest.mark.parametrize(
    "words, text",
    [
        (["models", "show", "qwen25-7b"], 'did you mean "qwen2.5-7b"'),
        (["machines", "show", "h2000"], 'did you mean "h200"'),
        (["machines", "show", "9x-h200"], "Nx-NAME takes N from 2 to 8"),
        (["machines", "show"], "a name is missing"),
        (["init", "--data", "x"], "--model is missing"),
        (["init", "--model", "bytes-2m"], "--data is missing"),
        (["init", "--model", "bytes-2m", "--data", "missing.txt"], "no file missing.txt"),
        (["init", "--model", "bytes-2m", "--hbm", "24"], "limits.hbm"),
        (["init", "--modle", "bytes-2m"], 'did you mean "--model"'),
        (["models", "show", "gone/config.json"], "there is no file gone/config.json"),
    ],
)
def test_refusals_name_the_fix(refuses, words, text):
    refuses(words, text)


def test_an_unknown_family_is_refused(refuses, tmp_path):
    config = tmp_path / "config.json"
    config.write_text('{"model_type": "gpt2"}')
    refuses(["models", "show", str(config)], "config.json: model_type", "llama, mistral")


def test_a_file_that_cannot_be_written_is_a_failure_of_the_environment(refuses, tmp_path):
    (tmp_path / "text.txt").write_text("some text")
    refuses(
        ["init", "--model", "bytes-2m", "--data", "text.txt", "-o", "/dev/full", "--force"],
        "No space left",
        exit_code=4,
        cwd=tmp_path,
    )

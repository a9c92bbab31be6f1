"""Models and machines by name, and machines of one's own."""

import inspect
import pathlib
import re

import pytest
import sluice

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def test_lists_are_what_the_program_prints(cli):
    _, machines = cli("machines", "--json")
    # The first is this computer, whose free disk changes.
    assert sluice.machines()[0].name == machines["machines"][0]["name"] == "here"
    assert [each.to_dict() for each in sluice.machines()[1:]] == machines["machines"][1:]
    assert [each.to_dict() for each in sluice.support()] == machines["support"]
    _, models = cli("models", "--json")
    assert [each.to_dict() for each in sluice.models()] == models["models"]
    assert list(sluice.models().to_frame()["name"]) == [each["name"] for each in models["models"]]


def test_one_model_and_one_machine_are_what_the_program_prints(cli):
    model, printed = sluice.model("llama-3.1-8b").to_dict(), cli("models", "llama-3.1-8b", "--json")[1]
    assert {key: printed[key] for key in model} == model
    files = {"defaults", "dtype", "notes", "source", "template", "tokenizer", "weights"}  # What the program finds on the disk.
    assert set(printed) - set(model) == files
    assert sluice.machine("h200").to_dict() == cli("machines", "h200", "--json")[1]
    assert sluice.machine("h200")["h2d_bytes_per_s"] == 55.4e9
    assert sluice.model("llama-3.1-8b").layers == 32
    assert sluice.machine().name == "here"


def test_a_changed_machine_predicts_as_set_does_and_saves_as_a_profile(cli, tmp_path):
    run = {"model": "bytes-2m", "seq_len": 256, "batch_size": 8, "hbm": "720 MiB"}
    mine = sluice.machine("rtx-4090").replace(name="mine", h2d="10 GB/s", dram="0.5x")
    assert mine["h2d_bytes_per_s"] == 10e9
    by_object = sluice.predict(machine=mine, **run)
    by_set = sluice.predict(machine="rtx-4090", set={"machine.h2d": "10 GB/s", "machine.dram": "0.5x"}, **run)
    assert by_object.step_s == by_set.step_s
    mine.save(tmp_path / "mine.json")
    assert sluice.predict(machine=tmp_path / "mine.json", **run).to_dict() == by_object.to_dict()
    assert cli("machines", tmp_path / "mine.json", "--json")[1] == mine.to_dict()
    with pytest.raises(sluice.BadRequest, match="h2d"):
        mine.replace(h2b="10 GB/s")


def test_policies_are_named_and_explained():
    policies = sluice.policies()
    assert "zero-offload" in policies and all(policies.values())


def test_everything_public_has_a_docstring_and_the_stub_names_all_of_the_extension():
    for name in sluice.__all__:
        each = getattr(sluice, name)
        if inspect.isclass(each) or inspect.isfunction(each):
            assert each.__doc__, name
    from sluice import _core

    stub = (REPOSITORY / "python" / "sluice" / "_core.pyi").read_text()
    declared = set(re.findall(r"^(?:def|class) (\w+)|^(\w+):", stub, re.MULTILINE))
    declared = {name for pair in declared for name in pair if name}
    assert {name for name in vars(_core) if not name.startswith("_")} == declared
    for name in ("StepOutcome", "Ablation"):
        body = stub.split(f"class {name}:")[1].split("\nclass ")[0].split("\ndef ")[0]
        members = set(re.findall(r"    def (\w+)", body)) - {"__init__", "__len__"}
        assert members == {member for member in vars(getattr(_core, name)) if not member.startswith("_")}


def test_what_cannot_be_written_is_an_environment_that_failed(tmp_path):
    with pytest.raises(sluice.EnvironmentFailed, match="cannot write .*none/here.json"):
        sluice.machine("h200").save(tmp_path / "none" / "here.json")

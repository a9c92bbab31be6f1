"""scripts/check asks of a change what concerns it, and says what it left."""

import importlib.machinery
import importlib.util
import pathlib
import re
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def check():
    path = REPOSITORY / "scripts" / "check"
    loader = importlib.machinery.SourceFileLoader("scripts_check", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("scripts_check", loader))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


def test_a_room_brings_its_program_and_the_suites_of_its_folder_of_tests(check):
    change = check.Change(["planner/files/hash.cpp"])
    assert change.targets == {"planner_tests"} and change.code == ["planner/files/hash.cpp"]
    assert change.quick == {"Sha256", "CanonicalText"} and not change.programs and not change.python


def test_a_room_without_tests_brings_every_quick_case_of_its_program(check):
    change = check.Change(["engine/tokenizer/text_pattern.hpp"])
    assert change.programs == {"engine_tests"} and not change.quick


def test_a_changed_test_runs_its_usual_cases_too(check):
    change = check.Change(["tests/planner/files/hash_test.cpp"])
    assert change.changed_suites == {"Sha256", "CanonicalText"}
    named = dict(check.steps(change))
    assert "^(quick|usual)$" in named["changed tests"]


def test_a_verb_brings_the_file_of_its_name(check):
    change = check.Change(["cli/predict.cpp"])
    assert change.targets == {"sluice"} and change.python == {"tests/cli/test_predict.py", check.PAGES}
    assert "-k" not in dict(check.steps(change))["quick tests of tests/docs"]


def test_pages_bring_no_build(check):
    change = check.Change(["README.md", "docs/building.md"])
    assert not change.targets and change.python == {check.PAGES}
    assert "-k" in dict(check.steps(change))["quick tests of tests/docs"]


def test_cuda_sources_bring_their_format_alone(check):
    change = check.Change(["engine/cuda/kernels/adamw.cu"])
    assert not change.targets


def test_every_case_that_a_change_asks_for_is_named_as_ctest_names_it(check):
    pattern = check.ctest({"Sha256"}, "quick")[check.ctest({"Sha256"}, "quick").index("-R") + 1]
    assert all(re.search(pattern, name) for name in ("Sha256.A", "Io/Sha256.A/threads", "Sha256/0.A"))
    assert not any(re.search(pattern, name) for name in ("OtherSha256.A", "Sha2566.A", "pytest.house.Sha256"))


def test_what_outlasts_the_time_is_left_and_its_children_end(check, tmp_path, capsys):
    checks = check.Checks(2.0)
    assert not checks.run("sleep", ["sh", "-c", f"sleep 30; touch {tmp_path}/woke"])
    assert checks.left == ["sleep"] and not checks.failed
    assert not checks.run("next", ["true"]) and checks.left == ["sleep", "next"]
    assert "out of time" in capsys.readouterr().out


def test_a_failure_shows_the_end_of_what_was_said(check, capsys):
    checks = check.Checks(60)
    assert checks.run("fine", ["true"]) and not checks.run("bad", ["sh", "-c", "echo why; exit 1"])
    assert checks.failed == ["bad"] and "why" in capsys.readouterr().out

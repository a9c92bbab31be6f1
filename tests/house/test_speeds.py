"""Every ctest case has exactly one of the labels quick, usual and slow, and tests/speeds.txt names only tests that exist."""

import fnmatch
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SPEEDS = {"quick", "usual", "slow"}


@pytest.fixture(scope="module")
def cases():
    """Labels of every ctest case of the build under test, by name."""
    build = pathlib.Path(os.environ.get("SLUICE_BUILD", REPOSITORY / "build"))
    if not (build / "CTestTestfile.cmake").is_file():
        pytest.skip(f"no tests are built in {build}")
    newest = max(path.stat().st_mtime for path in [REPOSITORY / "tests" / "speeds.txt", *REPOSITORY.glob("tests/*/CMakeLists.txt")])
    if (build / "build.ninja").stat().st_mtime < newest:
        pytest.skip(f"{build} was configured before the last change of the registry")
    listed = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True
    ).stdout
    found = {}
    for test in json.loads(listed)["tests"]:
        labels = [each["value"] for each in test.get("properties", []) if each["name"] == "LABELS"]
        if not test["name"].endswith("_NOT_BUILT"):  # A program's cases are known once it is built.
            found[test["name"]] = {label for each in labels for label in each}
    return found


def registry():
    lines = (REPOSITORY / "tests" / "speeds.txt").read_text().splitlines()
    return [line.split() for line in lines if line.strip() and not line.startswith("#")]


def test_every_case_has_one_speed(cases):
    assert cases, "ctest lists no case"
    wrong = {name: sorted(labels & SPEEDS) for name, labels in cases.items() if len(labels & SPEEDS) != 1}
    assert wrong == {}


def test_the_registry_says_usual_or_slow_once_a_test():
    named = [tuple(words[1:]) for words in registry()]
    assert {words[0] for words in registry()} <= {"usual", "slow"}
    assert len(named) == len(set(named))


def test_python_files_of_the_registry_exist():
    missing = [words[1] for words in registry() if words[1].endswith(".py") and not (REPOSITORY / "tests" / words[1]).is_file()]
    assert missing == []


def test_patterns_of_the_registry_name_cases_and_label_them(cases):
    """A pattern that fits no case is a leftover. GoogleTest programs that this build leaves out have no cases to fit."""
    listings = {}
    for speed, program, *pattern in registry():
        if not pattern:
            continue
        build = pathlib.Path(os.environ.get("SLUICE_BUILD", REPOSITORY / "build"))
        path = build / "bin" / program
        if not path.is_file():
            continue
        if program not in listings:
            said = subprocess.run([path, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
            listings[program] = names_of(said)
        fitting = [name for name in listings[program] if fnmatch.fnmatchcase(name, pattern[0])]
        assert fitting, f"{program} has no case {pattern[0]}"
        listed = [name for name in fitting if name in cases]
        assert [name for name in listed if speed not in cases[name]] == []


def names_of(listing):
    """Names of cases from --gtest_list_tests: a suite's line, then its cases, indented."""
    names, suite = [], ""
    for line in listing.splitlines():
        word = line.split("#")[0].strip()
        if line.startswith("  "):
            names.append(suite + word)
        elif word.endswith("."):
            suite = word
    return names


def test_files_that_are_labelled_alike_for_pytest_and_ctest(cases):
    """tests/conftest.py marks a file as ctest labels it."""
    named = {words[1]: words[0] for words in registry()}
    for name, labels in cases.items():
        if name.startswith("pytest."):
            _, folder, stem = name.split(".")
            assert named.get(f"{folder}/{stem}.py", "quick") in labels, name


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("test_speeds_tool", REPOSITORY / "scripts" / "test_speeds.py")
    module = importlib.util.module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    spec.loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


def test_a_label_moves_where_the_time_is_far_from_its_band(tool):
    assert [tool.speed(seconds, "case", "quick") for seconds in (0.1, 2.9, 3.1, 46)] == ["quick", "quick", "usual", "slow"]
    assert [tool.speed(seconds, "case", "slow") for seconds in (1, 19, 21)] == ["quick", "usual", "slow"]


def test_the_registry_follows_what_was_measured_and_keeps_what_did_not_run(tool):
    commands = {
        "A.a": ["bin/p_tests", "--gtest_filter=A.a"],
        "A.b": ["bin/p_tests", "--gtest_filter=A.b"],
        "B.c": ["bin/p_tests", "--gtest_filter=B.c"],
        "pytest.cli.test_x": ["python3"],
    }
    entries = [["usual", "p_tests", "A.*"], ["slow", "p_tests", "B.c"], ["slow", "q_tests", "C.d"]]
    kept, changes = tool.proposed({"A.a": 5, "A.b": 7, "B.c": 0.1, "pytest.cli.test_x": 100}, commands, entries)
    assert kept == {("p_tests", "A.*"): "usual", ("q_tests", "C.d"): "slow", ("cli/test_x.py",): "slow"}
    assert changes == ["p_tests B.c: 0.1 s, slow -> quick", "cli/test_x.py: 100.0 s, quick -> slow"]

"""The package's types and the extension's stub: what the stub says beside what the extension has, and both as a type checker
sees them, of the package and of a program that uses it."""

import ast
import importlib.util
import os
import re
import subprocess
import sys

import pytest
import sluice

from conftest import REPOSITORY

needs_mypy = pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed (PyPI)")
STUBS = REPOSITORY / "python" / "sluice"

USE = """\
import sluice

step = sluice.predict(model="bytes-2m", machine="h200", seq_len=64, batch_size=4)
reveal_type(step)
reveal_type(step.trace().duration_s)
reveal_type(step.memory.hbm.parts)
reveal_type(sluice.machine("h200")["h2d_bytes_per_s"])
reveal_type(sluice.plan(model="bytes-2m"))
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    cache = tmp_path_factory.mktemp("mypy")

    def check(*words, cwd):
        return subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", cache, *words],
            cwd=cwd, capture_output=True, text=True, timeout=300, env={**os.environ, "MYPYPATH": str(REPOSITORY / "python")},
        )  # fmt: skip

    return check


def arguments(function):
    return [argument.arg for argument in function.args.args]


def stated(body):
    """What a stub's module or class has: argument names of functions, a nested dictionary of classes, None of all else."""
    names = {}
    for node in body:
        if isinstance(node, ast.ClassDef):
            names[node.name] = stated(node.body)
        elif isinstance(node, ast.FunctionDef):
            property_ = any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list)
            names[node.name] = None if property_ else arguments(node)
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = None
    return names


def said_by_pybind(function):
    """Argument names in the first line that pybind11 writes of a function: "predict(words: Sequence[str], ...) -> ..."."""
    line = function.__doc__.splitlines()[0]
    return re.findall(r"[(,] ?(\w+)(?=[:,)])", re.sub(r"\[[^()]*?\](?=[,)])", "", line.split(" -> ")[0]))


def found(holder):
    names = {}
    for name, value in vars(holder).items():
        if isinstance(value, type) and value.__module__.startswith("sluice._"):
            names[name] = found(value)
        elif name.startswith("_pybind11") or (name.startswith("__") and name not in ("__init__", "__len__")):
            continue
        elif callable(value):
            names[name] = said_by_pybind(value)
        else:
            names[name] = None
    return names


@pytest.mark.parametrize("name", ["_core", "_training"])
def test_the_stub_states_every_name_and_argument_of_the_extension(name):
    module = pytest.importorskip(f"sluice.{name}", reason="the module is built without the engine (SLUICE_ENGINE)")
    stub, extension = stated(ast.parse((STUBS / f"{name}.pyi").read_text()).body), found(module)
    assert stub.keys() == extension.keys()
    for name, members in stub.items():
        if isinstance(members, dict):
            assert members.keys() | {"__init__"} == extension[name].keys() | {"__init__"}, name
            pairs = [(member, members[member], extension[name][member]) for member in members]
        else:
            pairs = [(name, members, extension[name])]
        for member, said, has in pairs:
            assert said == has, f"{name}: {member}"


@needs_mypy
def test_the_package_holds_what_its_types_say(mypy):
    checked = mypy("-p", "sluice", cwd=REPOSITORY / "python")
    assert checked.returncode == 0, checked.stdout


@needs_mypy
def test_a_program_sees_the_types_and_is_told_of_a_wrong_argument(mypy, tmp_path):
    (tmp_path / "use.py").write_text(USE)
    revealed = mypy("use.py", cwd=tmp_path).stdout.replace("builtins.", "")  # Older ones say "builtins.float".
    for said in ("sluice.prediction.Prediction", "ndarray[", '"float"', '"dict[str, int]"', "sluice.prediction.PlanResult"):
        assert said in revealed, revealed
    (tmp_path / "use.py").write_text(USE.replace("batch_size=4", "batch_size='four'"))
    wrong = mypy("use.py", cwd=tmp_path)
    assert wrong.returncode == 1 and '"batch_size"' in wrong.stdout


def test_results_have_every_attribute_that_types_state():
    run = {"model": "bytes-2m", "machine": "h200", "seq_len": 64, "batch_size": 4}
    found = sluice.predict(**run)
    cells = sluice.ablate({"name": "x", "baseline": run, "factors": {"f": {"path": "seq_len", "values": [64, 128]}}, "effort": 0.02}).cells
    results = [
        found, sluice.plan(**run, effort=0.02), found.plan, found.waterfall, found.memory, found.memory.hbm, cells[0],
        sluice.model("bytes-2m"), sluice.machine("h200"), sluice.simulate(found.graph()), sluice.buy(**run, machines=["h200"]),
    ]  # fmt: skip
    for result in results:
        stated = [name for kind in type(result).__mro__ for name in vars(kind).get("__annotations__", {}) if name[0] != "_"]
        assert len(stated) > 1 and not [name for name in stated if not hasattr(result, name)], type(result)
        assert " object at " not in repr(result)
    assert " object at " not in repr([sluice.machines()[0], *sluice.support()])

"""The package's types and the extension's stub, as a type checker sees them: of the package, and of a program that uses it."""

import importlib.util
import os
import subprocess
import sys

import pytest

from conftest import REPOSITORY

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed (PyPI)")

USE = """\
import sluice

step = sluice.predict(model="bytes-2m", machine="h200", seq_len=64, batch_size=4)
reveal_type(step)
reveal_type(step.trace().duration_s)
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


def test_the_package_holds_what_its_types_say(mypy):
    checked = mypy("-p", "sluice", cwd=REPOSITORY / "python")
    assert checked.returncode == 0, checked.stdout


def test_a_program_sees_the_types_and_is_told_of_a_wrong_argument(mypy, tmp_path):
    (tmp_path / "use.py").write_text(USE)
    revealed = mypy("use.py", cwd=tmp_path).stdout
    for said in ("sluice.prediction.Prediction", "ndarray[", "builtins.float", "sluice.prediction.PlanResult"):
        assert said in revealed, revealed
    (tmp_path / "use.py").write_text(USE.replace("batch_size=4", "batch_size='four'"))
    wrong = mypy("use.py", cwd=tmp_path)
    assert wrong.returncode == 1 and '"batch_size"' in wrong.stdout

"""Tests of the module `sluice`, beside the program. SLUICE_BIN names the program; PYTHONPATH holds the module.

`cli(*words)` runs the program and returns its exit code, and stdout as JSON. Both see the same empty SLUICE_HOME.
"""

import json
import os
import pathlib
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

pytest.importorskip("sluice", reason="the module is not built (SLUICE_PYTHON)")


@pytest.fixture(autouse=True)
def sluice_home(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def cli():
    program = pathlib.Path(os.environ.get("SLUICE_BIN", REPOSITORY / "build" / "bin" / "sluice")).resolve()

    def run(*words):
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr

    return run

"""Rows of the published table: the tool that makes them and the script that writes its inputs."""

import json
import pathlib
import subprocess
import sys

import pytest

from conftest import REPOSITORY, program

BIN = pathlib.Path(program()).parent
TOOL = BIN / "step_cuda_bench"
ROWS = REPOSITORY / "experiments" / "cuda_rows"

pytestmark = pytest.mark.skipif(not TOOL.is_file(), reason="step_cuda_bench is not built (SLUICE_BENCHMARKS)")


def run(*words, cwd, code=0):
    done = subprocess.run([*map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_rows_leave_what_results_are_made_of(tmp_path, validate):
    run(ROWS / "run", "out", BIN, "small-any", cwd=tmp_path)
    run(ROWS / "run", "out", BIN, "small-host", cwd=tmp_path)
    out = tmp_path / "out"
    names = {"command", "output", "machine", "commit", "ledger.jsonl", "small-any.json", "small-host.json"}
    assert names <= {path.name for path in out.iterdir()}
    assert len((out / "output").read_text().split("== small-")) == 3
    validate(out / "ledger.jsonl", "ledger")
    for name in ("small-any", "small-host"):
        validate(out / f"{name}.json", "row")
        row = json.loads((out / f"{name}.json").read_text())
        assert len(row["measured"]["steps_s"]) == 4
        for fall in (row["predicted"]["waterfall"], row["measured"]["waterfall"]):
            assert fall["bound_s"] + sum(fall["terms_s"].values()) == pytest.approx(fall["step_s"], abs=1e-9)
    table = run(sys.executable, ROWS / "table.py", out, cwd=tmp_path).stdout
    assert "| small-any |" in table and "| = step |" in table


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["bytes-2m", "4", "64", "2", "host", "3", "--machine", "here", "--backend", "host"], 2, "warm-up"),
        (["bytes-2m", "4", "64", "2", "auto", "--machine", "here", "--backend", "host", "--hbm", "1 MiB"], 3, "hbm"),
        (["bytes-3m"], 2, "bytes-2m"),
        (["bytes-2m", "--hmb", "1 GiB"], 2, "--hbm"),
    ],
)
def test_an_error_is_one_line_and_its_exit_code(tmp_path, words, code, text):
    done = run(TOOL, *words, "--promise", cwd=tmp_path, code=code)
    assert done.stderr.startswith("step_cuda_bench: error: ") and done.stderr.count("\n") == 1
    assert text in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_every_row_of_the_table_can_be_promised_without_its_machine(tmp_path):
    # The smallest of each machine; the others differ in sizes alone.
    lines = [line for line in (ROWS / "rows").read_text().splitlines() if not line.startswith("#")]
    assert len({line.split()[0] for line in lines}) == len(lines) >= 14
    for line in lines:
        if line.split()[0] in ("3b-32-any", "small-host"):
            out = run("bash", "-c", f'"{TOOL}" {line.split(maxsplit=1)[1]} --promise', cwd=tmp_path).stdout
            assert "bound of the machine" in out and "= step" in out


def test_an_unknown_row_is_refused(tmp_path):
    done = run(ROWS / "run", "out", BIN, "7b-33-any", cwd=tmp_path, code=2)
    assert "7b-33-any" in done.stderr and not (tmp_path / "out").exists()

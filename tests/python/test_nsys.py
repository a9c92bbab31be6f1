"""Reports of Nsight Systems laid beside a prediction: files with the tables and columns that nsys export --type sqlite writes."""

import json
import sqlite3
import subprocess
import sys

import pytest
import sluice
from sluice import nsys

MS = 1_000_000  # Nanoseconds.
JOB = ["model=bytes-2m", "machine=rtx-4090", "seq_len=64", "batch_size=4", "residency=host"]


@pytest.fixture
def report(tmp_path):
    """Four steps of 10 ms: two streams of kernels that overlap, a copy each way, a fill, a collective."""
    path = tmp_path / "report.sqlite"
    with sqlite3.connect(path) as database:
        database.executescript("""
            CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, streamId INT NOT NULL, demangledName INT, shortName INT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, streamId INT NOT NULL, bytes INT, copyKind INT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL);
            CREATE TABLE NVTX_EVENTS (start INT NOT NULL, end INT, eventType INT, text TEXT, textId INT);
        """)
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", [(1, "gemm"), (2, "ncclDevKernel_AllReduce"), (3, "step"), (4, "flash")])
        for step in range(4):
            at = 5_000 * MS + 10 * step * MS
            database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, ?, 1, ?)", [
                (at + 1 * MS, at + 5 * MS, 7, 1), (at + 3 * MS, at + 6 * MS, 8, 4), (at + 7 * MS, at + 8 * MS, 9, 2)])  # fmt: skip
            database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 1, ?, ?)", [
                (at + 0 * MS, at + 2 * MS, 1 << 20, 1), (at + 2 * MS, at + 3 * MS, 1 << 19, 2), (at + 4 * MS, at + 5 * MS, 1 << 10, 8)])  # fmt: skip
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?, ?, 0)", (at + 8 * MS, at + 9 * MS))
            database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, 3)", (at, at + 9 * MS))
            database.execute("INSERT INTO NVTX_EVENTS VALUES (?, NULL, 34, 'mark', NULL)", (at,))
        database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, 'forward', NULL)", (5_001 * MS, 5_002 * MS))
    return path


def test_a_step_is_from_one_opening_of_its_range_to_the_next(report):
    read = nsys.read_nsys(report, range="step")
    assert read.step_s == pytest.approx(0.010)
    assert read.busy_s() == pytest.approx({"h2d": 0.002, "compute": 0.006, "d2h": 0.001, "d2d": 0.001, "nccl": 0.001})
    assert read.bytes_a_step() == {"h2d": 1 << 20, "compute": 0, "d2h": 1 << 19, "d2d": 1 << 10, "nccl": 0}
    assert set(read.trace.kind[read.trace.lane == "compute"]) == {"gemm", "flash", "fill"}


def test_equal_steps_may_be_counted_instead(report):
    assert nsys.read_nsys(report, steps=4).step_s == pytest.approx(0.039 / 4)  # From the first start to the last end.


def test_rows_say_predicted_measured_and_their_error(report):
    prediction = sluice.predict("bytes-2m", "rtx-4090", seq_len=64, batch_size=4, residency="host")
    rows = {row["what"]: row for row in nsys.beside(nsys.read_nsys(report, range="step"), prediction)}
    assert rows["step"]["error"] == pytest.approx(prediction.step_s / 0.010 - 1)
    assert rows["h2d"]["predicted_s"] == pytest.approx(prediction.busy["h2d"] * prediction.step_s)
    trace = prediction.trace()
    assert rows["h2d"]["predicted_bytes"] == trace.bytes[(trace.lane == "h2d") & (trace.step == 2)].sum() > 0
    assert rows["nccl"]["predicted_s"] is None and rows["nccl"]["error"] is None and rows["nccl"]["measured_s"] == pytest.approx(0.001)


def test_the_program_prints_rows_and_writes_both_steps(report, tmp_path):
    words = [sys.executable, "-m", "sluice.nsys", report, *JOB, "--range", "step"]
    done = subprocess.run([*words, "-o", tmp_path / "both.json"], capture_output=True, text=True)
    assert done.returncode == 0 and "step" in done.stdout and "10.000 ms" in done.stdout, done.stderr
    events = json.loads((tmp_path / "both.json").read_text())["traceEvents"]
    measured = [event for event in events if event["ph"] == "X" and event["pid"] == 2]
    assert {event["name"] for event in measured} == {"gemm", "flash", "fill", "copy", "ncclDevKernel_AllReduce"}
    assert 0 <= min(event["ts"] for event in measured) and max(event["ts"] + event["dur"] for event in measured) <= 10_000
    assert any(event["ph"] == "X" and event["pid"] == 1 for event in events)
    assert json.loads(subprocess.run([*words, "--json"], capture_output=True, text=True).stdout)[0]["what"] == "step"


def test_what_cannot_be_read_is_said_in_a_line(report, tmp_path):
    with pytest.raises(sluice.BadRequest, match="ranges there: step, forward"):
        nsys.read_nsys(report, range="steps")
    with pytest.raises(sluice.BadRequest, match="or give steps"):
        nsys.read_nsys(report)
    with pytest.raises(sluice.BadRequest, match="no such file"):
        nsys.read_nsys(tmp_path / "none.sqlite", steps=1)
    (tmp_path / "text.sqlite").write_text("this is no database, but a text of some length\n" * 9)
    with pytest.raises(sluice.BadRequest, match="not a report of nsys"):
        nsys.read_nsys(tmp_path / "text.sqlite", steps=1)
    sqlite3.connect(tmp_path / "empty.sqlite").close()
    with pytest.raises(sluice.BadRequest, match="no kernel and no copy"):
        nsys.read_nsys(tmp_path / "empty.sqlite", steps=1)
    with sqlite3.connect(report) as database:
        database.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ({5_001 * MS}, {5_002 * MS}, 1, 1, 5, 1)")
    with pytest.raises(sluice.BadRequest, match="several GPUs, 0, 1"):
        nsys.read_nsys(report, range="step")
    assert nsys.read_nsys(report, range="step", device=0).bytes_a_step()["h2d"] == 1 << 20

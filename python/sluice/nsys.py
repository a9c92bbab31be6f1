"""Traces of NVIDIA Nsight Systems laid beside a prediction: ``python -m sluice.nsys report.sqlite --range step model=qwen2.5-7b machine=h200 ...``.

``nsys profile`` records any program, ``nsys export --type sqlite`` makes the file. What is read: kernels, copies, fills and NVTX ranges of one GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sqlite3
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import BadRequest, SluiceError, write_text
from .prediction import Prediction, predict
from .trace import Trace

# CUPTI's kinds of copies; what is none of these moves nothing over the link.
_LANES = {1: "h2d", 2: "d2h", 3: "h2d", 4: "d2h", 8: "d2d", 10: "p2p"}


class NsysReport:
    """What one GPU did by a report, in seconds from the first of it.

    Attributes:
        trace: every kernel, copy and fill: lanes ``compute``, ``nccl``, ``h2d``, ``d2h``, ``d2d``, ``p2p``.
        marks_s: when each step begins.
        step_s: the median of the times between two of these.
    """

    def __init__(self, trace: Trace, marks_s: npt.NDArray[np.float64]):
        self.trace = trace
        self.marks_s = marks_s
        self.step_s = float(np.median(np.diff(marks_s)))

    def whole_steps(self) -> Trace:
        """What began between the first mark and the last."""
        starts = self.trace.start_s
        return self.trace.select((starts >= self.marks_s[0]) & (starts < self.marks_s[-1]))

    def busy_s(self) -> dict[str, float]:
        """Seconds of a step in which each lane works, overlapping tasks of several streams counted once."""
        within, steps = self.whole_steps(), len(self.marks_s) - 1
        found: dict[str, float] = {}
        for lane in within.lanes:
            of_lane = within.select(within.lane == lane)
            order = np.argsort(of_lane.start_s)
            starts, ends = of_lane.start_s[order], np.maximum.accumulate(of_lane.end_s[order])
            begun_before = np.concatenate(([-np.inf], ends[:-1]))
            found[lane] = float(np.maximum(0.0, ends - np.maximum(starts, begun_before)).sum()) / steps
        return found

    def bytes_a_step(self) -> dict[str, float]:
        """Bytes that the copies of a step move, by lane."""
        within, steps = self.whole_steps(), len(self.marks_s) - 1
        return {lane: float(within.bytes[within.lane == lane].sum()) / steps for lane in within.lanes}


def _tables(database: sqlite3.Connection) -> dict[str, set[str]]:
    """Columns by table; nsys writes only the tables that have rows."""
    names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: {row[1] for row in database.execute(f'PRAGMA table_info("{name}")')} for name in names}


def _rows(database: sqlite3.Connection, tables: dict[str, set[str]], device: int | None) -> list[tuple[str, str, int, int, int]]:
    """Lane, kind, start, end (nanoseconds) and bytes of everything that a GPU did."""
    strings = dict(database.execute("SELECT id, value FROM StringIds")) if "StringIds" in tables else {}
    rows: list[tuple[str, str, int, int, int]] = []
    chosen = "" if device is None else f" WHERE deviceId = {int(device)}"
    if "CUPTI_ACTIVITY_KIND_KERNEL" in tables:
        name = "shortName" if "shortName" in tables["CUPTI_ACTIVITY_KIND_KERNEL"] else "demangledName"
        for start, end, key in database.execute(f"SELECT start, end, {name} FROM CUPTI_ACTIVITY_KIND_KERNEL{chosen}"):
            kernel = str(strings.get(key, key))
            rows.append(("nccl" if kernel.lower().startswith("nccl") else "compute", kernel, start, end, 0))
    if "CUPTI_ACTIVITY_KIND_MEMCPY" in tables:
        for start, end, kind, size in database.execute(f"SELECT start, end, copyKind, bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY{chosen}"):
            rows.append((_LANES.get(kind, "other copies"), "copy", start, end, size))
    if "CUPTI_ACTIVITY_KIND_MEMSET" in tables:
        for start, end in database.execute(f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMSET{chosen}"):
            rows.append(("compute", "fill", start, end, 0))
    return sorted(rows, key=lambda row: row[2])


def _ranges(database: sqlite3.Connection, tables: dict[str, set[str]]) -> list[tuple[str, int]]:
    """Name and start of every NVTX range that has an end."""
    if "NVTX_EVENTS" not in tables:
        return []
    text = "text" if "textId" not in tables["NVTX_EVENTS"] else "COALESCE(text, (SELECT value FROM StringIds WHERE id = textId))"
    return [(str(name), start) for name, start in database.execute(
        f"SELECT {text}, start FROM NVTX_EVENTS WHERE end IS NOT NULL AND end > start ORDER BY start") if name is not None]  # fmt: skip


def read_nsys(path: str | os.PathLike[str], *, range: str | None = None, steps: int | None = None, device: int | None = None) -> NsysReport:
    """Reads what ``nsys export --type sqlite`` wrote.

    Args:
        path: the sqlite file.
        range: name of the NVTX range that each step opens; its starts are where steps begin.
        steps: where there is no such range, how many equal steps the whole report has.
        device: the GPU; needed where the report has several.

    Raises:
        BadRequest: the file is no such report, nothing ran on the GPU, or its steps cannot be told apart.
    """
    where = os.fspath(path)
    if not pathlib.Path(where).is_file():
        raise BadRequest(f"{where}: there is no such file; nsys export --type sqlite REPORT.nsys-rep writes one")
    try:
        database = sqlite3.connect(pathlib.Path(where).absolute().as_uri() + "?mode=ro", uri=True)
        try:
            tables = _tables(database)
            devices = sorted({row[0] for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY") if table in tables
                              for row in database.execute(f"SELECT DISTINCT deviceId FROM {table}")})  # fmt: skip
            if device is None and len(devices) > 1:
                raise BadRequest(f"{where}: several GPUs, {', '.join(map(str, devices))}: choose one by device")
            rows, ranges = _rows(database, tables, device), _ranges(database, tables)
        finally:
            database.close()
    except sqlite3.Error as error:
        raise BadRequest(f"{where}: not a report of nsys ({error}); nsys export --type sqlite REPORT.nsys-rep writes one") from error
    if not rows:
        raise BadRequest(f"{where}: no kernel and no copy of a GPU in it; profile with nsys profile --trace cuda,nvtx")
    marks = np.array([start for name, start in ranges if name == range], dtype=np.float64)
    if range is None and steps is not None and steps > 0:
        marks = np.linspace(rows[0][2], max(row[3] for row in rows), steps + 1)
    elif len(marks) < 2:
        names = ", ".join(dict.fromkeys(name for name, _ in ranges)) or "none"
        raise BadRequest(f"{where}: range: no NVTX range {range!r} that opens twice; ranges there: {names[:300]}; or give steps")
    origin = min(rows[0][2], float(marks[0]))
    trace = Trace({
        "id": [f"nsys/{number}" for number in np.arange(len(rows))], "lane": [row[0] for row in rows], "kind": [row[1] for row in rows],
        "start_s": np.array([row[2] - origin for row in rows]) / 1e9, "end_s": np.array([row[3] - origin for row in rows]) / 1e9,
        "bytes": np.array([row[4] for row in rows], dtype=np.int64), "source": ["nsys"] * len(rows),
    })  # fmt: skip
    return NsysReport(trace, (marks - origin) / 1e9)


def beside(report: NsysReport, prediction: Prediction) -> list[dict[str, Any]]:
    """One row for the step and one for each lane of either: ``what``, ``predicted_s``, ``measured_s``, ``error`` (predicted over measured, less 1)
    and the bytes a step that its copies move, ``predicted_bytes`` and ``measured_bytes``."""
    trace = prediction.trace()
    second = trace.select(trace.step == 2)
    busy, moved = report.busy_s(), report.bytes_a_step()
    expected = {lane: share * prediction.step_s for lane, share in prediction.busy.items()}
    rows: list[dict[str, Any]] = [{"what": "step", "predicted_s": prediction.step_s, "measured_s": report.step_s}]
    for lane in dict.fromkeys([*expected, *busy]):
        if lane in busy or expected.get(lane):
            rows.append({
                "what": lane, "predicted_s": expected.get(lane), "measured_s": busy.get(lane),
                "predicted_bytes": int(second.bytes[second.lane == lane].sum()), "measured_bytes": moved.get(lane),
            })  # fmt: skip
    for row in rows:
        known = row["predicted_s"] is not None and row["measured_s"]
        row["error"] = row["predicted_s"] / row["measured_s"] - 1 if known else None
    return rows


def _events(trace: Trace, process: int, name: str, start_s: float, end_s: float) -> list[dict[str, Any]]:
    lanes = {lane: number + 1 for number, lane in enumerate(trace.lanes)}
    events: list[dict[str, Any]] = [{"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}]
    events += [{"ph": "M", "pid": process, "tid": tid, "name": "thread_name", "args": {"name": lane}} for lane, tid in lanes.items()]
    shown = trace.between(start_s, end_s)
    for lane, kind, start, end in zip(shown.lane.tolist(), shown.kind.tolist(), shown.start_s.tolist(), shown.end_s.tolist()):
        events.append({"ph": "X", "pid": process, "tid": lanes[lane], "name": kind, "ts": 1e6 * (start - start_s), "dur": 1e6 * (end - start)})
    return events


def write_both(report: NsysReport, prediction: Prediction, path: str | os.PathLike[str]) -> None:
    """Writes a file for ui.perfetto.dev with one predicted step above one measured step, the one whose time is nearest to the median."""
    trace = prediction.trace()
    times = np.diff(report.marks_s)
    chosen = int(np.argmin(np.abs(times - report.step_s)))
    first, last = trace.period()
    events = _events(trace, 1, "predicted", first, last)
    events += _events(report.trace, 2, "measured by nsys", float(report.marks_s[chosen]), float(report.marks_s[chosen + 1]))
    write_text(path, json.dumps({"traceEvents": events}) + "\n")


def _table(rows: Sequence[dict[str, Any]]) -> str:
    def seconds(value: float | None) -> str:
        return "-" if value is None else f"{value * 1e3:.3f} ms"

    def moved(value: float | None) -> str:
        return f"{value / 2**20:.1f} MiB" if value else ""

    text = f"{'':<14}{'predicted':>14}{'measured':>14}{'error':>10}{'predicted':>14}{'measured':>14}\n"
    for row in rows:
        error = "" if row["error"] is None else f"{100 * row['error']:+.1f} %"
        text += f"{row['what']:<14}{seconds(row['predicted_s']):>14}{seconds(row['measured_s']):>14}{error:>10}"
        text += f"{moved(row.get('predicted_bytes')):>14}{moved(row.get('measured_bytes')):>14}\n"
    return "\n".join(line.rstrip() for line in text.splitlines())


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sluice.nsys", description="Lays a trace of Nsight Systems beside a prediction.")
    parser.add_argument("report", help="what nsys export --type sqlite wrote")
    parser.add_argument("run", nargs="+", help="RUN.yaml, or keys of a run such as model=qwen2.5-7b machine=h200 seq_len=1024 batch_size=32")
    parser.add_argument("--range", help="name of the NVTX range that each step opens")
    parser.add_argument("--steps", type=int, help="without such a range: how many equal steps the report has")
    parser.add_argument("--device", type=int, help="the GPU, where there are several")
    parser.add_argument("-o", "--out", help="also write both steps to this file, for ui.perfetto.dev")
    parser.add_argument("--json", action="store_true", help="the rows as JSON")
    options = parser.parse_args(words)
    try:
        report = read_nsys(options.report, range=options.range, steps=options.steps, device=options.device)
        files = [word for word in options.run if "=" not in word]
        if len(files) > 1:
            raise BadRequest(f"two run files, {files[0]} and {files[1]}: give one")
        keys = dict(word.split("=", 1) for word in options.run if "=" in word)
        settings: dict[str, Any] = {key.replace("-", "_"): int(value) if value.isdigit() else value for key, value in keys.items()}
        prediction = predict(run=files[0] if files else None, **settings)
        rows = beside(report, prediction)
        if options.out:
            write_both(report, prediction, options.out)
        print(json.dumps(rows) if options.json else _table(rows))
    except SluiceError as error:
        print(f"sluice.nsys: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

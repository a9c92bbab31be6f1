"""Traces as columns, arrays and frames; graphs simulated again; any graph of one's own."""

import json
import pathlib

import numpy as np
import pytest
import sluice

RUN = {"model": "bytes-2m", "machine": "h200", "seq_len": 256, "batch_size": 8, "hbm": "720 MiB"}


@pytest.fixture(scope="module")
def prediction():
    return sluice.predict(**RUN)


def test_a_trace_is_the_graphs_tasks_and_its_period_the_step(prediction):
    trace = prediction.trace()
    graph = prediction.graph()
    assert trace.id.tolist() == [task["id"] for task in graph["tasks"]]
    assert trace.lane.tolist() == [task["lane"] for task in graph["tasks"]]
    begin, end = trace.period()
    assert end - begin == pytest.approx(prediction.step_s, abs=1e-9)
    again = sluice.simulate(graph)
    assert again.period_s == prediction.step_s
    assert np.array_equal(again.trace().start_s, trace.start_s)
    assert np.array_equal(again.trace().end_s, trace.end_s)


def test_tasks_of_a_lane_run_one_at_a_time_in_order(prediction):
    trace = prediction.trace()
    assert (trace.duration_s >= 0).all()
    for lane in trace.lanes:
        part = trace.select(trace.lane == lane)
        assert (part.start_s[1:] >= part.end_s[:-1]).all(), lane


def test_busy_shares_follow_from_the_trace(prediction):
    trace = prediction.trace()
    begin, end = trace.period()
    inside = np.clip(trace.end_s, begin, end) - np.clip(trace.start_s, begin, end)
    for lane, share in prediction.busy.items():
        assert inside[trace.lane == lane].sum() / (end - begin) == pytest.approx(share, abs=1e-6)


def test_arrays_and_frames_hold_the_same_columns(prediction):
    trace = prediction.trace()
    table = trace.to_numpy()
    assert table.dtype.names == tuple(trace.columns)
    assert table["end_s"].tolist() == trace.end_s.tolist()
    assert table.dtype["bytes"] == np.int64
    pandas = pytest.importorskip("pandas")
    frame = trace.to_frame()
    assert list(frame.columns) == [*trace.columns, "duration_s"]
    assert (frame["duration_s"] == frame["end_s"] - frame["start_s"]).all()
    assert frame["bytes"].sum() == trace.bytes.sum() > 0
    assert isinstance(frame, pandas.DataFrame)


def test_columns_are_filled_without_the_inside_of_numpys_arrays():
    """pybind11 before 2.12 knows NumPy 1's alone, and under NumPy 2 fills arrays wrongly without a word."""
    core = pathlib.Path(__file__).resolve().parents[2] / "python" / "core"
    assert not [path.name for path in core.glob("*.[ch]pp") if "pybind11/numpy.h" in path.read_text()]


def test_a_trace_file_reads_back(prediction, tmp_path):
    trace = prediction.trace()
    tasks = [
        {"id": i, "lane": lane, "kind": kind, "start_s": start, "end_s": end, "bytes": size, "source": "cupti"}
        for i, lane, kind, start, end, size in zip(
            *(trace.columns[name].tolist() for name in ("id", "lane", "kind", "start_s", "end_s", "bytes"))
        )
    ]
    (tmp_path / "measured.trace").write_text(json.dumps({"version": 1, "tasks": tasks}))
    read = sluice.read_trace(tmp_path / "measured.trace")
    assert read.id.tolist() == trace.id.tolist()
    assert read.period() == trace.period()
    assert set(read.source) == {"cupti"}


def test_a_timeline_draws_every_lane(prediction):
    pytest.importorskip("matplotlib").use("Agg")
    axes = prediction.trace().plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == prediction.trace().lanes
    assert "time" in axes.get_xlabel()
    assert prediction.waterfall.plot().get_yticklabels()[-1].get_text() == "step"


def two_flows(capacity):
    flow = {"amount": 100.0, "uses": {"link": 1}}
    return {
        "lanes": ["a", "b"],
        "links": {"link": capacity},
        "tasks": [{"id": "x", "lane": "a", **flow}, {"id": "y", "lane": "b", **flow}],
    }


def test_two_equal_flows_share_a_link(cli, tmp_path):
    # 200 units over a link of 50 a second.
    result = sluice.simulate(two_flows(50.0))
    assert result.makespan_s == 4.0
    assert result.trace().end_s.tolist() == [4.0, 4.0]
    assert sluice.simulate(two_flows(50.0), set={"links.link": "2x"}).makespan_s == 2.0
    (tmp_path / "graph.json").write_text(json.dumps(two_flows(50.0)))
    code, printed = cli("sim", tmp_path / "graph.json", "--json")
    assert code == 0
    assert result.to_dict() == printed == sluice.simulate(tmp_path / "graph.json").to_dict()


def test_a_cycle_is_refused_by_name():
    tasks = [{"id": "x", "lane": "a", "seconds": 1, "after": ["y"]}, {"id": "y", "lane": "a", "seconds": 1, "after": ["x"]}]
    with pytest.raises(sluice.BadRequest, match="cycle"):
        sluice.simulate({"lanes": ["a"], "tasks": tasks})
    with pytest.raises(sluice.BadRequest, match="no such file"):
        sluice.simulate("nowhere.json")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"tasks": 5}', '{"tasks": [{"id": "a", "lane": "b", "seconds": 1}]}'])
def test_what_is_no_trace_is_refused_by_name(tmp_path, text):
    file = tmp_path / "no.trace"
    file.write_text(text)
    with pytest.raises(sluice.BadRequest, match="no.trace: "):
        sluice.read_trace(file)
    with pytest.raises(sluice.BadRequest, match="nowhere"):
        sluice.read_trace(tmp_path / "nowhere")

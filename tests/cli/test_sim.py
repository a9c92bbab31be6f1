"""sluice sim: the contract's example, overrides, traces and refusals, as a user sees them."""

import json
import pathlib

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "sim" / "golden"
EXAMPLE = {
    "lanes": ["h2d", "compute"],
    "links": {"pcie_h2d": 55e9, "dram": 160e9},
    "pools": {"hbm": 80e9, "weight_buffer": 2},
    "interference": [{"on": "compute", "from": "h2d", "factor": 0.98}],
    "tasks": [
        {"id": "load0", "lane": "h2d", "after": [], "latency": 5e-6, "amount": 466e6, "cap": 55e9,
         "weight": 1, "uses": {"pcie_h2d": 1, "dram": 1}, "acquire": {"weight_buffer": 1}},
        {"id": "fwd0", "lane": "compute", "after": ["load0"], "seconds": 0.004,
         "release": {"weight_buffer": 1}},
    ],
}


def graph_file(tmp_path, graph, name="g.json"):
    path = tmp_path / name
    path.write_text(graph if isinstance(graph, str) else json.dumps(graph))
    return path


def test_the_example_of_the_contract(run_sluice, validate, tmp_path):
    validate(EXAMPLE, "graph")
    result = run_sluice("sim", graph_file(tmp_path, EXAMPLE), "--json").json()
    validate(result, "sim-result")
    assert result["makespan_s"] == 0.012477728
    assert result["critical_path"] == ["fwd0", "load0"]
    assert result["links"]["dram"]["moved"] == 466e6
    assert result["pools"]["weight_buffer"]["peak"] == 1
    assert result["bound_s"] == max(result["bounds"][key] for key in ("chain_s", "lane_s", "link_s"))


def test_golden_graphs_follow_their_schemas(run_sluice, validate):
    for graph in sorted(GOLDEN.glob("*.graph.json")):
        validate(graph, "graph")
        run = run_sluice("sim", graph, "--json")
        validate(run.json(), "sim-result")
        assert run.out == graph.with_name(graph.name.replace(".graph.", ".result.")).read_text()


def test_standard_input_and_the_table(run_sluice):
    run = run_sluice("sim", "-", stdin=json.dumps(EXAMPLE))
    assert "makespan   0.012477728 s" in run.out
    assert "weight_buffer" in run.out


def test_an_empty_graph(run_sluice, tmp_path):
    path = graph_file(tmp_path, {"lanes": [], "tasks": []})
    assert run_sluice("sim", path, "--json").json()["makespan_s"] == 0


def test_set_scales_and_sets(run_sluice, tmp_path):
    path = graph_file(tmp_path, EXAMPLE)
    halved = run_sluice("sim", path, "--json", "--set", "links.pcie_h2d=0.5x").json()
    same = run_sluice("sim", path, "--json", "--set", "links.pcie_h2d=27.5e9").json()
    joined = run_sluice("sim", path, "--json", "--set", "pools.hbm=1,links.pcie_h2d=27.5e9",
                        "--set", "links.dram=2x").json()
    assert halved == same == joined
    assert halved["makespan_s"] == 0.020950455  # 5 us + 466e6 / 27.5e9 s + 4 ms


def test_trace_is_one_that_perfetto_opens(run_sluice, tmp_path):
    path = graph_file(tmp_path, EXAMPLE)
    run_sluice("sim", path, "--trace", tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    tasks = {event["name"]: event for event in events if event["ph"] == "X"}
    assert tasks["load0"]["dur"] == 8477.728  # microseconds
    assert {e["args"]["name"] for e in events if e["name"] == "thread_name"} == {"h2d", "compute"}


def test_refusals(refuses, tmp_path):
    cyclic = {"lanes": ["a"], "tasks": [{"id": "x", "lane": "a", "after": ["x"], "seconds": 1}]}
    refuses(["sim", graph_file(tmp_path, cyclic)], "cycle", '"x"')
    stuck = {"lanes": ["a", "b"], "pools": {"slots": 1},
             "tasks": [{"id": "x", "lane": "a", "seconds": 1, "acquire": {"slots": 1}},
                       {"id": "y", "lane": "b", "seconds": 1, "acquire": {"slots": 1}}]}
    refuses(["sim", graph_file(tmp_path, stuck)], "deadlock", '"y"', '"slots"')
    refuses(["sim", graph_file(tmp_path, '{"lanes": [,]}')], "g.json", "line 1, column 12")
    refuses(["sim", tmp_path / "absent.json"], "absent.json", "No such file")
    refuses(["sim", graph_file(tmp_path, EXAMPLE), "--set", "links.dran=2x"], '"dram"')
    backward = graph_file(tmp_path, {**EXAMPLE, "period": ["fwd0", "load0"]})
    for json_flag in ([], ["--json"]):
        refuses(["sim", backward, *json_flag], "period: ", '"fwd0"', '"load0"')
    refuses(["sim", graph_file(tmp_path, EXAMPLE), "--sett", "links.dram=2x"], "--set")
    refuses(["sim", graph_file(tmp_path, EXAMPLE), "--set", "pools.weight_buffer=0.25x"],
            "load0", "weight_buffer")


def test_a_trace_that_cannot_be_written_is_the_environments_fault(refuses, tmp_path):
    path = graph_file(tmp_path, EXAMPLE)
    refuses(["sim", path, "--trace", tmp_path / "no" / "t.json"], "t.json", exit_code=4)
    refuses(["sim", path, "--trace", "/dev/full"], "/dev/full", exit_code=4)

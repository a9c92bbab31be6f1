"""Plans of several GPUs: validated and predicted from a plan file."""

import json
import re

import pytest

SIZES = ["--model", "bytes-2m", "--seq-len", "64", "--batch-size", "8", "--groups", "4"]


def measured(value):
    return {"value": value, "source": "measured"}


@pytest.fixture
def machine(run_sluice, tmp_path):
    """A profile file of GPUs with a fabric."""
    profile = run_sluice("machines", "show", "h200", "--json").json()
    curve = [{"bytes": 1e6, "rate_bytes_per_s": measured(100e9)}, {"bytes": 1e8, "rate_bytes_per_s": measured(300e9)}]
    profile["fabric"] = {"latency_s": measured(3e-5), "gather": curve, "exchange": curve[-1:]}
    path = tmp_path / "gpus.json"
    path.write_text(json.dumps(profile))
    return path


@pytest.fixture
def plan_of_ranks(run_sluice, machine, tmp_path):
    """Writes a plan file of so many ranks for the run of SIZES."""
    run_sluice("plan", *SIZES, "--machine", machine, "-o", "one.json", "--effort", "0.01")
    one = json.loads((tmp_path / "one.json").read_text())

    def write(ranks, **changes):
        plan = {**one, "ranks": ranks, "rounds": 1, "micro_batches_per_round": 8 // ranks, **changes}
        for key in ("layout", "prediction"):
            plan.pop(key, None)
        (tmp_path / "ranks.json").write_text(json.dumps(plan))
        return tmp_path / "ranks.json"

    return write


def test_a_plan_of_two_and_four_gpus_is_predicted(run_sluice, validate, machine, plan_of_ranks):
    validate(machine, "profile")
    words = ["predict", *SIZES, "--machine", machine, "--plan"]
    for ranks in (2, 4):
        path = plan_of_ranks(ranks)
        validate(path, "plan")
        p = run_sluice(*words, path, "--json").json()
        validate(p, "predict")
        assert p["plan"]["ranks"] == ranks
        assert p["busy"]["fabric"] > 0 and "disk-read" not in p["busy"]
        assert p["step_s"] >= p["bound_s"] and p["bound_by"] == "compute"
        assert p["tokens_per_s"] == pytest.approx(64 * 8 / p["step_s"])
    assert "on 4 GPUs of" in run_sluice(*words, path).out


def test_the_step_graph_of_ranks_is_what_sim_runs(run_sluice, validate, machine, plan_of_ranks, tmp_path):
    run_sluice("predict", *SIZES, "--machine", machine, "--plan", plan_of_ranks(2), "--graph-out", "graph.json")
    validate(tmp_path / "graph.json", "graph")
    graph = json.loads((tmp_path / "graph.json").read_text())
    kinds = {task["id"].split("/")[1] for task in graph["tasks"] if task["lane"] == "fabric"}
    assert kinds == {"gather", "exchange"}
    run_sluice("sim", "graph.json")


def test_what_ranks_cannot_be_is_refused_in_one_line(refuses, machine, plan_of_ranks, tmp_path):
    words = ["predict", *SIZES, "--machine", machine, "--plan"]
    refuses([*words, plan_of_ranks(8)], "ranks: 8 cannot share", "one of 1, 2, 4")
    refuses([*words, plan_of_ranks(2, receive_buffers=0)], "receive_buffers: 0")
    refuses([*words, plan_of_ranks(2, rounds=3)], "rounds: 3", "the rank's 4")
    refuses(["predict", *SIZES, "--machine", "h200", "--plan", plan_of_ranks(2)], "fabric", "set ranks of the plan to 1")
    profile = json.loads(machine.read_text())
    profile["fabric"]["gather"] = []
    (tmp_path / "none.json").write_text(json.dumps(profile))
    refuses(["predict", *SIZES, "--machine", tmp_path / "none.json"], "fabric", "gather", "must have a point")


def test_a_machine_of_several_gpus_is_named_by_their_number(run_sluice, validate, refuses, plan_of_ranks, tmp_path):
    shown = run_sluice("machines", "show", "4x-h100-sxm", "--json").out
    (tmp_path / "four.json").write_text(shown)
    validate(tmp_path / "four.json", "profile")
    profile = json.loads(shown)
    assert profile["devices"] == 4 and profile["fabric"]["path"] == "nvlink"
    text = run_sluice("machines", "show", "4xh100-sxm").out
    assert "between gpus" in text and "compute while fabric runs" in text
    words = ["predict", *SIZES, "--plan", plan_of_ranks(4), "--machine"]
    named = run_sluice(*words, "4x-h100-sxm", "--json").json()
    assert run_sluice(*words, "four.json", "--json").json()["step_s"] == named["step_s"]
    staged = run_sluice(*words, "4x-l40s", "--json").json()
    assert staged["busy"]["fabric"] > named["busy"]["fabric"]
    refuses([*words, "2x-h100-sxm"], "ranks: 4, and machine 2x-h100-sxm has 2 GPUs")
    refuses([*words, "2x-gh200"], "several gh200 in one host")


def test_plans_of_devices_are_searched(run_sluice, validate, machine, tmp_path):
    words = [*SIZES, "--machine", machine]
    found = {}
    for devices in ("1", "2", "4"):
        out = f"on-{devices}.json"
        p = run_sluice("plan", *words, "--devices", devices, "--effort", "0.02", "-o", out, "--json").json()
        validate(p, "plan-result")
        validate(tmp_path / out, "plan")
        assert p["plan"].get("ranks", 1) == int(devices)
        assert p["step_s"] * (1 - p["optimality_gap"]) <= p["step_s"] and 0 <= p["optimality_gap"] < 1
        assert ("devices" in p) == (devices != "1")
        found[devices] = p["step_s"]
        again = run_sluice("predict", *words, "--plan", out, "--json").json()
        assert again["step_s"] == p["step_s"]
    assert found["4"] < found["2"] < found["1"]
    text = run_sluice("plan", *words, "--devices", "4", "--effort", "0.01").out
    assert "4 GPUs of" in text and "devices      4 do " in text
    by_hand = run_sluice("predict", *words, "--devices", "4", "--json").json()
    assert by_hand["plan"]["ranks"] == 4


def test_what_devices_cannot_do_is_refused_in_one_line(refuses, run_sluice, machine, plan_of_ranks):
    words = [*SIZES, "--machine", machine]
    refuses(["plan", *words, "--devices", "8"], "devices: 8 cannot share a step of 8 micro-batches in 4 groups", "1, 2, 4")
    refuses(["predict", *SIZES, "--machine", "h200", "--devices", "2"], "h200", "states no fabric", "set devices to 1")
    few = ["--model", "bytes-2m", "--seq-len", "64", "--batch-size", "2", "--machine", machine]
    refuses(["plan", *few, "--devices", "4"], "devices: 4 need as many micro-batches, and a step has 2")
    refuses(["plan", *words, "--devices", "2", "--policy", "zero-infinity"], "policy: does not go with devices 2")
    refuses(["plan", *words, "--devices", "2", "--hide-link"], "--hide-link knows one device")
    refuses(["predict", *words, "--devices", "4", "--plan", plan_of_ranks(2)], "is for 2 devices", "devices 4")
    refuses(["buy", *words, "--devices", "2"], "sluice buy plans machines of 1, 2, 4 and 8 GPUs by itself")


def test_ranks_of_other_speeds_are_simulated_together(run_sluice, refuses, machine, plan_of_ranks):
    words = ["predict", *SIZES, "--machine", machine, "--plan", plan_of_ranks(4), "--every-rank"]
    even = run_sluice(*words, "1,1,1,1").out
    assert re.search(r"every rank   \S+ \S+ a step; for others wait 0 s, 0 s, 0 s, 0 s\n", even)
    uneven = run_sluice(*words, "1,1,0.5,1").out
    waits = re.search(r"for others wait (.*), (.*), (.*), (.*)\n", uneven).groups()
    assert waits[2] == "0 s" and "0 s" not in (waits[0], waits[1], waits[3])
    refuses([*words, "1,1"], "--every-rank: states 2 speeds, and the plan has 4 ranks")
    refuses([*words, "1,1,0,1"], "--every-rank", "must be above 0")
    refuses([*words, "1,1,1,1", "--json"], "--every-rank", "leave --json out")


def test_weights_are_pulled_where_gpus_have_no_peer_access(run_sluice, validate):
    """Without peer access a collective is slower than the links by which every GPU copies all weights."""
    job = ["--model", "qwen2.5-1.5b", "--seq-len", "1024", "--batch-size", "32", "--micro-batch", "4", "--groups", "4"]
    job += ["--machine", "4x-l40s", "--devices", "4", "--residency", "host", "--effort", "0.02"]
    found = run_sluice("plan", *job, "--json").json()
    validate(found, "plan-result")
    assert found["plan"]["gather"] == "host"
    assert found["other_gather_step_s"] > found["step_s"]
    assert found["memory"]["host"]["parts"]["shared weights"] > 0
    fabric = run_sluice("plan", *job, "plan.gather=fabric", "--json").json()
    assert "gather" not in fabric["plan"] and "other_gather_step_s" not in fabric
    assert fabric["step_s"] == pytest.approx(found["other_gather_step_s"])
    # With NVLink and one host the fabric is fast, and nothing else is searched.
    linked = run_sluice("plan", *job, "--machine", "4x-h100-sxm", "--json").json()
    assert "gather" not in linked["plan"] and "other_gather_step_s" not in linked


def test_shared_weights_are_refused_where_they_cannot_be(run_sluice, refuses):
    job = ["--model", "qwen2.5-1.5b", "--seq-len", "1024", "--batch-size", "32", "--groups", "4"]
    refuses(["predict", *job, "--machine", "h200", "plan.gather=host"], "plan: gather: host needs several ranks")
    words = ["--machine", "4x-h100-sxm", "--devices", "4", "machine.hosts=4", "machine.nic=100GbE", "plan.gather=host"]
    line = "plan: gather: host shares weights inside each host, and machine 4 hosts of 4x-h100-sxm has 4 hosts"
    refuses(["predict", *job, *words, "plan.hosts=2"], line, "set plan.hosts to 4, or plan.gather to fabric")

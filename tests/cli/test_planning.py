"""sluice plan explains itself, and says what else could be asked for."""

import json

import pytest
from conftest import once

from test_predict import TINY


@pytest.fixture
def streaming(tmp_path):
    """Flags of a small run whose state stays on the host, behind a slow link."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(TINY))
    return ["--model", config, "--machine", "rtx-4090", "--seq-len", "64", "--batch-size", "8", "--loss-chunk", "64",
            "--residency", "host", "--set", "machine.h2d=0.02x", "--set", "machine.d2h=0.02x"]


def with_link(words, factor):
    """The same run with a link of that much of the machine's."""
    base = [word for word in words if not str(word).startswith("machine.") and word != "--set"]
    for name in ["h2d", "d2h", "h2d_duplex", "d2h_duplex"]:
        base += ["--set", f"machine.{name}={factor}x"]
    return base


def test_the_plan_explains_itself(run_sluice, validate, streaming):
    p = run_sluice("plan", *with_link(streaming, 0.001), "--json").json()
    validate(p, "plan-result")
    e = p["explanation"]
    fall = e["waterfall"]
    assert fall["bound_s"] + sum(fall["parts_s"].values()) == pytest.approx(p["step_s"], abs=1e-9)
    assert fall["step_s"] == p["step_s"] and e["bound_by"] == p["bound_by"]
    assert e["bound_share"] == pytest.approx(p["bound_s"] / p["step_s"])
    assert e["relax_first"] == e["reliefs"][0]["resource"] == "link"
    saved = [relief["saved_s"] for relief in e["reliefs"]]
    assert saved == sorted(saved, reverse=True) and saved[0] > 0.005 * p["step_s"]
    assert e["then"]["relieved"]["resource"] == "link" and e["then"]["relieved"]["step_s"] < e["reliefs"][0]["step_s"]
    assert p["policy"] is None and "free" not in p and "fronts" not in p and "hide_link" not in p


def test_a_plan_with_state_on_the_disk_says_what_a_faster_disk_would_do(run_sluice, validate):
    words = ["--model", "qwen2.5-0.5b", "--machine", "rtx-4070-ti-super", "--seq-len", "512", "--batch-size", "1",
             "--hbm", "4GiB", "--host", "5GiB", "--disk", "8GiB"]  # fmt: skip
    p = run_sluice("plan", *words, "--effort", "0.05", "--json").json()
    validate(p, "plan-result")
    assert any(layer["state"] == "disk" for layer in p["plan"]["layers"])
    assert "disk" in [relief["resource"] for relief in p["explanation"]["reliefs"]]


def test_seconds_bound_the_explanation_too_and_it_says_what_it_left_out(run_sluice, validate, streaming):
    words = ["plan", *with_link(streaming, 0.005), "--hide-link", "--front", "hbm,tokens", "--free", "micro_batch"]
    p = run_sluice(*words, "--seconds", "0.001", "--json").json()
    validate(p, "plan-result")
    e = p["explanation"]
    assert e["left_out"] and e["then"] is None
    rates = [relief for relief in e["reliefs"] if relief["resource"] not in ("hbm", "host")]
    assert all(relief["coarse"] and not relief["searched"] for relief in rates)
    assert p["free"]["cut_short"] and len(p["free"]["trials"]) == 1
    assert p["hide_link"]["cut_short"] and all(front["cut_short"] for front in p["fronts"])
    text = run_sluice(*words, "--seconds", "0.001").out
    assert "left out     for lack of time: " in text and "cut short: there was no time for" in text


def test_without_seconds_nothing_is_left_out(run_sluice, streaming):
    e = run_sluice("plan", *streaming, "--effort", "0.05", "--json").json()["explanation"]
    assert e["left_out"] == [] and not any(relief["coarse"] for relief in e["reliefs"])


def test_the_relaxed_constraint_shortens_the_step_predicted_from_scratch(run_sluice, tmp_path, streaming):
    out = tmp_path / "plan.json"
    p = run_sluice("plan", *with_link(streaming, 0.001), "--json", "-o", out).json()
    first = p["explanation"]["reliefs"][0]
    assert first["resource"] == "link" and first["factor"] == 1.1
    again = run_sluice("predict", *with_link(streaming, 0.0011), "--plan", out, "--json").json()
    # The plan as it is is one that the relief may use.
    assert first["step_s"] <= again["step_s"] < p["step_s"]


@once
def test_the_tables_say_it_in_words(run_sluice, streaming):
    text = run_sluice("plan", *with_link(streaming, 0.005), "--hide-link", "--front", "hbm", "--free",
                      "micro_batch").out
    for word in ["bounded by", "waterfall", "= step", "relax first  link rate", "then", "front", "hidden from", "chose"]:
        assert word in text, word
    assert "another job: its bits differ" in text


def test_fronts_trade_the_step_for_memory_and_tokens(run_sluice, validate, streaming):
    p = run_sluice("plan", *streaming, "--front", "hbm,host,tokens", "--json").json()
    validate(p, "plan-result")
    assert [front["axis"] for front in p["fronts"]] == ["hbm", "host", "tokens"]
    for front in p["fronts"]:
        key = {"hbm": "hbm_bytes", "host": "host_bytes", "tokens": "tokens"}[front["axis"]]
        amounts = [point[key] for point in front["points"]]
        assert amounts == sorted(set(amounts)) and amounts
        if front["axis"] == "tokens":
            rates = [point["tokens_per_s"] for point in front["points"]]
            assert rates == sorted(set(rates))
        else:
            steps = [point["step_s"] for point in front["points"]]
            assert steps == sorted(set(steps), reverse=True) and steps[-1] <= p["step_s"]


@once
def test_a_point_of_the_front_is_what_predict_says_within_its_limits(run_sluice, tmp_path, streaming):
    out = tmp_path / "plan.json"
    p = run_sluice("plan", *streaming, "--front", "hbm", "-o", out, "--json").json()
    file = json.loads(out.read_text())
    for point in p["fronts"][0]["points"]:
        file.update(point["plan"])
        out.write_text(json.dumps(file))
        again = run_sluice("predict", *streaming, "--plan", out, "--hbm", f"{point['hbm_bytes']} B", "--host",
                           f"{point['host_bytes']} B", "--json").json()
        assert again["fits"] and again["step_s"] == point["step_s"] and again["plan_hash"] == point["plan_hash"]


@once
def test_the_batch_that_hides_the_link_is_the_least(run_sluice, validate, streaming):
    p = run_sluice("plan", *streaming, "--hide-link", "--json").json()
    validate(p, "plan-result")
    link = p["hide_link"]
    assert link["hidden_from"]["exposed_share"] <= 0.05 < link["exposed_at"]["exposed_share"]
    assert link["hidden_from"]["batch_size"] == link["exposed_at"]["batch_size"] + 1
    assert link["asked"]["batch_size"] == 8 and link["largest_tried"] is None


def test_a_policys_plan_is_explained_and_written(run_sluice, validate, tmp_path, streaming):
    out = tmp_path / "plan.json"
    p = run_sluice("plan", *streaming, "--policy", "zero-infinity", "-o", out, "--json").json()
    validate(p, "plan-result")
    validate(out, "plan")
    assert p["policy"] == "zero-infinity" and p["simulated"] == 1
    assert p["optimality_gap"] == pytest.approx((p["step_s"] - p["bound_s"]) / p["step_s"])
    assert not any(relief["searched"] for relief in p["explanation"]["reliefs"])
    same = run_sluice("predict", *streaming, "--policy", "zero-infinity", "--json").json()
    assert same["step_s"] == p["step_s"] and same["plan_hash"] == p["plan_hash"]
    assert json.loads(out.read_text())["prediction"]["step_s"] == p["step_s"]
    assert "policy       zero-infinity" in run_sluice("plan", *streaming, "--policy", "zero-infinity").out


def test_a_policy_that_does_not_fit_is_exit_3_with_what_a_search_does(run_sluice, validate, streaming):
    words = ["plan", *streaming, "--policy", "resident", "--hbm", "641 MiB", "--json"]
    refused = run_sluice(*words, exit_code=3).json()
    validate(refused, "plan-result")
    assert refused["tier"] == "hbm" and refused["short_bytes"] > 0


@once
def test_free_sizes_are_chosen_and_said(run_sluice, validate, tmp_path, streaming):
    p = run_sluice("plan", *streaming, "--free", "micro_batch,loss_chunk", "--json").json()
    validate(p, "plan-result")
    free = p["free"]
    steps = [trial["step_s"] for trial in free["trials"] if trial["step_s"]]
    assert p["step_s"] <= 1.006 * min(steps) and free["trials"][0]["micro_batch"] == 1
    chosen = run_sluice("predict", *streaming, f"micro_batch={free['micro_batch']}",
                        f"loss_chunk={free['loss_chunk']}", "--json").json()
    assert chosen["job_hash"] == p["job_hash"]
    data = tmp_path / "text.txt"
    data.write_text("sluice " * 1000)
    run = tmp_path / "run.yaml"
    said = run_sluice("init", *streaming, "--data", data, "--free", "micro_batch,loss_chunk", "-o", run).out
    assert f"micro_batch={free['micro_batch']}" in said
    assert f"micro_batch: {free['micro_batch']}" in run.read_text()


def test_wrong_choices_are_refused(refuses, streaming):
    refuses(["plan", *streaming, "--front", "hbn"], "--front", "hbm")
    refuses(["plan", *streaming, "--front", "hbm", "--policy", "resident"], "--front")
    refuses(["plan", *streaming, "--free", "micro_bach"], "did you mean", "micro_batch")
    refuses(["predict", *streaming, "--free", "micro_batch"], "plan, autotune and init")


@once
def test_a_space_below_a_million_plans_has_gap_0(run_sluice):
    pins = {"weights": "hbm", "gradients": "hbm", "copy_chunk": 0, "threads": 8, "weight_buffers": 1, "gradient_buffers": 1,
            "activation_buffers": 2, "state_buffers": 0, "keep": "all", "keep_tier": "hbm", "when": "after", "state": "host"}
    words = [word for name, value in pins.items() for word in ("--set", f"plan.{name}={value}")]
    p = run_sluice("plan", "--model", "bytes-2m", "--machine", "rtx-4090", "--seq-len", "1024", "--batch-size", "2",
                   "--micro-batch", "2", *words, "--json").json()
    assert p["optimality_gap"] == 0 and 1 < p["considered"] <= 1e6 and p["simulated"] < p["considered"]

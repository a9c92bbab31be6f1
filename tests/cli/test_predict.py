"""sluice predict, plan and buy: exact, self-consistent, and honest about what does not fit."""

import json

import pytest
from conftest import once

TINY = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64,
    "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 256, "tie_word_embeddings": False,
    "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
    "max_position_embeddings": 2048,
}


@pytest.fixture
def tiny(tmp_path):
    """Flags of a small run on a catalogue machine."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(TINY))
    return ["--model", config, "--machine", "h200", "--seq-len", "64", "--batch-size", "8",
            "--loss-chunk", "64"]


# A search over this needs more than one step to look for, but little time.
SMALL = ["--hbm", "720 MiB"]


def test_prediction_follows_its_schema_and_adds_up(run_sluice, validate, tiny):
    p = run_sluice("predict", *tiny, "--json").json()
    validate(p, "predict")
    assert p["fits"] is True
    assert p["compute_s"] + sum(p["stalls"].values()) == pytest.approx(p["step_s"], abs=2e-9)
    assert p["step_s_low"] < p["step_s"] < p["step_s_high"]
    assert p["bound_ratio"] == pytest.approx(p["step_s"] / p["bound_s"]) and p["bound_ratio"] >= 1
    assert p["bound_s"] == pytest.approx(max(p["bounds"].values()))
    assert sum(p["evidence"].values()) == pytest.approx(1)
    for tier in p["memory"].values():
        assert sum(tier["parts"].values()) == tier["peak_bytes"]
        assert tier["peak_bytes"] <= tier["capacity_bytes"]
    tokens = 64 * 8
    assert p["tokens_per_s"] == pytest.approx(tokens / p["step_s"])
    matmul = 4 * (64 * 64 * 2 + 2 * 64 * 32 + 3 * 64 * 128) + 64 * 256
    flops = (6 * matmul + 6 * 4 * 4 * 16 * 64) * tokens
    assert p["model_tflops"] == pytest.approx(flops / p["step_s"] / 1e12)


def test_the_numbers_of_an_explanation_sum_to_the_step_and_its_interval(run_sluice, validate, tiny):
    p = run_sluice("predict", *tiny, "--explain", "--json").json()
    validate(p, "predict")
    numbers = p["basis"]["numbers"]
    assert sum(line["critical_s"] for line in numbers) == pytest.approx(p["step_s"], abs=1e-9)
    assert sum(line["variance_share"] for line in numbers) == pytest.approx(1)
    groups = {}
    for line in numbers:
        groups[line["group"]] = groups.get(line["group"], 0) + line["deviation_s"]
    half = 1.645 * sum(total**2 for total in groups.values()) ** 0.5
    assert half == pytest.approx(p["step_s_high"] - p["step_s"]) == pytest.approx(p["basis"]["half_width_s"])
    shares = [line["variance_share"] for line in numbers]
    assert shares == sorted(shares, reverse=True)
    assert "basis" not in run_sluice("predict", *tiny, "--json").json()


def test_an_explanation_fits_the_terminal_and_names_sources(run_sluice, tiny):
    text = run_sluice("predict", *tiny, "--explain").out
    basis = text[text.index("basis "):]
    assert max(map(len, basis.splitlines())) <= 100
    for word in ["backward", "smaller numbers", "= step", "90 % interval", "narrow"]:
        assert word in basis, word


def test_a_step_beside_another_is_a_ratio_with_an_interval(run_sluice, validate, tmp_path, tiny):
    file = tmp_path / "one.json"
    file.write_text(run_sluice("predict", *tiny, "--explain", "--json").out)
    one = json.loads(file.read_text())
    same = run_sluice("predict", *tiny, "--beside", file, "--json").json()
    validate(same, "predict")
    assert same["beside"] == {"ratio": 1, "low": 1, "high": 1}
    other = run_sluice("predict", *tiny, "--set", "machine.h2d=0.5x", "--beside", file, "--json").json()
    assert other["beside"]["ratio"] == pytest.approx(other["step_s"] / one["step_s"])
    assert "beside       1.000" in run_sluice("predict", *tiny, "--beside", file).out
    file.write_text(run_sluice("predict", *tiny, "--json").out)
    refused = run_sluice("predict", *tiny, "--beside", file, exit_code=2)
    assert "--explain --json" in refused.err


def test_simulating_the_graph_gives_the_step_to_the_nanosecond(run_sluice, tmp_path, tiny):
    graph = tmp_path / "g.json"
    p = run_sluice("predict", *tiny, *SMALL, "--json", "--graph-out", graph).json()
    assert json.loads(graph.read_text())["period"] == ["s2/grads", "s3/grads"]
    s = run_sluice("sim", graph, "--json").json()
    assert round(s["period_s"] * 1e9) == round(p["step_s"] * 1e9)
    assert s["period_s"] == p["step_s"]


def test_a_plan_file_predicts_what_the_search_said(run_sluice, validate, tmp_path, tiny):
    out = tmp_path / "plan.json"
    found = run_sluice("plan", *tiny, "--json", "-o", out).json()
    validate(found, "plan-result")
    validate(out, "plan")
    assert 0 <= found["optimality_gap"] < 1 and found["simulated"] >= 1 and found["space_log10"] > 5
    again = run_sluice("predict", *tiny, "--plan", out, "--json").json()
    assert again["step_s"] == found["step_s"]
    assert again["plan_hash"] == found["plan_hash"] and again["plan"] == found["plan"]
    assert json.loads(out.read_text())["prediction"]["step_s"] == found["step_s"]


def test_the_same_request_gives_the_same_bytes(run_sluice, tiny):
    assert run_sluice("plan", *tiny, "--json").out == run_sluice("plan", *tiny, "--json", "--fresh").out


def test_what_a_search_found_is_kept_for_other_verbs_and_said_in_one_line(run_sluice, tiny):
    said = "kept from an equal"
    anew = run_sluice("predict", *tiny, "--json").out
    kept = not run_sluice("--version").out.strip().rstrip(")").endswith("+")  # Programs of changed sources keep nothing.
    assert (said in run_sluice("predict", *tiny).out) == kept
    assert said not in run_sluice("predict", *tiny, "--fresh").out
    assert run_sluice("predict", *tiny, "--json").out == anew
    first = run_sluice("plan", *tiny)
    assert (said in first.out) == kept and said not in first.err  # The search was predict's; the explanation is new.
    again = run_sluice("plan", *tiny)
    assert (said in again.err) == kept and again.out == first.out
    assert said not in run_sluice("plan", *tiny, "--fresh").err
    assert said not in run_sluice("plan", *tiny, "--seconds", "2").out


def test_pins_hold(run_sluice, tiny):
    p = run_sluice("plan", *tiny, "--residency", "host", "--set", "plan.weight_buffers=2", "--set",
                   "plan.when=after", "--json").json()
    assert p["plan"]["weight_buffers"] == 2
    assert {layer["when"] for layer in p["plan"]["layers"]} == {"after"}
    assert {layer["state"] for layer in p["plan"]["layers"]} == {"host"}


def test_tables_name_the_step_the_bound_and_the_memory(run_sluice, tiny):
    text = run_sluice("plan", *tiny).out
    for word in ["step", "90 %", "tokens/s", "bound", "hbm", "host", "weights", "search", "L0"]:
        assert word in text, word


def test_too_little_memory_is_exit_3_with_remedies_that_fit(run_sluice, validate, tiny):
    # 640 MiB of an H200's memory are the context's.
    refused = run_sluice("predict", *tiny, "--hbm", "640 MiB", "--json", exit_code=3)
    p = refused.json()
    validate(p, "predict")
    assert p["fits"] is False and p["tier"] == "hbm" and p["short_bytes"] > 0
    assert 1 <= len(p["remedies"]) <= 3 and refused.err == ""
    # What is known of the run does not depend on whether it fits.
    fitting = run_sluice("predict", *tiny, "--json").json()
    for key in ("parameters", "job_hash", "cost_model_hash", "numerics_id", "bound_by"):
        assert p[key] == fitting[key], key
    assert p["bound_s"] > 0 and set(p["bounds"]) == set(fitting["bounds"]) and len(p["profile_hash"]) == 64
    for remedy in p["remedies"]:
        setting = remedy["setting"]
        words = setting.split(" ") if setting.startswith("--") else [setting]
        base = [*tiny, "--hbm", "640 MiB"]
        run_sluice("predict", *base, *words, "--json", exit_code=0)
    assert "does not fit" in run_sluice("plan", *tiny, "--hbm", "640 MiB", exit_code=3).out


@once
def test_a_model_that_fits_nowhere_lacks_host_memory(run_sluice):
    # All state on the device would lack a smaller share of it than streaming lacks of the host's memory, but nobody can
    # add to a device's.
    words = ["--model", "qwen2.5-0.5b", "--machine", "h200", "--seq-len", "1024", "--batch-size", "8"]
    short = run_sluice("plan", *words, "--hbm", "819 MiB", "--host", "546 MiB", "--json", exit_code=3, timeout=300)
    assert short.json()["tier"] == "host"


def test_a_plan_above_capacity_is_exit_3_and_the_search_is_the_remedy(run_sluice, tmp_path, tiny):
    out = tmp_path / "plan.json"
    roomy = run_sluice("plan", *tiny, "--set", "plan.keep=all", "-o", out, "--json").json()
    peak = roomy["memory"]["hbm"]["peak_bytes"]
    refused = run_sluice("predict", *tiny, "--plan", out, "--hbm", f"{peak - 4096} B", "--json",
                         exit_code=3).json()
    assert refused["tier"] == "hbm" and refused["short_bytes"] == 4096


def test_a_plan_of_another_job_is_refused(refuses, run_sluice, tmp_path, tiny):
    out = tmp_path / "plan.json"
    run_sluice("plan", *tiny, "-o", out)
    refuses(["predict", *tiny, "seq_len=32", "--plan", out], "another job")


def test_a_slower_link_never_helps(run_sluice, tiny):
    args = [*tiny, "--residency", "host"]
    fast = run_sluice("predict", *args, "--json").json()["step_s"]
    slow = run_sluice("predict", *args, "--set", "machine.h2d=0.1x", "--set", "machine.d2h=0.1x",
                      "--json").json()["step_s"]
    assert slow >= fast - 2e-9  # Times of tasks are rounded to whole nanoseconds.


@once
def test_buy_ranks_prices_and_says_what_helps(run_sluice, validate, tmp_path, tiny):
    prices = tmp_path / "prices.yaml"
    prices.write_text("prices:\n  h200: {rent_usd_per_hour: 3.5, date: 2026-01-31}\n")
    b = run_sluice("buy", *tiny, "--machines", "h200,rtx-4090", "--tokens", "1B", "--days", "30",
                   "--prices", prices, "--rent", "--json").json()
    validate(b, "buy")
    steps = [row["step_s"] for row in b["rows"]]
    assert steps == sorted(steps) and {r["machine"] for r in b["rows"]} == {"h200", "rtx-4090"}
    h200 = next(r for r in b["rows"] if r["machine"] == "h200")
    other = next(r for r in b["rows"] if r["machine"] == "rtx-4090")
    assert h200["cost"] == pytest.approx(3.5 * 24 * h200["days"]) and h200["gpus"] == 8
    assert other["price"] is None and other["cost"] is None
    save = h200["phases"]["save"]["disk"]
    # One checkpoint at the end has 12 bytes a parameter, the model's folder 2.
    assert save["peak_bytes"] == 6 * h200["phases"]["load"]["disk"]["peak_bytes"] > 0
    assert h200["ssd_wear"]["steps"] is None and h200["nearest_case"]
    assert b["upgrades"] and set(b["elasticity"]) >= {"compute", "h2d", "d2h", "dram", "cpu", "hbm"}
    assert all(upgrade["orderable"] for upgrade in b["upgrades"])
    text = run_sluice("buy", *tiny, "--machines", "h200").out
    assert " - " in text and "upgrades of h200" in text and "No prices were given" in text
    assert text.startswith("Buy h200") and "uses 1 of 8 GPUs" in text


def test_buy_keeps_a_machine_that_does_not_fit_as_a_row(run_sluice, tiny):
    b = run_sluice("buy", *tiny, "--hbm", "640 MiB", "--machines", "h200", "--json", exit_code=3).json()
    row = b["rows"][0]
    assert row["fits"] is False and "hbm" in row["limit"] and row["remedy"]
    assert b["elasticity"] == {} and "does" not in row["machine"]


def test_a_composed_machine_is_predicted_and_shown(run_sluice, validate, refuses, tiny, tmp_path):
    parts = ["--gpu", "rtx-4090", "--cpu", "threadripper-9970x", "--ram", "4x32 GiB DDR5-5600",
             "--ssd", "1x gen4"]
    run = [word for word in tiny if word not in ("--machine", "h200")]
    p = run_sluice("predict", *run, *parts, "--tokens", "1B", "--json").json()
    validate(p, "predict")
    assert p["fits"] and p["days"] == pytest.approx(1e9 / p["tokens_per_s"] / 86400)
    assert p["phases"]["step"]["host"]["capacity_bytes"] == int(0.98 * 4 * 32 * 2**30)
    name = "rtx-4090 + threadripper-9970x + 4x32 GiB DDR5-5600"
    shown = run_sluice("machines", "show", name, "--json").json()
    validate(shown, "profile")
    assert shown["name"] == name
    again = run_sluice("predict", *run, "--machine", name, "--json").json()
    assert again["step_s"] == p["step_s"] and again["profile_hash"] == p["profile_hash"]
    text = run_sluice("predict", *run, *parts).out
    assert "checkpoint" in text and "validated" in text and "save" in text
    for word, value, *told in [
        ("--ram", "3x32 GiB DDR5-5600", "3 modules", "1, 2, 4"),
        ("--ram", "4x40 GiB DDR5-5600", "40 GiB", "32, 48"),
        ("--ram", "4x32 GiB DDR5-5601", "DDR5-5601", "5600"),
        ("--ram", "4x32 GiB DDR4-3200", "takes DDR5"),
        ("--ssd", "12x gen4", "PCIe lanes", "at most 8"),
        ("--cpu", "threadriper-9970x", "did you mean"),
        ("--gpu", "rtx-4091", "did you mean"),
    ]:
        refuses(["predict", *run, *parts, word, value], *told)


def test_wrong_requests_are_refused(refuses, tmp_path, tiny):
    refuses(["plan", *tiny, "--plan", "p.json"], "--plan")
    refuses(["predict", *tiny, "--set", "plan.weight_buffers=0"], "weight_buffers")
    refuses(["buy", *tiny, "--machines", "h200,,l40s"], "--machines")
    refuses(["buy", *tiny, "--tokens", "0"], "--tokens")
    refuses(["buy", *tiny, "--machines", "h2000"], "h200")
    refuses(["buy", *tiny, "--plan", "p.json"], "--plan", "on every machine", "sluice predict")
    refuses(["buy", *tiny, "--policy", "resident"], "--policy", "on every machine", "sluice predict")
    run_file = tmp_path / "run.yaml"
    run_file.write_text("model: bytes-2m\nseq_len: 64\nbatch_size: 4\nplan: p.json\npolicy: resident\n")
    refuses(["buy", run_file], "--plan= leaves")
    refuses(["buy", run_file, "--plan="], "--policy= leaves")
    refuses(["buy", run_file, "--plan=", "--policy=", "--machines", "h2000"], "h200")
    bad = tmp_path / "bad.yaml"
    bad.write_text("prices: {h200: {buy_usd: 1}}")
    refuses(["buy", *tiny, "--prices", bad], "date")


def test_scaling_has_strong_and_weak_points_and_says_which_nic_would_do(run_sluice, validate, refuses, tiny):
    words = ["predict", *tiny, "--machine", "2x-h100-sxm", "--batch-size", "16"]
    refuses([*words, "--scaling", "1,2"], "machine.nic: is missing")
    refuses([*words, "--scaling", "2,1", "--nic", "100GbE"], "--scaling: \"2,1\" must be ascending")
    refuses([*words, "--hosts", "2", "--nic", "8y400GbE"], "machine.nic: ")
    p = run_sluice(*words, "--scaling", "1,2,4", "--nic", "100GbE", "--json").json()
    validate(p, "predict")
    scaling = p["scaling"]
    assert [(each["hosts"], each["devices"], each["batch_size"]) for each in scaling["strong"]] == [(1, 2, 16), (2, 4, 16), (4, 8, 16)]
    assert [each["batch_size"] for each in scaling["weak"]] == [16, 32, 64]
    for points in (scaling["strong"], scaling["weak"]):
        for each in points:
            assert each["tokens_per_s"] == pytest.approx(each["tokens"] / each["step_s"])
            assert each["efficiency"] == pytest.approx(each["tokens_per_s"] / each["hosts"] / points[0]["tokens_per_s"])
    steps = [each["step_s"] for each in scaling["nics"]]
    assert all(faster <= slower * 1.001 for slower, faster in zip(steps, steps[1:]))
    table = run_sluice(*words, "--scaling", "1,2,4", "--nic", "100GbE").out
    assert "scaling      hosts of 2x-h100-sxm, joined by 100GbE" in table and "NIC          to be faster than one host: " in table

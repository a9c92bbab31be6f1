"""sluice buy over builds of parts: advice that no composed box beats, in months, on what the engine runs."""

import json

import pytest
from conftest import once
from test_predict import TINY

PRICES = """
prices:
  h100-sxm: {rent_usd_per_hour: 3, date: 2026-01-01}
parts:
  gpu rtx-4090: {buy_usd: 1600, date: 2026-01-01}
  gpu rtx-5090: {buy_usd: 2000, date: 2026-01-01}
  cpu ryzen-9-9950x: {buy_usd: 1300, date: 2026-01-01}
  32 GiB DDR5-5600: {buy_usd: 192, date: 2026-01-01}
  64 GiB DDR5-5600: {buy_usd: 384, date: 2026-01-01}
  ssd gen4: {buy_usd: 170, date: 2026-01-01}
  ssd gen5: {buy_usd: 280, date: 2026-01-01}
"""


# Tests do not depend on the clock: the search ends by itself long before.
ENOUGH = ["--seconds", "3000"]


@pytest.fixture
def job(tmp_path):
    config, prices = tmp_path / "config.json", tmp_path / "prices.yaml"
    config.write_text(json.dumps(TINY))
    prices.write_text(PRICES)
    return ["--model", config, "--seq-len", "64", "--batch-size", "8", "--loss-chunk", "64", "--tokens", "1T",
            "--prices", prices]


@once
def test_buy_searches_builds_and_leaves_dominated_ones_out(run_sluice, validate, job):
    document = run_sluice("buy", *job, "--budget", "4500", *ENOUGH, "--json").json()
    validate(document, "buy")
    builds = sorted((row for row in document["rows"] if row["kind"] == "build" and not row["is_beaten"]), key=lambda row: row["buy_usd"])
    assert builds and document["builds"]["planned"] > 0 and document["builds"]["open"] == 0
    steps = [row["step_s"] for row in builds]
    assert steps == sorted(steps, reverse=True) and len(set(steps)) == len(steps)
    assert all(row["buy_usd"] <= 4500 and row["engine"] == "never run" for row in builds)
    # The same build, predicted alone, is no faster than the advice by more than 2 %.
    alone = run_sluice("buy", *job, "--machines", "rtx-5090 + ryzen-9-9950x + 2x64 GiB DDR5-5600 + 1x gen4", "--json").json()
    other = next(row for row in alone["rows"] if row["kind"] == "machine")
    assert other["buy_usd"] <= 4500 and min(steps) <= 1.02 * other["step_s"]


@once
def test_break_even_is_in_months_and_the_verdict_explains_what_it_advises(run_sluice, job):
    document = run_sluice("buy", *job, "--usd-per-kwh", "0.3", *ENOUGH, "--json").json()
    verdict = "\n".join(document["verdict"])
    assert "runs on" not in verdict and ("months" in verdict or verdict.startswith("Buy "))
    advised = document["base"]
    assert advised in document["verdict"][0] and f"What binds on {advised}" in verdict
    tested = next(row for row in document["rows"] if row["machine"] == advised)["engine"] == "tested"
    assert ("Sluice has never run on the GPU of " + advised in verdict) != tested


def test_a_use_is_a_share_and_stated_once(refuses, job):
    refuses(["buy", *job, "--use", "1.5"], "--use", "at most 1")
    refuses(["buy", *job, "--use", "0.5", "--runs-per-month", "2"], "--use", "not both")
    refuses(["buy", *job, "--resale", "1"], "--resale", "below 1")


def test_budgets_are_read_as_people_write_them(run_sluice, refuses, job):
    quick = ["buy", *job, "--machines", "rtx-4090", "--seconds", "0.1"]
    for text in ("4,500", "$4.5k"):
        document = run_sluice(*quick, "--budget", text, "--json").json()
        row = next(row for row in document["rows"] if row["machine"] == "rtx-4090")
        assert row["buy_usd"] == 3838 and row["within_budget"] is True
    document = run_sluice(*quick, "--budget", "3.5k,9k").out
    assert "On 3,500 USD" in document and "On 9,000 USD" in document
    refuses(["buy", *job, "--budget", "many"], "--budget", "15,000")
    refuses(["buy", *job, "--budget", "0"], "--budget", "above 0")


@once
def test_what_is_printed_fits_a_hundred_columns(run_sluice, job):
    text = run_sluice("buy", *job, "--budget", "4,500,9k", "--use", "0.5", *ENOUGH).out
    assert "On 4,500 USD" in text and "On 9,000 USD" in text
    assert max(map(len, text.splitlines())) <= 100


@once
def test_money_is_in_the_json(run_sluice, job):
    document = run_sluice("buy", *job, "--machines", "rtx-4090,h100-sxm", "--usd-per-kwh", "0.25", "--resale", "0.5",
                          "--runs-per-month", "1", *ENOUGH, "--json").json()
    row = next(row for row in document["rows"] if row["machine"] == "rtx-4090")
    # 450 W and 16 cores of 8 W each; at least half of the GPU's and 3 W a core.
    assert row["run"]["watts"] == {"usual": 578, "low": 273, "high": 690}
    assert row["run"]["energy_usd"]["usual"] == pytest.approx(0.578 * 24 * row["days"] * 0.25)
    pays = document["break_even"]
    if pays is not None:
        assert pays["bought"] == "rtx-4090" and pays["rented"] == "h100-sxm"
        rent = next(row for row in document["rows"] if row["machine"] == "h100-sxm")["rent_usd"]
        saved = rent - row["run"]["energy_usd"]["usual"] - row["run"]["drives_usd"]
        assert pays["months"] == pytest.approx(0.5 * row["buy_usd"] / (pays["runs_per_month"] * saved))


def test_the_cure_for_an_owned_machine_is_among_the_orders_and_is_advised(run_sluice, tmp_path, job):
    large = tmp_path / "large.json"  # 2.8 G parameters: 32 GiB of state.
    large.write_text(json.dumps({**TINY, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 12,
                                 "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 32000}))
    own = "rtx-4090 + 1x32 GiB DDR5-5600"
    words = ["buy", "--model", large, "--seq-len", "64", "--batch-size", "2", "--residency", "host", "--own", "--machine", own,
             "--machines", own, "--prices", tmp_path / "prices.yaml", "--budget", "3000", *ENOUGH]
    document = run_sluice(*words, "--json").json()
    first = document["verdict"][0]
    assert first.startswith("Add to what you have, " + own) and "the job does not fit: host short by" in first
    mine = next(row for row in document["rows"] if row["owned"])
    assert next(one for one in document["upgrades"] if one["setting"] == mine["remedy"])["fits"]
    priced = [one for one in document["upgrades"] if one["fits"] and one["price"]]
    assert min(one["price"] for one in priced) == 192 and "192 USD" in first


def test_where_nothing_fits_the_machine_asked_about_is_explained_and_the_exit_code_says_so(run_sluice, job):
    words = [*job[:-4], "--residency", "host"]
    document = run_sluice("buy", *words, "--host", "16 MiB", "--machines", "h100-sxm", *ENOUGH, "--json", exit_code=3).json()
    assert document["base"] == "h100-sxm"
    # The host memory that would do, not just twice as much.
    cure = next(one for one in document["upgrades"] if one["setting"].startswith("--host"))
    assert cure["fits"] and "instead of 16.0 MiB" in cure["what"]
    run_sluice("predict", *words, "--machine", "h100-sxm", "--host", cure["setting"].split()[1])


@once
def test_a_drive_changes_nothing_where_nothing_is_on_the_disk(run_sluice, job):
    document = run_sluice("buy", *job, "--machines", "h100-sxm", "--machine", "h100-sxm", *ENOUGH, "--json").json()
    drive = next(one for one in document["upgrades"] if one["what"].startswith("+1 SSD"))
    assert drive["speedup"] == pytest.approx(1, abs=0.005)


@once
def test_nothing_is_advised_for_what_cannot_be_trained(run_sluice, job):
    text = run_sluice("buy", "--model", "gpt-oss-20b", "--seq-len", "1024", "--batch-size", "8", "--machines", "h100-sxm",
                      "--seconds", "0.1", "--set", "optimizer.state=bf16-weights").out
    said = " ".join(text.split())
    assert said.startswith("Buy or rent nothing for this: Sluice cannot train it.")
    assert "optimizer.state" in said.split("prediction only")[0]
    assert "Time was over before it was tried what binds" in said

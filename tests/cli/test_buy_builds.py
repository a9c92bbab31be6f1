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


@pytest.fixture
def job(tmp_path):
    config, prices = tmp_path / "config.json", tmp_path / "prices.yaml"
    config.write_text(json.dumps(TINY))
    prices.write_text(PRICES)
    return ["--model", config, "--seq-len", "64", "--batch-size", "8", "--loss-chunk", "64", "--tokens", "1T",
            "--prices", prices]


@once
def test_buy_searches_builds_and_leaves_dominated_ones_out(run_sluice, validate, job):
    document = run_sluice("buy", *job, "--budget", "4500", "--json").json()
    validate(document, "buy")
    builds = sorted((row for row in document["rows"] if row["kind"] == "build"), key=lambda row: row["buy_usd"])
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
    document = run_sluice("buy", *job, "--usd-per-kwh", "0.3", "--json").json()
    verdict = "\n".join(document["verdict"])
    assert "runs on" not in verdict and ("months" in verdict or verdict.startswith("Buy "))
    advised = document["base"]
    assert advised in document["verdict"][0] and f"What binds on {advised}" in verdict
    tested = next(row for row in document["rows"] if row["machine"] == advised)["engine"] == "tested"
    assert ("Sluice has never run on the GPU of " + advised in verdict) != tested


def test_a_use_is_a_share_and_stated_once(refuses, job):
    refuses(["buy", *job, "--use", "1.5"], "--use", "at most 1")
    refuses(["buy", *job, "--use", "0.5", "--runs-per-month", "2"], "--use", "not both")


@once
def test_nothing_is_advised_for_a_model_that_cannot_be_trained(run_sluice, job):
    text = run_sluice("buy", "--model", "gpt-oss-20b", "--seq-len", "1024", "--batch-size", "8", "--machines", "h100-sxm").out
    assert text.startswith("Buy or rent nothing for this: Sluice cannot train it.") and "gpt_oss" in text.splitlines()[0]

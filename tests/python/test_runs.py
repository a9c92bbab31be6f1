"""predict, plan and buy say what the program says, and refuse in its words."""

import json
import pickle
import signal
import threading
import time

import pytest
import sluice

RUN = {"model": "bytes-2m", "machine": "h200", "seq_len": 256, "batch_size": 8}
WORDS = ("--model", "bytes-2m", "--machine", "h200", "--seq-len", "256", "--batch-size", "8")


def test_predict_is_what_the_program_prints(cli):
    code, printed = cli("predict", *WORDS, "--json")
    assert code == 0
    assert sluice.predict(**RUN).to_dict() == printed


def test_predict_takes_limits_sets_money_and_nested_keys(cli, tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text("prices:\n  h200: {rent_usd_per_hour: 3.5, date: 2026-01-31}\n")
    found = sluice.predict(
        **RUN,
        hbm=800 * 2**20,
        residency="host",
        micro_batch=2,
        optimizer={"lr": 3e-4, "clip": "off"},
        set={"machine.h2d": "0.5x", "plan.weight_buffers": 2},
        tokens="1.5B",
        prices=prices,
    )
    code, printed = cli(
        "predict", *WORDS, "--hbm", "800 MiB", "--residency", "host", "--micro-batch", 2, "optimizer.lr=3e-4",
        "optimizer.clip=off", "--set", "machine.h2d=0.5x", "--set", "plan.weight_buffers=2", "--tokens", "1.5B",
        "--prices", prices, "--json",
    )  # fmt: skip
    assert code == 0
    assert found.to_dict() == printed
    assert found.plan.weight_buffers == 2
    assert sluice.predict(**RUN).tokens_per_s != found.tokens_per_s


def test_a_run_file_and_a_mapping_state_the_same_run(cli, tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("model: bytes-2m\nmachine: rtx-4090\nseq_len: 256\nbatch_size: 8\n")
    by_file = sluice.predict(run=file, machine="h200")
    by_mapping = sluice.predict(run={**RUN, "machine": "rtx-4090"}, machine="h200")
    assert by_file.to_dict() == by_mapping.to_dict() == sluice.predict(**RUN).to_dict()


def test_results_have_units_in_names_and_attributes():
    found = sluice.predict(**RUN)
    assert found.step_s_low < found.step_s < found.step_s_high
    assert found.tokens_per_s == pytest.approx(8 * 256 / found.step_s)
    assert found.memory.hbm.peak_bytes == found.memory["hbm"].peak_bytes <= found.memory.hbm.capacity_bytes
    assert sum(found.evidence.values()) == pytest.approx(1)
    assert sum(found.stalls.values()) + found.compute_s == pytest.approx(found.step_s)
    falls = found.waterfall
    assert falls.bound_s + sum(falls.terms_s.values()) == pytest.approx(found.step_s, abs=1e-8)
    assert "tokens/s" in repr(found)
    with pytest.raises(AttributeError, match="no 'step_seconds'"):
        found.step_seconds


def test_a_prediction_explains_itself_as_the_program_does(cli):
    found = sluice.predict(**RUN)
    code, printed = cli("predict", *WORDS, "--explain", "--json")
    assert code == 0 and found.explain().to_dict() == printed["basis"]
    assert sum(line["critical_s"] for line in found.explain().numbers) == pytest.approx(found.step_s)
    assert found.explain().half_width_s == pytest.approx(found.step_s_high - found.step_s)


def test_a_ratio_leaves_out_what_both_steps_rest_on():
    one, other = sluice.predict(**RUN), sluice.predict(**RUN, set={"plan.weight_buffers": 1})
    assert one.beside(one).to_dict() == {"ratio": 1, "low": 1, "high": 1}
    ratio = other.beside(one)
    assert ratio.ratio == pytest.approx(other.step_s / one.step_s)
    assert ratio.low <= ratio.ratio <= ratio.high
    apart = sum((p.explain().half_width_s / p.step_s) ** 2 for p in (one, other)) ** 0.5
    assert ratio.high / ratio.ratio - 1 < apart


def test_plan_is_what_the_program_prints_and_its_file_is_taken_back(cli, tmp_path):
    found = sluice.plan(**RUN, hbm="720 MiB", effort=0.5)
    code, printed = cli("plan", *WORDS, "--hbm", "720 MiB", "--effort", "0.5", "--json")
    assert code == 0
    assert found.to_dict() == printed
    assert found.optimality_gap == printed["optimality_gap"]
    found.plan.save(tmp_path / "plan.json")
    again = sluice.predict(**RUN, hbm="720 MiB", plan=tmp_path / "plan.json")
    assert again.plan_hash == found.plan_hash
    assert again.step_s == found.step_s


def test_a_plan_within_seconds_says_what_it_left_out():
    found = sluice.plan(**RUN, hbm="720 MiB", seconds=0.001)
    assert found.step_s >= found.bound_s > 0 and 0 <= found.optimality_gap < 1
    assert found.explanation["left_out"]
    assert not sluice.plan(**RUN, hbm="720 MiB", effort=0.1).explanation["left_out"]
    with pytest.raises(sluice.BadRequest, match="--seconds"):
        sluice.plan(**RUN, seconds=1, effort=1)



def test_buy_is_what_the_program_prints(cli):
    advice = sluice.buy(**{**RUN, "machine": "rtx-4090"}, machines=["h200", "rtx-4090"], tokens="1G", days=30)
    code, printed = cli(
        "buy", *WORDS, "--machine", "rtx-4090", "--machines", "h200,rtx-4090", "--tokens", "1G", "--days", "30",
        "--json",
    )  # fmt: skip
    assert code == 0
    assert advice.to_dict() == printed
    assert [row.machine for row in advice.rows] == [row["machine"] for row in printed["rows"]]
    assert set(advice.rows.to_frame()["machine"]) == {row["machine"] for row in printed["rows"]}
    assert advice.page.lower().startswith("<!doctype html>") and advice.verdict[0].split()[0] in advice.page


def test_what_does_not_fit_carries_shortage_and_remedies(cli):
    with pytest.raises(sluice.DoesNotFit, match="is short by") as raised:
        sluice.predict(**RUN, hbm="20 MiB", host="40 MiB")
    code, printed = cli("predict", *WORDS, "--hbm", "20 MiB", "--host", "40 MiB", "--json")
    assert code == 3
    error = raised.value
    assert error.to_dict() == printed
    assert (error.tier, error.short_bytes) == (printed["tier"], printed["short_bytes"])
    assert error.remedies == printed["remedies"]
    assert error.prediction is None


def test_a_policy_that_does_not_fit_is_predicted_all_the_same():
    with pytest.raises(sluice.DoesNotFit) as raised:
        sluice.predict(**RUN, hbm="20 MiB", policy="resident")
    assert raised.value.prediction.step_s > 0
    assert raised.value.prediction.memory.hbm.peak_bytes > 20 * 2**20


@pytest.mark.parametrize(
    "settings, text",
    [
        ({**RUN, "model": "qwen2.5-7"}, "qwen2.5-7b"),
        ({**RUN, "micro_batches": 2}, "micro_batch"),
        ({**RUN, "hbm": "24"}, "unit"),
        ({**RUN, "machine": "h2000"}, "h200"),
    ],
)
def test_refusals_are_value_errors_in_the_programs_words(cli, settings, text):
    with pytest.raises(sluice.BadRequest, match=text) as raised:
        sluice.predict(**settings)
    assert isinstance(raised.value, ValueError)
    words = [f"limits.{key}={value}" if key == "hbm" else f"{key}={value}" for key, value in settings.items()]
    code, printed = cli("predict", *words)
    assert code == 2
    assert str(raised.value).split(":")[-1] in printed


@pytest.mark.parametrize("front", [["hbm", "tokens"], "hbm,tokens"])
def test_fronts_are_named_by_lists_and_by_text_with_commas(front):
    axes = [found["axis"] for found in sluice.plan(**RUN, effort="0.01", front=front).fronts]
    assert axes == ["hbm", "tokens"]


def test_lists_and_tuples_are_what_text_with_commas_is():
    as_text, as_list = (sluice.plan(**RUN, effort=0.01, free=free) for free in ("loss_chunk", ("loss_chunk",)))
    assert as_text.plan_hash == as_list.plan_hash
    ranked = [sluice.buy(**RUN, machines=machines).rows for machines in ("h200,rtx-4090", ["h200", "rtx-4090"])]
    assert [row.machine for row in ranked[0]] == [row.machine for row in ranked[1]]


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: sluice.plan(**RUN, front=5), "front: 5 must be names"),
        (lambda: sluice.plan(**RUN, front=["hbm", 5]), "front: "),
        (lambda: sluice.plan(**RUN, front=["hmb"]), "hbm"),
        (lambda: sluice.plan(**RUN, free={"loss_chunk": 1}), "free: "),
        (lambda: sluice.plan(**RUN, effort=[1]), r"effort: \[1\] must be a number"),
        (lambda: sluice.plan(**RUN, seconds="soon"), "seconds: 'soon' must be a number"),
        (lambda: sluice.buy(**RUN, machines=7), "machines: 7"),
        (lambda: sluice.buy(**RUN, machines=[7]), "machines: "),
        (lambda: sluice.buy(**RUN, days=["30"]), "days: "),
        (lambda: sluice.buy(**RUN, budget_usd={}), "budget_usd: "),
        (lambda: sluice.buy(**RUN, prices=1), "prices: 1 must be a path"),
        (lambda: sluice.predict(**RUN, prices=[1]), "prices: "),
        (lambda: sluice.predict(**RUN, tokens=[1]), "tokens"),
        (lambda: sluice.predict(**RUN, set=["machine.h2d=1"]), "set: "),
        (lambda: sluice.predict(run=5), "run: 5 must be a path"),
        (lambda: sluice.ablate(5), "experiment: 5"),
        (lambda: sluice.simulate(5), "graph: 5"),
    ],
)
def test_arguments_of_another_kind_are_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_other_threads_run_during_a_search_and_ctrl_c_ends_it():
    ticks = []
    done = threading.Event()

    def tick():
        while not done.wait(0.01):
            ticks.append(time.monotonic())
            if len(ticks) == 20:
                signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            sluice.plan("qwen2.5-72b", "rtx-4090", seq_len=4096, batch_size=64, host="4 TiB", effort=1000)
    finally:
        done.set()
        thread.join()
    assert len(ticks) >= 20


def test_records_survive_copying_through_json():
    found = sluice.predict(**RUN).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert pickle.loads(pickle.dumps(found)) == found

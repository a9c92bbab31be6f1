"""`--set term.NAME=off`: a prediction without a term of the model of time."""

import json

from conftest import REPOSITORY

RUN = ["--model", "bytes-2m", "--machine", "h200", "--seq-len", "64", "--batch-size", "4", "--residency", "host"]
TERMS = ["contention", "dispatch", "latency", "interference", "boost"]
# Names that a term has outside the program: in schemas, and in the page that explains them.
PLACES = ["docs/schemas/predict.schema.json", "docs/schemas/plan-result.schema.json", "docs/schemas/run.schema.json",
          "docs/contracts.md", "docs/explanation/model-of-time.md"]  # fmt: skip


def off(*names):
    return [word for name in names for word in ("--set", f"term.{name}=off")]


def test_predict_keeps_the_plan_and_leaves_the_term_out(run_sluice, validate):
    whole = run_sluice("predict", *RUN, "--json").json()
    bare = run_sluice("predict", *RUN, *off("dispatch", "latency"), "--json").json()
    validate(bare, "predict")
    assert whole["terms_off"] == [] and bare["terms_off"] == ["dispatch", "latency"]
    assert bare["plan_hash"] == whole["plan_hash"] and bare["cost_model_hash"] != whole["cost_model_hash"]
    assert bare["step_s"] < whole["step_s"]  # Neither launches nor latencies cost anything.
    assert "model        without dispatch, latency" in run_sluice("predict", *RUN, *off("dispatch", "latency")).out
    assert "without" not in run_sluice("predict", *RUN, "--set", "term.boost=on").out


def test_plan_searches_without_the_term_and_predict_says_what_its_plan_takes(run_sluice, validate, tmp_path):
    # 28 bytes a parameter of this optimizer fill host memory; without contention neither they nor copies do.
    slow = [*RUN, "--set", "plan.executor=cpu", "--set", "machine.dram=0.1x"]
    blind = run_sluice("plan", *slow, *off("contention"), "--json", "-o", tmp_path / "blind.json").json()
    validate(blind, "plan-result")
    assert blind["terms_off"] == ["contention"]
    true = run_sluice("predict", *slow, "--plan", tmp_path / "blind.json", "--json").json()
    assert true["plan_hash"] == blind["plan_hash"] and true["step_s"] > blind["step_s"]
    again = run_sluice("predict", *slow, "--plan", tmp_path / "blind.json", *off("contention"), "--json").json()
    assert again["step_s"] == blind["step_s"]


def test_a_run_file_and_an_ablation_say_the_same(run_sluice, tmp_path):
    (tmp_path / "run.yaml").write_text("model: bytes-2m\nmachine: h200\nseq_len: 64\nbatch_size: 4\nresidency: host\n"
                                       "set: {term.dispatch: off}\n")  # fmt: skip
    stated = run_sluice("predict", tmp_path / "run.yaml", "--json").json()
    (tmp_path / "e.yaml").write_text(
        "name: e\nbaseline: {model: bytes-2m, machine: h200, seq_len: 64, batch_size: 4, residency: host}\n"
        "factors: {dispatch: {path: term.dispatch, values: ['on', 'off']}}\n"
    )
    cells = run_sluice("ablate", tmp_path / "e.yaml", "-o", tmp_path / "out", "--json").json()["cells"]
    assert cells[1]["step_s"] == stated["step_s"] != cells[0]["step_s"]


def test_what_is_no_term_is_refused_and_so_is_a_verb_that_measures_or_advises(refuses):
    refuses(["predict", *RUN, "--set", "term.contenton=off"], "term.contenton", "contention")
    refuses(["predict", *RUN, "--set", "term.boost=2"], "term.boost", "on or off")
    for verb in ("train", "autotune", "buy", "init"):
        refuses([verb, *RUN, *off("boost")], "term.boost", "predict, plan and ablate")


def test_every_term_is_known_and_named_where_users_look(run_sluice):
    every = run_sluice("predict", *RUN, *off(*TERMS), "--json").json()
    assert every["terms_off"] == TERMS
    for place in PLACES:
        text = (REPOSITORY / place).read_text()
        assert [name for name in TERMS if name not in text] == [], place
    for schema in PLACES[:2]:
        assert json.loads((REPOSITORY / schema).read_text())["properties"]["terms_off"]["items"]["enum"] == TERMS

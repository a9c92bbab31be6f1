"""--policy, optimizer.state and gpt_oss: predicted, said, and refused by train; mixtures of experts in the catalogue."""

import pytest

RUN = ["--model", "bytes-2m", "--machine", "h200", "--seq-len", "64", "--batch-size", "8"]
NAMES = ["fsdp2-offload", "fsdp2-offload-eager", "megatrain", "megatrain-fp32", "megatrain-schedule", "ml_dataflow",
         "resident", "resident-recompute", "zero-infinity", "zero-offload"]


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_is_predicted_and_said(run_sluice, validate, name):
    chunk = ["--set", "policy.chunk_size=64"] if name == "ml_dataflow" else []
    p = run_sluice("predict", *RUN, "--policy", name, *chunk, "--json").json()
    validate(p, "predict")
    assert p["fits"] is True
    text = run_sluice("predict", *RUN, "--policy", name, *chunk).out
    assert ("optimizer.state bf16" in text) == (name in ("megatrain", "megatrain-schedule", "ml_dataflow"))


def test_columns_of_the_public_tables_are_accepted(run_sluice, validate):
    columns = {"chunk_size": 16384, "num_rounds_per_step": 2, "total_dev_acts": 14, "total_home_acts": 50,
               "num_inp_only_saved": 0, "num_inp_attn_saved": 35, "num_full_saved": 15,
               "seqs_per_step": 64, "host_mem_gb": 400, "dev_mem_gb": 78}
    words = [word for name, value in columns.items() for word in ("--set", f"policy.{name}={value}")]
    p = run_sluice("predict", "--model", "llama-3.1-8b", "--machine", "h100-sxm", "--seq-len", "1024",
                   "--batch-size", "1", "--policy", "ml_dataflow", *words, "--json").json()
    validate(p, "predict")
    levels = p["plan"]["saved_records"]
    assert levels.count("attention") == 35 and levels.count("all") == 15
    assert p["plan"]["activation_buffers"] == 14 and p["plan"]["rounds"] == 2
    assert p["memory"]["host"]["capacity_bytes"] == 400 << 30


def test_a_policy_of_ones_own(run_sluice, refuses, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\njob: {gradient_wire: bf16}\nplan: {keep: all, weight_buffers: 2}\n")
    p = run_sluice("predict", *RUN, "--policy", file, "--json").json()
    assert p["plan"]["weight_buffers"] == 2 and p["plan"]["layers"][1]["keep"] == "all"
    assert "gradient_wire bf16" in run_sluice("predict", *RUN, "--policy", file).out
    file.write_text("name: mine\nplan: {wieght_buffers: 2}\n")
    refuses(["predict", *RUN, "--policy", file], "mine.yaml", "wieght_buffers", 'did you mean "weight_buffers"?')
    refuses(["predict", *RUN, "--policy", "megatrian"], "megatrian", "nor a FILE.yaml")


@pytest.mark.parametrize("own", [["optimizer.clip=0.5"], ["max_grad_norm=2"], []])
@pytest.mark.parametrize("json_flag", [["--json"], []])
def test_what_a_policy_states_over_the_runs_own_is_said(run_sluice, tmp_path, own, json_flag):
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\njob: {optimizer.clip: off, loss_chunk: 1024}\nplan: {keep: all}\n")
    err = run_sluice("predict", *RUN, "--policy", file, *own, "loss_chunk=1024", *json_flag).err
    said = f"sluice: note: policy {file} states optimizer.clip off, which holds over the run's own optimizer.clip\n"
    assert err == (said if own else "")


@pytest.mark.parametrize(("state", "saved_bytes", "checkpoint"), [("bf16", 4, 8), ("int8", 6 - 2 / 64, 6 + 2 / 64), ("bf16-weights", 8, 6)])
def test_smaller_state_takes_less_of_the_host_and_is_the_jobs_alone(run_sluice, state, saved_bytes, checkpoint):
    args = ["predict", *RUN, "--policy", "zero-infinity", "--json"]
    usual = run_sluice(*args).json()
    small = run_sluice(*args, "--set", f"optimizer.state={state}").json()
    assert run_sluice(*args, "--set", "optimizer.state=fp32").json() == usual
    saved = usual["memory"]["host"]["peak_bytes"] - small["memory"]["host"]["peak_bytes"]
    assert saved / usual["parameters"] == pytest.approx(saved_bytes, abs=0.05)
    assert small["checkpoint_bytes"] == pytest.approx(usual["checkpoint_bytes"] * checkpoint / 12, abs=2 * 260)  # Whole blocks.


@pytest.mark.parametrize(("state", "said"), [("bf16", "fp32 masters, m and v in bf16"), ("int8", "fp32 masters, m and v in 8 bits"), ("bf16-weights", "predicted only")])
def test_other_state_than_fp32_is_labelled(run_sluice, state, said):
    text = run_sluice("predict", *RUN, "--set", f"optimizer.state={state}").out
    assert f"state        {state}: {said}" in text
    assert ("predicted only" in text) == (state == "bf16-weights")
    assert "\nstate        " not in run_sluice("predict", *RUN).out


def test_train_refuses_weights_without_fp32_masters_in_one_line(refuses, tmp_path):
    data = tmp_path / "text"
    data.write_text("a b c d " * 400)
    run = ["--model", "bytes-2m", "--machine", "here", "--backend", "host", "--seq-len", "64", "--batch-size", "8",
           "--data", data]
    refuses(["train", *run, "--set", "optimizer.state=bf16-weights"], "optimizer.state", "bf16, which keeps fp32 masters")


def test_mixtures_of_experts_are_listed_and_predicted(run_sluice, validate):
    for name, total in (("qwen3-30b-a3b", 30_532_122_624), ("mixtral-8x7b", 46_702_792_704),
                        ("gpt-oss-20b", 20_914_757_184)):
        shown = run_sluice("models", name, "--json").json()
        validate(shown, "model")
        assert shown["parameters"] == total
        p = run_sluice("predict", "--model", name, "--machine", "h200", "--host", "2 TiB", "--seq-len", "1024",
                       "--batch-size", "16", "--policy", "zero-infinity", "--json").json()
        validate(p, "predict")
        assert p["parameters"] == total


def test_a_policy_that_does_not_fit_says_so_without_a_search(run_sluice, validate):
    run = ["--model", "llama-3.1-8b", "--machine", "rtx-3090", "--seq-len", "65536", "--batch-size", "1",
           "--policy", "ml_dataflow", "--set", "policy.dev_mem_gb=9"]
    p = run_sluice("predict", *run, "--json", exit_code=3).json()
    validate(p, "predict")
    assert p["fits"] is False and p["step_s"] > 0 and not p.get("remedies")
    assert "does not fit" in run_sluice("predict", *run, exit_code=3).out


def test_settings_of_a_policy_are_refused_where_they_mean_nothing(refuses):
    refuses(["predict", *RUN, "--set", "policy.chunk_size=64"], "policy.chunk_size", "--policy ml_dataflow")
    refuses(["predict", *RUN, "--policy", "megatrain", "--set", "policy.chunk_size=64"], "policy.chunk_size",
            "policy megatrain is made of plan fields")
    refuses(["predict", *RUN, "--policy", "ml_dataflow", "--set", "policy.chunk_size=128", "--set",
             "policy.seqs_per_step=3"], "policy.seqs_per_step: 3 must be a multiple of the 2 sequences of a chunk")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ["line 1"]),
        ("name: a\nname: b\n", ["line 2", "name is given twice"]),
        ("name: a\nplan: {keep: al}\n", ["line 2", "plan.keep", 'did you mean "all"?']),
        ("name: a\nplan:\n  weights: host\n  keep: al\n", ["line 4", "plan.keep"]),
        ("name: a\njob:\n  gradient_wire: bf16\n  loss_chunk: 0\n", ["line 4", "loss_chunk", "at least 1"]),
        ("name: a\nends:\n  rounds: 2\n", ["line 3", "ends.rounds", "field of a layer"]),
        # What a policy does not decide: a sequence of another length than the data's would be read past its end.
        ("job: {seq_len: 16}\n", ["line 1", "job.seq_len", "micro_batch, loss_chunk"]),
        ("job: {batch_size: 2}\n", ["line 1", "job.batch_size"]),
        ("job: {optimizer.lr: 1}\n", ["line 1", "job.optimizer.lr"]),
        ("job: {machine: h200}\n", ["line 1", "job.machine"]),
    ],
)
def test_a_policy_file_is_refused_by_line_and_field(refuses, tmp_path, text, said):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    refuses(["predict", *RUN, "--policy", file], "mine.yaml", *said)


def test_a_chunk_that_does_not_divide_the_batch_is_named_by_the_column(refuses):
    refuses(["predict", *RUN, "--policy", "ml_dataflow"], "batch_size: 8", "policy.chunk_size")
    refuses(["predict", *RUN, "--policy", "ml_dataflow", "--set", "policy.chunk_size=64", "--set",
             "policy.dev_mem_gb=-1"], "policy.dev_mem_gb", "above 0")


def test_a_plan_beside_a_policy_is_used_as_it_is(run_sluice, refuses, tmp_path):
    words = ["predict", *RUN, "--json"]
    streamed, resident = ([*words, "--policy", name] for name in ("fsdp2-offload", "resident"))
    run_sluice("plan", *RUN, "--policy", "fsdp2-offload", "-o", "plan.json")
    steps = {name: run_sluice(*run).json()["step_s"] for name, run in (("streamed", streamed), ("resident", resident))}
    assert steps["streamed"] > steps["resident"]
    assert run_sluice(*resident, "--plan", "plan.json").json()["step_s"] == steps["streamed"]
    # A policy that is named later takes its place, and a file's plan holds wherever it stands.
    assert run_sluice(*words, "--plan", "plan.json", "--policy", "resident").json()["step_s"] == steps["resident"]
    file = tmp_path / "run.yaml"
    file.write_text("model: bytes-2m\nmachine: h200\nseq_len: 64\nbatch_size: 8\nplan: plan.json\npolicy: resident\n")
    assert run_sluice("predict", file, "--json").json()["step_s"] == steps["streamed"]
    refuses([*resident, "--plan", "nowhere.json"], "nowhere.json")


@pytest.mark.parametrize("verb", ["predict", "plan"])
@pytest.mark.parametrize("hbm", ["660 MiB", "641 MiB"])
def test_what_makes_a_policy_fit_does_as_it_says(run_sluice, validate, verb, hbm):
    words = [*RUN, "--policy", "resident", "--hbm", hbm, "--json"]
    p = run_sluice(verb, *words, exit_code=3).json()
    validate(p, "predict")
    assert 1 <= len(p["remedies"]) <= 3
    assert [r["setting"].startswith("--policy=") for r in p["remedies"]][-1] is False  # More memory, and the policy.
    for remedy in p["remedies"]:
        found = run_sluice("predict", *words, *remedy["setting"].split()).json()
        assert found["fits"] and found["step_s"] <= 1.05 * remedy["step_s"]


@pytest.mark.parametrize("name", ["resident", "resident-recompute", "megatrain-fp32"])
def test_a_cell_whose_policy_has_state_on_the_device_is_none_of_residency_host(run_sluice, name, tmp_path):
    (tmp_path / "e.yaml").write_text(
        f"name: e\nbaseline: {{model: bytes-2m, machine: h200, seq_len: 64, batch_size: 8, policy: {name}}}\n"
        "factors: {r: {path: residency, values: [auto, host]}}\n"
    )
    auto, host = run_sluice("ablate", "e.yaml", "-o", "out", "--json").json()["cells"]
    assert auto["fits"] and host["fits"] == (name == "megatrain-fp32")
    assert host["fits"] or "that of residency auto" in host["reason"]

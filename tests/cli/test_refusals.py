"""What the program refuses: exit code and one line that names the field, file or task."""

import json
import os

import pytest

GRAPH = {
    "lanes": ["h2d", "compute"],
    "links": {"pcie": 10e9},
    "pools": {"buffer": 1},
    "tasks": [
        {"id": "load", "lane": "h2d", "amount": 1e9, "uses": {"pcie": 1}, "acquire": {"buffer": 1}},
        {"id": "run", "lane": "compute", "after": ["load"], "seconds": 0.1, "release": {"buffer": 1}},
    ],
}
CONFIG = {
    "model_type": "llama",
    "vocab_size": 256,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 128,
}
SIZES = ["--seq-len", "64", "--batch-size", "2", "--machine", "h200"]
RUN = """\
model: bytes-2m
machine: h200
seq_len: 64
batch_size: 2
"""


def changed(document, **changes):
    return {**json.loads(json.dumps(document)), **changes}


def with_task(index, **changes):
    graph = json.loads(json.dumps(GRAPH))
    graph["tasks"][index].update(changes)
    return graph


@pytest.fixture
def write(tmp_path):
    def to(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return to


GRAPHS = [
    ("cycle", with_task(0, after=["run"]), ["cycle", "load"]),
    ("deadlock", with_task(1, acquire={"buffer": 1}), ["deadlock", "run", "buffer"]),
    ("amount with neither cap nor uses", with_task(0, uses={}), ["load"]),
    ("zero capacity", changed(GRAPH, links={"pcie": 0}), ["pcie"]),
    ("negative capacity", changed(GRAPH, pools={"buffer": -1}), ["buffer"]),
    ("negative amount", with_task(0, amount=-1), ["load"]),
    ("negative seconds", with_task(1, seconds=-0.5), ["run"]),
    ("negative latency", with_task(1, latency=-1e-6), ["run"]),
    ("number as text", with_task(1, seconds="0.1 s"), ["run", "seconds"]),
    ("unknown lane", with_task(1, lane="computer"), ["run", "computer", "compute"]),
    ("unknown link", with_task(0, uses={"pcie5": 1}), ["load", "pcie5", "pcie"]),
    ("unknown pool", with_task(1, release={"bufer": 1}), ["run", "bufer", "buffer"]),
    ("unknown predecessor", with_task(1, after=["laod"]), ["run", "laod", "load"]),
    ("unknown key", with_task(1, secnds=1), ["run", "secnds", "seconds"]),
    ("unknown top key", changed(GRAPH, task=[]), ["task"]),
    ("duplicate id", with_task(1, id="load", after=[]), ["load"]),
    ("release of more than is held", with_task(1, release={"buffer": 2}), ["buffer"]),
    ("seconds and amount", with_task(0, seconds=1), ["load"]),
]


@pytest.mark.parametrize("graph,texts", [g[1:] for g in GRAPHS], ids=[g[0] for g in GRAPHS])
def test_a_wrong_graph_is_refused_naming_the_task_link_or_pool(refuses, write, graph, texts):
    refuses(["sim", write("graph.json", graph)], *texts)


def test_the_graph_these_are_made_from_is_right(run_sluice, write):
    run_sluice("sim", write("graph.json", GRAPH), "--json")


@pytest.mark.parametrize("text", ["{", '{"lanes": [}', "", "[1, 2", '{"lanes": NaN}', "\x00\xff"])
def test_malformed_json_is_refused_naming_the_file(refuses, write, text):
    refuses(["sim", write("broken.json", text)], "broken.json")


def test_an_infinite_number_is_refused(refuses, write):
    text = json.dumps(GRAPH).replace("0.1", "1e999")
    refuses(["sim", write("graph.json", text)], "graph.json")


@pytest.mark.parametrize(
    "words",
    [
        ["sim", "nowhere.json"],
        ["predict", "nowhere.yaml"],
        ["predict", "--model", "nowhere/config.json", *SIZES],
        ["predict", "--model", "bytes-2m", *SIZES, "--plan", "nowhere.json"],
        ["trace", "nowhere"],
    ],
    ids=lambda words: words[0],
)
def test_a_missing_file_is_refused_by_name(refuses, words):
    refuses(words, "nowhere")


def test_a_folder_in_place_of_a_file_is_refused(refuses, tmp_path):
    (tmp_path / "folder.json").mkdir()
    refuses(["sim", str(tmp_path / "folder.json")], "folder.json")


def test_an_unknown_family_is_refused_with_the_known_ones(refuses, write):
    config = write("config.json", changed(CONFIG, model_type="mamba"))
    refuses(["predict", "--model", config, *SIZES], "mamba", "llama", "qwen3")


def test_the_config_these_are_made_from_is_right(run_sluice, write):
    run_sluice("predict", "--model", write("config.json", CONFIG), *SIZES, "--json")


@pytest.mark.parametrize(
    "changes,text",
    [
        ({"hidden_size": -64}, "hidden_size"),
        ({"num_hidden_layers": 0}, "num_hidden_layers"),
        ({"num_key_value_heads": 3}, "num_key_value_heads"),
        ({"vocab_size": "many"}, "vocab_size"),
        ({"hidden_act": "relu"}, "hidden_act"),
    ],
)
def test_a_wrong_model_is_refused_naming_the_field(refuses, write, changes, text):
    config = write("config.json", changed(CONFIG, **changes))
    refuses(["predict", "--model", config, *SIZES], text)


def test_a_size_that_is_left_out_is_transformers_default_and_said(run_sluice, write):
    config = {key: value for key, value in CONFIG.items() if key != "hidden_size"}
    shown = run_sluice("models", "show", write("config.json", config), "--json").json()
    assert shown["hidden"] == shown["defaults"]["hidden_size"] == 4096


def test_an_unknown_model_names_the_nearest(refuses):
    refuses(["predict", "--model", "qwen2.5-7", *SIZES], "qwen2.5-7b")


def test_an_unknown_machine_names_the_nearest(refuses):
    words = ["--model", "bytes-2m", "--seq-len", "64", "--batch-size", "2"]
    refuses(["predict", *words, "--machine", "h20O0"], "h200")


@pytest.mark.parametrize(
    "text,names",
    [
        ("model: [bytes-2m\n", ["run.yaml"]),
        ("model: {a: b: c}\n", ["run.yaml"]),
        ("- model\n", ["run.yaml"]),
        (RUN + "seq_length: 4\n", ["seq_length", "seq_len"]),
        (RUN + "optimizer: {lerning_rate: 1}\n", ["lerning_rate"]),
        (RUN + "limits: {hbm: 24 parsecs}\n", ["hbm", "parsecs"]),
        (RUN + "limits: {hbm: 24}\n", ["hbm"]),
        (RUN + "limits: {hbm: 24 GB/s}\n", ["hbm"]),
        (RUN + "limits: {hbm: -24 GiB}\n", ["hbm"]),
        (RUN + "micro_batch: -1\n", ["micro_batch"]),
        (RUN + "micro_batch: 3\n", ["micro_batch"]),
        (RUN + "steps: many\n", ["steps"]),
        (RUN + "compute: fp8\n", ["compute", "bf16"]),
        (RUN + "seed: 1\nseed: 2\n", ["seed"]),
    ],
)
def test_a_wrong_run_file_is_refused_naming_the_key(refuses, write, text, names):
    refuses(["predict", write("run.yaml", text)], *names)


def test_the_run_file_these_are_made_from_is_right(run_sluice, write):
    run_sluice("predict", write("run.yaml", RUN), "--json")


@pytest.mark.parametrize(
    "words,names",
    [
        (["--seq-len", "-64"], ["seq"]),
        (["--seq-len", "0"], ["seq"]),
        (["--batch-size", "2.5"], ["batch"]),
        (["--hbm", "lots"], ["hbm", "lots"]),
        (["--hbm", "10 GB/s"], ["hbm"]),
        (["--threads", "-1"], ["threads"]),
        (["--backend", "tpu"], ["tpu"]),
        (["--compute", "fp4"], ["compute", "fp8"]),
        (["--compute", "fp8", "--seq-len", "72"], ["compute", "fp8", "128"]),
        (["--residency", "nowhere"], ["nowhere"]),
        (["--set", "plan.weight_bufers=3"], ["weight_bufers", "weight_buffers"]),
        (["--set", "plan.weight_buffers=-1"], ["weight_buffers"]),
        (["micro_bach=1"], ["micro_bach", "micro_batch"]),
        (["--seq-len"], ["seq-len"]),
    ],
    ids=lambda words: " ".join(words),
)
def test_a_wrong_flag_is_refused_by_name(refuses, words, names):
    base = ["--model", "bytes-2m", "--machine", "h200", "--seq-len", "64", "--batch-size", "2"]
    refuses(["predict", *base, *words], *names)


def test_a_plan_of_another_job_is_refused(run_sluice, refuses, tmp_path):
    job = ["--model", "bytes-2m", "--machine", "h200", "--batch-size", "2", "--seq-len"]
    plan = tmp_path / "plan.json"
    run_sluice("plan", *job, "64", "-o", plan)
    run_sluice("predict", *job, "64", "--plan", plan, "--json")
    refuses(["predict", *job, "128", "--plan", plan], "plan: job_hash", "another job")


def train_words(data):
    return ["train", "--model", "bytes-2m", "--seq-len", "32", "--batch-size", "2", "--steps", "4",
            "--data", data]


@pytest.fixture
def text(write):
    return write("text.txt", "the quick brown fox jumps over the lazy dog. " * 200)


def test_training_on_a_cuda_backend_that_is_not_there_is_refused(refuses, text):
    refuses([*train_words(text), "--backend", "cuda"], "cuda", "--backend host", exit_code=4)


def test_training_without_data_is_refused(refuses):
    words = ["--model", "bytes-2m", "--machine", "h200", "--seq-len", "64", "--batch-size", "2"]
    refuses(["train", *words], "data")


def test_training_on_a_text_shorter_than_two_windows_is_refused(refuses, write):
    words = ["--model", "bytes-2m", "--seq-len", "64", "--batch-size", "2"]
    refuses(["train", *words, "data=" + write("short.txt", "too short")], "short.txt")


needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")


@needs_full
@pytest.mark.parametrize("option", ["--graph-out", "-o"])
def test_a_full_disk_under_an_output_file_is_an_error_of_the_environment(refuses, option):
    job = ["--model", "bytes-2m", "--machine", "h200", "--batch-size", "2", "--seq-len", "64"]
    refuses(["plan", *job, option, "/dev/full"], "/dev/full", exit_code=4)


@needs_full
def test_a_full_disk_under_a_trace_is_an_error_of_the_environment(refuses, write):
    words = ["sim", write("graph.json", GRAPH), "--trace", "/dev/full"]
    refuses(words, "/dev/full", exit_code=4)


@needs_full
def test_a_result_that_stdout_cannot_take_is_an_error_of_the_environment(refuses, write):
    with open("/dev/full", "w") as full:
        words = ["sim", write("graph.json", GRAPH), "--json"]
        refuses(words, "standard output", exit_code=4, stdout=full)


@needs_full
def test_a_full_disk_while_logging_stops_the_run_with_one_line(run_sluice, text, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.jsonl").symlink_to("/dev/full")
    run = run_sluice(*train_words(text), "--out", tmp_path / "run", "--json", exit_code=4)
    errors = [line for line in run.err.splitlines() if line.startswith("sluice: error: ")]
    assert len(errors) == 1 and "metrics.jsonl" in errors[0] and "No space left" in errors[0]

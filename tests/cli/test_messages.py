"""What is said when a request or the system is in the way: one line of UTF-8, before long work, naming the file."""

import json
import os
import resource
import subprocess

import pytest
from conftest import available_verbs, once, program

TINY = ["--model", "bytes-2m", "--machine", "rtx-4090", "--seq-len", "64", "--batch-size", "4"]
trains = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")


def said(words, folder, **options):
    """stderr's bytes of a run that is refused, and its exit code."""
    env = {**os.environ, "SLUICE_HOME": str(folder)}
    run = subprocess.run([program(), *words], cwd=folder, env=env, capture_output=True, **options)
    return run.stderr, run.returncode


@pytest.mark.parametrize("content", [b"\xff", b'{"lanes": ["\xc3\xb6"x', "ÿ".encode(), b"\r\n\x0b\x1b[31m"])
def test_a_message_is_one_line_of_utf8_whatever_a_file_holds(tmp_path, content):
    err, code = said(["sim", "-"], tmp_path, input=content)
    assert code == 2
    assert len(err.decode().splitlines()) == 1 and err.startswith(b"sluice: error: standard input: ")


def test_ids_that_end_lines_do_not_end_the_message(tmp_path):
    graph = {"lanes": ["a"], "tasks": [{"id": "x\r\u2028\u001b[2Jy", "lane": "b", "seconds": 1}]}
    err, code = said(["sim", "-"], tmp_path, input=json.dumps(graph).encode())
    assert code == 2 and len(err.decode().splitlines()) == 1 and "\x1b" not in err.decode()


@trains
def test_a_warning_is_one_line_whatever_a_folder_is_called(tmp_path):
    torn = tmp_path / "ru\nn\x1b[31m" / "checkpoints" / "step-1" / "checkpoint.json"
    torn.parent.mkdir(parents=True)
    torn.write_text("{")
    err, code = said(["export", "ru\nn\x1b[31m", "-o", "model"], tmp_path)
    warning, error = err.splitlines()
    assert code == 2 and error.startswith(b"sluice: error: ru n [31m/checkpoints holds no intact checkpoint")
    assert warning.startswith(b"sluice: warning: skipping a damaged checkpoint: ru n [31m/checkpoints/step-1/")


@pytest.mark.parametrize("words", [[b"sim", b"\xff.json"], [b"predict", b"--model", b"m\xff"], [b"p\xc3"]])
def test_words_that_are_not_utf8_are_refused(tmp_path, words):
    err, code = said(words, tmp_path)
    assert code == 2 and "is not UTF-8" in err.decode()


def test_a_run_that_is_not_utf8_is_refused_by_its_byte(refuses, tmp_path):
    (tmp_path / "run.yaml").write_bytes(b"model: m\xff\n")
    refuses(["predict", "run.yaml"], "run.yaml: byte 8 is not UTF-8")


@pytest.mark.parametrize("words", [["trace"], ["ablate"], ["fit"]])
def test_what_is_missing_is_named_as_the_usage_names_it(refuses, run_sluice, words):
    line = refuses(words, "is required").err
    name = line.split("error: ")[1].split()[0]
    assert name in run_sluice(*words, "--help").out and name not in ("words", "what")


@pytest.mark.parametrize("flag", ["-o", "--graph-out"])
def test_plan_says_before_it_searches_that_it_cannot_write(refuses, tmp_path, flag):
    (tmp_path / "file").write_text("")
    # A search this long would not end.
    words = ["plan", *TINY, "--effort", "1000000", flag]
    refuses([*words, tmp_path], f"cannot open {tmp_path}: Is a directory", exit_code=4, timeout=60)
    refuses([*words, ""], "no name", timeout=60)
    run = refuses([*words, "file/plan.json"], "file", exit_code=4, timeout=60)
    assert ".part" not in run.err


@trains
def test_train_says_before_it_begins_that_it_cannot_write_the_trace(refuses, flags, tmp_path):
    words = ["train", *flags, "steps=4", "out=run", "--trace-out", tmp_path]
    refuses(words, f"cannot open {tmp_path}: Is a directory", exit_code=4)
    assert not (tmp_path / "run").exists()


@trains
@once  # A sanitizer needs more address space than the limit leaves.
def test_more_threads_than_the_system_starts_are_refused_in_one_line(flags, tmp_path):
    def no_room():
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    pins = ["plan.weights=host", "plan.gradients=host", "plan.state=host", "plan.executor=cpu"]
    words = ["train", *flags, *pins, "steps=2", "out=run", "--threads", "5000"]
    err, code = said(words, tmp_path, preexec_fn=no_room)
    assert code == 4, err
    assert len(err.splitlines()) == 1 and b"threads: 5000 cannot be started" in err and b"--threads" in err


@pytest.mark.parametrize("effort", ["0", "-1", "1e-400", "1e7", "1e300"])
def test_an_effort_that_no_search_has_is_refused_with_its_range(refuses, tmp_path, effort):
    refuses(["plan", *TINY, "--effort", effort], "--effort")
    experiment = tmp_path / "e.yaml"
    experiment.write_text("name: e\nbaseline: {model: bytes-2m, machine: h200, seq_len: 64, batch_size: 2}\n"
                          "factors: {threads: {path: threads, values: [1, 2]}}\n")
    run = refuses(["ablate", experiment, "--effort", effort], "--effort")
    assert len(run.err) < 200
    experiment.write_text(experiment.read_text() + f"effort: {effort}\n")
    refuses(["ablate", experiment], "line 4: effort")


def test_the_least_effort_still_finds_a_plan(run_sluice):
    assert run_sluice("plan", *TINY, "--effort", "1e-9", "--json").json()["fits"]


def test_no_tokens_are_not_taken_for_none_asked_for(refuses):
    refuses(["predict", *TINY, "--policy", "resident", "--tokens", ""], "--tokens")


def test_a_key_without_a_flag_and_a_data_file_as_a_run_are_told_how_to_be_given(refuses, tmp_path):
    refuses(["predict", *TINY, "--template", "qwen3"], "--template: is a key of a run without a flag: write template=VALUE")
    refuses(["predict", *TINY, "--data-format", "jsonl"], "write data_format=VALUE")
    (tmp_path / "alpaca.json").write_text('[{"instruction": "q", "output": "a"}]')
    refuses(["predict", "alpaca.json"], "must hold `key: value` lines: a data file is given by --data")
    (tmp_path / "chats.jsonl").write_text('{"messages": []}\n{"messages": []}\n')
    refuses(["predict", "chats.jsonl"], "a data file is given by --data")


def test_all_refusals_of_a_file_come_in_one_run_a_template_of_a_wrong_type_among_them(run_sluice, tmp_path):
    (tmp_path / "r.yaml").write_text("model: bytes-2m\ntemplate: 5\nsteps: -5\ncompute: fp16\n")
    lines = run_sluice("predict", "r.yaml", exit_code=2).err.splitlines()
    found = [line.split(": ")[4] for line in lines if "r.yaml: line " in line]
    assert found == ["template", "steps", "compute"]

"""Signals to a run: what it saves, what it says, and that nothing is torn."""

import contextlib
import json
import os
import shutil
import signal
import subprocess

import pytest
from conftest import available_verbs, once
from running import ATTEMPTS, PATIENCE, asleep, computed, handles, has_handled, start, steps_done, train, wait_until
from small_run import assert_nothing_unfinished, steps_in

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_each_signal_saves_and_exits_75(flags, tmp_path, number):
    process = train(flags, tmp_path, "steps=100000", "save_every=7", "keep_last=1")
    assert wait_until(process, lambda: steps_done(tmp_path / "run") >= 3)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 75, err
    result = json.loads(out)
    assert result["interrupted"] and result["checkpoint"] == f"run/checkpoints/step-{result['steps']}"
    assert steps_in(tmp_path / "run") == [result["steps"]]
    assert_nothing_unfinished(tmp_path / "run")


def test_a_signal_in_an_evaluation_saves_without_it(flags, tmp_path):
    """An evaluation after every step: wherever the signal comes, most of the time is in one."""
    for i in range(3):
        out = f"run{i}"
        process = train(flags, tmp_path, "steps=100000", "evaluate_every=1", out=out)
        assert wait_until(process, lambda out=out, i=i: steps_done(tmp_path / out) >= 2 + i)
        process.send_signal(signal.SIGTERM)
        result = json.loads(process.communicate(timeout=PATIENCE)[0])
        assert process.returncode == 75 and result["steps"] >= 2
        assert steps_in(tmp_path / out) == [result["steps"]]


def test_a_signal_before_the_first_step_says_that_there_is_nothing_to_save(flags, tmp_path):
    """At any moment of planning, of making weights, of the evaluation at the start."""
    said = 0
    for i in range(ATTEMPTS):
        process = train(flags, tmp_path, "steps=100000", out=f"run{i}")
        assert wait_until(process, lambda process=process: handles(process, signal.SIGTERM))
        # Further in than the one before; those that come to steps have something to save.
        moment = computed(process) + 0.01 * (i % 6)
        assert wait_until(process, lambda process=process, moment=moment: computed(process) >= moment)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 75, err
        if not out:
            said += 1
            assert err == "sluice: interrupted before the first step: there is nothing to save\n"
            assert not (tmp_path / f"run{i}").exists()
        if said > 0 and i >= 5:
            break
    assert said > 0


def test_a_signal_while_the_run_is_still_read_says_so_too(flags, tmp_path):
    """The run file is a pipe, which can be opened to write once the program reads it, and whose end never comes."""
    pipe = tmp_path / "run.yaml"
    os.mkfifo(pipe)
    process = start(["train", "run.yaml", *flags], tmp_path)
    ends = []

    def is_read():
        with contextlib.suppress(OSError):
            ends.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        return bool(ends)

    assert wait_until(process, is_read)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    os.close(ends[0])
    assert process.returncode == 75 and not out
    assert err == "sluice: interrupted before the first step: there is nothing to save\n"


@once
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler to make a library with")
@pytest.mark.parametrize("words, code", [(["train"], 75), (["predict"], -signal.SIGINT)])
def test_a_signal_to_train_before_main_says_so_too(run_sluice, tmp_path, words, code):
    """While its libraries start, of which this one sends it. Verbs with nothing to save end as programs do."""
    source, library = tmp_path / "start.c", tmp_path / "start.so"
    source.write_text("#include <signal.h>\n__attribute__((constructor)) void start(void) { raise(SIGINT); }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    run = run_sluice(*words, "--help", env={"LD_PRELOAD": str(library)}, exit_code=code)
    said = "sluice: interrupted before the first step: there is nothing to save\n"
    assert run.err == (said if code == 75 else "") and not run.out


def test_of_two_runs_in_one_folder_one_is_refused(refuses, flags, tmp_path):
    processes = [train(flags, tmp_path, "steps=100000") for _ in range(2)]
    assert wait_until(processes[0], lambda: any(process.poll() is not None for process in processes))
    first, second = sorted(processes, key=lambda process: process.poll() is not None)
    assert second.wait(timeout=PATIENCE) == 2 and second.stderr.read().startswith("sluice: error: out: ")
    assert wait_until(first, lambda: steps_done(tmp_path / "run") >= 1)
    refuses(["train", *flags, "out=run", "--resume", "--json"], "out: another run is at work in run")
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=PATIENCE)
    assert first.returncode == 75 and (tmp_path / "run" / "ledger.jsonl").read_text().count("\n") == 2


@pytest.mark.parametrize("last", ["run.yaml", "ledger.jsonl", "tensorboard"])
def test_a_signal_before_the_first_step_leaves_the_folder_as_it_was(run_sluice, flags, tmp_path, last):
    """However far its files have come; the evaluation at the start reads 64 windows of the longest batch."""
    for i in range(ATTEMPTS):
        ours = tmp_path / f"run{i}" / "ours"
        ours.mkdir(parents=True)
        process = train(flags, tmp_path, "batch_size=64", "steps=100000", out=f"run{i}/ours/run")
        assert wait_until(process, lambda ours=ours: (ours / "run" / last).exists())
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 75, err
        if not out:
            break
    assert not out and not list(ours.iterdir())


def test_a_second_signal_stops_at_once_and_nothing_is_torn(run_sluice, flags, tmp_path):
    """The disk is so slow that the first signal's save would take long: a pipe that nobody reads."""
    process = train(flags, tmp_path, "steps=100000", "save_every=5")
    checkpoints = tmp_path / "run" / "checkpoints"
    assert wait_until(process, lambda: (checkpoints / "step-5").exists())
    # The next save meets a pipe where its file should be, and waits in open() for a reader.
    step = None
    while step is None:
        for partial in checkpoints.glob(".step-*.partial"):
            try:
                os.mkfifo(partial / "v.safetensors")
                step = int(partial.name.removeprefix(".step-").removesuffix(".partial"))
            except OSError:
                pass
        assert process.poll() is None
    # On its way there a signal would have the writer give up. Once the next save waits for it, nothing does any more.
    assert wait_until(process, lambda: steps_done(tmp_path / "run") >= step + 5 and asleep(process))
    process.send_signal(signal.SIGTERM)
    # Sent before the first was handled, the second would come first. The first's save waits for the writer, for good.
    assert wait_until(process, lambda: has_handled(process, signal.SIGTERM))
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGINT and not out
    assert list(checkpoints.glob(".step-*.partial"))
    result = run_sluice("train", *flags, f"steps={steps_done(tmp_path / 'run') + 5}", "out=run",
                        "--resume", "--json").json()  # fmt: skip
    assert result["resumed_after"] >= 5
    assert_nothing_unfinished(tmp_path / "run")


def test_a_reader_that_goes_away_ends_no_run(flags, tmp_path):
    """`sluice train ... | head -1`: the run is done and saved, and what could not be written is said."""
    process = start(["train", *flags, "steps=40", "out=run"], tmp_path)
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=PATIENCE) == 4
    err = process.stderr.read().splitlines()
    assert len(err) == 1 and err[0].startswith("sluice: error: cannot write to standard output"), err
    assert steps_in(tmp_path / "run") == [40]

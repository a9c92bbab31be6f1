"""train gives the bits and the folder of `sluice train`, goes on where a run ended, and saves when it is asked to stop."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import sluice

pytest.importorskip("sluice._training", reason="the module is built without the engine (SLUICE_ENGINE)")

MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True,
    "hidden_act": "silu",
}  # fmt: skip
RUN = {
    "model": "model/config.json", "data": "text.txt", "machine": "here", "backend": "host", "seq_len": 32,
    "batch_size": 4, "hbm": "8 MiB", "host": "1 GiB", "optimizer": {"lr": 0.003},
}  # fmt: skip
WORDS = (
    "--model", "model/config.json", "--data", "text.txt", "--machine", "here", "--backend", "host", "--seq-len", 32,
    "--batch-size", 4, "--hbm", "8 MiB", "--host", "1 GiB", "optimizer.lr=0.003",
)  # fmt: skip


@pytest.fixture(autouse=True)
def files(tmp_path, sluice_home):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(MODEL))
    (tmp_path / "text.txt").write_text("".join(f"{a} {b} is {c}. " for a in "one two three four five six".split()
                                               for b in "red green blue grey black white".split()
                                               for c in "good bad new old".split()) * 4)  # fmt: skip


def stop_at(step, what):
    def progress(done, steps, each):
        assert each.step == done <= steps
        if done == step:
            what()

    return progress


def test_a_run_has_the_bits_and_the_folder_of_the_programs(cli):
    code, printed = cli("train", *WORDS, "--steps", 6, "--out", "by-program", "--json")
    assert code == 0
    seen = []
    trained = sluice.train(RUN, steps=6, out="by-module", progress=lambda *said: seen.append(said))
    assert trained.weights_sha256 == printed["weights_sha256"]
    assert trained.state_sha256 == printed["state_sha256"]
    assert trained.to_dict().keys() == printed.keys()
    lines = [json.loads(line) for line in pathlib.Path("by-program", "metrics.jsonl").read_text().splitlines()]
    assert isinstance(trained.losses, np.ndarray) and trained.losses.tolist() == [line["loss"] for line in lines]
    assert trained.step_times_s.shape == (6,) and (trained.step_times_s > 0).all()
    assert [(done, steps) for done, steps, _ in seen] == [(step, 6) for step in range(1, 7)]
    assert [each.loss for _, _, each in seen] == trained.losses.tolist()
    assert trained.run.endswith("by-module") and "by-module" in repr(trained)
    assert {path.name for path in pathlib.Path("by-module").iterdir()} == {path.name for path in pathlib.Path("by-program").iterdir()}


def test_a_given_plan_changes_no_bits(tmp_path):
    found = sluice.predict(run={key: value for key, value in RUN.items() if key != "data"}, set={"plan.weight_buffers": 2})
    found.plan.save(tmp_path / "plan.json")
    given = sluice.train(RUN, steps=3, plan=tmp_path / "plan.json", checkpoint=False)
    assert given.plan_source == "given" and given.checkpoint is None
    assert given.weights_sha256 == sluice.train(RUN, steps=3, checkpoint=False).weights_sha256


def test_what_progress_raises_ends_the_run_which_is_saved_and_goes_on():
    def fail():
        raise LookupError("enough")

    whole = sluice.train(RUN, steps=40, out="whole")
    with pytest.raises(LookupError, match="enough"):
        sluice.train(RUN, steps=40, out="cut", progress=stop_at(3, fail))
    resumed = sluice.train("cut", resume=True)
    assert 3 <= resumed.resumed_after < 40 and len(resumed.losses) == 40 - resumed.resumed_after
    assert resumed.weights_sha256 == whole.weights_sha256 and resumed.state_sha256 == whole.state_sha256
    assert resumed.losses.tolist() == whole.losses.tolist()[resumed.resumed_after :]


def test_ctrl_c_saves_and_raises():
    with pytest.raises(KeyboardInterrupt):
        sluice.train(RUN, steps=100000, out="run", progress=stop_at(2, lambda: os.kill(os.getpid(), signal.SIGINT)))
    (checkpoint,) = pathlib.Path("run", "checkpoints").glob("step-*")
    step = int(checkpoint.name.removeprefix("step-"))
    resumed = sluice.train("run", resume=True, steps=step + 2)
    assert resumed.resumed_after == step and resumed.steps == step + 2


def test_other_threads_run_meanwhile():
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks.append(time.monotonic())

    spans = []
    thread = threading.Thread(target=tick)
    thread.start()
    try:
        sluice.train(RUN, steps=60, checkpoint=False, progress=lambda *_: spans.append(time.monotonic()))
    finally:
        done.set()
        thread.join()
    assert sum(spans[0] < each < spans[-1] for each in ticks) >= 3


def test_refusals_are_exceptions_and_leave_nothing():
    with pytest.raises(sluice.BadRequest, match="data is missing"):
        sluice.train({key: value for key, value in RUN.items() if key != "data"})
    with pytest.raises(sluice.BadRequest, match="which run"):
        sluice.train(RUN, resume=True)
    with pytest.raises(sluice.DoesNotFit) as lack:
        sluice.train({**RUN, "hbm": "100 KiB"}, out="run")
    assert lack.value.tier == "hbm" and lack.value.remedies
    assert not pathlib.Path("run").exists()
    (pathlib.Path("run")).write_text("")
    with pytest.raises(sluice.SluiceError, match="run"):
        sluice.train(RUN, steps=2, out="run")


def test_a_module_without_the_engine_says_what_is_missing(tmp_path):
    package = pathlib.Path(sluice.__file__).parent
    (tmp_path / "bare" / "sluice").mkdir(parents=True)
    for path in package.iterdir():
        if not path.name.startswith("_training."):
            (tmp_path / "bare" / "sluice" / path.name).symlink_to(path)
    said = subprocess.run(
        [sys.executable, "-c", "import sluice; sluice.train({})"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "bare")},
    )  # fmt: skip
    assert said.returncode == 1
    assert said.stderr.splitlines()[-1].startswith("ImportError: sluice.train needs the engine")


def test_the_data_are_told_and_what_is_wrong_with_them_is_a_warning(tmp_path):
    learnt = np.zeros(2001, dtype=bool)
    learnt[1::100] = True  # One in a hundred, and one in each window of 100 at least.
    np.save("ids.npy", np.arange(2001) % 250)
    np.save("ids.mask.npy", learnt)
    with pytest.warns(UserWarning, match="data: only 1 % of the tokens are learnt"):
        trained = sluice.train(RUN, data="ids.npy", seq_len=100, steps=1, out="few", checkpoint=False)
    assert trained.data.startswith("2001 token ids of ids.npy") and trained.data.endswith("1.0 % of the tokens are learnt")

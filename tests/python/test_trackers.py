"""Real trackers, of the versions in scripts/packages/trackers.txt, without a network: every step is there once after the sidecar was stopped.

The environment is made from PyPI, which takes minutes; SLUICE_TRACKERS names the Python of one that is there.
"""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
import sluice
from tracked_run import GrowingRun

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow

# What each tracker has kept, as {step: how often}, by its own reader.
READERS = {
    "mlflow": """
from mlflow.tracking import MlflowClient
client = MlflowClient(tracking_uri=folder.as_uri())
for experiment in client.search_experiments():
    for run in client.search_runs([experiment.experiment_id]):
        seen += [point.step for point in client.get_metric_history(run.info.run_id, "loss")]
""",
    "trackio": """
import os
os.environ["TRACKIO_DIR"] = str(folder)
from trackio.sqlite_storage import SQLiteStorage
seen += [log["step"] for log in SQLiteStorage.get_logs("sluice", "mine")]
""",
    "tensorboard": """
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
read = EventAccumulator(str(folder / "mine"))
read.Reload()
seen += [event.step for event in read.Scalars("loss")]
""",
    "wandb": """
from swanlab.converter.wb.wbdatastore import WBDataStoreReader
from wandb.proto.wandb_internal_pb2 import Record
for file in folder.rglob("*.wandb"):
    read = WBDataStoreReader()
    read.open(file)
    while (data := read.scan()) is not None:
        record = Record.FromString(data)
        if any((item.key or ".".join(item.nested_key)) == "loss" for item in record.history.item):
            seen.append(record.history.step.num)
""",
    "swanlab": """
from swanlab.proto.swanlab.record.v1.record_pb2 import Record
from swanlab.sdk.internal.core_python.store import DataStoreReader
for file in folder.rglob("*.swanlab"):
    read = DataStoreReader()
    read.open(file)
    while (data := read.scan()) is not None:
        record = Record.FromString(data)
        if record.HasField("scalar") and record.scalar.key == "loss":
            seen.append(record.scalar.step)
""",
}


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    if os.environ.get("SLUICE_TRACKERS"):
        return os.environ["SLUICE_TRACKERS"]
    folder = tmp_path_factory.mktemp("trackers") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    done = subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "numpy", "-r", REPOSITORY / "scripts" / "packages" / "trackers.txt"],
                          capture_output=True, text=True)  # fmt: skip
    if done.returncode != 0:
        pytest.skip("PyPI does not answer")
    return str(folder / "bin" / "python")


@pytest.fixture
def environment(tmp_path):
    """Nothing of the user's own settings, and proxies that refuse: what needs a network fails."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB", "MLFLOW", "SWANLAB", "TRACKIO"))}
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    package = pathlib.Path(sluice.__file__).resolve().parents[1] if not os.environ.get("PYTHONPATH") else None
    return {**kept, **nowhere, "HOME": str(tmp_path), **({"PYTHONPATH": str(package)} if package else {})}


def seen_by(tracker, folder, python, environment):
    program = f"import collections, json, pathlib\nfolder, seen = pathlib.Path({str(folder)!r}), []\n{READERS[tracker]}\nprint(json.dumps(seen))"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, env={**environment, "MLFLOW_ALLOW_FILE_STORE": "true"})
    assert done.returncode == 0, done.stderr
    return collections.Counter(json.loads(done.stdout.splitlines()[-1]))


def note(run, tracker):
    try:
        return json.loads((run.path / "tracking" / f"{tracker}.json").read_text())["step"]
    except FileNotFoundError:
        return 0


def wait_for(run, tracker, step, process):
    deadline = time.monotonic() + 120
    while note(run, tracker) < step:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, f"{tracker} does not get to step {step}"
        time.sleep(0.1)


@pytest.mark.parametrize("tracker", sorted(READERS))
def test_every_step_is_there_once_after_a_stop_and_a_start(tracker, python, environment, tmp_path):
    run = GrowingRun(tmp_path / "runs" / "mine")
    run.add(1, 2, 3)
    words = [python, "-m", "sluice.track", run.path, "--to", tracker]
    with run.running():
        first = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        wait_for(run, tracker, 3, first)
        run.add(4)
        wait_for(run, tracker, 4, first)
        first.send_signal(signal.SIGTERM)
        assert first.wait(timeout=120) == 75, first.stderr.read()
        run.add(5, 6)
        second = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        wait_for(run, tracker, 6, second)
        run.add(7)
    assert second.wait(timeout=120) == 0, second.stderr.read()
    assert seen_by(tracker, run.path / "tracking" / tracker, python, environment) == dict.fromkeys(range(1, 8), 1)


@pytest.mark.parametrize("tracker", ["mlflow", "tensorboard", "trackio"])
def test_a_killed_sidecar_sends_no_step_twice(tracker, python, environment, tmp_path):
    """The note may lag behind what the tracker has; the tracker is asked, or drops what is sent again."""
    run = GrowingRun(tmp_path / "runs" / "mine")
    run.add(1, 2, 3)
    words = [python, "-m", "sluice.track", run.path, "--to", tracker, "--once"]
    assert subprocess.run(words, capture_output=True, env=environment).returncode == 0
    path = run.path / "tracking" / f"{tracker}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "step": 1}))
    run.add(4)
    assert subprocess.run(words, capture_output=True, env=environment).returncode == 0
    assert seen_by(tracker, run.path / "tracking" / tracker, python, environment) == dict.fromkeys(range(1, 5), 1)

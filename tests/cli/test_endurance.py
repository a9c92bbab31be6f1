"""A long run with evaluations and saves: its memory and its open files stay as they are.

SLUICE_ENDURANCE_STEPS is the number of steps (600 unless `scripts/test --all` says 5,000)."""

import os
import pathlib

import pytest
import running
from conftest import available_verbs, once

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)

STEPS = int(os.environ.get("SLUICE_ENDURANCE_STEPS", "600"))
EVERY = 10


def resident(process):
    """Bytes of a process that are in memory, without what it has mapped of files."""
    fields = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    (line,) = [each for each in fields.splitlines() if each.startswith("RssAnon:")]
    return int(line.split()[1]) * 1024


def open_files(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


@once
def test_memory_and_open_files_stay_as_they_are(flags, tmp_path):
    words = [f"steps={STEPS}", f"evaluate_every={EVERY}", f"save_every={EVERY}", "keep_last=1", "keep_best=true"]
    process = running.train(flags, tmp_path, *words, "--seq-len", "16", "--batch-size", "2")
    seen = []
    # Between a save's beginning and its end a file or two are open, so that many moments are looked at.
    for part in (2, 3, 4, 5, 6, 7, 8, 9):
        at = STEPS * part // 10
        assert running.wait_until(process, lambda: running.steps_done(tmp_path / "run") >= at)  # noqa: B023
        with running.held(process):
            seen.append((resident(process), open_files(process)))
    _, said = process.communicate()
    assert process.returncode == 0, said
    memory, files = zip(*seen)
    # What is kept of each step (its line of metrics) is some hundred bytes; a leak of one evaluation's or save's buffers is
    # a state (1.3 MB) or a window each EVERY steps.
    assert max(memory[4:]) - min(memory[:4]) < (1 << 20) + 1000 * STEPS, memory
    assert max(files[4:]) <= max(files[:4]) + 3, files

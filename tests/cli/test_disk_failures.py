"""A disk that is not there, takes no more or changes what it holds: one line, and nothing lost that was saved."""

import errno
import os
import pathlib
import resource
import subprocess

import pytest
from conftest import available_verbs
from disk_shares import ALL, HALF, RATES, WAITING, WEIGHTS, state_file
from running import PATIENCE, start, steps_done, wait_until
from small_run import bits, steps_in

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)


def test_a_folder_that_is_not_there_is_refused_before_the_first_step(refuses, flags):
    words = ["train", *flags, *ALL, "steps=2", "out=run", "--disk-path", "nowhere"]
    refuses(words, "disk at nowhere", "No such file", "make that folder", exit_code=4)


@pytest.mark.parametrize("tiers", [ALL, WAITING, WEIGHTS], ids=["state", "gradients", "weights"])
def test_a_drive_that_takes_no_more_stops_the_run_behind_a_whole_step(
    run_sluice, flags, tmp_path, tiers
):
    common = [*flags, "keep_last=2", "out=run"]
    process = start(["train", *common, *tiers, "steps=100000"], tmp_path, stdout=subprocess.DEVNULL)
    wait_until(process, lambda: steps_done(tmp_path / "run") > 0)
    file = state_file(process)
    assert file is not None, process.stderr.read()
    # The file's last third: what else is written is smaller.
    block = 256 * 1024
    limit = os.stat(file).st_size // block * 2 // 3 * block
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    assert process.wait(timeout=PATIENCE) == 4
    err = process.stderr.read().strip().splitlines()
    errors = [line for line in err if line.startswith("sluice: error: ")]
    assert len(errors) == 1 and "cannot be written: File too large: stopped after step" in errors[0]
    step = len(bits(tmp_path / "run"))
    saved = tmp_path / "run" / "checkpoints" / f"step-{step}"
    assert saved.is_dir() and str(saved.relative_to(tmp_path)) in errors[0]
    assert "--resume" in errors[0]
    more = [f"steps={step + 2}", "--json"]
    resumed = run_sluice("train", *common, *HALF, *more, "--resume").json()
    assert resumed["resumed_after"] == step
    whole = run_sluice("train", *flags, *RATES, *more, "out=whole").json()
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")
    for key in ("weights_sha256", "state_sha256"):
        assert resumed[key] == whole[key]


def test_a_file_system_without_direct_transfers_is_named(run_sluice, flags):
    folder = pathlib.Path("/dev/shm")
    probe = folder / f".sluice-test-{os.getpid()}"
    try:
        probe.write_bytes(bytes(4096))
        os.close(os.open(probe, os.O_RDONLY | os.O_DIRECT))
        pytest.skip("/dev/shm has direct transfers")
    except OSError as error:
        if error.errno != errno.EINVAL:
            pytest.skip(f"/dev/shm: {error}")
    finally:
        probe.unlink(missing_ok=True)
    words = ["train", *flags, *ALL, "steps=2", "out=run", "--disk-path", folder]
    err = run_sluice(*words).err.splitlines()
    assert len(err) == 1 and "disk at /dev/shm: its file system refuses O_DIRECT" in err[0]


def test_a_damaged_file_ends_the_run_with_one_line_and_leaves_what_was_saved(
    run_sluice, flags, tmp_path
):
    words = [*flags, *ALL, "steps=100000", "save_every=5", "keep_last=2", "out=run"]
    process = start(["train", *words], tmp_path, stdout=subprocess.DEVNULL)
    wait_until(process, lambda: steps_in(tmp_path / "run"))
    file = state_file(process)
    assert file is not None, process.stderr.read()
    os.truncate(file, 0)
    assert process.wait(timeout=PATIENCE) == 4
    err = process.stderr.read().strip().splitlines()
    assert "optimizer state of" in err[-1] and "block" in err[-1], err
    resumed = run_sluice("train", *flags, *HALF, "steps=8", "out=whole", "--json").json()
    assert resumed["steps"] == 8
    newest = max(steps_in(tmp_path / "run"))
    words = [*flags, *ALL, f"steps={newest + 2}", "out=run", "--resume", "--json"]
    assert run_sluice("train", *words).json()["resumed_after"] == newest

"""Kill -9 with state, gradients and weights on the disk: going on gives the bits of a run that was never killed.

A kill waits for what the run does, then a random moment longer: what it was doing is read off what it left. SLUICE_DISK_KILLS (6) is
how many there are in all, a third of them amid a save and some before the first step; SLUICE_KILL_SEED (1) seeds them.
"""

import contextlib
import itertools
import os
import random
import subprocess
import time

import pytest
from conftest import available_verbs
from disk_shares import HALF_WAITING, RATES, WEIGHTS, WEIGHTS_IN_ONE_ROUND, state_file
from running import PATIENCE, start, steps_done, wait_until
from small_run import bits, steps_in

pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)

STEPS = 40
KILLS = int(os.environ.get("SLUICE_DISK_KILLS", "6"))
SHARES = [WEIGHTS, WEIGHTS_IN_ONE_ROUND, HALF_WAITING]


def in_writing(run):
    """Files of checkpoints that are not whole, each with when it was last changed."""
    files = set()
    for path in (run / "checkpoints").glob(".step-*/*"):
        with contextlib.suppress(FileNotFoundError):
            files.add((path, path.stat().st_ctime_ns))
    return files


def reached(run, state, chance):
    """A condition that holds when a process that goes on with `run` is in `state`."""
    before, more, files = steps_done(run), chance.randint(1, 4), chance.randint(1, 4)
    left = in_writing(run)
    return {
        "starting": lambda process: state_file(process) is not None,
        "running": lambda process: steps_done(run) >= before + more,
        "saving": lambda process: len(in_writing(run) - left) >= files,
    }[state]


def kill(words, tmp_path, run, state, chance):
    """Kills the run; returns the state that it was in, or none if it had ended before."""
    before, left = steps_done(run), in_writing(run)
    condition = reached(run, state, chance)
    process = start(["train", *words], tmp_path, stdout=subprocess.DEVNULL)
    if not wait_until(process, lambda: condition(process)):
        assert process.returncode == 0, process.stderr.read()
        return None
    if state != "saving":
        time.sleep(chance.uniform(0, 0.03))
    process.kill()
    if process.wait(timeout=PATIENCE) == 0:
        return None
    assert not list(run.glob(".sluice-state*"))  # What lies on the disk has no name.
    if in_writing(run) - left:
        return "saving"
    return "running" if steps_done(run) > before else "starting"


def test_a_run_killed_at_any_moment_has_the_bits_of_one_that_never_was(run_sluice, flags, tmp_path):
    common = [*flags, f"steps={STEPS}", "save_every=3", "keep_last=2"]
    whole = run_sluice("train", *common, *RATES, "out=whole", "--json").json()
    chance = random.Random(int(os.environ.get("SLUICE_KILL_SEED", "1")))
    run = tmp_path / "run"
    wanted = {"saving": KILLS // 3, "starting": KILLS // 6, "running": KILLS - KILLS // 3 - KILLS // 6}
    seen = dict.fromkeys(wanted, 0)

    def go_on(share):
        """Command line that continues what is left of a run, or begins a new one if its steps are done."""
        if run.exists() and STEPS in steps_in(run):
            assert bits(run) == bits(tmp_path / "whole")
            run.rename(tmp_path / f"ended-{len(list(tmp_path.glob('ended-*')))}")
        return [*common, *share, "out=run", "--resume"]

    for share in itertools.cycle(SHARES):
        missing = [state for state, count in wanted.items() if seen[state] < count]
        if not missing:
            break
        found = kill(go_on(share), tmp_path, run, chance.choice(missing), chance)
        if found:
            seen[found] += 1
    assert sum(seen.values()) >= KILLS
    last = run_sluice("train", *go_on(SHARES[0]), "--json").json()
    for key in ("steps", "loss", "val_loss", "weights_sha256", "state_sha256"):
        assert last[key] == whole[key], key
    assert bits(run) == bits(tmp_path / "whole")
    print(f"kills {seen}")

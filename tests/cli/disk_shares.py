"""Flags of a small run that keep parts of its state on the disk, and the file that holds these parts."""

import contextlib
import os
import pathlib

RATES = ["machine.disk_read=1 GB/s", "machine.disk_write=1 GB/s", "--residency", "host"]
ALL = [*RATES, "--set", "plan.state=disk"]
WAITING = [*ALL, "--set", "plan.gradients=disk", "--set", "plan.rounds=1"]
ROUNDS = [*ALL, "--set", "plan.gradients=disk", "--set", "plan.rounds=2"]
WEIGHTS = [*ROUNDS, "--set", "plan.weights=disk"]
HALF = [*RATES, "--set", "plan.layers[1].state=disk", "--set", "plan.layers[3].state=disk"]
HALF_WEIGHTS = [*HALF, "--set", "plan.layers[1].weights=disk", "--set", "plan.layers[3].weights=disk"]
WEIGHTS_IN_ONE_ROUND = [*WAITING, "--set", "plan.weights=disk"]
HALF_WAITING = [*HALF_WEIGHTS, "--set", "plan.layers[1].gradients=disk", "--set", "plan.rounds=2"]
TIERS = {"none": RATES, "half": HALF, "all": ALL, "waiting": WAITING, "rounds": ROUNDS,
         "weights": WEIGHTS, "half-weights": HALF_WEIGHTS,
         "weights-in-one-round": WEIGHTS_IN_ONE_ROUND, "half-waiting": HALF_WAITING}  # fmt: skip


def state_file(process):
    """The file without a name that a training process holds open; none before it has one, and after it has ended."""
    with contextlib.suppress(FileNotFoundError):
        for entry in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                file = os.readlink(entry)
                if file.endswith(" (deleted)") and ("/#" in file or ".sluice-state-" in file):
                    return entry
    return None

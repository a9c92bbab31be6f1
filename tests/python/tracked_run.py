"""A run folder that grows as a run writes it, for tests of what follows runs."""

import contextlib
import fcntl
import json
import os


class GrowingRun:
    def __init__(self, path):
        self.path = path
        path.mkdir(parents=True)
        (path / "run.yaml").write_text('model: "bytes-2m"\nsteps: 9\noptimizer:\n  lr: 1.0e-04\n  clip: 1\n')

    def row(self, step):
        return {"step": step, "loss": 6.0 - step / 8, "loss_bits": "00", "grad_norm": 1.0 + step, "lr": 1e-4, "step_s": 0.25, "predicted_s": 0.5,
                "tokens": 8, "mfu": None, "busy": {"compute": 0.5}, **({"val_loss": 5.0} if step % 4 == 0 else {})}  # fmt: skip

    def add(self, *steps, torn=False):
        text = "".join(json.dumps(self.row(step)) + "\n" for step in steps)
        with open(self.path / "metrics.jsonl", "a") as file:
            file.write(text[:-9] if torn else text)

    def cut(self, steps):
        """As a run does that goes on from an earlier checkpoint."""
        lines = (self.path / "metrics.jsonl").read_text().splitlines(keepends=True)
        (self.path / "metrics.jsonl").write_text("".join(lines[:steps]))

    @contextlib.contextmanager
    def running(self):
        """Holds the lock that a run holds."""
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            os.close(folder)

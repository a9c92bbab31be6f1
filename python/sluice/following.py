"""A run folder as a run writes it: its lines of metrics.jsonl one by one, and whether it still runs."""

from __future__ import annotations

import json
import math
import os
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from .errors import BadRequest

POLL_S = 0.5


class RunFolder:
    """A folder that `sluice train` writes, or will write.

    Attributes:
        path: the folder, absolute, so that it is found from any working folder.
        name: the last part of its path.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = pathlib.Path(path).absolute()
        self.name = self.path.name
        if self.path.exists() and not self.path.is_dir():
            raise BadRequest(f"{self.path} is a file; name the run's folder")

    @property
    def metrics(self) -> pathlib.Path:
        return self.path / "metrics.jsonl"

    def settings(self) -> dict[str, str]:
        """The run's keys and values as its run.yaml states them, dotted (`optimizer.lr`), as text."""
        found: dict[str, str] = {}
        parents: list[tuple[int, str]] = []
        try:
            lines = (self.path / "run.yaml").read_text().splitlines()
        except OSError:
            return found
        for line in lines:
            key, colon, value = line.strip().partition(":")
            depth = len(line) - len(line.lstrip())
            if not colon or key.startswith(("#", "-")):
                continue
            parents = [parent for parent in parents if parent[0] < depth]
            if value.strip():
                found[".".join([name for _, name in parents] + [key])] = value.strip().strip('"')
            else:
                parents.append((depth, key))
        return found

    def runs(self) -> bool:
        """Whether a process of this computer trains in the folder: it holds a lock on the folder, and Linux lists locks."""
        try:
            folder = os.stat(self.path)
            locks = pathlib.Path("/proc/locks").read_text()
        except OSError:
            return False
        place = f"{os.major(folder.st_dev):02x}:{os.minor(folder.st_dev):02x}:{folder.st_ino}"
        return any(place in line.split() and "FLOCK" in line for line in locks.splitlines())

    def rows(self) -> list[dict[str, Any]]:
        """The lines that are whole by now; the last one of a file that is being written may not be."""
        try:
            text = self.metrics.read_bytes()
        except FileNotFoundError:
            return []
        rows = []
        for number, line in enumerate(text[: text.rfind(b"\n") + 1].splitlines(), 1):
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                raise BadRequest(f"{self.metrics}:{number}: not a line of JSON: {error}") from error
        return rows


def values(row: dict[str, Any]) -> dict[str, float]:
    """The numbers of a line, by flat names such as `busy/h2d`; what is null, text or not finite is left out."""
    found: dict[str, float] = {}
    for key, value in row.items():
        parts = {f"{key}/{name}": part for name, part in value.items()} if isinstance(value, dict) else {key: value}
        for name, part in parts.items():
            if name != "step" and isinstance(part, (int, float)) and not isinstance(part, bool) and math.isfinite(part):
                found[name] = float(part)
    return found


def follow(
    run: RunFolder, after: int, *, once: bool = False, sleep: Callable[[float], object] = time.sleep
) -> Iterator[list[dict[str, Any]]]:
    """Batches of lines with steps above `after`, each step once, as they come; ends when the run has ended.

    A run that goes back to a checkpoint writes the lines of the steps after it again, to the same bits: they are not given twice.

    Args:
        run: the folder, which may not be there yet.
        after: the last step that was given before.
        once: end after the lines that are there now.
        sleep: waits for so many seconds between two looks.
    """
    seen: tuple[int, int] | None = None
    while True:
        alive = not once and (run.runs() or not run.metrics.exists())  # Looked at first: what came last then counts.
        try:
            status = os.stat(run.metrics)
            state = (status.st_size, status.st_mtime_ns)
        except FileNotFoundError:
            state = None
        if state != seen:
            batch = [row for row in run.rows() if row["step"] > after]
            seen = state
            if batch:
                after = batch[-1]["step"]
                yield batch
        if not alive:
            return
        sleep(POLL_S)

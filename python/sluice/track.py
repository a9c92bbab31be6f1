"""Follows a run and sends its numbers to a tracker: ``python -m sluice.track RUN --to wandb``.

It reads metrics.jsonl of the run's folder, beside the run or after it, and touches nothing that the run reads or writes. It may be stopped and
started again at any time: a note in RUN/tracking/ says which step was sent last, and the tracker's run goes on. It ends when the run has ended.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import sys
from typing import Any

from .errors import BadRequest, EnvironmentFailed, SluiceError
from .following import RunFolder, follow, values
from .trackers import TRACKERS


class Note:
    """What was sent so far: the tracker's name of the run, and the last step."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.identity: str | None = None
        self.step = 0
        try:
            kept = json.loads(path.read_text())
            self.identity, self.step = kept["identity"], int(kept["step"])
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError) as error:
            raise BadRequest(f"{path}: not a note of sluice.track ({error}); delete it to send the run from its start") from error

    def write(self) -> None:
        """Replaces the file whole, so that a process that dies leaves one note or the other."""
        new = self.path.with_suffix(".new")
        try:
            new.write_text(json.dumps({"identity": self.identity, "step": self.step}) + "\n")
            os.replace(new, self.path)
        except OSError as error:
            raise EnvironmentFailed(f"cannot write {self.path}: {error.strerror}") from error


def track(run: str | os.PathLike[str], to: str, *, project: str = "sluice", online: bool = False, once: bool = False) -> int:
    """Sends a run's steps to a tracker until the run has ended, and returns how many were sent by this call.

    Args:
        run: the run's folder; it may not be there yet.
        to: ``"wandb"``, ``"mlflow"``, ``"trackio"``, ``"swanlab"`` or ``"tensorboard"``.
        project: what the tracker files the run under.
        online: use the tracker's own login and environment; else everything stays in RUN/tracking/TO.
        once: send what is there now, and end.

    Raises:
        BadRequest: the tracker's name is unknown, or a file is not what it must be.
        EnvironmentFailed: the tracker's package is missing, or a file cannot be written.
    """
    if to not in TRACKERS:
        raise BadRequest(f"to: {to} is unknown; it must be one of {', '.join(TRACKERS)}")
    folder = RunFolder(run)
    if once and not folder.metrics.exists():
        raise BadRequest(f"{folder.path} has no metrics.jsonl: name the folder of a run that has begun")
    tracker: Any = None
    note: Note | None = None
    sent = 0
    try:
        for batch in follow(folder, Note(folder.path / "tracking" / f"{to}.json").step, once=once):
            if tracker is None or note is None:
                place = folder.path / "tracking" / to
                try:
                    place.mkdir(parents=True, exist_ok=True)
                except OSError as error:
                    raise EnvironmentFailed(f"cannot write {place}: {error.strerror}") from error
                note = Note(place.with_suffix(".json"))
                tracker = TRACKERS[to](place, folder.name, project, note.identity, online, folder.settings(), note.step)
                note.step = max(note.step, tracker.last_step or 0)
                note.identity = tracker.identity
                note.write()
            fresh = [row for row in batch if row["step"] > note.step]
            for row in fresh:
                tracker.log(row["step"], values(row))
            if fresh:
                tracker.flush()
                note.step, sent = fresh[-1]["step"], sent + len(fresh)
                note.write()
    finally:
        if tracker is not None:
            tracker.close()
    if tracker is not None:
        print(f"{sent} steps of {folder.path} sent to {to}: {tracker.where}", file=sys.stderr)
    return sent


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sluice.track", description="Follows a run and sends its numbers to a tracker.")
    parser.add_argument("run", help="the run's folder, such as runs/mine; it may not be there yet")
    parser.add_argument("--to", required=True, metavar="TRACKER", help=", ".join(TRACKERS))
    parser.add_argument("--project", default="sluice", help="what the tracker files the run under (sluice)")
    parser.add_argument("--online", action="store_true", help="use the tracker's own login and environment; else all stays in RUN/tracking/")
    parser.add_argument("--once", action="store_true", help="send what is there now, and end")
    options = parser.parse_args(words)

    def stop(number: int, _: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        track(options.run, options.to, project=options.project, online=options.online, once=options.once)
    except KeyboardInterrupt:
        return 75
    except SluiceError as error:
        print(f"sluice.track: error: {error}", file=sys.stderr)
        return 4 if isinstance(error, EnvironmentFailed) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Trackers that a run's numbers are sent to, each behind the same three calls: resumed step, log, close.

Without a network each keeps everything in a folder; with `online` the tracker's own settings hold (its login, its environment variables). A
tracker is opened with the identity that an earlier process gave its run, and says itself which step it has last, where it can.
"""

from __future__ import annotations

import importlib
import os
import pathlib
import secrets
import time
from typing import Any

from .errors import EnvironmentFailed


def needed(package: str, tracker: str) -> Any:
    """The package, or one line that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise EnvironmentFailed(f"{tracker} needs the package {package.split('.')[0]}: pip install {package.split('.')[0]} ({error})") from error


class Tracker:
    """One run in one tracker.

    Attributes:
        identity: what the tracker calls the run; given again, it goes on with it.
        last_step: the last step that the tracker itself has of the run; None where it cannot say.
        where: where the numbers are, in words for the user.
    """

    name = ""

    def __init__(self, folder: pathlib.Path, run: str, project: str, identity: str | None, online: bool, settings: dict[str, str], after: int):
        self.identity: str | None = identity
        self.last_step: int | None = None
        self.where = str(folder)

    def log(self, step: int, numbers: dict[str, float]) -> None:
        raise NotImplementedError

    def flush(self) -> None:
        """Returns once what was logged is on the disk, where the tracker can say so."""

    def close(self) -> None:
        raise NotImplementedError


class Wandb(Tracker):
    name = "wandb"

    def __init__(self, folder: pathlib.Path, run: str, project: str, identity: str | None, online: bool, settings: dict[str, str], after: int):
        super().__init__(folder, run, project, identity, online, settings, after)
        wandb = needed("wandb", self.name)
        self.identity = identity or secrets.token_hex(4)
        self._run = wandb.init(
            dir=str(folder), project=project, name=run, id=self.identity, config=settings,
            mode="online" if online else "offline", resume="allow" if online else None,
        )  # fmt: skip
        if online:
            self.last_step = max(int(self._run.step) - 1, 0)
        else:
            self.where = f"{folder}; with a network: wandb sync --append {folder}/wandb/offline-run-*-{self.identity}"

    def log(self, step: int, numbers: dict[str, float]) -> None:
        self._run.log(numbers, step=step)

    def close(self) -> None:
        self._run.finish()


class Mlflow(Tracker):
    name = "mlflow"

    def __init__(self, folder: pathlib.Path, run: str, project: str, identity: str | None, online: bool, settings: dict[str, str], after: int):
        super().__init__(folder, run, project, identity, online, settings, after)
        if not online:
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        needed("mlflow", self.name)
        tracking = needed("mlflow.tracking", self.name)
        self._entities = needed("mlflow.entities", self.name)
        self._client = tracking.MlflowClient(tracking_uri=None if online else folder.as_uri())
        if identity is None:
            known = self._client.get_experiment_by_name(project)
            experiment = known.experiment_id if known else self._client.create_experiment(project)
            created = self._client.create_run(experiment, run_name=run)
            identity = str(created.info.run_id)
            for key, value in settings.items():
                self._client.log_param(identity, key, value)
        else:
            history = self._client.get_metric_history(identity, "step_s")
            self.last_step = max((point.step for point in history), default=0)
        self._id = self.identity = identity
        self._client.update_run(self._id, status="RUNNING")
        if not online:
            self.where = f"{folder}; MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri {folder.as_uri()}"

    def log(self, step: int, numbers: dict[str, float]) -> None:
        now = int(1000 * time.time())
        # step_s is written last: a process that dies here leaves a step that resumes as a whole.
        ordered = sorted(numbers, key=lambda name: name == "step_s")
        self._client.log_batch(self._id, metrics=[self._entities.Metric(name, numbers[name], now, step) for name in ordered])

    def close(self) -> None:
        self._client.set_terminated(self._id)


class Trackio(Tracker):
    name = "trackio"

    def __init__(self, folder: pathlib.Path, run: str, project: str, identity: str | None, online: bool, settings: dict[str, str], after: int):
        super().__init__(folder, run, project, identity, online, settings, after)
        os.environ.setdefault("TRACKIO_DIR", str(folder))
        self._trackio = needed("trackio", self.name)
        self.identity = identity or run
        self._trackio.init(project=project, name=self.identity, config=dict(settings), resume="allow", embed=False, auto_log_gpu=False, auto_log_cpu=False)
        if identity is not None and not online:
            storage = needed("trackio.sqlite_storage", self.name).SQLiteStorage
            self.last_step = storage.get_max_step_for_run(project, identity)
        self.where = f"{os.environ['TRACKIO_DIR']}; TRACKIO_DIR={os.environ['TRACKIO_DIR']} trackio show --project {project}"

    def log(self, step: int, numbers: dict[str, float]) -> None:
        self._trackio.log(numbers, step=step)

    def close(self) -> None:
        self._trackio.finish()


class Swanlab(Tracker):
    name = "swanlab"

    def __init__(self, folder: pathlib.Path, run: str, project: str, identity: str | None, online: bool, settings: dict[str, str], after: int):
        super().__init__(folder, run, project, identity, online, settings, after)
        swanlab = needed("swanlab", self.name)
        self.identity = identity or secrets.token_hex(6)
        swanlab.init(
            project=project, name=run, id=self.identity, resume="allow", config=dict(settings), log_dir=str(folder),
            mode="online" if online else "offline",
        )  # fmt: skip
        self._swanlab = swanlab
        if not online:
            self.where = f"{folder}; with a network: swanlab sync {folder}/run-*"

    def log(self, step: int, numbers: dict[str, float]) -> None:
        self._swanlab.log(numbers, step=step)

    def close(self) -> None:
        self._swanlab.finish()


class Tensorboard(Tracker):
    """Event files. A process that goes on writes a start of session, from which TensorBoard drops what an earlier file has of later steps."""

    name = "tensorboard"

    def __init__(self, folder: pathlib.Path, run: str, project: str, identity: str | None, online: bool, settings: dict[str, str], after: int):
        super().__init__(folder, run, project, identity, online, settings, after)
        writers = needed("tensorboard.summary.writer.event_file_writer", self.name)
        event = needed("tensorboard.compat.proto.event_pb2", self.name)
        self._summary = needed("tensorboard.compat.proto.summary_pb2", self.name)
        self._event = event.Event
        self.identity = identity or run
        self._writer = writers.EventFileWriter(str(folder / run))
        if identity is not None:
            session = event.SessionLog(status=event.SessionLog.START)
            self._writer.add_event(event.Event(wall_time=time.time(), step=after + 1, session_log=session))
        self.where = f"{folder}; tensorboard --logdir {folder}"

    def log(self, step: int, numbers: dict[str, float]) -> None:
        parts = [self._summary.Summary.Value(tag=name, simple_value=number) for name, number in numbers.items()]
        self._writer.add_event(self._event(wall_time=time.time(), step=step, summary=self._summary.Summary(value=parts)))

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


TRACKERS: dict[str, type[Tracker]] = {kind.name: kind for kind in (Wandb, Mlflow, Trackio, Swanlab, Tensorboard)}

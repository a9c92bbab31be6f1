"""What can go wrong, as exceptions. Each carries the one line that the program prints."""

from __future__ import annotations

import os
import pathlib
from typing import Any


class SluiceError(Exception):
    """The family of all errors of this package."""


class BadRequest(SluiceError, ValueError):
    """The request is wrong: the message names the field, file or task, and the fix."""


class EnvironmentFailed(SluiceError, OSError):
    """The environment failed: a file that cannot be written, a full disk."""


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file whole, or raises :class:`EnvironmentFailed` naming it."""
    try:
        pathlib.Path(path).write_text(text)
    except OSError as error:
        raise EnvironmentFailed(f"cannot write {os.fspath(path)}: {error.strerror}") from error


class DoesNotFit(SluiceError):
    """No plan fits the memory, or the given one does not.

    Attributes:
        tier: the memory that lacks most: ``"hbm"``, ``"host"`` or ``"disk"``.
        short_bytes: bytes that it lacks.
        remedies: up to three smallest changes after which it fits, as dicts: ``what``, ``setting`` (as the
            command line takes it), ``changes_bits`` (the job becomes another one) and ``step_s`` (seconds a
            step then, predicted).
        memory: what the plan of least memory, or the given one, takes: ``peak_bytes``, ``capacity_bytes`` and ``parts``
            by tier.
        prediction: the :class:`Prediction` of the given plan or policy; None after a search.
    """

    def __init__(self, result: dict[str, Any]):
        self.tier: str = result["tier"]
        self.short_bytes: int = result["short_bytes"]
        self.remedies: list[dict[str, Any]] = result["remedies"]
        self.memory: dict[str, Any] = result.get("memory", {})
        self.prediction: Any = None
        self._result = result
        text = f"does not fit: {self.tier} is short by {self.short_bytes / 2**30:.3g} GiB"
        for remedy in self.remedies:
            text += f"; {remedy['what']} ({remedy['setting']}): {remedy['step_s']:.3g} s a step"
        super().__init__(text)

    def to_dict(self) -> dict[str, Any]:
        """What ``sluice predict --json`` prints: ``fits`` is false."""
        return self._result

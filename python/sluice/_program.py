"""Verbs of the program run as a child process, with progress, messages and errors as Python has them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from .catalogue import Record
from .errors import BadRequest, DoesNotFit, EnvironmentFailed, SluiceError

#: Seconds that an interrupted program has to end by itself.
GRACE_S = 20.0

BAD_REQUEST, DOES_NOT_FIT, ENVIRONMENT, NOT_CONVERGED, INTERRUPTED = 2, 3, 4, 5, 75


class Progress(Record):
    """How far a call is: ``what`` is being done, ``done`` of ``all`` units (None where that is not known), and what else is
    known of it: ``text`` that was generated, ``predicted_s``, ``measured_s`` and ``error`` of an iteration of tuning."""

    what: str
    done: int
    all: int | None


#: A function that is told of progress: units done, units in all or None, and all that is known.
Told = Callable[[int, "int | None", Progress], object]


def _program(caller: str) -> tuple[str, dict[str, str]]:
    """The program's file and its environment; raises ImportError, for the function `caller`, where there is none."""
    try:
        import sluice_program

        return sluice_program.path(), sluice_program.environment()
    except (ImportError, FileNotFoundError) as error:
        raise ImportError(
            f"{caller} runs the program `sluice`, which this copy of the module came without: pip install the wheel, or build the target sluice"
        ) from error


def _drain(stream: IO[str], into: list[str]) -> threading.Thread:
    thread = threading.Thread(target=lambda: into.append(stream.read()), daemon=True)
    thread.start()
    return thread


@contextlib.contextmanager
def _ended(child: subprocess.Popen[str]) -> Iterator[None]:
    """Interrupts the program, and waits for it, where the body raises."""
    try:
        yield
    except BaseException:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        raise


def _messages(stderr: str) -> str:
    """The lines of errors, joined; what the program warns of or notes becomes Python warnings."""
    errors = []
    for line in stderr.splitlines():
        kind, _, message = line.removeprefix("sluice: ").partition(": ")
        if line.startswith("sluice: error: "):
            errors.append(message)
        elif line.startswith(("sluice: warning: ", "sluice: note: ")):
            warnings.warn(message, stacklevel=4)
    return "\n".join(errors)


def run(caller: str, words: Sequence[str], progress: Told | None) -> dict[str, Any]:
    """The JSON object that the program prints when it is run with `words` and ``--json``.

    It is a process of its own: Ctrl-C, or what `progress` raises, interrupts it, and the exception is raised when it has ended.
    """
    program, environment = _program(caller)
    read, write = os.pipe()
    environment["SLUICE_PROGRESS_FD"] = str(write)
    with os.fdopen(read) as told:
        try:
            # In a session of its own: a terminal's Ctrl-C reaches it through this process alone.
            child = subprocess.Popen(
                [program, *words, "--json"], env=environment, pass_fds=[write], start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
        finally:
            os.close(write)
        out: list[str] = []
        err: list[str] = []
        assert child.stdout is not None and child.stderr is not None
        with child.stdout, child.stderr, _ended(child):
            threads = _drain(child.stdout, out), _drain(child.stderr, err)
            for line in told:
                if progress is not None:
                    each = Progress(json.loads(line))
                    progress(each.done, each.all, each)
            code = child.wait()
            for thread in threads:
                thread.join()
    return _result(code, "".join(out), _messages("".join(err)))


def _result(code: int, out: str, error: str) -> dict[str, Any]:
    if code == 0 or (code == NOT_CONVERGED and out):
        if error:
            warnings.warn(error, stacklevel=4)
        result: dict[str, Any] = json.loads(out)
        return result
    if code == BAD_REQUEST:
        raise BadRequest(error)
    if code == DOES_NOT_FIT and out:
        raise DoesNotFit(json.loads(out))
    if code == ENVIRONMENT:
        raise EnvironmentFailed(error)
    if code in (INTERRUPTED, -signal.SIGINT):
        raise KeyboardInterrupt
    raise SluiceError(error or f"the program ended with {'signal' if code < 0 else 'exit code'} {abs(code)}")

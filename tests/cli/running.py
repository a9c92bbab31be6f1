"""The program while it runs: a test waits for a state of it, never for a length of time."""

import atexit
import contextlib
import fcntl
import math
import os
import pathlib
import pty
import signal
import struct
import subprocess
import termios
import time

from conftest import program

PATIENCE = 300  # Seconds until a wait is given up: what ends at once elsewhere may take long on a busy machine.
ATTEMPTS = 20  # Attempts at something that must be done to a run before its end, and may come too late.


def start(words, folder, before=(), home=None, **options):
    """`sluice WORDS...` in `folder`, which is its store too where `home` is not; `before`: what starts it."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    process = subprocess.Popen(
        [*before, program(), *map(str, words)], cwd=folder,
        env={**os.environ, "SLUICE_HOME": str(home or folder)}, **options,
    )  # fmt: skip
    atexit.register(process.kill)  # Nothing of a failed test goes on.
    return process


def train(flags, folder, *more, out="run"):
    return start(["train", *flags, "--json", f"out={out}", *more], folder)


def on_terminal(words, folder, columns=None, stream="stderr"):
    """What `sluice WORDS...` writes to `stream` where that is a terminal (of so many columns); it must end well."""
    ours, theirs = pty.openpty()
    if columns:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = start(words, folder, **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs})
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 4096):
            seen += chunk
    except OSError:  # So Linux says that nobody writes to a terminal any more.
        pass
    os.close(ours)
    assert process.wait() == 0, seen
    return seen.decode()


def wait_until(process, condition):
    """Whether `condition` became true before the process ended."""
    deadline = time.monotonic() + PATIENCE
    while True:
        ended = process.poll() is not None  # Looked at first, so that what the process did last counts.
        if condition():
            return True
        if ended:
            return False
        assert time.monotonic() < deadline, "what is waited for does not happen"
        time.sleep(0.002)


def steps_done(run):
    """Lines of a run folder's metrics.jsonl."""
    metrics = run / "metrics.jsonl"
    return metrics.read_text().count("\n") if metrics.exists() else 0


def _fields(path):
    """Fields of a file like /proc/PID/status; none once the process or thread is gone."""
    try:
        return dict(line.split(":\t", 1) for line in path.read_text().splitlines())
    except (FileNotFoundError, ProcessLookupError):
        return {}


def _status(process):
    return _fields(pathlib.Path(f"/proc/{process.pid}/status"))


def _holds(mask, number):
    return bool(int(mask, 16) >> (number - 1) & 1)


def handles(process, number):
    """Whether the process has a handler for the signal by now."""
    return _holds(_status(process).get("SigCgt", "0"), number)


def asleep(process):
    """Whether all of its threads sleep."""
    threads = pathlib.Path(f"/proc/{process.pid}/task").glob("*/status")
    return all(_fields(path).get("State", "S")[0] == "S" for path in threads)


def has_handled(process, number):
    """Whether a signal that was sent is no longer on its way, and no thread may still be in its handler: all sleep."""
    status = _status(process)
    pending = any(_holds(status.get(mask, "0"), number) for mask in ("SigPnd", "ShdPnd"))
    return not pending and asleep(process)


def computed(process):
    """Seconds that the process and its threads have computed for; nan once it is gone."""
    try:
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return math.nan
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def held(process):
    """Stops all threads of the process for the time of a `with` block; does nothing if it has ended."""
    process.send_signal(signal.SIGSTOP)
    wait_until(process, lambda: _status(process).get("State", "").startswith("T"))
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)

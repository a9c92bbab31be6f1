"""The program `sluice` as a wheel brings it, and the command that starts it: imports nothing else, so that it starts at once."""

import os
import sys


def path() -> str:
    """The program's file; raises FileNotFoundError where this copy of the package lacks it."""
    found = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "sluice")
    if not os.access(found, os.X_OK):
        raise FileNotFoundError(f"{found} is missing: install the wheel again, or build the target sluice")
    return found


def environment() -> dict[str, str]:
    """The environment that the program is started in: it takes this interpreter first for what it needs Python for."""
    return {**os.environ, "SLUICE_OWN_PYTHON": sys.executable or ""}


def main() -> None:
    """Becomes the program, with this process's arguments."""
    os.execve(path(), ["sluice", *sys.argv[1:]], environment())

"""Runs as keyword arguments, turned into the words that the program's verbs take."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Mapping
from typing import Any

from . import _core
from .catalogue import Machine

# Arguments that stand for a flag; every other one is a key of RUN.yaml.
_FLAGS = {
    "hbm": "--hbm",
    "host": "--host",
    "disk": "--disk",
    "pinned": "--pinned",
    "link": "--link",
    "lr": "--lr",
    "gpu": "--gpu",
    "cpu": "--cpu",
    "ram": "--ram",
    "ssd": "--ssd",
}
_BYTES = {"hbm", "host", "disk", "pinned", "limits.hbm", "limits.host", "limits.disk"}
_RATES = {"link", "limits.link"}


def token_count(tokens: str | float | None) -> float | None:
    """Of a number, or of text such as ``"10B"``."""
    return None if tokens is None else _core.parse_tokens(str(tokens))


def path_text(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(path)


class RunWords:
    """Words of one run. Changed machines lie in a temporary folder, which goes when this does."""

    def __init__(self, run: Any, settings: Mapping[str, Any], sets: Mapping[str, Any] | None):
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.words: list[str] = []
        self.machine = settings.get("machine")
        if isinstance(run, Mapping):
            settings = {**run, **{k: v for k, v in settings.items() if v is not None}}
        elif run is not None:
            self.words.append(os.fspath(run))
        for key, value in settings.items():
            if value is not None:
                self._add(key, value)
        for path, value in (sets or {}).items():
            self.words += ["--set", f"{path}={self._text(path, value)}"]

    def _add(self, key: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for name, each in value.items():
                self._add(f"{key}.{name}", each)
            return
        text = self._text(key, value)
        self.words += [_FLAGS[key], text] if key in _FLAGS else [f"{key}={text}"]

    def _text(self, key: str, value: Any) -> str:
        if isinstance(value, Machine):
            return value.name if value.is_catalogued else self._file(value)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)) and key in _BYTES:
            return f"{int(value)} B"
        if isinstance(value, (int, float)) and key in _RATES:
            return f"{value!r} B/s"
        if isinstance(value, os.PathLike):
            return str(os.fspath(value))
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(str(each) for each in value) + "]"
        return str(value)

    def _file(self, machine: Machine) -> str:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="sluice-")
        path = pathlib.Path(self._folder.name) / "machine.json"
        machine.save(path)
        return str(path)

"""Runs as keyword arguments, turned into the words that the program's verbs take."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

from . import _core
from .catalogue import Machine
from .errors import BadRequest

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
    """A count of tokens from a number, or from text such as ``"10B"``."""
    return None if tokens is None else _core.parse_tokens(str(tokens))


def path_text(name: str, path: str | os.PathLike[str] | None) -> str | None:
    """Text of the path that argument `name` is; raises BadRequest if it is no path."""
    if path is None or isinstance(path, str):
        return path
    if isinstance(path, os.PathLike) and isinstance(where := os.fspath(path), str):
        return where
    raise _refusal(name, path, "a path")


def number(name: str, value: Any) -> float | None:
    """The number that argument `name` is, or states as text; raises BadRequest if it is neither."""
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        raise _refusal(name, value, "a number") from None


def names(name: str, value: Any) -> list[str]:
    """The names in argument `name`: text separated by commas, or an iterable of such; raises BadRequest if it is neither."""
    if isinstance(value, (str, os.PathLike)):
        return str(os.fspath(value)).split(",")
    wanted = "names: text separated by commas, or a list"
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise _refusal(name, value, wanted)
    texts = list(value)
    if not all(isinstance(text, (str, os.PathLike)) for text in texts):
        raise _refusal(name, value, wanted)
    return [str(os.fspath(text)) for text in texts]


def joined_names(name: str, value: Any) -> str | None:
    """The names in argument `name`, as read by :func:`names`, joined by commas."""
    return None if value is None else ",".join(names(name, value))


def flattened(name: str, settings: Any, prefix: str = "") -> dict[str, Any]:
    """Settings by dotted path, including those of nested mappings in argument `name`; raises BadRequest if it is no mapping."""
    if not isinstance(settings, Mapping):
        raise _refusal(name, settings, 'a mapping of paths to values, such as {"machine.h2d": "0.5x"}')
    flat: dict[str, Any] = {}
    for path, value in settings.items():
        if isinstance(value, Mapping):
            flat |= flattened(name, value, f"{prefix}{path}.")
        else:
            flat[f"{prefix}{path}"] = "null" if value is None else value
    return flat


def _refusal(name: str, value: Any, wanted: str) -> BadRequest:
    return BadRequest(f"{name}: {value!r} must be {wanted}")


class RunWords:
    """Command-line words of one run. Changed machines are written to a temporary folder, which is removed with this object."""

    def __init__(self, run: Any, settings: Mapping[str, Any], sets: Mapping[str, Any] | None):
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.words: list[str] = []
        self.machine = settings.get("machine")
        if isinstance(run, Mapping):
            settings = {**run, **{k: v for k, v in settings.items() if v is not None}}
        elif (file := path_text("run", run)) is not None:
            self.words.append(file)
        for key, value in settings.items():
            if value is not None:
                self._add(key, value)
        if sets is not None and not isinstance(sets, Mapping):
            raise _refusal("set", sets, 'a mapping of paths to values, such as {"machine.h2d": "0.5x"}')
        for path, value in (sets or {}).items():
            self.words += ["--set", f"{path}={self._text(path, value)}"]

    def settings(self) -> list[tuple[str, str]]:
        """Paths and values of the settings in `sets`."""
        settings = (word.partition("=") for word in self.words[1::2])
        return [(path, value) for path, _, value in settings]

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

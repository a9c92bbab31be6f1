"""Arguments given as a file, or as a mapping with its keys."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from .errors import BadRequest


def text_of(source: Mapping[str, Any] | str | os.PathLike[str], what: str) -> tuple[str, str]:
    """The text, and its origin for messages: a path, or `what` for a mapping. Raises BadRequest."""
    if isinstance(source, Mapping):
        return json.dumps(source), what
    if not isinstance(source, (str, os.PathLike)):
        raise BadRequest(f"{what}: {source!r} must be a mapping or a file's path")
    where = os.fspath(source)
    try:
        return pathlib.Path(where).read_text(), where
    except FileNotFoundError as error:
        raise BadRequest(f"{where}: no such file") from error

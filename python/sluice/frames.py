"""Lists of objects that become pandas frames if pandas is installed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    import pandas


class _Record(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


T = TypeVar("T", bound=_Record)


def frame(rows: Iterable[dict[str, Any]] | dict[str, Any]) -> pandas.DataFrame:
    """A DataFrame of rows or columns. Needs pandas."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("a frame needs pandas: pip install pandas") from error
    return pandas.DataFrame(rows)


class Rows(list[T]):
    """A list of objects, each with ``to_dict()``."""

    def to_frame(self) -> pandas.DataFrame:
        """A DataFrame with one row per object; nested objects stay as they are."""
        return frame([row.to_dict() for row in self])

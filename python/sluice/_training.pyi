from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

class TrainOutcome:
    @property
    def json(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def data(self) -> str: ...
    @property
    def fits(self) -> bool: ...
    @property
    def losses(self) -> npt.NDArray[np.float64]: ...
    @property
    def step_times_s(self) -> npt.NDArray[np.float64]: ...

def data(words: Sequence[str], rows: int, strict: bool) -> tuple[str, list[str]]: ...
def train(
    words: Sequence[str],
    resume: bool,
    checkpoint: bool,
    progress: Callable[[int, int, dict[str, Any]], object] | None,
) -> TrainOutcome: ...

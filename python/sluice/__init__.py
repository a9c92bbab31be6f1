"""Sluice: how fast will this model train on that machine, and with which plan?

Models larger than the GPU, predicted by a discrete-event simulation and planned; no GPU is needed. Times are
seconds, sizes bytes, rates per second, and every result's ``to_dict()`` is what the program's ``--json`` prints.

    >>> import sluice
    >>> found = sluice.predict("qwen2.5-7b", "h200", seq_len=1024, batch_size=32, residency="host")
    >>> found.tokens_per_s, found.memory.hbm.peak_bytes, found.trace().to_frame()
"""

from . import plotting
from ._core import commit
from ._core import version as __version__
from ._program import Progress
from .ablation import AblationResult, Cell, ablate
from .buying import Advice, buy
from .catalogue import Machine, Model, Record, machine, machines, model, models, policies, support
from .errors import BadRequest, DoesNotFit, EnvironmentFailed, SluiceError
from .forward import Evaluated, Exported, Generated, evaluate, export, generate
from .frames import Rows
from .prediction import Basis, Memory, Plan, PlanResult, Prediction, Ratio, TierMemory, Waterfall, plan, predict
from .run_data import Data, DataRow, DataSet, LeftOut, data
from .simulation import Simulated, simulate
from .trace import Trace, read_trace
from .training import Step, Trained, train
from .tuning import Tuned, autotune

__all__ = [
    "AblationResult", "Advice", "BadRequest", "Basis", "Cell", "Data", "DataRow", "DataSet", "DoesNotFit",
    "EnvironmentFailed", "Evaluated", "Exported", "Generated", "LeftOut", "Machine", "Memory", "Model", "Plan",
    "PlanResult", "Prediction", "Progress", "Ratio", "Record", "Rows", "Simulated", "SluiceError", "Step", "TierMemory",
    "Trace", "Trained", "Tuned", "Waterfall", "__version__", "ablate", "autotune", "buy", "commit", "data", "evaluate",
    "export", "generate", "machine", "machines", "model", "models", "plan", "plotting", "policies", "predict", "read_trace",
    "simulate", "support", "train",
]  # fmt: skip

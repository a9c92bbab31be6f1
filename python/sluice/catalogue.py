"""Models and machines that the program knows by name, and files of your own."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _core
from .errors import write_text
from .frames import Rows


class Record:
    """A JSON object whose fields are attributes too. ``to_dict()`` is the object itself."""

    _fields: dict[str, Any]

    def __init__(self, fields: dict[str, Any]):
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_fields"][name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no {name!r}") from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._fields})

    def __repr__(self) -> str:
        """Text with the plain values of the object; lists and objects in it are shown by their size."""
        parts = [
            f"{name}={value!r}" if not isinstance(value, (dict, list)) else f"{name}: {len(value)}"
            for name, value in self._fields.items()
        ]
        return f"<sluice.{type(self).__name__} {', '.join(parts)}>"

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, as the program's ``--json`` prints it; of a model, what its config.json says."""
        return self._fields


class Model(Record):
    """The shape of a model.

    Attributes: ``name``, ``family``, ``parameters``, ``matmul_parameters`` (those in matrix products),
    ``state_bytes`` (fp32 master, m and v: 12 bytes a parameter), ``layers``, ``hidden``, ``intermediate``,
    ``heads``, ``kv_heads``, ``head_dim``, ``vocab``, ``tied_head``; of :func:`model` also ``units`` (embed, block
    and head with their tensors) and ``config`` (config.json).
    """

    name: str
    family: str
    parameters: int
    matmul_parameters: int
    state_bytes: int
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    tied_head: bool

    def __repr__(self) -> str:
        return f"<sluice.Model {self.name}: {self.parameters / 1e9:.3g} G parameters>"


class Machine(Record):
    """The profile of a machine: ``name``, ``device``, ``architecture``, and ``facts``, each with ``value``,
    ``deviation``, ``count``, ``source`` (measured, datasheet, estimated) and ``note``. The names of facts end in
    their unit: ``hbm_bytes``, ``h2d_bytes_per_s``, ``peak_bf16_flop_per_s``, ``launch_s``.
    """

    device: str
    architecture: str
    facts: dict[str, dict[str, Any]]

    def __init__(self, fields: dict[str, Any], catalogue_name: str | None = None):
        super().__init__(fields)
        self._catalogue_name = catalogue_name

    @property
    def is_catalogued(self) -> bool:
        """Whether the machine is unchanged, so that its name, or the file it came from, identifies it."""
        return self._catalogue_name is not None

    @property
    def name(self) -> str:
        """The catalogue's name, or what the profile calls the machine."""
        return self._catalogue_name or self._fields["name"]

    @property
    def profile_hash(self) -> str:
        """Hash of every number of the profile, as predictions record it."""
        return _core.machine_hash(json.dumps(self._fields))

    def __getitem__(self, fact: str) -> float:
        """The value of a fact, SI: ``machine["h2d_bytes_per_s"]``."""
        value: float = self._fields["facts"][fact]["value"]
        return value

    def replace(self, name: str | None = None, **facts: str) -> Machine:
        """A copy with other numbers, as ``--set machine.NAME=VALUE`` takes them: a quantity with its unit
        (``h2d="25 GB/s"``, ``hbm="24 GiB"``) or a factor (``dram="0.5x"``; of ``gemm`` and ``update`` only these), or with
        the products and attention of a file that ``sluice fit`` wrote (``kernels="k.json"``).
        """
        text = json.dumps(self._fields)
        for fact, value in facts.items():
            text = _core.changed_machine_json(text, fact, str(value))
        fields = json.loads(text)
        fields["name"] = name or self._fields["name"]
        return Machine(fields)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a profile file, which ``--machine FILE`` takes too.

        Raises:
            EnvironmentFailed: it cannot be written.
        """
        write_text(path, json.dumps(self._fields, indent=2) + "\n")

    def __repr__(self) -> str:
        return f"<sluice.Machine {self.name}: {self._fields['architecture']}, {self['hbm_bytes'] / 2**30:.4g} GiB>"


def models() -> Rows[Model]:
    """The catalogue of models, as ``sluice models`` lists it."""
    return Rows(Model(each) for each in json.loads(_core.models_json())["models"])


def model(name: str | os.PathLike[str]) -> Model:
    """A model by catalogue name, config.json, model folder or cached Hugging Face id."""
    return Model(json.loads(_core.model_json(os.fspath(name))))


def machines() -> Rows[Record]:
    """The catalogue of machines with their main numbers (``hbm_bytes``, ``h2d_bytes_per_s``,
    ``peak_bf16_flop_per_s``, ...), the computer this runs on first, as ``"here"``."""
    return Rows(Record(each) for each in json.loads(_core.machines_json())["machines"])


def support() -> Rows[Record]:
    """What this version does on each architecture: ``architecture``, ``examples``, ``state``."""
    return Rows(Record(each) for each in json.loads(_core.machines_json())["support"])


def machine(name: str | os.PathLike[str] = "here") -> Machine:
    """A machine by catalogue name, as a profile file, or ``"here"``, this computer."""
    name = os.fspath(name)
    return Machine(json.loads(_core.machine_json(name)), catalogue_name=name)


def policies() -> dict[str, str]:
    """What each built-in policy does, by name; ``policy=NAME`` takes it in place of a search."""
    return _core.policies()

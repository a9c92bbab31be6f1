"""Step graphs as Chakra execution traces, for simulators that read those: ``python -m sluice.chakra graph.json -o step.0.et``.

The graph is what ``sluice predict --graph-out`` writes, or any graph of ``sluice sim``. The file is that of MLCommons' Chakra (schema 0.0.4): messages of
its protobuf schema (`et_def.proto`), each behind its length.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import struct
import sys
from typing import Any

from .errors import BadRequest, EnvironmentFailed, SluiceError
from .simulation import simulate
from .sources import text_of

_VERSION = "0.0.4"
# NodeType of et_def.proto.
_MEM_LOAD, _MEM_STORE, _COMP = 2, 3, 4
_NODE_OF_LANE = {"h2d": _MEM_LOAD, "d2h": _MEM_STORE, "disk-read": _MEM_LOAD, "disk-write": _MEM_STORE}


def _varint(value: int) -> bytes:
    """An unsigned number, seven bits a byte, the lowest first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _block(field: int, value: bytes) -> bytes:
    """A text, a message, or a packed list."""
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _attribute(name: str, value: bool | int | float | str) -> bytes:
    """An AttributeProto: bool_val 27, uint64_val 13, double_val 3 or string_val 29."""
    text = _block(1, name.encode())
    if isinstance(value, bool):
        return text + _number(27, int(value))
    if isinstance(value, int):
        return text + _number(13, value)
    if isinstance(value, float):
        return text + _varint(3 << 3 | 1) + struct.pack("<d", value)
    return text + _block(29, value.encode())


def _node(number: int, name: str, kind: int, data_deps: list[int], ctrl_deps: list[int], start_us: int, duration_us: int, attributes: list[bytes]) -> bytes:
    message = _number(1, number) + _block(2, name.encode()) + _number(3, kind)
    if ctrl_deps:
        message += _block(4, b"".join(map(_varint, ctrl_deps)))
    if data_deps:
        message += _block(5, b"".join(map(_varint, data_deps)))
    message += _number(6, start_us) + _number(7, duration_us)
    return message + b"".join(_block(10, attribute) for attribute in attributes)


def chakra_messages(graph: dict[str, Any]) -> list[bytes]:
    """The messages of a graph's trace: GlobalMetadata, then a Node for each task in file order, numbered from 1.

    A copy to the device or from a drive is a MEM_LOAD_NODE, one from the device or to a drive a MEM_STORE_NODE, both with `tensor_size` in bytes; all else is a
    COMP_NODE, with `is_cpu_op` where it runs on the CPU. Data dependencies are the graph's, a control dependency is the task before on the lane. Starts and
    durations are the simulated ones, in whole microseconds, of at least one for a task that takes time; `duration_ns` has the rest. Pools and interference have no
    place in the format, and are in these times alone.
    """
    trace = simulate(graph).trace()
    spans = {name: (start, end) for name, start, end in zip(trace.id.tolist(), trace.start_s.tolist(), trace.end_s.tolist())}
    numbers = {task["id"]: number for number, task in enumerate(graph["tasks"], 1)}
    last_on: dict[str, int] = {}
    metadata = _block(1, _VERSION.encode()) + _block(2, _attribute("made_by", "sluice"))
    messages = [metadata]
    for task in graph["tasks"]:
        lane, number = task["lane"], numbers[task["id"]]
        start, end = spans[task["id"]]
        kind = _NODE_OF_LANE.get(lane, _COMP) if "amount" in task else _COMP
        attributes = [_attribute("is_cpu_op", lane in ("cpu", "launch")), _attribute("lane", lane), _attribute("duration_ns", round(1e9 * (end - start)))]
        if kind != _COMP:
            attributes.append(_attribute("tensor_size", round(task["amount"])))
        duration = max(round(1e6 * (end - start)), 1 if end > start else 0)
        before = [last_on[lane]] if lane in last_on else []
        after = [numbers[name] for name in task.get("after", [])]
        messages.append(_node(number, task["id"], kind, after, [each for each in before if each not in after], round(1e6 * start), duration, attributes))
        last_on[lane] = number
    return messages


def write_chakra(graph: str | os.PathLike[str] | dict[str, Any], path: str | os.PathLike[str]) -> int:
    """Writes a graph, a file or its contents, as a Chakra execution trace, and returns the number of its nodes.

    Raises:
        BadRequest: what :func:`sluice.simulate` refuses.
        EnvironmentFailed: the file cannot be written.
    """
    text, where = text_of(graph, "graph")
    try:
        tasks = json.loads(text)
    except ValueError as error:
        raise BadRequest(f"{where}: is no graph file ({error}); sluice predict --graph-out writes one") from error
    messages = chakra_messages(tasks)
    try:
        pathlib.Path(path).write_bytes(b"".join(_varint(len(message)) + message for message in messages))
    except OSError as error:
        raise EnvironmentFailed(f"cannot write {os.fspath(path)}: {error.strerror}") from error
    return len(messages) - 1


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sluice.chakra", description="Writes a step graph as a Chakra execution trace.")
    parser.add_argument("graph", help="what sluice predict --graph-out wrote, or any graph of sluice sim")
    parser.add_argument("-o", "--out", required=True, help="the file to write, such as step.0.et")
    options = parser.parse_args(words)
    try:
        print(f"wrote {options.out}: {write_chakra(options.graph, options.out)} nodes")
    except SluiceError as error:
        print(f"sluice.chakra: error: {error}", file=sys.stderr)
        return 4 if isinstance(error, EnvironmentFailed) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

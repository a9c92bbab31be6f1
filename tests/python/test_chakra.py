"""Step graphs as Chakra execution traces, read back with the fields of the public schema."""

import json
import subprocess
import sys

import pytest
import sluice
from sluice import chakra

GRAPH = {
    "lanes": ["h2d", "compute", "d2h", "cpu"],
    "links": {"down": 10e9, "up": 10e9},
    "tasks": [
        {"id": "load", "lane": "h2d", "amount": 1e9, "uses": {"down": 1}},
        {"id": "forward", "lane": "compute", "seconds": 0.0000004, "after": ["load"]},
        {"id": "backward", "lane": "compute", "seconds": 0.25, "after": ["forward"]},
        {"id": "store", "lane": "d2h", "amount": 2e9, "uses": {"up": 1}, "after": ["backward"]},
        {"id": "update", "lane": "cpu", "seconds": 0.5, "after": ["store"]},
        {"id": "loss", "lane": "compute", "seconds": 0},
    ],
}


@pytest.fixture(scope="module")
def schema():
    """Node, AttributeProto and GlobalMetadata by the numbers that et_def.proto of mlcommons/chakra has."""
    descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2", reason="protobuf is not installed")
    from google.protobuf import descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="et.proto", package="C", syntax="proto3")

    def message(name, *fields):
        made = file.message_type.add(name=name)
        for field, number, kind, repeated, of in fields:
            typed = {"type_name": of} if of else {}
            made.field.add(name=field, number=number, type=kind, **typed, label=kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL)

    text, number, whole = kinds.TYPE_STRING, kinds.TYPE_UINT64, kinds.TYPE_INT32
    message("AttributeProto", ("name", 1, text, False, ""), ("double_val", 3, kinds.TYPE_DOUBLE, False, ""), ("uint64_val", 13, number, False, ""),
            ("bool_val", 27, kinds.TYPE_BOOL, False, ""), ("string_val", 29, text, False, ""))  # fmt: skip
    message("GlobalMetadata", ("version", 1, text, False, ""), ("attr", 2, kinds.TYPE_MESSAGE, True, ".C.AttributeProto"))
    message("Node", ("id", 1, number, False, ""), ("name", 2, text, False, ""), ("type", 3, whole, False, ""), ("ctrl_deps", 4, number, True, ""),
            ("data_deps", 5, number, True, ""), ("start_time_micros", 6, number, False, ""), ("duration_micros", 7, number, False, ""),
            ("attr", 10, kinds.TYPE_MESSAGE, True, ".C.AttributeProto"))  # fmt: skip
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"C.{name}")) for name in ("Node", "GlobalMetadata")}


def messages(data):
    """A file's messages, each behind its length."""
    at, found = 0, []
    while at < len(data):
        length, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        assert at + length <= len(data)
        found.append(data[at : at + length])
        at += length
    return found


def parsed(schema, path):
    from google.protobuf import unknown_fields

    first, *rest = messages(path.read_bytes())
    nodes = [schema["Node"].FromString(each) for each in rest]
    for message in (each for node in nodes for each in (node, *node.attr)):
        assert not list(unknown_fields.UnknownFieldSet(message))
    return schema["GlobalMetadata"].FromString(first), nodes


def attributes(node):
    values = {"bool_val", "uint64_val", "double_val", "string_val"}
    return {each.name: next((value for field, value in each.ListFields() if field.name in values), False) for each in node.attr}


def test_nodes_have_kinds_times_and_dependencies(schema, tmp_path):
    assert chakra.write_chakra(GRAPH, tmp_path / "step.et") == 6
    metadata, nodes = parsed(schema, tmp_path / "step.et")
    assert metadata.version == "0.0.4"
    load, forward, backward, store, update, loss = nodes
    assert [node.id for node in nodes] == [1, 2, 3, 4, 5, 6] and [node.name for node in nodes] == [task["id"] for task in GRAPH["tasks"]]
    assert [node.type for node in nodes] == [2, 4, 4, 3, 4, 4]
    assert (load.start_time_micros, load.duration_micros) == (0, 100_000)  # 1e9 bytes at 10e9 a second.
    assert forward.duration_micros == 1 and attributes(forward)["duration_ns"] == 400  # A task that takes time is not lost.
    assert loss.duration_micros == 0
    assert list(backward.data_deps) == [2] and not backward.ctrl_deps  # The task before on the lane is a dependency already.
    assert list(loss.ctrl_deps) == [3] and not loss.data_deps
    assert attributes(load) == {"is_cpu_op": False, "lane": "h2d", "duration_ns": 100_000_000, "tensor_size": 1_000_000_000}
    assert attributes(store)["tensor_size"] == 2_000_000_000 and attributes(update)["is_cpu_op"] is True


def test_a_predicted_step_keeps_its_tasks_and_bytes(schema, tmp_path):
    found = sluice.predict("bytes-2m", "rtx-4090", seq_len=64, batch_size=4, residency="host")
    graph = found.graph()
    count = chakra.write_chakra(graph, tmp_path / "step.et")
    _, nodes = parsed(schema, tmp_path / "step.et")
    trace = found.trace()
    assert count == len(nodes) == len(trace)
    seen = {name: 0 for name in trace.lanes}
    for node in nodes:
        seen[attributes(node)["lane"]] += attributes(node).get("tensor_size", 0)
    for lane in ("h2d", "d2h"):
        assert seen[lane] == trace.bytes[trace.lane == lane].sum()
    known = set()
    for node in nodes:  # A reader may take nodes in file order: what a node needs came before it.
        assert set(node.data_deps) | set(node.ctrl_deps) <= known
        known.add(node.id)


def test_the_module_runs_as_a_program(tmp_path):
    (tmp_path / "graph.json").write_text(json.dumps(GRAPH))
    done = subprocess.run([sys.executable, "-m", "sluice.chakra", tmp_path / "graph.json", "-o", tmp_path / "step.et"], capture_output=True, text=True)
    assert done.returncode == 0 and "6 nodes" in done.stdout, done.stderr
    (tmp_path / "bad.json").write_text("[")
    done = subprocess.run([sys.executable, "-m", "sluice.chakra", tmp_path / "bad.json", "-o", tmp_path / "step.et"], capture_output=True, text=True)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "bad.json" in done.stderr

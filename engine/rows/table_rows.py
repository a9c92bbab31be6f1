# Sends the rows of a parquet or Arrow file, one a line: {"row": {...}}, and at the end {"rows": N} or {"error": "..."}.
import datetime
import decimal

import pyarrow as pa
import pyarrow.parquet as pq


def is_bytes(kind):
    """Whether a column holds bytes at any depth: images and sounds, which are no text."""
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return True
    return any(is_bytes(kind.field(i).type) for i in range(kind.num_fields))


def plain(value):
    """What JSON has no word for, as text."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, datetime.timedelta)):
        return str(value)
    return {"type": type(value).__name__}


def without_nulls(value):
    """A nested value without the fields that are null: a table gives each row the fields of all rows, as of tools. The
    content of a message may be null."""
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: without_nulls(each)
        for name, each in value.items()
        if each is not None or (name == "content" and "role" in value)
    }


def record_batches(path, form):
    if form == "parquet":
        file = pq.ParquetFile(path)
        require_text(file.schema_arrow)
        names = [field.name for field in file.schema_arrow if not is_bytes(field.type)]
        yield from file.iter_batches(batch_size=256, columns=names)
        return
    with pa.memory_map(path) as source:
        try:
            reader = pa.ipc.open_file(source)
        except pa.ArrowInvalid:
            source.seek(0)
            yield from pa.ipc.open_stream(source)
            return
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)


def require_text(schema):
    """Refuses a table whose columns all hold bytes: its rows would have no fields."""
    names = [field.name for field in schema if is_bytes(field.type)]
    if names and len(names) == len(schema):
        raise ValueError(f"all its columns hold bytes ({', '.join(names)}): write their text as strings, such as .cast(pyarrow.string())")


def rows(path, form):
    for batch in record_batches(path, form):
        require_text(batch.schema)
        kept = [i for i, field in enumerate(batch.schema) if not is_bytes(field.type)]
        batch = batch.select(kept)
        for start in range(0, batch.num_rows, 256):
            yield from batch.slice(start, 256).to_pylist()


def send(request):
    sent = 0
    try:
        for row in rows(request["path"], request["form"]):
            if not request["nulls"]:
                row = {name: without_nulls(each) for name, each in row.items()}
            _written.append(b'{"row":' + json.dumps(row, default=plain, separators=(",", ":")).encode() + b"}\n")
            sent += 1
            if len(_written) >= 64:
                flush()
        reply({"rows": sent})
    except Exception as error:
        reply({"error": " ".join(f"{type(error).__name__}: {error}".split())[:300]})


for request in requests():
    send(request)

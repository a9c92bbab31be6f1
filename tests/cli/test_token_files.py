"""Files of token ids are known by what they hold: NumPy's magic, other forms, wider ids, rows that a token pads."""

import gzip
import io
import json
import pickle
import struct

import pytest
from conftest import available_verbs
from row_data import raw_zstd
from small_run import CONFIG, TEXT, write_model

numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
pytestmark = pytest.mark.skipif("data" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")
IDS = numpy.frombuffer(TEXT.encode()[:600], dtype=numpy.uint8)
WORDS = ["data", "--model", "shape", "--seq-len", "32", "--rows", "2"]


@pytest.fixture(autouse=True)
def shape(tmp_path):
    write_model(tmp_path / "shape", CONFIG)


@pytest.fixture
def first_ids(run_sluice):
    def read(data, *more):
        shown = run_sluice(*WORDS, "--data", data, *more, "--json").json()
        return shown["rows"][0]["ids"][:16], shown["tokens"]

    return read


def npy(array):
    out = io.BytesIO()
    numpy.save(out, array)
    return out.getvalue()


def test_an_array_is_known_by_its_magic_and_not_its_name(first_ids, tmp_path):
    for name in ("ids.npy", "IDS.NPY", "ids", "ids.bin"):
        (tmp_path / name).write_bytes(npy(IDS.astype("<i4")))
        assert first_ids(name) == (IDS[:16].tolist(), 600), name
        assert first_ids(name, "data_format=tokens") == (IDS[:16].tolist(), 600), name


def zipped_arrays():
    out = io.BytesIO()
    numpy.savez(out, ids=IDS)
    return out.getvalue()


def safetensors():
    header = json.dumps({"a": {"dtype": "U8", "shape": [600], "data_offsets": [0, 600]}}).encode()
    return struct.pack("<Q", len(header)) + header + IDS.tobytes()


@pytest.mark.parametrize(
    "name, data, said",
    [
        ("a.npy.gz", gzip.compress(npy(IDS)), ["packed by gzip", "gunzip"]),
        ("a.npy", gzip.compress(npy(IDS)), ["packed by gzip", "gunzip"]),
        ("a.bin.zst", raw_zstd(IDS.astype("<u2").tobytes()), ["packed by zstd", "unzstd"]),
        ("a.npz", zipped_arrays(), ["NumPy archive", "numpy.save"]),
        ("a.txt", TEXT.encode(), ["is text", "leave out data_format=tokens"]),
        ("a.jsonl", b'{"text": "one two three"}\n' * 20, ["is text"]),
        ("a.safetensors", safetensors(), ["safetensors"]),
        ("a.pkl", pickle.dumps(IDS.tolist()), ["pickle", "never opened"]),
        ("a.idx", b"MMIDIDX\0\0" + bytes(99), ["Megatron", ".bin"]),
        ("a.parquet", b"PAR1" + bytes(100) + b"PAR1", ["parquet"]),
    ],
)
def test_another_form_is_refused_by_what_it_is(refuses, tmp_path, name, data, said):
    (tmp_path / name).write_bytes(data)
    refuses([*WORDS, "--data", name, "data_format=tokens"], f"data: {name} is ", *said)
    (tmp_path / "ids.npy").write_bytes(npy(IDS))
    refuses([*WORDS, "--data", "ids.npy", f"data_mask={name}"], f"data_mask: {name} is ", *said)


@pytest.mark.parametrize(
    "ids",
    [[0x8B1F, 8, 0, 0], [0x4B50, 0x0403, 0xFFFF, 7], [0xB528, 0xFD2F, 1, 2], [0x0480, 149, 1, 1], [93, 0, 0, 0, 0x7B7B]],
    ids=["gzip", "zip", "zstd", "pickle", "safetensors"],
)
def test_ids_that_happen_to_begin_like_another_form_are_ids(first_ids, tmp_path, ids):
    stream = numpy.concatenate([numpy.array(ids), IDS]).astype("<u2")
    stream.tofile(tmp_path / "ids.bin")
    assert first_ids("ids.bin", "data_format=tokens") == (stream[:16].tolist(), len(stream))


def test_the_header_of_llm_cs_files_is_no_token(first_ids, tmp_path):
    for magic, kind in ((20240520, "<u2"), (20240801, "<u4")):
        header = numpy.zeros(256, dtype="<i4")
        header[:3] = (magic, 1, len(IDS))
        (tmp_path / "ids.bin").write_bytes(header.tobytes() + IDS.astype(kind).tobytes())
        assert first_ids("ids.bin", "data_format=tokens") == (IDS[:16].tolist(), 600), magic


def test_ids_of_twice_the_size_are_told(run_sluice, tmp_path):
    wide = IDS.astype("<u4")
    wide.tofile(tmp_path / "ids.bin")
    words = [*WORDS, "--data", "ids.bin", "data_format=tokens"]
    assert "warning: data: ids.bin: every second id is 0, as where ids of 32 bits are read as uint16: if they are, state data_dtype=uint32" in run_sluice(*words).err  # fmt: skip
    assert "every second" not in run_sluice(*words, "data_dtype=uint32").err
    (wide + 65536 * (numpy.arange(600) % 2)).astype("<u4").tofile(tmp_path / "ids.bin")
    assert "every second id is at most 1, as where" in run_sluice(*words).err
    IDS.astype("<u8").tofile(tmp_path / "ids.bin")
    assert "of 64 bits are read as uint32" in run_sluice(*words, "data_dtype=uint32").err
    IDS.astype("<u2").tofile(tmp_path / "ids.bin")
    assert "every second" not in run_sluice(*words).err


def padded(token, left=False):
    """20 rows of 32 places that hold 302 ids, 12 to 19 each; the other 338 are `token`."""
    rows = numpy.full((20, 32), token, dtype="<i4")
    for i in range(20):
        length = 12 + i % 8
        at = 32 - length if left else 0
        rows[i, at : at + length] = IDS[i * 20 : i * 20 + length]
    return rows


def test_rows_that_a_token_pads_are_told_unless_a_mask_leaves_it_out(run_sluice, tmp_path):
    words = [*WORDS, "--data", "ids.npy"]
    numpy.save(tmp_path / "ids.npy", padded(0))
    said = run_sluice(*words).err
    assert "warning: data: ids.npy: 20 rows end in token 0, repeated (338 tokens of it), which is learnt" in said
    numpy.save(tmp_path / "ids.npy", padded(0, left=True))
    assert "20 rows begin in token 0, repeated (338 tokens of it)" in run_sluice(*words).err
    numpy.save(tmp_path / "ids.npy", padded(-1))
    assert "repeated" not in run_sluice(*words).err
    numpy.save(tmp_path / "ids.npy", padded(0))
    numpy.save(tmp_path / "ids.mask.npy", padded(0) != 0)
    assert "repeated" not in run_sluice(*words).err
    (tmp_path / "ids.mask.npy").unlink()
    numpy.save(tmp_path / "ids.npy", IDS.reshape(20, 30))
    assert "repeated" not in run_sluice(*words).err


def test_a_mask_given_as_ids_and_an_array_of_no_rows_are_named(refuses, tmp_path):
    numpy.save(tmp_path / "m.npy", IDS.reshape(20, 30) > 99)
    refuses([*WORDS, "--data", "m.npy"], "data: m.npy: holds booleans, as a mask does", "data_mask")
    numpy.save(tmp_path / "none.npy", numpy.zeros((0, 5), dtype="<i4"))
    refuses([*WORDS, "--data", "none.npy"], "none.npy holds 0 rows to learn")

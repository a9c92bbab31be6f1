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
    (tmp_path / "shape/config.json").write_text(json.dumps({**CONFIG, "vocab_size": 65536}))
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


@pytest.fixture
def parts(tmp_path):
    """Three shards of one stream, and three of the same rows."""
    (tmp_path / "s").mkdir()
    for i, part in enumerate((IDS[:301], IDS[301:302], IDS[302:])):
        numpy.save(tmp_path / "s" / f"ids-{i}.npy", part)
        part.astype("<u2").tofile(tmp_path / "s" / f"raw-{i}.bin")
        rows = padded(-1)[[0, 6, 7, 20][i] : [0, 6, 7, 20][i + 1]]
        numpy.save(tmp_path / "s" / f"rows-{i}.npy", rows[:, : 25 + i * 3] if i else rows)
    numpy.save(tmp_path / "ids.npy", IDS)
    numpy.save(tmp_path / "rows.npy", padded(-1))


def all_of(run_sluice, data, *more):
    shown = run_sluice(*WORDS[:-1], "100", "--data", data, *more, "--json").json()
    (one,) = shown.pop("sets")
    return {key: one[key] for key in ("rows_read", "rows_used", "left_out")} | shown, one["files"]


def test_shards_are_read_as_the_whole(run_sluice, parts):
    whole, _ = all_of(run_sluice, "ids.npy")
    for data, *more in (["s/ids-*.npy"], ["[s/ids-0.npy, s/ids-1.npy, s/ids-2.npy]"], ["s/raw-*.bin", "data_format=tokens"]):
        found, files = all_of(run_sluice, data, *more)
        assert found == whole and [each[-5] for each in files] == ["0", "1", "2"], data
    whole, _ = all_of(run_sluice, "rows.npy")
    found, files = all_of(run_sluice, "s/rows-*.npy")
    assert found == whole and len(files) == 3


def test_a_folder_of_shards_is_read_without_its_masks(run_sluice, refuses, parts, tmp_path):
    for i in range(3):
        for name in ("raw-{}.bin", "rows-{}.npy"):
            (tmp_path / "s" / name.format(i)).unlink()
        ids = numpy.load(tmp_path / "s" / f"ids-{i}.npy")
        numpy.save(tmp_path / "s" / f"ids-{i}.mask.npy", ids > 100)
    numpy.save(tmp_path / "ids.mask.npy", IDS > 100)
    refuses([*WORDS, "--data", "s"], "holds no data file", "say data_format=tokens")
    found, files = all_of(run_sluice, "s", "data_format=tokens")
    assert found == all_of(run_sluice, "ids.npy")[0] and len(files) == 6
    (tmp_path / "s" / "ids-1.mask.npy").unlink()
    refuses([*WORDS, "--data", "s/ids-?.npy"], "s/ids-0.mask.npy is a mask, and s/ids-1.npy has none beside it")
    refuses([*WORDS, "--data", "s/ids-?.npy", "data_mask=ids.mask.npy"], "is the mask of one file, and the data are s/ids-0.npy and 2 more files")


def test_max_samples_are_the_first_rows_of_each_set(run_sluice, refuses, parts, tmp_path):
    numpy.save(tmp_path / "few.npy", padded(-1)[:8])
    few, _ = all_of(run_sluice, "few.npy")
    assert all_of(run_sluice, "rows.npy", "max_samples=8")[0] == few
    assert all_of(run_sluice, "s/rows-*.npy", "max_samples=8")[0] == few
    numpy.save(tmp_path / "both.npy", numpy.concatenate([padded(-1)[:3], padded(-1)[:5]]))
    both, _ = all_of(run_sluice, "both.npy")
    assert all_of(run_sluice, "[{path: rows.npy, max_samples: 3}, {path: rows.npy, max_samples: 5}]")[0] == both
    refuses([*WORDS, "--data", "ids.npy", "max_samples=8"], "max_samples: counts rows, and ids.npy is one row of token ids")
    refuses([*WORDS, "--data", "[ids.npy, rows.npy]"], "ids.npy has one row of token ids and rows.npy has several")
    refuses([*WORDS, "--data", "{path: rows.npy, weight: 2}"], "rows.npy is token ids, which have no weight")
    refuses([*WORDS, "--data", "[rows.npy, a.jsonl]"], "a.jsonl is not said to be token ids")


def test_strict_refuses_rows_without_a_token(run_sluice, refuses, parts, tmp_path):
    run_sluice(*WORDS, "--data", "rows.npy", "--strict")
    rows = padded(-1)
    rows[3] = -1
    numpy.save(tmp_path / "rows.npy", rows)
    refuses([*WORDS, "--data", "rows.npy", "--strict"], "data: strict: 1 rows would be left out: rows.npy: row 3, column 0: holds no token")


def test_labels_given_as_a_mask_are_told_how_to_save_it(refuses, tmp_path):
    numpy.save(tmp_path / "ids.npy", IDS)
    labels = IDS.astype("<i4")
    labels[:9] = -100
    for given in (labels, labels[::-1]):
        numpy.save(tmp_path / "ids.mask.npy", given)
        refuses([*WORDS, "--data", "ids.npy"], "is neither 0 (only read) nor 1 (learnt)", "save labels != -100")

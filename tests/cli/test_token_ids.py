"""Training on token ids that were cut elsewhere: .npy and .bin files, masks, and what is refused."""

import json

import pytest
from chat_data import conversations, tokens_and_labels, write_chat_model, write_jsonl
from conftest import available_verbs
from small_run import CONFIG, TEXT, small_flags, write_model

numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
pytestmark = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)


@pytest.fixture
def flags(tmp_path):
    write_model(tmp_path / "shape", CONFIG)
    return [*small_flags(tmp_path, "shape"), "steps=4", "--no-checkpoint", "--json"]


def same(one, other):
    return all(one[key] == other[key] for key in ("weights_sha256", "loss", "val_loss", "unigram_entropy"))


def test_bytes_as_ids_train_as_the_bytes_do(run_sluice, flags, tmp_path):
    ids = numpy.frombuffer(TEXT.encode(), dtype=numpy.uint8)
    numpy.save(tmp_path / "ids.npy", ids.astype(numpy.int64))
    ids.astype("<u2").tofile(tmp_path / "narrow.bin")
    ids.astype("<u4").tofile(tmp_path / "wide.bin")
    expected = run_sluice("train", *flags, "out=text").json()
    for words in (["data=ids.npy"], ["data=narrow.bin", "data_format=tokens"],
                  ["data=wide.bin", "data_format=tokens", "data_dtype=uint32"]):  # fmt: skip
        assert same(run_sluice("train", *flags, *words, f"out={words[0]}").json(), expected), words


def test_conversations_as_ids_and_masks_train_as_themselves(run_sluice, flags, tmp_path):
    pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
    pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")
    tokenizer = write_chat_model(tmp_path / "model")
    chats = conversations(24)
    write_jsonl(tmp_path / "chat.jsonl", [{"messages": each} for each in chats])
    rows = [tokens_and_labels(tokenizer, each) for each in chats]
    width = max(len(ids) for ids, _ in rows)
    ids = numpy.full((len(rows), width), -100, dtype=numpy.int32)
    mask = numpy.zeros((len(rows), width), dtype=numpy.uint8)
    for i, (row, learnt) in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = learnt
    numpy.save(tmp_path / "ids.npy", ids)
    numpy.save(tmp_path / "learnt.npy", mask)
    words = ["--model", "model", "--seq-len", "48"]
    for packing in ("off", "documents"):
        expected = run_sluice("train", *flags, *words, "data=chat.jsonl", f"packing={packing}", f"out=a-{packing}").json()
        found = run_sluice(
            "train", *flags, *words, "data=ids.npy", "data_mask=learnt.npy", f"packing={packing}", f"out=b-{packing}"
        ).json()
        assert same(found, expected), packing


@pytest.mark.parametrize("packing", ["stream", "off", "documents"])
def test_a_run_goes_on_bit_for_bit(run_sluice, flags, tmp_path, packing):
    ids = numpy.frombuffer(TEXT.encode()[:4000], dtype=numpy.uint8)
    numpy.save(tmp_path / "ids.npy", ids if packing == "stream" else ids.reshape(200, 20))
    words = [*[word for word in flags if word != "--no-checkpoint"], "data=ids.npy", f"packing={packing}"]
    whole = run_sluice("train", *words, "out=whole").json()
    run_sluice("train", *words, "steps=2", "out=run")
    rest = run_sluice("train", *words, "out=run", "--resume").json()
    assert rest["resumed_after"] == 2 and same(rest, whole)
    ids = ids.copy()
    ids[-1] += 1
    numpy.save(tmp_path / "ids.npy", ids if packing == "stream" else ids.reshape(200, 20))
    other = run_sluice("train", *words, "out=run", "--resume", "steps=6", exit_code=2)
    assert "is of another text" in other.err


def test_evaluating_token_ids_gives_the_texts_loss(run_sluice, flags, tmp_path):
    run_sluice("train", *[word for word in flags if word != "--no-checkpoint"], "out=run")
    numpy.save(tmp_path / "ids.npy", numpy.frombuffer(TEXT.encode()[: 32 * 20 + 1], dtype=numpy.uint8))
    (tmp_path / "part.txt").write_bytes(TEXT.encode()[: 32 * 20 + 1])
    losses = [
        run_sluice("eval", "run", "--data", data, "--seq-len", "32", "--batch-size", "4", "--json").json()["loss"]
        for data in ("part.txt", "ids.npy")
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_an_id_beyond_the_models_vocabulary_is_named_by_place(refuses, flags, tmp_path):
    ids = numpy.zeros((4, 40), dtype=numpy.int32)
    ids[2, 7] = 256
    numpy.save(tmp_path / "ids.npy", ids)
    refuses(["train", *flags, "data=ids.npy"], "data: ids.npy: row 2, column 7: token 256 is beyond the model's vocabulary, 0 to 255")
    numpy.save(tmp_path / "ids.npy", ids.reshape(-1))
    refuses(["train", *flags, "data=ids.npy"], "data: ids.npy: token 87: token 256 is beyond")


@pytest.mark.parametrize(
    "array, reason",
    [
        (numpy.zeros(400, dtype=numpy.float32), 'values of type "<f4"'),
        (numpy.zeros(400, dtype=">i4"), "big-endian"),
        (numpy.asfortranarray(numpy.zeros((20, 20), dtype=numpy.int32)), "numpy.ascontiguousarray"),
        (numpy.zeros((2, 2, 100), dtype=numpy.int32), "3 dimensions"),
        (numpy.zeros(4, dtype=[("ids", "<i4"), ("mask", "u1")]), "records with fields"),
        (numpy.array([[1, 2], [3]], dtype=object), "Python objects"),
    ],
    ids=["floats", "big-endian", "fortran", "three", "records", "objects"],
)
def test_another_array_is_refused_by_what_it_is(refuses, flags, tmp_path, array, reason):
    numpy.save(tmp_path / "ids.npy", array, allow_pickle=True)
    refuses(["train", *flags, "data=ids.npy"], "data: ids.npy: ", reason)


def test_a_mask_is_for_token_ids(refuses, flags, tmp_path):
    numpy.save(tmp_path / "mask.npy", numpy.ones(400, dtype=bool))
    refuses(["train", *flags, "data_mask=mask.npy"], "data_mask: is for token ids")
    numpy.save(tmp_path / "ids.npy", numpy.zeros(401, dtype=numpy.uint16))
    refuses(["train", *flags, "data=ids.npy", "data_mask=mask.npy"], "data_mask: mask.npy has 400 values, and ids.npy 401")
    numpy.save(tmp_path / "mask.npy", numpy.zeros(401, dtype=bool))
    refuses(["train", *flags, "data=ids.npy", "data_mask=mask.npy"], "0 of 12 windows of seq_len 32 have a token to learn")


def test_run_yaml_states_mask_and_type(run_sluice, validate, flags, tmp_path):
    numpy.zeros(400, dtype="<u4").tofile(tmp_path / "ids.bin")
    numpy.save(tmp_path / "m.npy", numpy.ones(400, dtype=bool))
    words = ["data=ids.bin", "data_format=tokens", "data_dtype=uint32", "data_mask=m.npy", "out=run"]
    first = run_sluice("train", *flags, *words).json()
    text = (tmp_path / "run" / "run.yaml").read_text()
    assert "data_format: tokens" in text and "data_dtype: uint32" in text and 'data_mask: "m.npy"' in text
    assert same(run_sluice("train", "run/run.yaml", "out=again", "--no-checkpoint", "--json").json(), first)
    assert json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[0])["target_tokens"] > 0

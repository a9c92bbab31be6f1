"""fit and cost: a kernel model from a table of measurements, and what it says of other shapes.

Tables are made here from a device with waves of tiles over 108 multiprocessors, a memory and a launch time. The last tests read the measured
tables of ../shared/data/kernels and are skipped where these are absent.
"""

import csv
import gzip
import json
import math
import random

import pytest

from conftest import SHARED, once

KERNELS = SHARED / "data" / "kernels"
GEMM_COLUMNS = ["m", "n", "k"]
ATTENTION_COLUMNS = ["batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim"]


def gemm_ms(m, n, k):
    compute = []
    for rows, columns, speed in [(128, 256, 1), (128, 128, 0.9), (64, 64, 0.6)]:
        for parts in [1, 2, 4, 8]:
            waves = math.ceil(math.ceil(m / rows) * math.ceil(n / columns) * parts / 108)
            sums = 0 if parts == 1 else 4 * m * n * parts / 3e12
            compute.append(waves * 2 * rows * columns * k / parts / (speed * 280e12 / 108) + sums)
    memory = 2 * (m * k + n * k + m * n) / 1.6e12
    return (3e-6 + max(min(compute), memory)) * 1e3


def attention_ms(b, l, h, g, d):
    blocks = b * h * math.ceil(l / 128)
    compute = math.ceil(blocks / 108) * 108 / blocks * 2 * b * h * l * (l + 128) * d / 180e12
    return (8e-6 + max(compute, 4 * b * l * d * (h + g) / 1.6e12)) * 1e3


def gemm_rows():
    sizes = [256, 768, 1536, 3584, 5120, 8192, 14336]
    return [[m, n, k] for m in [512, 513, 1024, 2048, 3000, 4096, 8192, 16384] for n in sizes for k in sizes]


def attention_rows():
    heads = [(8, 2), (28, 4), (32, 8)]
    lengths = [512, 1024, 2048, 4096, 8192]
    return [[b, l, h, g, d] for b in [1, 2, 4, 8, 32] for l in lengths for h, g in heads for d in [64, 128]]


TABLES = {
    "gemm": (GEMM_COLUMNS, gemm_rows, gemm_ms),
    "attention": (ATTENTION_COLUMNS, attention_rows, attention_ms),
}


def write_table(path, kind, device="NVIDIA A100-SXM4-80GB", seed=1):
    columns, rows, time = TABLES[kind]
    generator = random.Random(seed)
    lines = [",".join(["device", *columns, "latency"])]
    for row in rows():
        lines.append(",".join(map(str, [device, *row, time(*row) * generator.uniform(0.98, 1.02)])))
    opened = gzip.open(path, "wt") if path.suffix == ".gz" else open(path, "w")
    with opened as file:
        file.write("\n".join(lines) + "\n")
    return path


def write_half(path, count, seed=7):
    rows = sorted(random.Random(seed).sample(range(count), count // 2))
    path.write_text("".join(f"{row}\n" for row in rows))
    return path, rows


@pytest.mark.parametrize("kind", ["gemm", "attention"])
def test_fits_half_of_a_table_and_predicts_the_other(run_sluice, validate, tmp_path, kind):
    table = write_table(tmp_path / "table.csv.gz", kind)
    columns, rows, _ = TABLES[kind]
    half, chosen = write_half(tmp_path / "half.txt", len(rows()))
    words = ["fit", "kernels", table, "--kind", kind, "--train", half, "-o", tmp_path / "k.json"]
    said = run_sluice(*words, "--json").json()
    validate(said, "fit")
    validate(tmp_path / "k.json", "kernels")
    assert said["train"]["rows"] == len(chosen)
    assert said["test"]["rows"] == len(rows()) - len(chosen)
    assert said["test"]["median_error"] < 0.05 and said["test"]["p90_error"] < 0.2
    # What cost says of the whole table is what fit said of the rows it had not seen.
    costs = run_sluice("cost", kind, "--machine", tmp_path / "k.json", table, "--json").json()
    validate(costs, "cost")
    errors = sorted(
        abs(row["time_s"] / row["measured_s"] - 1)
        for number, row in enumerate(costs["rows"])
        if number not in set(chosen)
    )
    assert errors[len(errors) // 2] == pytest.approx(said["test"]["median_error"], rel=0.05)
    assert [[row[c] for c in columns] for row in costs["rows"]] == rows()


def test_both_kinds_of_a_device_share_a_file(run_sluice, validate, tmp_path):
    for kind in ["gemm", "attention"]:
        table = write_table(tmp_path / f"{kind}.csv", kind)
        run_sluice("fit", "kernels", table, "--kind", kind, "-o", "k.json", cwd=tmp_path)
    validate(tmp_path / "k.json", "kernels")
    kinds = [family["kind"] for family in json.loads((tmp_path / "k.json").read_text())["families"]]
    assert kinds == ["gemm", "attention"]
    once = (tmp_path / "k.json").read_bytes()
    run_sluice("fit", "kernels", "attention.csv", "--kind", "attention", "-o", "k.json", cwd=tmp_path)
    assert (tmp_path / "k.json").read_bytes() == once, "the same table gives the same bytes"
    other = write_table(tmp_path / "other.csv", "gemm", device="another device")
    run_sluice("fit", "kernels", other, "--kind", "gemm", "-o", "k.json", cwd=tmp_path)
    assert len(json.loads((tmp_path / "k.json").read_text())["families"]) == 1


def test_cost_of_one_shape(run_sluice, validate):
    words = ["cost", "gemm", "--machine", "h200", "--m", 8192, "--n", 4096, "--k", 4096]
    said = run_sluice(*words, "--json").json()
    validate(said, "cost")
    assert said["evidence"] == "fitted"
    assert said["time_s_low"] < said["time_s"] < said["time_s_high"]
    assert said["flop"] == 2 * 8192 * 4096 * 4096
    assert 500e12 < said["flop_per_s"] < 989e12
    assert "TFLOP/s" in run_sluice(*words).out
    words = ["cost", "attention", "--machine", "rtx-3090", "--batch-size", 8, "--seq-len", 2048]
    words += ["--heads", 32, "--head-dim", 128, "--json"]
    said = run_sluice(*words).json()
    validate(said, "cost")
    assert said["evidence"] == "datasheet" and said["num_key_value_heads"] == 32


def test_cost_of_a_table_is_a_table(run_sluice, tmp_path):
    (tmp_path / "shapes.csv").write_text("k,m,n\n4096,1024,2048\n64,512,512\n")
    out = run_sluice("cost", "gemm", "--machine", "l40s", "shapes.csv", cwd=tmp_path).out
    rows = list(csv.DictReader(out.splitlines()))
    assert [row["m"] for row in rows] == ["1024", "512"]
    one = run_sluice("cost", "gemm", "--machine", "l40s", "--m", 1024, "--n", 2048, "--k", 4096, "--json")
    assert float(rows[0]["time_s"]) == pytest.approx(one.json()["time_s"], rel=1e-6)
    run_sluice("cost", "gemm", "--machine", "l40s", "shapes.csv", "-o", "costs.csv", cwd=tmp_path)
    assert (tmp_path / "costs.csv").read_text() == out


ATTENTION = ["--batch-size", "1", "--seq-len", "512", "--head-dim", "64"]


@pytest.mark.parametrize(
    "words, texts",
    [
        (["fit", "kernels", "bad.csv", "--kind", "gemm", "-o", "k.json"], ["bad.csv: line 3, column n", '"x"']),
        (["fit", "kernels", "few.csv", "--kind", "gemm", "-o", "k.json"], ["few.csv", "needs 50"]),
        (["fit", "kernels", "few.csv", "--kind", "attention", "-o", "k.json"], ["line 1, column batch_size"]),
        (["fit", "kernels", "few.csv", "--kind", "gem", "-o", "k.json"], ['--kind: "gem"']),
        (["fit", "copies", "few.csv", "--kind", "gemm", "-o", "k.json"], ['"copies" cannot be fitted']),
        (["fit", "kernels", "gone.csv", "--kind", "gemm", "-o", "k.json"], ["gone.csv: cannot be read"]),
        (["fit", "kernels", "few.csv", "--kind", "gemm"], ["--output is required"]),
        (["fit", "kernels", "few.csv", "--kind", "gemm", "--train", "far.txt", "-o", "k.json"], ["far.txt: line 1: row 9"]),
        (["cost", "--machine", "h200"], ["say which kernel"]),
        (["cost", "gemm", "--m", "1", "--n", "1", "--k", "1"], ["--machine is missing"]),
        (["cost", "gemm", "--machine", "h2000", "--m", "1", "--n", "1", "--k", "1"], ['did you mean "h200"']),
        (["cost", "gemm", "--machine", "h200", "--m", "1", "--n", "1"], ["--k is missing"]),
        (["cost", "gemm", "--machine", "h200", "--m", "0", "--n", "1", "--k", "1"], ["--m: 0 must be positive"]),
        (["cost", "gemm", "--machine", "h200", "--m", str(2**63 - 1), "--n", "1", "--k", "1"], ["--m: ", "must be at most"]),
        (["cost", "attention", "--machine", "h200", *ATTENTION, "--heads", "8", "--kv-heads", "3"], ["--kv-heads: 3 must divide --heads 8"]),
        (["cost", "attention", "--machine", "h200", *ATTENTION, "--heads", "8", "--kv-heads", "16"], ["--kv-heads: 16"]),
        (["fit", "kernels", "twice.csv", "--kind", "gemm", "-o", "k.json"], ["twice.csv: line 1, column n: is there twice"]),
        (["cost", "gemm", "--machine", "h200", "bad.csv"], ["bad.csv: line 3, column n"]),
        (["cost", "gemm", "--machine", "h200", "few.csv", "--m", "1"], ["not both"]),
    ],
)
def test_refusals_name_the_fix(refuses, tmp_path, words, texts):
    (tmp_path / "bad.csv").write_text("m,n,k,latency\n1,2,3,1\n1,x,3,1\n")
    (tmp_path / "twice.csv").write_text("m,n,k,n,latency\n1,2,3,4,1\n")
    (tmp_path / "few.csv").write_text("m,n,k,latency\n1,2,3,1\n")
    (tmp_path / "far.txt").write_text("9\n")
    refuses(words, *texts, cwd=tmp_path)


def test_a_fitted_file_without_the_kind_is_refused(run_sluice, refuses, tmp_path):
    table = write_table(tmp_path / "t.csv", "gemm")
    run_sluice("fit", "kernels", table, "--kind", "gemm", "-o", "k.json", "--trees", 0, cwd=tmp_path)
    words = ["cost", "attention", "--machine", "k.json", "--batch-size", 1, "--seq-len", 1]
    refuses([*words, "--heads", 1, "--head-dim", 64], "k.json: has no attention kernels", cwd=tmp_path)


# Bounds of the median and the 90th percentile of the error on the half not fitted to. Two GPUs were measured with clocks that vary by
# chance: of equal shapes one in four runs 15 to 20 % slower on that H200, and short kernels scatter as much on the L40S, so that no
# model of shapes alone comes below about 15 % at the 90th percentile of the one and 10 % of the other.
MEASURED = [
    ("gemm", "h100_sxm__gemm_bf16__sglang_0.5.14", 0.035, 0.12),
    ("gemm", "h200_sxm__gemm_bf16__sglang_0.5.14", 0.042, 0.17),
    ("gemm", "l40s__gemm_bf16__sglang_0.5.14", 0.04, 0.125),
    ("gemm", "rtx_pro_6000_server__gemm_bf16__sglang_0.5.14", 0.025, 0.07),
    ("attention", "h100_sxm__attention_bf16__vllm_0.24.0", 0.03, 0.1),
    ("attention", "h200_sxm__attention_bf16__vllm_0.24.0", 0.03, 0.1),
    ("attention", "l40s__attention_bf16__vllm_0.24.0", 0.03, 0.1),
    ("attention", "rtx_pro_6000_server__attention_bf16__vllm_0.24.0", 0.03, 0.1),
]


@once
@pytest.mark.parametrize("kind, name, median, p90", MEASURED, ids=lambda value: str(value)[:9])
def test_measured_tables_are_predicted_from_half(run_sluice, tmp_path, kind, name, median, p90):
    table = KERNELS / f"{name}.csv.gz"
    if not table.is_file():
        pytest.skip(f"no {table.name} beside the repository (shared/data/kernels)")
    with gzip.open(table, "rt") as file:
        rows = list(csv.DictReader(file))
    half, chosen = write_half(tmp_path / "half.txt", len(rows))
    run_sluice("fit", "kernels", table, "--kind", kind, "--train", half, "-o", "k.json", cwd=tmp_path)
    run_sluice("cost", kind, "--machine", "k.json", table, "-o", "costs.csv", cwd=tmp_path)
    costs = list(csv.DictReader((tmp_path / "costs.csv").open()))
    chosen = set(chosen)
    errors = []
    for number, (row, cost) in enumerate(zip(rows, costs, strict=True)):
        if number in chosen:
            continue
        if kind == "gemm":
            used = int(row["m"]) >= 512 and min(int(row["n"]), int(row["k"])) >= 512
        else:
            used = row["step"] == "0" and row["kv_cache_dtype"] == "bfloat16"
        if used:
            errors.append(abs(float(cost["time_s"]) / (float(row["latency"]) * 1e-3) - 1))
    errors.sort()
    assert len(errors) > 5000
    assert errors[len(errors) // 2] <= median
    assert errors[len(errors) * 9 // 10] <= p90

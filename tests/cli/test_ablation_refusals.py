"""What `sluice ablate` refuses, by name: files that are no experiments, results folders of others."""

import pytest

from small_experiment import SMALL, small  # noqa: F401 (a fixture)

REFUSALS = [
    ("nmae: x\n", ["line 1", "nmae", "name"]),
    ("name: a/b\nbaseline: {}\nfactors: {f: {path: seq_len, values: [1, 2]}}\n", ["line 1", "a/b"]),
    (SMALL.replace("plan.weight_buffers", "plan.wieght_buffers"), ["buffers", "wieght_buffers", "weight_buffers"]),
    (SMALL.replace("values: [1, 2]", "values: [1]"), ["buffers", "two levels"]),
    (SMALL.replace("model: bytes-2m", "modle: bytes-2m"), ["baseline", "modle", "model"]),
    (SMALL.replace("seq_len: 64", "model.num_hidden_layers: 3"), ["line 6", "baseline", "model.num_hidden_layers", "factors alone", "config.json"]),
    (SMALL.replace("plan.keep: all", "term.contenton: off"), ["contenton", "contention"]),
    (SMALL.replace("plan.keep: all", "model.num_hiden_layers: 3"), ["num_hiden_layers", "num_hidden_layers"]),
    (SMALL.replace("all: {plan.keep: all}", "a: {}\n      b: {}") + "design: paired\n", ["paired", "keep", "3"]),
    (SMALL.replace("{plan.keep: all}", "{plan.keep: all, plan.keep: input}"), ["all: plan.keep is given twice"]),
    (SMALL + "repeats: 0\n", ["repeats", "at least 1"]),
    (SMALL + "name: other\n", ["line 15", "name is given twice"]),
    (SMALL.replace("values: [1, 2]", "values: [1, 2, 1]"), ["line 10", "level 1 is given twice"]),
    (SMALL.replace("factors:", "factors:\n  more: {path: plan.weight_buffers, values: [3, 4]}"),
     ["line 11", "more and buffers both set plan.weight_buffers"]),
    ("", ["line 1", "name, baseline and factors"]),
    (SMALL.replace("name: small", "name: [small]"), ["line 1", "name: must be one word"]),
    (SMALL.replace("question: ", "question: {a: b}  #"), ["line 2", "question: must be one word"]),
    (SMALL.replace("path: plan.weight_buffers", "path: [a]"), ["line 10", "path: must be one word"]),
    (SMALL.replace("seq_len: 64", "seq_len: many"), ["line 6", "seq_len", "many"]),  # A line of this file, comments and all.
    (SMALL.replace("  seq_len: 64", "\tseq_len: 64"), ["line 6", "tab", "spaces"]),
    (SMALL + "---\nname: other\n", ["more than one document"]),
    (SMALL.replace("keep:", "k\udcff:"), ["byte", "is not UTF-8"]),
    (SMALL.replace("[1, 2]", "[{a: 1}, 2]"), ["line 10", "buffers: must be a word, a number or a list"]),
    (SMALL.replace("[1, 2]", "[[1, [2]], 2]"), ["line 10", "buffers: each of a list: must be one word"]),
    (SMALL.replace("[1, 2]", "[1, many]"), ["line 10", "buffers: many: plan.weight_buffers", "many"]),
    (SMALL.replace("plan.keep: all", "out: there"), ["line 14", "keep: all: out", "changes nothing", "leave it out"]),
    (SMALL.replace("path: plan.weight_buffers", "path: job.steps"), ["line 10", "steps: changes nothing", "steps of the experiment itself"]),
    (SMALL.replace("plan.keep: all", "machine.h2d: 12 GB"), ["line 14", "keep: all: machine.h2d", "GB/s"]),
    (SMALL.replace("{plan.keep: all}", "{<<: {seq_len: 8}}"), ["line 14", "<<: merge keys are not read", "anchors"]),
    (SMALL.replace("  seq_len", "  <<: {steps: 1}\n  seq_len"), ["line 6", "<<: merge keys are not read"]),
    (SMALL.replace("planned:", "'':"), ["line 13", "levels: a name: must not be empty"]),
    (SMALL.replace("buffers:", "'':"), ["line 10", "factors: a name: must not be empty"]),
    (SMALL.replace("planned:", r'"a\nb":'), ["line 13", "must be one line"]),
    (SMALL.replace("plan.keep: all", "model.num_hidden_layers: many"),
     ["buffers=1, keep=all", "num_hidden_layers", "many"]),
    # One key by two names, in two factors: a cell would be called by a value that it has not.
    (SMALL.replace("{plan.keep: all}", "{cutoff_len: 8}").replace("path: plan.weight_buffers", "path: job.seq_len"),
     ["line 11", "buffers and keep both set seq_len (buffers=1, keep=all)"]),
    (SMALL + "".join(f"  f{n}: {{path: machine.{n}, values: {list(map('{}x'.format, range(1, 21)))}}}\n"
                     for n in ("h2d", "d2h", "hbm", "host")), ["design full", "more than 100000 cells"]),
]


@pytest.mark.parametrize("text, texts", REFUSALS)
def test_what_is_no_experiment_is_refused_by_name(refuses, tmp_path, text, texts):
    file = tmp_path / "bad.yaml"
    file.write_text(text, errors="surrogateescape")
    refuses(["ablate", file, "-o", tmp_path / "out"], *texts)


# Another name for a key is the key; `model.` belongs to factors.
@pytest.mark.parametrize("override, texts", [
    ("plan.weight_buffers=3", ["plan.weight_buffers", "no cell", "factor buffers set it in every one"]),
    ("learning_rate=1e-3", ["learning_rate", "factor rate"]),
    ("job.optimizer.lr=1e-3", ["job.optimizer.lr", "factor rate"]),
    ("schedule=cosine", ["schedule", "factor kind"]),
    ("model.num_hidden_layers=3", ["model.num_hidden_layers", "factors", "config.json"]),
    ("term.boost=off", ["term.boost", "factor boost"]),
    ("machine.h2d=1x", ["machine.h2d", "factor link"]),
])  # fmt: skip
def test_an_override_that_no_cell_would_have_is_refused(refuses, small, override, texts):
    text = (SMALL + "  rate: {path: optimizer.lr, values: [1e-3, 1e-4]}\n"
            "  kind: {path: lr_scheduler_type, values: [cosine, linear]}\n"
            "  boost: {path: term.boost, values: ['on', 'off']}\n"
            "  link: {path: machine.h2d, values: [1x, 2x]}\n")  # fmt: skip
    for design in ("full", "one-at-a-time", "paired"):
        small.write_text(text + f"design: {design}\n")
        refuses(["ablate", small, override, "--list"], *texts)


def test_an_override_is_the_baseline_of_levels_that_leave_it_to_it(run_sluice, refuses, small):
    plain, kept = run_sluice("ablate", small, "plan.keep=selective", "--dry-run", "--json").json()["cells"][:2]
    assert "selective" in plain["plan"] and "selective" not in kept["plan"]
    # Paired, two factors may leave nothing between them.
    small.write_text(SMALL.replace("values: [1, 2]}", "values: [1, 2]}\n  other:\n    levels:\n      input: {plan.keep: input}\n      none: {}")
                     + "design: paired\n")  # fmt: skip
    refuses(["ablate", small, "plan.keep=selective", "--list"], "plan.keep", "factors keep and other")


def test_an_override_that_changes_nothing_here_says_so(run_sluice, small):
    assert "flash_attn is ignored: the plan chooses it" in run_sluice("ablate", small, "flash_attn=fa2", "--list").err


def test_gradient_accumulation_is_a_batch_size(run_sluice, small):
    small.write_text(SMALL.replace("batch_size: 4", "gradient_accumulation: 4").replace("values: [1, 2]", "values: [2, 1]"))
    whole, (short, *_) = (run_sluice("ablate", small, *more, "--effort", "0.02", "--dry-run", "--json").json()["cells"]
                          for more in ([], ["gradient_accumulation=2"]))  # fmt: skip
    assert short["fits"] and short["step_s"] < whole[0]["step_s"]


@pytest.mark.parametrize("more", [["--list"], ["--dry-run"], []])
@pytest.mark.parametrize("path, names, texts", [
    ("policy", "[megatrain, megatrian]", ["factors: other: megatrian", "policy", "megatrain"]),
    ("model", "[bytes-2m, bytes-2n]", ["factors: other: bytes-2n", "model", "bytes-2m"]),
    ("machine", "[rtx-4090, rtx-9999]", ["factors: other: rtx-9999", "machine"]),
])  # fmt: skip
def test_a_misspelt_name_is_refused_and_no_row(refuses, small, path, names, texts, more):
    small.write_text(SMALL + f"  other: {{path: {path}, values: {names}}}\n")
    refuses(["ablate", small, *more], *texts)


@pytest.mark.parametrize("override, texts", [("model=bytes-2n", ["baseline", "model", "bytes-2m"]), ("machine=rtx-9999", ["baseline", "machine"]),
                                             ("policy=megatrian", ["baseline", "policy", "megatrain"])])  # fmt: skip
def test_a_misspelt_name_of_the_baseline_is_refused(refuses, small, override, texts):
    refuses(["ablate", small, override, "--list"], *texts)


def test_a_name_that_no_cell_has_may_be_any(run_sluice, small):
    small.write_text(SMALL.replace("model: bytes-2m", "model: of-no-cell") + "  other: {path: model, values: [bytes-2m, qwen2.5-0.5b]}\n")
    assert "qwen2.5-0.5b" in run_sluice("ablate", small, "--list").out


def test_an_experiment_without_a_run_leaves_no_folder(run_sluice, refuses, small, tmp_path):
    run = run_sluice("ablate", small, "micro_batch=3", exit_code=2)
    assert "no cell is a run" in run.err and not (tmp_path / "ablations").exists()
    share = run_sluice("ablate", small, "micro_batch=3", "--cells", "1/4", "-o", tmp_path / "out")
    assert "3 of 4 cells are still to be done" in share.out  # This share has no runs, but others may.


@pytest.mark.parametrize("before", ["ours", "ours/out", "ours/out/cells", "ours/out/models"])
def test_an_experiment_without_a_run_leaves_folders_that_were_there(refuses, small, tmp_path, before):
    (tmp_path / before).mkdir(parents=True)
    there = sorted((tmp_path / "ours").rglob("*"))
    refuses(["ablate", small, "micro_batch=3", "-o", "ours/out"], "no cell is a run")
    assert (tmp_path / "ours").is_dir() and sorted((tmp_path / "ours").rglob("*")) == there


def test_a_folder_of_another_experiment_is_refused(run_sluice, refuses, small, tmp_path):
    run_sluice("ablate", small, "-o", tmp_path / "out")
    small.write_text(SMALL + "seed: 2\n")
    refuses(["ablate", small, "-o", tmp_path / "out"], "another experiment", "seed: 1 where this one has seed: 2")
    small.write_text(SMALL.replace("all: {plan.keep: all}", "all: {}"))
    refuses(["ablate", small, "-o", tmp_path / "out"], "plan.keep: \"all\"")


def test_factors_may_set_one_key_where_no_cell_has_both(run_sluice, small):
    both = SMALL.replace("[1, 2]}", "[1, 2]}\n  other:\n    levels: {plain: {}, input: {plan.keep: input}}")
    for design, cells in (("one-at-a-time", 4), ("paired", 0)):
        small.write_text(both + f"design: {design}\n")
        listed = run_sluice("ablate", small, "--list", exit_code=None)
        assert len(listed.out.splitlines()) == cells, listed.err
    assert "other and keep both set plan.keep (other=input, keep=all)" in listed.err
    small.write_text(both.replace("plan.keep: input", "plan.keep: all"))  # To the same value.
    assert len(run_sluice("ablate", small, "--list").out.splitlines()) == 8


def test_a_list_is_no_dry_run(refuses, small):
    refuses(["ablate", small, "--list", "--dry-run"], "--list", "--dry-run", "one of them")


def test_a_share_of_nothing_is_refused(refuses, small):
    refuses(["ablate", small, "--list", "--cells", ""], "--cells", "2/8")  # An array job's variable that was not set.


def test_a_broken_record_of_a_cell_says_what_to_do(run_sluice, refuses, small, tmp_path):
    run_sluice("ablate", small, "-o", tmp_path / "out", "--effort", "0.02")
    cell = tmp_path / "out" / "cells" / "0001.json"
    whole = cell.read_bytes()
    for broken in (whole[:500], b"{}", whole.replace(b"ablation-cell/1", b"ablation-cell/0")):
        cell.write_bytes(broken)
        refuses(["ablate", small, "-o", tmp_path / "out", "--effort", "0.02"], "0001.json", "remove the file")
    cell.unlink()
    run_sluice("ablate", small, "-o", tmp_path / "out", "--effort", "0.02")
    assert cell.read_bytes() == whole

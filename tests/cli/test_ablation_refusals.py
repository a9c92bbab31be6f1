"""What `sluice ablate` refuses, by name: files that are no experiments, results folders of others."""

import pytest

from small_experiment import SMALL, small  # noqa: F401 (a fixture)

REFUSALS = [
    ("nmae: x\n", ["line 1", "nmae", "name"]),
    ("name: a/b\nbaseline: {}\nfactors: {f: {path: seq_len, values: [1, 2]}}\n", ["line 1", "a/b"]),
    (SMALL.replace("plan.weight_buffers", "plan.wieght_buffers"), ["buffers", "wieght_buffers", "weight_buffers"]),
    (SMALL.replace("values: [1, 2]", "values: [1]"), ["buffers", "two levels"]),
    (SMALL.replace("model: bytes-2m", "modle: bytes-2m"), ["baseline", "modle", "model"]),
    (SMALL.replace("plan.keep: all", "term.contenton: off"), ["contenton", "contention"]),
    (SMALL.replace("plan.keep: all", "model.num_hiden_layers: 3"), ["num_hiden_layers", "num_hidden_layers"]),
    (SMALL.replace("all: {plan.keep: all}", "a: {}\n      b: {}") + "design: paired\n", ["paired", "keep", "3"]),
    (SMALL.replace("{plan.keep: all}", "{plan.keep: all, plan.keep: input}"), ["all: plan.keep is given twice"]),
    (SMALL + "repeats: 0\n", ["repeats", "at least 1"]),
    (SMALL + "name: other\n", ["line 15", "name is given twice"]),
    (SMALL.replace("values: [1, 2]", "values: [1, 2, 1]"), ["line 10", "level 1 is given twice"]),
    (SMALL.replace("factors:", "factors:\n  more: {path: plan.weight_buffers, values: [3, 4]}"),
     ["line 11", "more and buffers both set plan.weight_buffers"]),
]


@pytest.mark.parametrize("text, texts", REFUSALS)
def test_what_is_no_experiment_is_refused_by_name(refuses, tmp_path, text, texts):
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    refuses(["ablate", file, "-o", tmp_path / "out"], *texts)


def test_an_experiment_without_a_run_leaves_no_folder(run_sluice, refuses, small, tmp_path):
    run = run_sluice("ablate", small, "model=no-such-model", exit_code=2)
    assert "no cell is a run" in run.err and not (tmp_path / "ablations").exists()
    share = run_sluice("ablate", small, "model=no-such-model", "--cells", "1/4", "-o", tmp_path / "out")
    assert "3 of 4 cells are still to be done" in share.out  # Of a share a row is a row: others may have runs.


def test_a_folder_of_another_experiment_is_refused(run_sluice, refuses, small, tmp_path):
    run_sluice("ablate", small, "-o", tmp_path / "out")
    small.write_text(SMALL + "seed: 2\n")
    refuses(["ablate", small, "-o", tmp_path / "out"], "another experiment")

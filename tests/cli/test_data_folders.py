"""Which files a name of data stands for: folders, globs, subsets, splits, README.md, packed twins, and what is told of them."""

import gzip

import pytest
from chat_data import write_jsonl
from conftest import available_verbs
from row_data import chat, jsonl, read, refused, tokenizer, words  # noqa: F401

pytestmark = pytest.mark.skipif("data" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")


@pytest.fixture
def write(tmp_path):
    def files(*names):
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            write_jsonl(tmp_path / name, [chat(f"{name} {i}", "yes") for i in range(3)])

    return files


def files_of(shown):
    return shown.all["sets"][0]["files"]


def test_two_stars_stand_for_any_number_of_folders(read, refused, write):
    write("g/a.jsonl", "g/x/b.jsonl", "g/x/y/c.jsonl", "g/x/.hidden/d.jsonl", "g/x/y/e.txt")
    every = ["g/a.jsonl", "g/x/b.jsonl", "g/x/y/c.jsonl"]
    assert files_of(read("g/**/*.jsonl")) == every
    assert files_of(read("**/c.jsonl")) == ["g/x/y/c.jsonl"]
    assert files_of(read("./g/**/y/*.jsonl")) == ["g/x/y/c.jsonl"]
    assert files_of(read("g/*/*.jsonl")) == ["g/x/b.jsonl"]
    refused("g/**/z*.jsonl", "no file matches g/**/z*.jsonl")


def test_files_beside_those_that_are_marked_as_the_split_are_told(read, write):
    write("g/b.jsonl", "g/my_train_data.jsonl", "g/test.jsonl")
    shown = read("g")
    assert files_of(shown) == ["g/my_train_data.jsonl"]
    assert "warning: data: g: not read: b.jsonl, beside files that their names mark as the split train (my_train_data.jsonl)" in shown.err
    write("h/train-00000-of-00001.jsonl", "h/train.jsonl", "h/test-00000-of-00001.jsonl")
    shown = read("h")
    assert files_of(shown) == ["h/train-00000-of-00001.jsonl"] and "h: not read: train.jsonl, beside" in shown.err
    write("i/train.jsonl", "i/test.jsonl", "j/one.jsonl", "j/two.jsonl", "j/dev.jsonl")
    assert not read("i").err and not read("j").err and not read("i", "data={path: i, split: test}").err


def test_a_subset_is_a_word_of_a_files_name(read, refused, write):
    write("g/en_x.jsonl", "g/french.jsonl", "g/token_list.jsonl", "g/v10.jsonl", "g/gsm8k.jsonl")
    for subset, files in {"en": ["g/en_x.jsonl"], "gsm": ["g/gsm8k.jsonl"], "token_list": ["g/token_list.jsonl"]}.items():
        assert files_of(read(f"{{path: g, subset: {subset}}}")) == files
    refused("{path: g, subset: v1}", "of the subset v1")
    write("deep/data/en/train.jsonl", "deep/data/fr/train.jsonl")
    assert files_of(read("{path: deep, subset: fr}")) == ["deep/data/fr/train.jsonl"]


def test_split_and_subset_of_a_file_or_glob_are_honoured_or_refused(read, refused, write):
    write("good.jsonl", "g/a_test.jsonl", "g/b_train.jsonl", "g/en.jsonl")
    for part in ("split: train", "split: all", "subset: default"):
        assert files_of(read(f"{{path: good.jsonl, {part}}}")) == ["good.jsonl"]
    assert files_of(read("{path: g/a_test.jsonl, split: test}")) == ["g/a_test.jsonl"]
    assert files_of(read("{path: 'g/*.jsonl', split: test}")) == ["g/a_test.jsonl"]
    assert files_of(read("{path: 'g/*.jsonl', subset: en}")) == ["g/en.jsonl"]
    refused("{path: good.jsonl, split: test}", "data: good.jsonl is read as it is named", "split test: leave split out")
    refused("{path: good.jsonl, subset: zz}", "data: good.jsonl is read as it is named", "zz: leave subset out")
    assert read("{path: good.jsonl, split: 'train[:70%]'}").all["documents"] == 2
    refused("{path: good.jsonl, split: 'train[50%:]'}", "the first rows of a split are")
    refused("{path: 'g/*.jsonl', split: validation}", "leave split out")


def test_a_file_and_its_packed_twin_are_read_once(read, write, tmp_path):
    write("g/a.jsonl", "g/b.jsonl")
    for name in ("a.jsonl", "c.jsonl"):
        (tmp_path / "g" / f"{name}.gz").write_bytes(gzip.compress(jsonl([chat("q", "a")])))
    for data in ("g", "g/*"):
        shown = read(data)
        assert files_of(shown) == ["g/a.jsonl", "g/b.jsonl", "g/c.jsonl.gz"]
        assert f"data: {data}: not read: a.jsonl.gz, beside which stands the file that it packs" in shown.err


CARD = """---
license: mit
configs:
- config_name: en
  data_files:
  - split: train
    path: x/learn-*
  - {split: test, path: [x/other.jsonl]}
  default: true
- config_name: fr
  data_files: {train_sft: "y/**", test_sft: y.jsonl}
- config_name: de
  data_dir: z
---
# About
"""


def test_a_readmes_subsets_and_splits_are_those_that_it_states(read, refused, write, tmp_path):
    hub = tmp_path / "hub"
    at = "hub/datasets--o--d/snapshots/a"
    write(f"{at}/x/learn-1.jsonl", f"{at}/x/other.jsonl", f"{at}/y/1/a.jsonl", f"{at}/y.jsonl", f"{at}/z/train.jsonl", f"{at}/z/k.jsonl")
    (hub / "datasets--o--d" / "refs").mkdir()
    (hub / "datasets--o--d" / "refs" / "main").write_text("a")
    (tmp_path / at / "README.md").write_text(CARD)
    options = {"env": {"HF_HUB_CACHE": str(hub)}}
    for part, files in {
        "": ["x/learn-1.jsonl"], ", split: test": ["x/other.jsonl"], ", subset: fr": ["y/1/a.jsonl"],
        ", subset: fr, split: test_sft": ["y.jsonl"], ", subset: de": ["z/train.jsonl"], ", subset: x": ["x/learn-1.jsonl", "x/other.jsonl"],
    }.items():  # fmt: skip
        found = files_of(read(f"{{path: o/d{part}}}", **options))
        assert [each.split("snapshots/a/")[1] for each in found] == files, part
    assert files_of(read(at)) == [f"{at}/x/learn-1.jsonl"]  # A folder is read as the hub's.
    refused("{path: o/d, split: dev}", "README.md states no split dev of the subset en (it has train, test)", **options)
    (tmp_path / at / "README.md").write_text(CARD.replace("  default: true\n", ""))
    refused("o/d", "README.md states several subsets (en, fr, de)", "subset: en", **options)
    (tmp_path / at / "x" / "learn-1.jsonl").unlink()
    refused("{path: o/d, subset: en}", "README.md names x/learn-*", "there is none", **options)
    for text in ("---\n: [\n---\n", "---\nconfigs: 5\n---\n", "# No YAML\n"):
        (tmp_path / at / "README.md").write_text(text)
        assert files_of(read(f"{at}/y/1")) == [f"{at}/y/1/a.jsonl"]


def test_a_card_of_which_one_subset_is_here_needs_no_name(read, write, tmp_path):
    write("d/y/a.jsonl", "d/y.jsonl")
    (tmp_path / "d" / "README.md").write_text(CARD)
    assert files_of(read("d")) == ["d/y/a.jsonl"]


def test_the_files_are_named(run_sluice, write, tokenizer):
    write(*(f"g/{i}.jsonl" for i in range(10)))
    said = run_sluice("data", "--model", "model", "--seq-len", "64", "--rows", "0", "--data", "g").out
    assert "files        g/0.jsonl\n             g/1.jsonl\n" in said
    assert "g/7.jsonl\n             and 2 more: --json lists all\n" in said
    assert "files  " not in run_sluice("data", "--model", "model", "--seq-len", "64", "--rows", "0", "--data", "g/1.jsonl").out

"""Facts about the tree: sizes of files, words that must not stand in it, a README in every folder."""

import os
import pathlib
import re
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["sim", "planner", "engine", "profiler", "cli", "python", "tests", "experiments", "notebooks"]
CODE = {".cpp", ".hpp", ".cu", ".cuh", ".py"}
# One concept per file: nine files in ten below the first, all below the second.
USUAL_BYTES = 12_000
MOST_BYTES = 25_000


def tracked():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [REPOSITORY / name for name in listed.stdout.split("\0") if name]


def code():
    return [path for path in tracked() if path.suffix in CODE and path.is_file()]


def test_nine_files_in_ten_are_small_and_none_is_huge():
    sizes = sorted(((path.stat().st_size, path) for path in code()), reverse=True)
    report = "\n".join(f"{size:7d} {path.relative_to(REPOSITORY)}" for size, path in sizes[:12])
    print(report)
    assert sizes[0][0] <= MOST_BYTES, f"split by noun:\n{report}"
    assert sizes[len(sizes) // 10][0] <= USUAL_BYTES, f"too many large files:\n{report}"


def test_no_path_of_one_machine_stands_in_the_tree():
    # Spelt in pieces, so that this file does not hold them.
    pattern = re.compile("|".join(["/wo" + "rk/", "/ro" + "ot/", "/tm" + "p/sluice", "/ho" + "me/[a-z]"]))
    broken = []
    for path in tracked():
        if not path.is_file() or path.suffix in {".png", ".gz", ".npz", ".bin", ".safetensors"}:
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        broken += [
            f"{path.relative_to(REPOSITORY)}:{number}: {line.strip()[:100]}"
            for number, line in enumerate(text.splitlines(), 1)
            if pattern.search(line)
        ]
    assert not broken, "\n".join(broken)


def test_nothing_is_left_undone_or_disabled():
    words = re.compile("|".join(["TO" + "DO", "FIX" + "ME", r"\bX" + r"XX\b", "DISABLED" + "_"]))
    broken = [
        f"{path.relative_to(REPOSITORY)}: {word}"
        for path in code()
        for word in words.findall(path.read_text())
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_top_folder_says_what_it_is(folder):
    if not any(path.relative_to(REPOSITORY).parts[0] == folder for path in tracked()):
        pytest.skip(f"{folder}/ holds nothing yet")
    assert (REPOSITORY / folder / "README.md").stat().st_size > 200


def test_file_names_are_snake_case_nouns():
    allowed = re.compile(r"^[a-z0-9_]+\.(cpp|hpp|cu|cuh|py|def)$")
    vague = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
    broken = [
        str(path.relative_to(REPOSITORY))
        for path in code()
        if not allowed.match(path.name) or path.stem in vague
    ]
    assert not broken, "\n".join(broken)


def test_what_begins_with_an_interpreter_can_be_run():
    scripts = [path for path in tracked() if path.is_file() and path.open("rb").read(2) == b"#!"]
    assert scripts
    assert [path.name for path in scripts if not os.access(path, os.X_OK)] == []

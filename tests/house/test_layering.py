"""Who may include whom: sim <- planner <- engine <- profiler <- cli, python. Left never includes right."""

import pathlib
import re

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
ORDER = ["sim", "planner", "engine", "profiler", "cli", "python"]
SOURCES = ("*.hpp", "*.cpp", "*.cu", "*.cuh", "*.def")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)

# Third-party headers that are slow to compile stay out of headers. Lists of a task's few edges are values, which a header has to define.
HEAVY = re.compile(r"^(nlohmann/json\.hpp|yaml-cpp/|CLI/|fmt/|boost/(?!container/small_vector\.hpp))")


def sources(folder):
    return [path for pattern in SOURCES for path in (REPOSITORY / folder).rglob(pattern)]


def includes(path):
    return INCLUDE.findall(path.read_text())


@pytest.mark.parametrize("folder", ORDER)
def test_no_file_includes_a_folder_to_its_right(folder):
    right = ORDER[ORDER.index(folder) + 1 :]
    broken = [
        f"{path.relative_to(REPOSITORY)} includes {name}"
        for path in sources(folder)
        for name in includes(path)
        if name.split("/")[0] in right
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("folder", ORDER)
def test_every_included_file_of_ours_exists_at_its_repository_path(folder):
    broken = [
        f"{path.relative_to(REPOSITORY)} includes {name}"
        for path in sources(folder)
        for name in includes(path)
        if name.split("/")[0] in ORDER and not (REPOSITORY / name).is_file()
    ]
    assert not broken, "\n".join(broken)


def test_the_simulator_knows_nothing_of_models_or_gpus():
    words = re.compile(r"\b(cuda\w*|transformer|llama|qwen\d*|micro_batch)\b", re.IGNORECASE)
    broken = [
        f"{path.relative_to(REPOSITORY)}: {word}"
        for path in sources("sim")
        for word in words.findall(path.read_text())
    ]
    assert not broken, "\n".join(broken)


def test_cuda_headers_stay_in_the_folders_that_own_them():
    broken = [
        f"{path.relative_to(REPOSITORY)} includes {name}"
        for folder in ORDER
        for path in sources(folder)
        for name in includes(path)
        if re.match(r"(cuda|cublas|cudnn|cupti|nvtx)", name) and "/cuda/" not in str(path)
    ]
    assert not broken, "\n".join(broken)


def test_headers_are_guarded_once_and_free_of_heavy_includes():
    broken = []
    for folder in ORDER:
        for path in (REPOSITORY / folder).rglob("*.hpp"):
            if path.read_text().count("#pragma once") != 1:
                broken.append(f"{path.relative_to(REPOSITORY)}: wants one #pragma once")
            broken += [
                f"{path.relative_to(REPOSITORY)} includes {name}"
                for name in includes(path)
                if HEAVY.match(name)
            ]
    assert not broken, "\n".join(broken)

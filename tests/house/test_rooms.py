"""Inside a top folder each room, a folder with a noun's name, includes only rooms below it, and no units include each other in a
circle. Levels stand from the bottom up; rooms of one level know nothing of each other. A loose source belongs to the top level."""

import pathlib
import re

import pytest
from include_graph import REPOSITORY, arrows, circles, room_of, sources, unit_of

LEVELS = {
    "planner": [
        ["files"],
        ["kernels"],
        ["machines", "models"],
        ["plans", "scratch"],
        ["costs", "effort"],
        ["graph", "catalogue"],
        ["layout", "runs"],
        ["predictions"],
        ["relaxation", "policies"],
        ["guided"],
        ["search"],
        ["requests"],
        ["explanation"],
        ["buying"],
    ],
    "engine": [
        ["memory", "optimizer", "ranks", "run_folders"],
        ["execution", "launch", "model_files", "python"],
        ["chat", "disk", "host", "rows", "tokenizer"],
        ["examples"],
        ["cuda", "datasets", "state"],
        ["backends", "forward", "training"],
        ["rehearsal"],
    ],
    "engine/cuda": [
        ["kernels"],
        ["runtime"],
        ["attention", "copies", "fabric", "products"],
        ["layers"],
        ["backend"],
    ],
    "profiler": [
        ["sensors", "traces"],
        ["cupti", "doctor", "fits"],
        ["probe", "row", "tuning"],
        ["report", "study"],
        ["ablation", "training"],
    ],
    "cli": [["shown"], ["words"], ["completion", "serving"], ["training"], ["forward"], [""]],
}
FOLDERS = list(LEVELS)


def level_of(folder):
    return {room: level for level, rooms in enumerate(LEVELS[folder]) for room in rooms}


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_room_includes_only_rooms_below_it(folder):
    level = level_of(folder)
    broken = [
        f"{tail} includes {head}"
        for tail, head in arrows(folder)
        if room_of(folder, tail) != room_of(folder, head)
        and level[room_of(folder, head)] >= level[room_of(folder, tail)]
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_room_has_a_level_and_a_readme(folder):
    rooms = {room_of(folder, str(path.relative_to(REPOSITORY))) for path in sources(folder)}
    assert rooms == set(level_of(folder))
    for room in rooms - {""}:
        assert (REPOSITORY / folder / room / "README.md").stat().st_size > 100, f"{folder}/{room}/README.md"


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder != "cli"])
def test_no_source_lies_loose(folder):
    loose = [path.name for path in sources(folder) if path.parent == REPOSITORY / folder]
    assert not loose, f"{folder}: {loose}: give each a room"


@pytest.mark.parametrize("folder", ["sim", "planner"])
def test_no_units_include_each_other_in_a_circle(folder):
    found = circles({(unit_of(a), unit_of(b)) for a, b in arrows(folder) if unit_of(a) != unit_of(b)})
    assert not found, "\n".join(" <-> ".join(group) for group in found)


def test_circles_are_found():
    assert circles([("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]) == [["a", "b", "c"]]
    assert circles([("a", "b"), ("a", "c"), ("b", "c")]) == []


ROOM = re.compile(r"sluice_room\(\s*(\w+)\s+([\w/]+)\s([^()]*)\)")
MORE = re.compile(r"target_sources\(\s*(\w+)\s+PRIVATE\s([^()]*)\)")


def batched():
    """Sources by the object library that compiles them, as paths from the repository's top."""
    found = {}
    for lists in sorted(path for top in ("planner", "engine", "profiler", "cli") for path in (REPOSITORY / top).rglob("CMakeLists.txt")):
        folder, text = lists.parent.relative_to(REPOSITORY), re.sub(r"#[^\n]*", "", lists.read_text())
        for library, room, words in ROOM.findall(text):
            target = f"{library}_{room.replace('/', '_')}"
            found.setdefault(target, set()).update(str(folder / room / word) for word in words.split())
        for target, words in MORE.findall(text):
            listed = re.findall(r"(?<![\w/.}])[\w/.]+\.(?:cpp|cu)\b", words)  # Not what the build generates.
            found.setdefault(target, set()).update(str(folder / word) for word in listed)
    return found


def test_no_unity_batch_crosses_rooms():
    """A batch is an object library's sources, and an object library's sources lie in one room."""
    found = batched()
    assert len(found) > 40
    crossing = {
        target: sorted({str(pathlib.PurePath(source).parent) for source in files})
        for target, files in found.items()
        if len({str(pathlib.PurePath(source).parent).removesuffix("/cuda") for source in files}) > 1
    }
    assert not crossing, crossing


def test_every_source_of_a_room_is_compiled_into_its_library():
    listed = set().union(*batched().values())
    own_libraries = ("engine/model_files/", "engine/tokenizer/")
    missing = [
        name
        for top in ("planner", "engine", "profiler", "cli")
        for path in sources(top)
        if path.suffix in (".cpp", ".cu")
        and (name := str(path.relative_to(REPOSITORY))) not in listed
        and room_of(top, name) != ""
        and not name.startswith(own_libraries)
        and not re.search(r"_(avx2|avx512|portable)\.cpp$", name)
    ]
    assert not missing, "\n".join(missing)

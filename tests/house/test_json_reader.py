"""One reader of JSON files: the library's parser with a callback takes time in the square of a list's length."""

import pathlib
import re

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["sim", "planner", "engine", "profiler", "cli", "python"]
CALLBACK = re.compile(r"\bparse_event_t\b|\bparser_callback_t\b|\bparse\s*\([^;]*\[[^;\]]*\]\s*\(")
EVENTS = re.compile(r"\bsax_parse\s*\(")


def files_with(pattern):
    sources = [path for folder in FOLDERS for ending in ("*.hpp", "*.cpp", "*.cu") for path in (REPOSITORY / folder).rglob(ending)]
    assert len(sources) > 100
    return [str(path.relative_to(REPOSITORY)) for path in sources if pattern.search(path.read_text(encoding="utf-8"))]


def test_the_pattern_sees_a_callback():
    assert CALLBACK.search("json::parse(text, [&](int depth, json::parse_event_t event, json& parsed) { return true; })")
    assert CALLBACK.search("json::parse(text, [](int, auto event, auto& parsed) { return keep(event); })")
    assert not CALLBACK.search("const json line = json::parse(text, nullptr, false);")


def test_no_file_is_parsed_with_a_callback():
    assert files_with(CALLBACK) == []


def test_two_files_receive_the_parsers_events():
    """One reads the program's own files, the other rows of data as Python's json module reads them."""
    assert sorted(files_with(EVENTS)) == ["engine/rows/json_row.cpp", "sim/json_reader.cpp"]

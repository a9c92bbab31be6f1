"""What a model computes is data in its shape: only readers of config.json know families by name."""

import pathlib
import re

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
READERS = "planner/models"
FOLDERS = ["planner", "engine", "profiler", "cli", "sim"]
# Chat templates and data formats have names of their own, of which some are those of families.
OTHER_NAMES = ("engine/chat/", "engine/examples/", "engine/tokenizer/")


def sources():
    for folder in FOLDERS:
        for path in sorted((REPOSITORY / folder).rglob("*")):
            name = path.relative_to(REPOSITORY).as_posix()
            if path.suffix in (".cpp", ".hpp", ".cu", ".cuh") and not name.startswith((READERS, *OTHER_NAMES)):
                yield path


def families():
    """Every model_type that a reader has."""
    found = set()
    for path in (REPOSITORY / READERS).glob("*.?pp"):
        text = path.read_text()
        found |= set(re.findall(r"Family::\w+\{\"(\w+)\"\}", text))
        found |= set(re.findall(r"FamilyReader reader\{\s*\{\"(\w+)\"\}", text))
    return found


def test_readers_are_found():
    assert {"llama", "gpt_oss", "gemma3_text", "olmo2", "glm4"} <= families()


def test_no_source_outside_readers_names_a_family():
    # llama and mistral are words of chat templates and of other programs too.
    names = families() - {"llama", "mistral"}
    named = re.compile(r"\bFamily::|\.family\s*[!=]=|\"(?:" + "|".join(sorted(names)) + r")\"")
    wrong = [
        f"{path.relative_to(REPOSITORY)}: {match.group(0)}"
        for path in sources()
        for match in [named.search(path.read_text())]
        if match
    ]
    assert wrong == []

"""Comments that a reader meets alone: a doc comment neither begins nor ends in the middle of a sentence.

A doc comment is a block of `///` lines, or a `///<` with the lines that continue it.
"""

import re

import pytest
from test_files import REPOSITORY, tracked

FOLDERS = ["sim", "planner", "engine", "profiler", "cli", "python", "tests", "experiments"]
# Rooms whose code is being rewritten; each leaves this list with its comments.
PENDING = ()
SOURCES = {".cpp", ".hpp", ".cu", ".cuh", ".inc"}

# Words with which a comment leans on the one before it.
LEANING = re.compile(
    r"(Of|And|Or|But|From|Than|Which|Whose|Same|The same\b(?=[,:.;]|$)|Likewise|As above|Also|Ditto|Its|It is|Their|Them)\b"
)
BY = re.compile(r"By (?!default\b)")
# A first word in lower case is right only where a formula begins: `out [T, hidden] = ...`, `residual -> gate`.
LOWER = re.compile(r"[a-z]+[,.:;]?$")
FORMULA = re.compile(r"[a-z][\w .,()\[\]*/+-]{0,50}(=|->|<|:)")
DANGLING = re.compile(r"(,|;|\b(and|or|of|the|a|an|with|to|that|which|from))$")
# Only their makers understood these (docs/glossary.md, at its end).
RETIRED = re.compile(r"\b(in company|companies|company|sittings?|read again)\b", re.IGNORECASE)


def comment_column(line):
    """Where the `//` of a line begins, outside strings and characters; None without one."""
    quote = None
    at = 0
    while at < len(line):
        char = line[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = None
        elif char == '"' or (char == "'" and not line[at - 1 : at].isalnum()):
            quote = char
        elif line.startswith("//", at):
            return at
        at += 1
    return None


def blocks(text):
    """(line number, marker, text) of every comment block; a raw string holds none."""
    text = re.sub(r'R"([^(\s"]*)\(.*?\)\1"', lambda raw: "\n" * raw.group().count("\n"), text, flags=re.DOTALL)
    found = []
    last = None
    for number, line in enumerate(text.splitlines(), 1):
        column = comment_column(line)
        if column is None:
            last = None
            continue
        marker, said = re.match(r"(///<|///|//)(.*)", line[column:]).groups()
        whole = not line[:column].strip()
        if last and whole and last == (number - 1, marker, column):
            found[-1][2].append(said.strip())
        else:
            found.append((number, marker, [said.strip()]))
        last = (number, marker, column)
    return [(number, marker, " ".join(said).strip()) for number, marker, said in found]


def fault(marker, said):
    """What is wrong with a comment, or None."""
    if RETIRED.search(said):
        return "has a word that the glossary retired"
    if said.startswith(("Of ", "of ")):
        return 'begins with "Of"'
    if not marker.startswith("///"):
        return None
    if LEANING.match(said) or BY.match(said):
        return "leans on what stands before it"
    if LOWER.match(said.split(" ")[0]) and not FORMULA.match(said):
        return "begins in the middle of a sentence"
    if DANGLING.search(said):
        return "ends in the middle of a sentence"
    return None


@pytest.mark.parametrize("folder", FOLDERS)
def test_comments_are_understood_alone(folder):
    broken = []
    for path in tracked():
        name = path.relative_to(REPOSITORY)
        if name.parts[0] != folder or path.suffix not in SOURCES or not path.is_file():
            continue
        if name.as_posix().startswith(PENDING):
            continue
        for number, marker, said in blocks(path.read_text()):
            why = fault(marker, said)
            if why:
                broken.append(f"{name}:{number}: {why}: {said[:80]}")
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    "said",
    ["Of a count of blocks.", "and from the loss to the norm.", "Seconds of it before the loss,", "Likewise, for rows."],
)
def test_scraps_are_found(said):
    assert fault("///", said)


@pytest.mark.parametrize(
    "said",
    ["Smallest relative gain that counts.", "out[i] = in[i], rounded.", "residual -> gate, up", "By default, none."],
)
def test_sentences_and_formulas_pass(said):
    assert fault("///", said) is None

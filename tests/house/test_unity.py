"""A name of an anonymous namespace is one file's alone, but unity builds make one file of several: within a target none is
declared twice, and none is called from another file, so that no build depends on which files share a batch."""

import pathlib
import re

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("sim", "planner", "engine", "profiler", "cli", "python", "tests")

TARGET = re.compile(r"\b(?:add_library|add_executable|target_sources)\s*\(\s*(\w+)([^()]*)\)")
QUOTED_OR_COMMENT = re.compile(
    r'R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.DOTALL
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
NAMESPACE = re.compile(r"\bnamespace(?:\s+([\w:]+))?\s*$")
TYPE = re.compile(r"^(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[.*?\]\]\s*)?(\w+)")
ATTRIBUTES = re.compile(r"\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\)|\balignas\s*\([^)]*\)")
TEMPLATE = re.compile(r"^template\s*<")


def plain(text):
    """Without comments, texts and preprocessor lines; a digit group's ' is none."""
    text = re.sub(r"(?<=\d)'(?=\d)", "", text)
    text = QUOTED_OR_COMMENT.sub(lambda found: " " if found[0].startswith(("//", "/*")) else '""', text)
    return DIRECTIVE.sub("", text)


def closing(text, at, opens="{", closes="}"):
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == opens) - (text[i] == closes)
        if depth == 0:
            return i
    return len(text)


def initialises(before):
    """Whether a brace behind this text belongs to a value that a variable is given."""
    outside, at = "", 0
    while at < len(before):
        if before[at] == "(":
            at = closing(before, at, "(", ")")
        else:
            outside += before[at]
        at += 1
    return "operator" not in outside and re.search(r"(?<![=<>!])=(?!=)", re.sub(r"<[^<>;]*>", "", outside)) is not None


def declarations(text, path=()):
    """(namespaces around, declaration without its body) of everything in anonymous namespaces. The namespaces are those that
    have names; what an anonymous one holds is theirs."""
    begin = at = 0
    while at < len(text):
        if text[at] == "(":
            at = closing(text, at, "(", ")")
        elif text[at] == "{":
            end, before = closing(text, at), text[begin:at]
            space = NAMESPACE.search(before)
            if space:
                yield from declarations(text[at + 1 : end], (*path, space[1] or ""))
                begin = end + 1
            elif "" in path and not initialises(before) and (re.search(r"[)\w>]\s*$", before) or "operator" in before):
                yield tuple(name for name in path if name), before.strip()
                # A type may declare a variable behind its body; a variable in braces ends at its semicolon.
                rest = text[end + 1 :].lstrip()
                begin = end + 2 + len(text[end + 1 :]) - len(rest) if rest.startswith(";") else end + 1
            at = end
        elif text[at] == ";":
            if "" in path:
                yield tuple(name for name in path if name), text[begin:at].strip()
            begin = at + 1
        at += 1


def without_template(declaration):
    while TEMPLATE.match(declaration):
        declaration = declaration[closing(declaration, declaration.index("<"), "<", ">") + 1 :].lstrip()
        declaration = re.sub(r"^requires\b[^{;]*?(?=\b(?:auto|void|bool|struct|class)\b)", "", declaration)
    return declaration


def parameters(text):
    """Their types: equal ones make two functions one."""
    parts, depth, part = [], 0, ""
    for letter in text:
        depth += (letter in "<({[") - (letter in ">)}]")
        if letter == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    kept = []
    for part in [*parts, part]:
        words = re.findall(r"\w+(?:::\w+)*|\S", part.split("=")[0])
        kinds = {"const", "unsigned", "long", "struct", "auto"}
        if len(words) > 1 and re.fullmatch(r"\w+", words[-1]) and not set(words[:-1]) <= kinds - {"unsigned", "long", "auto"}:
            words.pop()
        kept.append(" ".join(words))
    return ", ".join(kept)


def names(text):
    """What a file declares in anonymous namespaces, each so that equal ones cannot stand in one file."""
    for path, declaration in declarations(plain(text)):
        declaration = ATTRIBUTES.sub("", re.sub(r"\s+", " ", declaration)).strip()
        template = TEMPLATE.match(declaration)
        declaration = without_template(declaration)
        if not declaration or declaration.startswith(("using ", "static_assert", "friend ", "extern ", "typedef ")):
            continue  # The same alias may be declared again.
        where = "::".join(path)
        kind = TYPE.match(declaration)
        if kind and "(" not in declaration[: kind.end() + 1]:
            if "<" not in declaration[kind.end() : kind.end() + 2]:  # A specialisation is no new name.
                yield f"{where}::{kind[1]}"
            continue
        head = declaration.split("=")[0] if "operator" not in declaration else declaration
        called = re.search(r"(operator\s*[^\s\w(]+|\w+)\s*\(", head)
        if called and not re.match(r"^(?:static |inline )*constexpr? [^(]*=", declaration):
            end = closing(head, called.end() - 1, "(", ")")
            generic = " of a template" if template else ""
            yield f"{where}::{called[1]}({parameters(head[called.end() : end])}){generic}"
            continue
        variable = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:\{.*)?$", head.strip())
        if variable:
            yield f"{where}::{variable[1]}"


def clashes(sources):
    """Lines that name what two of the sources, texts by path, declare in anonymous namespaces."""
    first, found = {}, []
    for path, text in sources.items():
        for name in dict.fromkeys(names(text)):
            if name in first:
                found.append(f"{name}: {first[name]} and {path}")
            first.setdefault(name, path)
    return found


CALL = re.compile(r"(?<![\w.:>~])(\w+)\s*\(")
KEYWORDS = "return|else|throw|co_return|case|do|new|delete|and|or|not|sizeof"


def declares(text, name):
    """Whether a file without comments declares a name anywhere: behind a type, or as what is captured or structured."""
    return re.search(rf"(?<!\w)(?!(?:{KEYWORDS})\b)[\w:]+(?:<[^;{{}}]*>)?[\s&*]+{name}\s*[({{=;,:)\[]|[\[,&]\s*{name}\s*[,\]=]", text) is not None


def borrowed(sources, headers=""):
    """Lines that name a function which one source calls and only another's anonymous namespace declares."""
    texts = {path: plain(text) for path, text in sources.items()}
    owners = {}
    for path, text in sources.items():
        for name in names(text):
            function = re.search(r"::(\w+)\(", name)
            if function and not function[1].isupper():  # Tests' macros.
                owners.setdefault(function[1], path)
    known = set(re.findall(r"\w+", headers))
    found = []
    for path, text in texts.items():
        for name in dict.fromkeys(CALL.findall(text)):
            if name in owners and name not in known and not declares(text, name):
                found.append(f"{path} calls {name} of {owners[name]}")
    return found


def targets():
    """Source files by target, but those of CUDA, whose build has no batches. A foreach's ${variable}.cpp stands for every file of
    its folder."""
    found = {}
    for lists in sorted(path for folder in FOLDERS for path in (REPOSITORY / folder).rglob("CMakeLists.txt")):
        text = re.sub(r"#[^\n]*", "", lists.read_text())
        text = re.sub(r"^if\(SLUICE_CUDA\)$.*?(?=^(?:else|endif)\()", "", text, flags=re.MULTILINE | re.DOTALL)
        sets = dict(re.findall(r"\bset\s*\(\s*(\w+)\s([^()]*)\)", text))
        for target, words in TARGET.findall(text):
            words = re.sub(r"\$\{(\w+)\}(?!\.)", lambda found: sets.get(found[1], found[0]), words)
            for word in words.split():
                if not word.endswith(".cpp"):
                    continue
                pattern = re.sub(r"\$\{\w+\}", "*", word.removeprefix("${CMAKE_CURRENT_SOURCE_DIR}/"))
                found.setdefault(target, set()).update(lists.parent.glob(pattern))
    return {target: sorted(files) for target, files in found.items()}


TARGETS = targets()


def test_the_targets_are_found():
    count = {target: len(files) for target, files in TARGETS.items()}
    assert count["sluice_planner"] > 100 and count["sluice_engine"] > 40 and count["sluice"] > 30, count
    assert count["planner_tests"] > 40 and count["engine_tests"] > 20, count
    assert sum("".join(names(path.read_text())) != "" for path in TARGETS["sluice_planner"]) > 50


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_no_name_is_declared_in_anonymous_namespaces_of_two_files(target):
    found = clashes({str(path.relative_to(REPOSITORY)): path.read_text() for path in TARGETS[target]})
    assert not found, "\n".join(found)


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_no_file_calls_what_only_another_declares_for_itself(target):
    headers = "".join(plain(path.read_text()) for folder in FOLDERS for path in (REPOSITORY / folder).rglob("*.hpp"))
    found = borrowed({str(path.relative_to(REPOSITORY)): path.read_text() for path in TARGETS[target]}, headers)
    assert not found, "\n".join(found)


ONE = """
namespace a::b {
namespace {  // a comment; with { braces
struct Row { int x; };
constexpr std::int64_t kLarge = std::int64_t{1} << 20;
constexpr int kMost = 3, *none = nullptr;
constexpr std::array kNames = {"x{", "y"};
std::string text_of(const Row& row, std::vector<int> more = {1, 2}) { return "}"; }
template <class T>
T twice(T value) { return value + value; }
using Json = int;
}  // namespace
int seen_by_all(int x) { const int kMost = x; return kMost; }
}
"""


@pytest.mark.parametrize(
    "other, clash",
    [
        ("struct Row;", "a::b::Row"),
        ("enum class Row { x };", "a::b::Row"),
        ("constexpr auto kMore = std::int64_t{3} << 20;", None),
        ("const auto kLarge = 1;", "a::b::kLarge"),
        ("int kNames() { return 1; }", None),  # Another kind of the same name is the compiler's to find.
        ("const char* kNames[] = {};", "a::b::kNames"),
        ("std::string text_of(const Row& other, std::vector<int> rest);", "a::b::text_of"),
        ("std::string text_of(const Row& row) { return {}; }", None),
        ("template <class U> U twice(U value) { return value; }", None),  # Its parameter has another name.
        ("template <class T> T twice(T other) { return other; }", "a::b::twice"),
        ("using Json = int;", None),
        ("int seen_by_all(int x);", None),
        ("int local() { struct Row {}; constexpr int kNames = 1; return kNames; }", None),
    ],
)
def test_equal_names_are_found_and_others_are_not(other, clash):
    found = clashes({"one.cpp": ONE, "two.cpp": "namespace a::b {\nnamespace {\n" + other + "\n}\n}\n"})
    assert len(found) == (clash is not None), found
    assert clash is None or (found[0].startswith(clash) and found[0].endswith(": one.cpp and two.cpp"))


def test_of_another_namespace_names_may_be_equal():
    assert clashes({"one.cpp": ONE, "two.cpp": ONE}) != []
    assert clashes({"one.cpp": ONE, "two.cpp": ONE.replace("a::b", "a::c")}) == []


@pytest.mark.parametrize(
    "other, is_borrowed",
    [
        ("int f() { return twice(2); }", True),
        ("int f() { return more.twice(2) + c::twice(2); }", False),
        ("int twice(int value);\nint f() { return twice(2); }", False),
        ("int f() { const auto twice = [](int x) { return x; }; return twice(2); }", False),
        ('int f() { return g("twice(2)"); }  // twice(2)', False),
    ],
)
def test_calls_of_what_another_file_keeps_to_itself_are_found(other, is_borrowed):
    sources = {"one.cpp": ONE, "two.cpp": "namespace a::b {\n" + other + "\n}\n"}
    assert borrowed(sources) == (["two.cpp calls twice of one.cpp"] if is_borrowed else [])
    assert borrowed(sources, "int twice(int value);") == []

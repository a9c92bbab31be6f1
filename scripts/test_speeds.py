"""Proposes tests/speeds.txt from measured times: `python3 scripts/test_speeds.py build/test-results/tests.xml`, after scripts/test on a
quiet machine. Prints the file as it should be, and on stderr what changes. A label is kept where the time is within half as much again of
its band, so that a slower day moves none. `--free 0.5` divides times of a machine that gave half of each core.
"""

import argparse
import fnmatch
import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
REGISTRY = REPOSITORY / "tests" / "speeds.txt"
ORDER = ["quick", "usual", "slow"]
SECONDS = {"case": (2, 30), "file": (5, 60)}  # Most of a quick and of a usual one, as tests/speeds.txt says.
SLACK = 1.5


def band(seconds, kind):
    """The speed that a time alone would get."""
    most = SECONDS[kind]
    return ORDER[sum(seconds > limit for limit in most)]


def speed(seconds, kind, now):
    """The speed of a test that has the speed `now`."""
    fits = {band(seconds / SLACK, kind), band(seconds, kind), band(seconds * SLACK, kind)}
    return now if now in fits else band(seconds, kind)


def registry_name(case, command):
    """How tests/speeds.txt names a ctest case: a Python file, a program and its case, or a ctest name."""
    if case.startswith("pytest."):
        _, folder, stem = case.split(".")
        return (f"{folder}/{stem}.py",)
    chosen = [word for word in command if word.startswith("--gtest_filter=")]
    if chosen and "*" not in chosen[0]:
        return (pathlib.PurePath(command[0]).name, chosen[0].removeprefix("--gtest_filter="))
    return (case,)


def registered(lines):
    return [line.split() for line in lines if line.strip() and not line.startswith("#")]


def current(name, entries):
    for entry in entries:
        if entry[1] == name[0] and (len(name) == 1 or (len(entry) > 2 and fnmatch.fnmatchcase(name[1], entry[2]))):
            return entry[0]
    return "quick"


def times(path, free):
    """Seconds of each case that ran, by its ctest name."""
    found = {}
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        if case.get("status") in ("run", "pass", "passed", None) and case.find("skipped") is None:
            found[case.get("name")] = float(case.get("time")) * free
    return found


def proposed(measured, commands, entries):
    """Entries of the registry by what was measured; tests that did not run keep theirs."""
    kept, changes = {}, []
    names = {case: registry_name(case, commands[case]) for case in measured if case in commands}
    for case, name in names.items():
        now = current(name, entries)
        after = speed(measured[case], "file" if name[0].endswith(".py") else "case", now)
        if after != now:
            changes.append(f"{' '.join(name)}: {measured[case]:.1f} s, {now} -> {after}")
        if after != "quick":
            kept[name] = after
    ran = set(names.values())
    for entry in entries:
        name = tuple(entry[1:])
        fitting = [each for each in ran if each[0] == name[0] and (len(name) == 1 or fnmatch.fnmatchcase(each[1], name[1]))]
        if not fitting:
            kept[name] = entry[0]
        elif all(kept.get(each) == entry[0] for each in fitting):  # One pattern stays where all that it fits agree.
            for each in fitting:
                kept.pop(each)
            kept[name] = entry[0]
    return kept, changes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("junit", type=pathlib.Path, help="what ctest wrote by --output-junit")
    parser.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build")
    parser.add_argument("--free", type=float, default=1.0, help="the share of a core that a test had")
    options = parser.parse_args()
    listed = subprocess.run(["ctest", "--test-dir", options.build, "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
    commands = {test["name"]: test["command"] for test in json.loads(listed)["tests"] if "command" in test}
    lines = REGISTRY.read_text().splitlines()
    kept, changes = proposed(times(options.junit, options.free), commands, registered(lines))
    print("\n".join(line for line in lines if line.startswith("#")))
    for name, label in sorted(kept.items(), key=lambda entry: (entry[0][0].endswith(".py"), entry[0])):
        print(f"{label:<6} {' '.join(name)}")
    print("\n".join(changes) or "nothing changes", file=sys.stderr)


if __name__ == "__main__":
    main()

"""Adds up test results: a folder of ctest's JUnit files and lines of `checks`, then folders of pytest's.

A ctest case `pytest.*` stands for a whole file of cases; where pytest left that file's results, its
cases are counted instead. Prints the skipped cases with their reasons, then the failed ones with the
end of what they said, so that the end of a long log tells them, and as its last line
`N passed, N failed, N skipped`. Exit 1 where anything failed or nothing passed.
"""

import collections
import pathlib
import sys
import xml.etree.ElementTree


def reason(case, skipped):
    """pytest says why in the tag; GoogleTest in its output, on the line after `FILE:LINE: Skipped`."""
    output = (case.findtext("system-out") or "").splitlines()
    for said, why in zip(output, output[1:]):
        if said.endswith(": Skipped"):
            return why.strip()
    return (skipped.get("message", "") if skipped is not None else "").strip()


def complaint(case):
    """The end of what a failed case said, line by line."""
    said = [case.findtext(tag) or "" for tag in ("failure", "error", "system-out")]
    return "\n".join(filter(None, said)).rstrip().splitlines()[-20:]


def cases(path):
    """(name, outcome, lines) of each case of a JUnit file: why it was skipped, or how it failed."""
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name = case.get("name").split("  # GetParam")[0]
        skipped = case.find("skipped")
        if case.get("status") in ("fail", "failed") or any(
            case.find(tag) is not None for tag in ("failure", "error")
        ):
            yield name, "failed", complaint(case)
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            yield name, "skipped", [reason(case, skipped)]
        else:
            yield name, "passed", []


def main(folder, pytest_folders):
    counts = collections.Counter()
    reported = collections.defaultdict(list)
    by_pytest = [path for parent in pytest_folders for path in sorted(parent.glob("*.xml"))]
    checks = folder / "checks"
    for line in checks.read_text().splitlines() if checks.exists() else []:
        outcome, name = line.split(" ", 1)
        counts[outcome] += 1
        if outcome != "passed":
            reported[outcome].append(f"{outcome}: {name}")
    by_case = {path.stem: {outcome for _, outcome, _ in cases(path)} for path in by_pytest}
    for path in sorted(folder.glob("*.xml")) + by_pytest:
        for name, outcome, lines in cases(path):
            # A file that failed without a failed case crashed: that counts by itself.
            if name in by_case and (outcome != "failed" or "failed" in by_case[name]):
                continue
            counts[outcome] += 1
            if outcome != "passed":
                reported[outcome].append(f"{outcome}: {path.stem}: {name}")
                if outcome == "skipped":
                    reported[outcome][-1] += f" ({lines[0]})" if lines[0] else ""
                else:
                    reported[outcome] += ["    " + line for line in lines]
    for line in reported["skipped"] + reported["failed"]:
        print(line)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    first, *rest = map(pathlib.Path, sys.argv[1:])
    sys.exit(main(first, rest))

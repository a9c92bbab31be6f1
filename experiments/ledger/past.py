"""Reads the ledgers of earlier results, whose files only git's history has."""

import csv
import subprocess

import ledgers


def git(*words):
    return subprocess.run(["git", *words], cwd=ledgers.REPOSITORY, capture_output=True, text=True, check=True).stdout


def past():
    """Promises of every ledger in the commits of experiments/results/history/folders.tsv, each once."""
    found = {}
    with open(ledgers.RESULTS / "history" / "folders.tsv") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        root = f"experiments/results/{row['name']}"
        files = git("ls-tree", "-r", "--name-only", row["commit"], root).split("\n")
        for path in files:
            if not path.endswith("ledger.jsonl"):
                continue
            folder = path.rsplit("/", 1)[0] + "/"
            beside = [
                other for other in files
                if other.startswith((folder + "study.json", folder + "cells/"))
                or other.startswith(folder) and other.endswith("output") and "/" not in other.removeprefix(folder)
            ]  # fmt: skip
            texts = [(other[len(folder):], git("show", f"{row['commit']}:{other}")) for other in beside]
            ledger = ledgers.name_of(path.removeprefix("experiments/results/"))
            for one in ledgers.read(git("show", f"{row['commit']}:{path}"), ledger, texts):
                found.setdefault(one.line, one)
    return list(found.values())

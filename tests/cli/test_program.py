"""The program itself: help, version, unknown verbs and options, and a stdout that cannot be written."""

import os
import re

import pytest
from conftest import available_verbs

VERBS = ["sim", "doctor", "probe", "machines", "models", "predict", "plan", "buy", "init", "data", "train", "cost", "fit",
         "autotune", "ablate", "trace", "export", "eval", "generate", "serve", "completion"]


def test_every_verb_is_in_the_help():
    assert available_verbs() == set(VERBS)


def test_version_is_one_line_with_the_commit(run_sluice):
    assert re.fullmatch(r"sluice \d+\.\d+\.\d+ \(\w+\+?\)\n", run_sluice("--version").out)


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_says_what_it_takes(run_sluice, verb):
    run = run_sluice(verb, "--help")
    assert verb in run.out and len(run.out.splitlines()) > 1 and run.err == ""


def test_help_of_a_verb_is_asked_for_either_way(run_sluice, refuses):
    assert run_sluice("help", "export").out == run_sluice("export", "--help").out
    refuses(["help", "exprot"], '"exprot"', '"export"')


def test_no_verb_is_refused(refuses):
    refuses([], "verb", "--help")


def test_an_unknown_verb_names_the_nearest(refuses):
    refuses(["pedict"], '"pedict"', '"predict"')


@pytest.mark.parametrize("verb", VERBS)
def test_an_unknown_option_is_refused_by_name(refuses, verb):
    refuses([verb, "--no-such-option"], "--no-such-option")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("words", [["--help"], ["models"], ["machines"], ["models", "--json"]])
def test_a_full_disk_on_stdout_is_an_error_of_the_environment(refuses, words):
    with open("/dev/full", "w") as full:
        refuses(words, "standard output", exit_code=4, stdout=full)

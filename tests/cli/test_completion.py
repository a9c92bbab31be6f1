"""Completions and the manual page say what `--help` says: bash completes with them, zsh and fish read them, man shows them."""

import os
import re
import shutil
import subprocess

import pytest

from conftest import available_verbs, program


@pytest.fixture
def written(run_sluice, tmp_path):
    def write(kind):
        path = tmp_path / f"sluice.{kind}"
        path.write_text(run_sluice("completion", kind).out)
        return path

    return write


@pytest.fixture
def completed(written):
    """What bash offers where the last word is being typed."""
    script = written("bash")

    def complete(*words):
        text = 'source "$1"; shift; COMP_WORDS=(sluice "$@"); COMP_CWORD=$#; _sluice; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "--norc", "-c", text, "_", script, *words], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout.split()

    return complete


def test_bash_completes_verbs(completed):
    assert set(completed("")) == available_verbs() | {"--help", "--version"}
    assert completed("pred") == ["predict"]


def test_bash_completes_options_of_the_verb(completed, run_sluice):
    for verb in sorted(available_verbs()):
        stated = set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", run_sluice(verb, "--help").out, re.MULTILINE))
        assert stated <= set(completed(verb, "--")), verb
    assert completed("predict", "--seq") == ["--seq-len"]
    assert completed("models", "--seq") == []


def test_bash_completes_names_of_the_catalogue(completed):
    assert completed("predict", "--machine", "rtx-50") == ["rtx-5000-ada", "rtx-5060-ti", "rtx-5070-ti", "rtx-5080", "rtx-5090"]
    assert "qwen3-8b" in completed("predict", "--model", "qwen3")
    assert completed("predict", "--residency", "") == ["auto", "host"]
    assert "h200" in completed("machines", "h2")


def test_bash_leaves_files_to_itself(completed):
    """No word of the verb stands where the option before takes a file: bash's default, names of files, holds then."""
    assert completed("machines", "--kernels", "") != ["parts"]
    assert completed("predict", "--out", "") == []
    assert completed("predict", "--out", "--") == []


def test_an_unknown_kind_is_refused(refuses):
    refuses(["completion", "tcsh"], "tcsh", "bash, zsh, fish or man")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_theirs(shell, written):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n", written(shell)], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_fish_completes_with_its_script(written):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    done = subprocess.run(["fish", "--no-config", "-c", f"source {written('fish')}; complete -C 'sluice predict --resid'"],
                          capture_output=True, text=True, env={**os.environ, "HOME": str(written("fish").parent)})  # fmt: skip
    assert done.stdout.startswith("--residency"), done.stdout + done.stderr


def test_the_manual_page_names_every_verb_and_is_well_formed(written):
    page = written("man")
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-P-cbou", page], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    for verb in available_verbs():
        assert re.search(rf"^sluice {verb}$", done.stdout, re.MULTILINE | re.IGNORECASE), verb
    assert "--seq-len N" in done.stdout and "~/.local/share/sluice" in done.stdout


def test_an_installed_tree_has_program_completions_and_page(tmp_path):
    build = os.environ.get("SLUICE_BUILD")
    if not build or not os.path.samefile(program(), os.path.join(build, "bin", "sluice")):
        pytest.skip("SLUICE_BUILD is not the build folder of the program")
    done = subprocess.run(["cmake", "--install", build, "--component", "program", "--prefix", tmp_path / "usr"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    files = {str(path.relative_to(tmp_path / "usr")) for path in (tmp_path / "usr").rglob("*") if path.is_file()}
    assert files == {"bin/sluice", "share/bash-completion/completions/sluice", "share/zsh/site-functions/_sluice",
                     "share/fish/vendor_completions.d/sluice.fish", "share/man/man1/sluice.1"}  # fmt: skip
    moved = (tmp_path / "usr").rename(tmp_path / "elsewhere")
    assert subprocess.run([moved / "bin" / "sluice", "--version"], capture_output=True, text=True).stdout.startswith("sluice ")

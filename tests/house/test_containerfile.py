"""The Containerfile, carried out line by line in Debian roots: it builds, and its image answers as podman would run it."""

import os
import pathlib
import shutil
import subprocess

import pytest
from container_stages import Builder, Image, instructions, stages

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TEXT = (REPOSITORY / "Containerfile").read_text()
ROOT = shutil.which("debootstrap") is not None and os.geteuid() == 0


def test_its_stages_are_those_that_its_first_lines_name():
    found = stages(TEXT)
    assert list(found) == ["build", "base", "cuda", "cpu"]
    assert [rows[0][1] for rows in found.values()] == ["debian:bookworm", "debian:bookworm-slim", "base", "base"]


def test_an_instruction_that_is_not_carried_out_fails():
    with pytest.raises(AssertionError, match="ADD"):
        instructions("FROM debian:bookworm\nADD a b\n")


@pytest.mark.skipif(not ROOT, reason="debootstrap and root make the Debian")
def test_a_line_that_fails_stops_the_build(tmp_path):
    """In this computer's own root, which the line only reads."""
    builder = Builder("FROM debian:bookworm AS a\nRUN test -e /no/such/file\n", tmp_path, tmp_path)
    builder.base = lambda name, root: Image("/")
    with pytest.raises(AssertionError, match="RUN test -e"):
        builder.stage("a")


@pytest.mark.slow
@pytest.mark.skipif(not ROOT, reason="debootstrap and root make the Debian")
def test_the_image_without_cuda_is_built_and_answers(tmp_path):
    """From a clean clone, as its first lines have it; it compiles the program."""
    subprocess.run(["git", "clone", "--quiet", REPOSITORY, tmp_path / "clone"], check=True)
    image = Builder(TEXT, tmp_path / "clone", tmp_path, passed=["PIP_CERT", "PIP_INDEX_URL", "http_proxy", "https_proxy"]).stage("cpu")
    assert shutil.which("gcc", path=str(image.root / "usr" / "bin")) is None
    said = image.start("predict", "--model", "qwen2.5-7b", "--machine", "h200", "--seq-len", "1024", "--batch-size", "32")
    assert said.returncode == 0 and "throughput" in said.stdout, said.stderr
    (image.root / "data" / "text.txt").write_text("the fox jumps over the dog. " * 200)
    words = ("--model", "bytes-2m", "--data", "text.txt", "--seq-len", "32", "--batch-size", "2", "--steps", "2", "--backend", "host")
    trained = image.start("train", *words, "--out", "run")
    assert trained.returncode == 0, trained.stderr
    assert (image.root / "data" / "run" / "metrics.jsonl").is_file()

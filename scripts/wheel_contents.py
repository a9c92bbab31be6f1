"""Completes a wheel that pip has built, before auditwheel puts shared libraries into it.

    wheel_contents.py cpu|cuda whole|program WHEEL BUILD FOLDER

BUILD is the folder with the program and the module that the wheel holds; the wheel is written anew into FOLDER. The licences of the
libraries are added, as this Debian system's packages state them. A wheel with CUDA has a name of its own, and depends on NVIDIA's
libraries, which the program opens when it first uses them. One of the program alone serves every Python.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from library_licences import write_licences

CUDA_NAME = "-cu13"
CUDA_NEEDS = [
    "nvidia-cublas>=13,<14",
    "nvidia-cudnn-cu13>=9.10,<10",
    "nvidia-nccl-cu13>=2.28,<3",
    "nvidia-cuda-nvrtc>=13,<14",
    "nvidia-cuda-cupti>=13,<14",
]
#: What the module needs and the program does not.
MODULE_NEEDS = ("numpy", "pandas")


def restate(info, kind, part):
    """States in the folder `info` what the wheel is called and needs, and which Pythons it serves; returns the folder, renamed."""
    metadata = info / "METADATA"
    head, _, description = metadata.read_text().partition("\n\n")
    lines = head.splitlines()
    if part == "program":
        lines = [line for line in lines if not line.startswith(tuple(f"Requires-Dist: {need}" for need in MODULE_NEEDS))]
        tags = info / "WHEEL"
        tags.write_text("".join(
            f"Tag: py3-none-{line.rsplit('-', 1)[1]}\n" if line.startswith("Tag: ") else f"{line}\n" for line in tags.read_text().splitlines()
        ))  # fmt: skip
    if kind == "cuda":
        lines = [line + CUDA_NAME if line.startswith("Name: ") else line for line in lines]
        lines += [f"Requires-Dist: {need}" for need in CUDA_NEEDS]
        name, _, version = info.name.partition("-")
        info = info.rename(info.with_name(name + CUDA_NAME.replace("-", "_") + "-" + version))
    (info / "METADATA").write_text("\n".join(lines) + "\n\n" + description)
    return info


def main():
    kind, part, wheel, build, to = sys.argv[1:]
    with tempfile.TemporaryDirectory() as unpacked:
        subprocess.run([sys.executable, "-m", "wheel", "unpack", wheel, "-d", unpacked], check=True, stdout=sys.stderr)
        (root,) = pathlib.Path(unpacked).iterdir()
        (info,) = root.glob("*.dist-info")
        files = [f"{build}/bin/sluice"]
        if part == "program":
            shutil.rmtree(root / "sluice")
        else:
            files += pathlib.Path(build, "python", "sluice").glob("_*.so")
        write_licences(files, restate(info, kind, part) / "licenses" / "libraries")
        subprocess.run([sys.executable, "-m", "wheel", "pack", root, "-d", to], check=True, stdout=sys.stderr)


if __name__ == "__main__":
    main()

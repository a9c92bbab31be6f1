"""Completes a wheel that pip has built, before auditwheel puts shared libraries into it.

    wheel_contents.py cpu|cuda WHEEL BUILD FOLDER

BUILD is the folder with the program and the module that the wheel holds; the wheel is written anew into FOLDER. The licences of the
libraries are added, as this Debian system's packages state them. A wheel with CUDA depends on NVIDIA's libraries, which the program
opens when it first uses them, and its version says so.
"""

import pathlib
import subprocess
import sys
import tempfile

from library_licences import write_licences

CUDA_VERSION = "+cu13"
CUDA_NEEDS = [
    "nvidia-cublas>=13,<14",
    "nvidia-cudnn-cu13>=9.10,<10",
    "nvidia-nccl-cu13>=2.28,<3",
    "nvidia-cuda-nvrtc>=13,<14",
    "nvidia-cuda-cupti>=13,<14",
]


def need_cuda(info):
    """States in the folder `info` what a wheel with CUDA needs, and its version."""
    metadata = info / "METADATA"
    lines = []
    head, _, description = metadata.read_text().partition("\n\n")
    for line in head.splitlines():
        lines.append(line + CUDA_VERSION if line.startswith("Version: ") else line)
    lines += [f"Requires-Dist: {need}" for need in CUDA_NEEDS]
    metadata.write_text("\n".join(lines) + "\n\n" + description)
    info.rename(info.with_name(info.name.replace(".dist-info", CUDA_VERSION + ".dist-info")))


def main():
    kind, wheel, build, to = sys.argv[1:]
    with tempfile.TemporaryDirectory() as unpacked:
        subprocess.run([sys.executable, "-m", "wheel", "unpack", wheel, "-d", unpacked], check=True, stdout=sys.stderr)
        (root,) = pathlib.Path(unpacked).iterdir()
        (info,) = root.glob("*.dist-info")
        files = [f"{build}/bin/sluice", *pathlib.Path(build, "python", "sluice").glob("_*.so")]
        write_licences(files, info / "licenses" / "libraries")
        if kind == "cuda":
            need_cuda(info)
        subprocess.run([sys.executable, "-m", "wheel", "pack", root, "-d", to], check=True, stdout=sys.stderr)


if __name__ == "__main__":
    main()

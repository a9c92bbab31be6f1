"""Runs reference_run (experiments/transformers/reference_run.cpp): the engine on given weights and tokens."""

import json
import pathlib
import subprocess

import numpy
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


class RunError(Exception):
    """reference_run refused or failed; the message is its own line."""


def machine_of(device):
    """The catalogue's name of the GPU, for its capacities; `here` for the CPU."""
    if torch.device(device).type != "cuda":
        return "here"
    name = torch.cuda.get_device_name()
    for part, machine in (("H200", "h200"), ("H100", "h100-sxm")):
        if part in name:
            return machine
    raise RunError(f"--machine: name the catalogue's machine for {name} (`sluice machines`)")


def write_job(folder, config, weights, tokens, targets, run):
    """Everything that reference_run reads. `run` holds the keys of run.yaml beside the model."""
    folder = pathlib.Path(folder).resolve()
    (folder / "weights").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    for name, value in weights.items():
        value.detach().float().cpu().contiguous().numpy().astype("<f4").tofile(
            folder / "weights" / f"{name}.f32"
        )
    for name, value in (("tokens", tokens), ("targets", targets)):
        value.contiguous().numpy().astype("<i4").tofile(folder / f"{name}.i32")
    # JSON is YAML; strings of ours need no other quoting.
    (folder / "run.yaml").write_text(
        json.dumps({"model": str(folder / "config.json"), **run}, indent=1) + "\n"
    )


def run(tool, folder, *, gradients=False):
    """Runs the job of `folder` and returns losses.json: a list of {step, loss, grad_norm, lr}."""
    command = [str(tool), str(folder)] + (["--gradients"] if gradients else [])
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise RunError(f"{tool}: {error.strerror}; build the target reference_run") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"{tool} ended with {done.returncode}"]
        raise RunError(lines[-1])
    return json.loads((pathlib.Path(folder) / "losses.json").read_text())


def gradient(folder, name, shape):
    """One gradient that `run` wrote, fp32."""
    path = pathlib.Path(folder) / "gradients" / f"{name}.f32"
    return torch.from_numpy(numpy.fromfile(path, dtype="<f4").reshape(tuple(shape)))

#!/usr/bin/env python3
"""Draws what master_study wrote: plot.py FOLDER [-o figure.svg]. Needs Matplotlib.

Left: loss on text that is not trained on, over the steps. Right: share of AdamW's updates that leave the stored master as it was.
"""

import argparse
import csv
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  The backend comes first.

COLOURS = {"fp32": "#0072b2", "bf16": "#d55e00"}  # Okabe and Ito: told apart without colour vision too.


def columns(file, masters, *names):
    rows = [row for row in csv.DictReader(file.open()) if row["masters"] == masters]
    return [[float(row[name]) for row in rows] for name in names]


def draw(folder, out):
    plt.rcParams.update({"font.size": 8, "svg.hashsalt": "sluice", "axes.spines.top": False, "axes.spines.right": False})
    figure, (loss, share) = plt.subplots(1, 2, figsize=(6.6, 2.5), layout="constrained")
    for masters, colour in COLOURS.items():
        steps, losses = columns(folder / "validation.csv", masters, "step", "loss")
        loss.plot(steps, losses, marker="o", markersize=3, color=colour, label=f"masters in {masters}")
        steps, moved, vanished = columns(folder / "steps.csv", masters, "step", "moved", "vanished")
        share.plot(steps, [100 * v / m for v, m in zip(vanished, moved)], color=colour, linewidth=1)
    loss.set(xlabel="step", ylabel="validation loss (nats a token)")
    loss.legend(frameon=False)
    share.set(xlabel="step", ylabel="updates that vanish (%)", ylim=(0, 100))
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("-o", "--out", type=pathlib.Path)
    words = parser.parse_args()
    draw(words.folder, words.out or words.folder / "figure.svg")

"""Advice on builds against predictions of every build of a small catalogue drawn by a seed (README.md)."""

import argparse
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import yaml

PRICES = pathlib.Path(__file__).parent.parent / "buy_advice/prices.yaml"
QUESTIONS = [
    ("qwen3-8b", 4096, 32, 6_000),
    ("qwen3-32b", 4096, 32, 15_000),
    ("qwen2.5-14b", 2048, 16, 8_000),
    ("llama-3.1-70b", 4096, 32, 15_000),
]
MOST_BUILDS = 60
TOLERANCE = 0.02


def output(command):
    """The command's standard output; None where nothing fits (exit code 3) or it refuses the parts (2)."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode in (2, 3):
        return None
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def sizes_of(cpu):
    """Sizes in GiB of the modules that the CPU's board takes."""
    return [size >> 30 for size in cpu["module_bytes"]]


def drawn_parts(parts, priced, rng):
    """Names of priced parts of one drawn catalogue: cards, boards, modules and a drive."""
    gpus = rng.sample(sorted(p["name"] for p in parts["gpus"] if f"gpu {p['name']}" in priced), 3)
    cpus = rng.sample(sorted((p for p in parts["cpus"] if f"cpu {p['name']}" in priced), key=lambda p: p["name"]), 2)
    names = [f"gpu {name}" for name in gpus] + [f"cpu {cpu['name']}" for cpu in cpus] + ["ssd gen4"]
    for cpu in cpus:
        kind = f"{cpu['memory']}-{cpu['transfers_per_s'][0] // 10**6}"
        modules = sorted(f"{size} GiB {kind}" for size in sizes_of(cpu) if f"{size} GiB {kind}" in priced)
        names += rng.sample(modules, min(3, len(modules)))
    return sorted(set(names)), gpus, cpus


def builds_of(sluice, names, gpus, cpus, priced):
    """Every build of the drawn parts that goes together, with its price."""
    builds = []
    for gpu, cpu in itertools.product(gpus, cpus):
        for count, size in itertools.product(cpu["modules"], sizes_of(cpu)):
            module = f"{size} GiB {cpu['memory']}-{cpu['transfers_per_s'][0] // 10**6}"
            if module not in names:
                continue
            flags = ["--gpu", gpu, "--cpu", cpu["name"], "--ram", f"{count}x{module}", "--ssd", "1x gen4"]
            if output([sluice, "machines", "show", *flags]) is None:
                continue
            usd = sum(priced[name]["buy_usd"] for name in (f"gpu {gpu}", f"cpu {cpu['name']}", "ssd gen4"))
            builds.append({"flags": flags, "usd": usd + count * priced[module]["buy_usd"]})
    return builds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sluice", default="build/bin/sluice")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--question", type=int, choices=range(len(QUESTIONS)), help="only this one")
    parser.add_argument("--seconds", default="40")
    parser.add_argument("--disk", default="1400GiB", help="what drives lend where memory is short")
    parser.add_argument("--out")
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    parts = json.loads(output([asked.sluice, "machines", "parts", "--json"]))
    priced = yaml.safe_load(PRICES.read_text())["parts"]
    answers, worse = [], False
    for number, (model, seq_len, batch, budget) in enumerate(QUESTIONS):
        while True:
            names, gpus, cpus = drawn_parts(parts, priced, rng)
            builds = builds_of(asked.sluice, names, gpus, cpus, priced)
            if 0 < len(builds) <= MOST_BUILDS:
                break
        if asked.question not in (None, number):
            continue
        job = ["--model", model, "--seq-len", str(seq_len), "--batch-size", str(batch), "--tokens", "50M"]
        with tempfile.TemporaryDirectory() as folder:
            prices = pathlib.Path(folder) / "prices.yaml"
            prices.write_text(json.dumps({"prices": {}, "parts": {name: priced[name] for name in names}}, default=str))
            start = time.monotonic()
            advice = json.loads(output([asked.sluice, "buy", *job, "--prices", str(prices), "--budget", str(budget),
                                        "--seconds", asked.seconds, "--json"]))
            seconds = time.monotonic() - start
        found = [row["step_s"] for row in advice["rows"]
                 if row["kind"] == "build" and row["fits"] and row["buy_usd"] <= budget]
        for build in builds:
            for disk in ([], ["--disk", asked.disk]):
                text = output([asked.sluice, "predict", *job, *build["flags"], *disk, "--json"])
                step = json.loads(text).get("step_s") if text else None
                if step is not None:
                    build |= {"step_s": step, "disk": bool(disk)}
                    break
        every = [build["step_s"] for build in builds if "step_s" in build and build["usd"] <= budget]
        better = min(found) / min(every) - 1 if found and every else (1.0 if every else 0.0)
        worse |= better > TOLERANCE
        answers.append({"model": model, "budget": budget, "builds": len(builds), "fit": len(every),
                        "buy_s": round(seconds, 1), "advised_step_s": min(found, default=None),
                        "best_step_s": min(every, default=None), "better": better})
        print(json.dumps(answers[-1]), flush=True)
    if asked.out:
        pathlib.Path(asked.out).write_text(json.dumps({"seed": asked.seed, "answers": answers}, indent=1) + "\n")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())

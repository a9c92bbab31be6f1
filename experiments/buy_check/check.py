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
QUESTIONS = json.loads((pathlib.Path(__file__).parent / "questions.json").read_text())
TOLERANCE = 0.02


def output(command, refusal=None):
    """The command's standard output; None where nothing fits (exit code 3), or it ends with the code `refusal`."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode in (3, refusal):
        return None
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def sizes_of(cpu):
    """Sizes in GiB of the modules that the CPU's board takes."""
    return [size >> 30 for size in cpu["module_bytes"]]


def kind_of(cpu):
    """Modules of the CPU's board as price files name them, without their size."""
    return f"{cpu['memory']}-{cpu['transfers_per_s'][0] // 10**6}"


def drawn_parts(parts, priced, question, rng):
    """Names of priced parts of one drawn catalogue: cards, boards, modules and a drive."""
    named = question.get("gpus", [])
    gpus = named + rng.sample(sorted(p["name"] for p in parts["gpus"] if f"gpu {p['name']}" in priced and p["name"] not in named),
                              max(0, 3 - len(named)))
    cpus = rng.sample(sorted((p for p in parts["cpus"] if f"cpu {p['name']}" in priced), key=lambda p: p["name"]), 2)
    drive = rng.choice(sorted(name for name in priced if name.startswith("ssd ")))
    names = [f"gpu {name}" for name in gpus] + [f"cpu {cpu['name']}" for cpu in cpus] + [drive]
    for cpu in cpus:
        modules = sorted(f"{size} GiB {kind_of(cpu)}" for size in sizes_of(cpu) if f"{size} GiB {kind_of(cpu)}" in priced)
        names += rng.sample(modules, min(3, len(modules)))
    return sorted(set(names)), gpus, cpus, drive


def builds_of(sluice, drawn, priced):
    """Every build of the drawn parts that goes together, with its price."""
    names, gpus, cpus, drive = drawn
    builds = []
    for gpu, cpu in itertools.product(gpus, cpus):
        for count, size, drives in itertools.product(cpu["modules"], sizes_of(cpu), (1, 2, 4)):
            module = f"{size} GiB {kind_of(cpu)}"
            if module not in names:
                continue
            flags = ["--gpu", gpu, "--cpu", cpu["name"], "--ram", f"{count}x{module}", "--ssd", f"{drives}x {drive.removeprefix('ssd ')}"]
            if output([sluice, "machines", "show", *flags], refusal=2) is None:
                continue
            usd = priced[f"gpu {gpu}"]["buy_usd"] + priced[f"cpu {cpu['name']}"]["buy_usd"]
            usd += drives * priced[drive]["buy_usd"] + count * priced[module]["buy_usd"]
            builds.append({"flags": flags, "usd": usd, "drives": drives})
    return builds


def drawn_catalogue(sluice, parts, priced, question, most, rng):
    """A drawn catalogue of at most `most` builds within 1.2 of the budget, and these builds."""
    while True:
        drawn = drawn_parts(parts, priced, question, rng)
        builds = [b for b in builds_of(sluice, drawn, priced) if b["usd"] <= 1.2 * question["budget"]]
        if 4 < len(builds) <= most:
            return drawn[0], builds


def predict_all(sluice, job, builds, parameters, size, effort):
    """Gives builds their predicted step; drives lend all but the model's folder and two checkpoints where memory is short."""
    in_memory = {}
    for build in builds:
        kit = tuple(build["flags"][:6])
        if kit not in in_memory:
            text = output([sluice, "plan", *job, *build["flags"], "--effort", effort, "--json"])
            in_memory[kit] = json.loads(text)["step_s"] if text else None
        build["step_s"] = in_memory[kit]
        left = build["drives"] * size - 26 * parameters
        if build["step_s"] is None and left > 0:
            disk = ["--disk", f"{left >> 20}MiB"]
            text = output([sluice, "plan", *job, *build["flags"], *disk, "--effort", effort, "--json"])
            build["step_s"] = json.loads(text)["step_s"] if text else None


def compared(question, rows, builds):
    """By how much builds are better than the rows that cost no more: within the budget, and the worst of all."""
    rows = [row for row in rows if row["kind"] == "build" and row["fits"]]
    known = [build for build in builds if build.get("step_s") is not None]
    # The advice leaves out builds beside which another costs at most half again as much and is twice as fast.
    poor = [b for b in known if any(o["usd"] <= min(1.5 * b["usd"], max(b["usd"], question["budget"])) and 2 * o["step_s"] <= b["step_s"] for o in known)]
    worst = {"better": 0.0, "build": None}
    for build in known:
        if build in poor:
            continue
        steps = [row["step_s"] for row in rows if row["buy_usd"] <= build["usd"] * (1 + 1e-9)]
        better = min(steps) / build["step_s"] - 1 if steps else float("inf")
        if better > worst["better"]:
            worst = {"better": better, "build": " ".join(build["flags"][1::2]), "usd": build["usd"]}
    within = [build["step_s"] for build in builds if build.get("step_s") and build["usd"] <= question["budget"]]
    found = [row["step_s"] for row in rows if row["buy_usd"] <= question["budget"]]
    best = min(found) / min(within) - 1 if found and within else (float("inf") if within else 0.0)
    return {"fit": len(within), "poor": len(poor), "advised_step_s": min(found, default=None), "best_step_s": min(within, default=None),
            "better_within_budget": best, "better_for_its_price": worst}


def answered(sluice, question, names, priced, rent, seconds):
    """The advice for a question with the prices of drawn parts, and how long it took."""
    job = ["--model", question["model"], "--seq-len", str(question["seq_len"]), "--batch-size", str(question["batch_size"])]
    with tempfile.TemporaryDirectory() as folder:
        prices = pathlib.Path(folder) / "prices.yaml"
        machines = rent if question.get("cloud") else {}
        prices.write_text(json.dumps({"prices": machines, "parts": {name: priced[name] for name in names}}, default=str))
        start = time.monotonic()
        limits = ["--tokens", question["tokens"], "--budget", str(question["budget"]), *(["--seconds", seconds] if seconds else [])]
        advice = output([sluice, "buy", *job, "--prices", str(prices), *limits, *question.get("flags", []), "--json"])
        return job, json.loads(advice), time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sluice", default="build/bin/sluice")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--question", type=int, action="append", choices=range(len(QUESTIONS)), help="only these")
    parser.add_argument("--builds", type=int, default=60, help="builds of a drawn catalogue at most")
    parser.add_argument("--seconds", help="for each advice; without it the advice depends on no clock")
    parser.add_argument("--effort", default="0.2", help="of the search for each build, as sluice plan has it")
    parser.add_argument("--out")
    asked = parser.parse_args()
    parts = json.loads(output([asked.sluice, "machines", "parts", "--json"]))
    listed = yaml.safe_load(PRICES.read_text())
    answers, worse = [], False
    for number, question in enumerate(QUESTIONS):
        if asked.question and number not in asked.question:
            continue
        rng = random.Random(f"{asked.seed} {number}")
        names, builds = drawn_catalogue(asked.sluice, parts, listed["parts"], question, asked.builds, rng)
        job, advice, seconds = answered(asked.sluice, question, names, listed["parts"], listed["prices"], asked.seconds)
        parameters = json.loads(output([asked.sluice, "models", "show", question["model"], "--json"]))["parameters"]
        size = next(p["size_bytes"] for p in parts["ssds"] if f"ssd {p['name']}" in names)
        predict_all(asked.sluice, job, builds, parameters, size, asked.effort)
        answers.append({"question": number, **question, "drawn": names, "builds": len(builds), "buy_s": round(seconds, 1),
                        "open": advice["builds"]["open"], "verdict": advice["verdict"][0], **compared(question, advice["rows"], builds)})
        bad = max(answers[-1]["better_within_budget"], answers[-1]["better_for_its_price"]["better"])
        worse |= bad > TOLERANCE
        print(json.dumps(answers[-1]), flush=True)
    if asked.out:
        pathlib.Path(asked.out).write_text(json.dumps({"seed": asked.seed, "answers": answers}, indent=1) + "\n")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())

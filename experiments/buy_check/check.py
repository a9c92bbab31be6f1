"""Advice on builds against predictions of every build of a small catalogue drawn by a seed (README.md)."""

import argparse
import concurrent.futures
import itertools
import json
import os
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
COUNTS, GPUS_OF_SOCKET, FEWEST_LANES, SSD_LANES = (1, 2, 4, 8), 4, 8, 4


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
                              max(0, rng.choice((2, 3)) - len(named)))
    cpus = rng.sample(sorted((p for p in parts["cpus"] if f"cpu {p['name']}" in priced), key=lambda p: p["name"]), rng.choice((1, 2)))
    drive = rng.choice(sorted(name for name in priced if name.startswith("ssd ")))
    names = [f"gpu {name}" for name in gpus] + [f"cpu {cpu['name']}" for cpu in cpus] + [drive]
    for cpu in cpus:
        modules = sorted(f"{size} GiB {kind_of(cpu)}" for size in sizes_of(cpu) if f"{size} GiB {kind_of(cpu)}" in priced)
        names += rng.sample(modules, min(rng.choice((1, 2, 3)), len(modules)))
    return sorted(set(names)), gpus, cpus, drive


def builds_within(drawn, priced, budget):
    """Builds of the drawn parts that cost at most 1.2 budgets, whether or not they go together; several GPUs bring one drive."""
    names, gpus, cpus, drive = drawn
    for gpu, cpu, count in itertools.product(gpus, cpus, COUNTS):
        sockets = -(-count // GPUS_OF_SOCKET) if cpu["server"] else 1
        for modules, size, drives in itertools.product(cpu["modules"], sizes_of(cpu), (1, 2, 4) if count == 1 else (1,)):
            module = f"{size} GiB {kind_of(cpu)}"
            lanes = sockets * cpu["lanes"] - SSD_LANES * drives
            if module not in names or (count > 1 and lanes < FEWEST_LANES * count):
                continue
            usd = count * priced[f"gpu {gpu}"]["buy_usd"] + sockets * priced[f"cpu {cpu['name']}"]["buy_usd"]
            usd += drives * priced[drive]["buy_usd"] + sockets * modules * priced[module]["buy_usd"]
            if usd <= 1.2 * budget:
                kit = f"{gpu} + {cpu['name']} + {modules}x{module}"
                yield {"kit": kit if count == 1 else f"{count}x-{kit}", "drives": drives, "devices": count, "usd": usd,
                       "machine": (kit if count == 1 else f"{count}x-{kit}") + f" + {drives}x {drive.removeprefix('ssd ')}"}


def drawn_catalogue(sluice, parts, priced, question, most, rng):
    """A drawn catalogue of a third of `most` to `most` builds within 1.2 of the budget, and these builds."""
    while True:
        drawn = drawn_parts(parts, priced, question, rng)
        builds = list(builds_within(drawn, priced, question["budget"]))
        if not most / 3 < len(builds) <= 2 * most:
            continue
        builds = [b for b in builds if output([sluice, "machines", "show", b["machine"], "--json"], refusal=2) is not None]
        if most / 3 < len(builds) <= most:
            return drawn[0], builds


class KnownSteps:
    """Predicted steps by what was asked, kept as lines of a file where one is given: a later call goes on there."""

    def __init__(self, path):
        self.path = path
        lines = path.read_text().splitlines() if path and path.exists() else []
        self.steps = {key: step for key, step in map(json.loads, lines)}

    def step_of(self, sluice, job, build, effort, disk=None):
        """The build's predicted step by a search of its own; None where nothing fits."""
        asked = [*job, "--machine", build["machine"], "--devices", str(build["devices"]), "--effort", effort]
        asked += ["--disk", disk] if disk else []
        key = " ".join(asked)
        if key not in self.steps:
            text = output([sluice, "predict", *asked, "--json"])
            self.steps[key] = json.loads(text)["step_s"] if text else None
            if self.path:
                with self.path.open("a") as file:
                    file.write(json.dumps([key, self.steps[key]]) + "\n")
        return self.steps[key]


def predict_all(known, sluice, job, builds, lent, effort, jobs):
    """Gives builds their predicted step, `jobs` at a time; drives of one GPU's builds lend `lent(drives)` bytes where memory is short."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        first = {build["kit"]: build for build in builds}
        in_memory = dict(zip(first, pool.map(lambda build: known.step_of(sluice, job, build, effort), first.values()), strict=True))
        for build in builds:
            build["step_s"] = in_memory[build["kit"]]
        short = [b for b in builds if b["step_s"] is None and b["devices"] == 1 and lent(b["drives"]) > 0]
        steps = pool.map(lambda build: known.step_of(sluice, job, build, effort, f"{lent(build['drives']) >> 20}MiB"), short)
        for build, step in zip(short, steps, strict=True):
            build["step_s"] = step


def compared(question, rows, builds):
    """By how much builds are better than the rows that cost no more: within the budget, and the worst of all."""
    rows = [row for row in rows if row["kind"] == "build" and row["fits"]]
    known = [build for build in builds if build.get("step_s") is not None]
    # The advice leaves out builds beside which, by a guess, another costs at most half again as much and is twice as fast.
    poor = [b for b in known if any(o["usd"] <= min(1.5 * b["usd"], max(b["usd"], question["budget"])) and 1.8 * o["step_s"] <= b["step_s"] for o in known)]
    worst = {"better": 0.0, "build": None}
    within = [build for build in known if build["usd"] <= question["budget"]]
    # Where nothing within the budget fits, the advice is the cheapest beyond it.
    for build in within:
        if build in poor:
            continue
        steps = [row["step_s"] for row in rows if row["buy_usd"] <= build["usd"] * (1 + 1e-9)]
        better = min(steps) / build["step_s"] - 1 if steps else float("inf")
        if better > worst["better"]:
            worst = {"better": better, "build": build["machine"], "usd": build["usd"]}
    found = [row for row in rows if row["buy_usd"] <= question["budget"]]
    best_row, best_build = (min(some, key=lambda one: one["step_s"], default=None) for some in (found, within))
    better = best_row["step_s"] / best_build["step_s"] - 1 if best_row and best_build else (float("inf") if best_build else 0.0)
    return {"fit": len(within), "poor": len(poor), "advised": best_row and best_row["machine"],
            "advised_step_s": best_row and best_row["step_s"], "best": best_build and best_build["machine"],
            "best_step_s": best_build and best_build["step_s"], "better_within_budget": better, "better_for_its_price": worst}


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


def checked(asked, number, parts, listed):
    """One question's advice beside the predictions of all builds of its catalogue."""
    question = QUESTIONS[number]
    begun, used = time.monotonic(), os.times()
    rng = random.Random(f"{asked.seed} {number}")
    names, builds = drawn_catalogue(asked.sluice, parts, listed["parts"], question, asked.builds, rng)
    job, advice, seconds = answered(asked.sluice, question, names, listed["parts"], listed["prices"], asked.seconds)
    parameters = json.loads(output([asked.sluice, "models", "show", question["model"], "--json"]))["parameters"]
    size = next(p["size_bytes"] for p in parts["ssds"] if f"ssd {p['name']}" in names)
    predict_all(KnownSteps(asked.steps), asked.sluice, job, builds, lambda drives: drives * size - 26 * parameters, asked.effort, asked.jobs)
    now = os.times()
    return {"seed": asked.seed, "most": asked.builds, "effort": asked.effort, "question": number, **question, "drawn": names,
            "builds": len(builds), "several": sum(build["devices"] > 1 for build in builds), "buy_s": round(seconds, 1),
            "all_s": round(time.monotonic() - begun, 1),
            "processor_s": round(now.children_user + now.children_system - used.children_user - used.children_system, 1),
            "open": advice["builds"]["open"], "verdict": advice["verdict"][0], **compared(question, advice["rows"], builds)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sluice", default="build/bin/sluice")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--question", type=int, action="append", choices=range(len(QUESTIONS)), help="only these")
    parser.add_argument("--builds", type=int, default=60, help="builds of a drawn catalogue at most")
    parser.add_argument("--seconds", help="for each advice; without it the advice depends on no clock")
    parser.add_argument("--effort", default="0.2", help="of the search for each build; the advice's own searches have 0.2")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="builds predicted at the same time")
    parser.add_argument("--steps", type=pathlib.Path, help="file that keeps each build's predicted step; those that it has already are not predicted again")
    parser.add_argument("--out", help="file of a line a finished question; questions that it has already are not asked again")
    asked = parser.parse_args()
    parts = json.loads(output([asked.sluice, "machines", "parts", "--json"]))
    listed = yaml.safe_load(PRICES.read_text())
    out = pathlib.Path(asked.out) if asked.out else None
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out and out.exists() else []
    same = {line["question"]: line for line in lines if (line["seed"], line["most"], line["effort"]) == (asked.seed, asked.builds, asked.effort)}
    answers = []
    for number in asked.question or range(len(QUESTIONS)):
        answer = same.get(number)
        if answer is None:
            with tempfile.TemporaryDirectory() as store:  # Nothing that was calibrated or kept here counts.
                os.environ["SLUICE_HOME"] = store
                answer = checked(asked, number, parts, listed)
            if out:
                with out.open("a") as file:
                    file.write(json.dumps(answer) + "\n")
        answers.append(answer)
        print(json.dumps(answer), flush=True)
    return 1 if any(max(a["better_within_budget"], a["better_for_its_price"]["better"]) > TOLERANCE for a in answers) else 0


if __name__ == "__main__":
    sys.exit(main())

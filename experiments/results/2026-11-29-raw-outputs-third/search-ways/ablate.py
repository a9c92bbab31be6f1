"""Switches parts of the search off; a part goes if no job's step becomes longer than the tolerance: ablate.py FOLDER SECONDS singles|together...

FOLDER holds `search_bench` and `sluice`, both with ways.patch, `ways.txt` (names of parts), `commands.txt` and `inputs/`. The first call runs
every job with the whole search. `singles` switches each part off by itself, until a job misses it; `together` switches off what no job missed,
all of it, and by halves where a job misses that. FOLDER/state.json goes on from where the last call ended."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time

FOLDER, END = pathlib.Path(sys.argv[1]).resolve(), time.monotonic() + float(sys.argv[2])
TOLERANCE = 0.002
SETS = {"listed": 26, "unclipped": 27, "2:12": 12, "3:14": 14, "4:14": 14, "tight": 6, "disk": 2, "once-slow": 6, "small": 14}
JOBS = {f"bench {name} {i} 1": (name, i, "1") for name, count in SETS.items() for i in range(count)}
JOBS |= {f"bench small {i} 0.13": ("small", i, "0.13") for i in range(SETS["small"])}
JOBS |= {f"cmd {line}": line for line in (FOLDER / "commands.txt").read_text().splitlines()}
STATE = FOLDER / "state.json"
state = json.loads(STATE.read_text()) if STATE.exists() else {"base": {}, "misses": {}, "single": {}, "kept": [], "off": []}
lock = threading.RLock()


def run(job, off):
    """Steps that the job finds with these parts off, the parts that its search comes to, and seconds of processor."""
    with tempfile.TemporaryDirectory() as folder:
        asked = pathlib.Path(folder, "asked")
        env = os.environ | {"WAYS_OFF": ",".join(off), "WAYS_LOG": str(asked), "SLUICE_HOME": folder, "HF_HOME": folder}
        if isinstance(JOBS[job], tuple):
            name, index, effort = JOBS[job]
            words = [FOLDER / "search_bench", "--jobs", name, effort]
            env["JOB"] = str(index)
        else:
            words = [FOLDER / "sluice", *shlex.split(JOBS[job])]
        before = time.monotonic()
        done = subprocess.run(words, env=env, cwd=FOLDER / "inputs", capture_output=True, text=True)
        took = time.monotonic() - before
        parts = sorted(set(asked.read_text().split())) if asked.exists() else []
    if isinstance(JOBS[job], str):
        return [float(done.returncode), *map(float, re.findall(r'"step_s": ([0-9.e+-]+)', done.stdout))], parts, took
    cpu, found = re.search(r"CPU +([0-9.]+) s +(.*)", done.stdout).groups()
    step = re.search(r"step +([0-9.]+) s", found)
    return [float(step[1])] if step else [-1.0, *map(float, re.findall(r"  ([0-9.]+) s", found))], parts, float(cpu)


def slower(before, now):
    if len(before) != len(now) or (before[0] <= 0) != (now[0] <= 0):
        return float("inf")
    return max((new / old - 1 for old, new in zip(before, now) if old > 0), default=0)


def in_parallel(next_task):
    """Does what next_task hands out, "wait" where nothing is to be done yet, until it hands out None."""

    def work():
        while time.monotonic() < END:
            with lock:
                task = next_task()
            if task is None:
                return
            time.sleep(0.02) if task == "wait" else task()

    threads = [threading.Thread(target=work) for _ in range(os.cpu_count())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    STATE.write_text(json.dumps(state))


def likely_first(job):
    return -state["misses"].get(job, 0), state["base"][job][2]


def run_base():
    left = [job for job in JOBS if job not in state["base"]]

    def task(job):
        state["base"][job] = run(job, [])

    in_parallel(lambda: (lambda job: lambda: task(job))(left.pop(0)) if left else None)


def miss(job, parts, by):
    state["misses"][job] = state["misses"].get(job, 0) + 1
    print(f"{'+'.join(parts)}: {job} misses it, {100 * by:+.2f} %", flush=True)


def singles(parts):
    runs = {part: {"left": [job for job, base in state["base"].items() if part in base[1]], "flying": 0} for part in parts if part not in state["single"]}

    def task(part, job):
        by = slower(state["base"][job][0], run(job, [part])[0])
        with lock:
            runs[part]["flying"] -= 1
            if by > TOLERANCE and part not in state["single"]:
                state["single"][part] = job
                miss(job, [part], by)

    def next_task():
        waiting = False
        for part, those in runs.items():
            if part in state["single"]:
                continue
            if not those["left"] and not those["flying"]:
                state["single"][part] = None
                print(f"{part}: no job misses it", flush=True)
                continue
            waiting = True
            if those["left"] and those["flying"] < 3:
                job = min(those["left"], key=likely_first)
                those["left"].remove(job)
                those["flying"] += 1
                return lambda part=part, job=job: task(part, job)
        return "wait" if waiting else None

    in_parallel(next_task)


def together(parts):
    left = sorted((job for job in JOBS if set(parts) & set(state["base"][job][1])), key=likely_first)
    missing, done = [], []

    def task(job):
        by = slower(state["base"][job][0], run(job, state["off"] + parts)[0])
        with lock:
            done.append(job)
            if by > TOLERANCE and not missing:
                missing.append(job)
                miss(job, parts, by)

    count = len(left)
    in_parallel(lambda: (lambda job: lambda: task(job))(left.pop(0)) if left and not missing else None)
    if not missing and len(done) == count:
        state["off"] += parts
        print(f"removed {'+'.join(parts)}: {count} jobs come to it", flush=True)
    elif missing and len(parts) > 1:
        half = (len(parts) + 1) // 2
        together(parts[:half])
        together(parts[half:])
    STATE.write_text(json.dumps(state))


run_base()
for phase in sys.argv[3:]:
    if phase == "singles":
        singles((FOLDER / "ways.txt").read_text().split())
    else:
        together([part for part, job in state["single"].items() if job is None and part not in state["off"]])

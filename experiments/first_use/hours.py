"""A new user's first hour, as three kinds of them have it: the commands of their start page, then what they try next.

    hours.py buyer|owner|researcher FOLDER

Runs in FOLDER, which it makes, with the `sluice` and `python` on PATH (an environment with the wheel): nothing of the repository but the
page itself is seen. Prints each command, its last lines, exit code and seconds. Exit 1 where a command of the page fails.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "start"
JOB = "--seq-len 4096 --batch-size 16"
SHOWN = 12  # Lines of each output.

#: What people of each kind try next; refusals are what is to be judged, so that their exit codes count for nothing.
THEN = {
    "buyer": [
        f"sluice predict --model Qwen/Qwen3-8B --machine 4090 {JOB}",
        f'sluice predict --model qwen3-8b --machine "RTX 4090" {JOB}',
        "sluice predict --model llama-3.1-8b --machine rtx-4090 --seq-len 4k --batch-size 16",
        f"sluice predict --model llama-3.1-70b --machine rtx-5090 {JOB}",
        f"sluice buy --model qwen3-8b {JOB} --tokens 50M --prices shop.yaml",
        f"sluice buy --model qwen3-8b {JOB} --tokens 50M --prices prices.yaml --budget '$6,000' --machines rtx-4090,rtx-5090 --seconds 5",
        "sluice machines show rtx-5090",
        "sluice help buy",
    ],
    "owner": [
        "sluice probe --quick",
        "sluice train chats.jsonl",
        "sluice init --model bytes-2m --data chats.jsonl --seq-len 128 --batch-size 4 -o chats.yaml",
        "sluice init --model Qwen/Qwen3-8B --data chats.jsonl --seq-len 2048 --batch-size 16 -o run.yaml",
        "sluice train run.yaml --dry-run",
        "sluice train small.yaml out=runs/small",
        "sluice train small.yaml out=runs/cuda --backend cuda",
        "sluice train sft.yaml --dry-run",
        "sluice trace runs/small",
        "mv runs/small elsewhere && cd / && sluice trace $OLDPWD/elsewhere",
        "sluice export elsewhere -o weights",
        "sluice doctor --deep",
        "python -m sluice.track elsewhere --to wandb --once",
    ],
    "researcher": [
        "sluice ablate prefetch.yaml --list",
        "sluice ablate prefetch.yaml -o ablations/prefetch && grep -c bold ablations/prefetch/plot.svg",
        "sluice ablate prefetch.yaml --on both -o ablations/both",
        "sluice ablate prefetch.yaml baseline.machine=h100 -o ablations/h100",
        "sluice predict --model qwen2.5-1.5b --machine rtx-4090 --seq-len 1024 --batch-size 16 --set machine.pcie=0.5x",
        "sluice sim graph.json --set links.pci=2x",
        "python -m sluice.chakra step.json -o step.et",
        "python -m sluice.nsys report.sqlite --range step model=qwen2.5-7b machine=h200 seq_len=1024 batch_size=32",
        'python -c "import sluice; sluice.predict(\'qwen2.5-7b\', \'h20\', seq_len=1024, batch_size=8)"',
        'python -c "import sluice; print(sluice.models().to_frame().head(3))"',
    ],
}

FINETUNING = """model_name_or_path: tiny
stage: sft
do_train: true
finetuning_type: full
dataset: alpaca.json
template: qwen
cutoff_len: 128
output_dir: saves/tiny
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
learning_rate: 1.0e-5
num_train_epochs: 1.0
lr_scheduler_type: cosine
bf16: true
"""


def files_of_people(folder):
    """Data and a training file as people have them."""
    chats = [{"messages": [{"role": "user", "content": f"{i} plus {i}?"}, {"role": "assistant", "content": f"{2 * i}."}]} for i in range(60)]
    (folder / "chats.jsonl").write_text("".join(json.dumps(chat) + "\n" for chat in chats))
    (folder / "alpaca.json").write_text(json.dumps([{"instruction": f"Double {i}", "input": "", "output": str(2 * i)} for i in range(40)]))
    (folder / "sft.yaml").write_text(FINETUNING)


def show(words, shown, folder):
    began = time.monotonic()
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
    lines = done.stdout.replace(str(folder), "$PWD").splitlines()
    print(f"$ {shown}", *([f"[{len(lines) - SHOWN} lines]"] if len(lines) > SHOWN else []), *(line[:200] for line in lines[-SHOWN:]), sep="\n")
    print(f"[exit {done.returncode}, {time.monotonic() - began:.1f} s]\n", flush=True)
    return done.returncode


def main():
    role, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True)
    os.environ["SLUICE_HOME"] = str(folder / "store")
    files_of_people(folder)
    failed = 0
    for kind, info, text in re.findall(r"^```([a-z]+)[ ]?([^\n]*)\n(.*?)^```$", (DOCS / f"{role}.md").read_text(), re.MULTILINE | re.DOTALL):
        if info.startswith("not-run:"):
            continue
        if kind == "yaml":
            (folder / info).write_text(text)
        else:
            failed |= show(["bash", "-euc", text] if kind == "sh" else ["python", "-c", text], text.strip(), folder)
    for line in THEN[role]:
        show(["bash", "-uc", line], line, folder)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

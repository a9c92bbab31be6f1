"""Training files of other programs, as they are: what runs, what is said of it, and what is refused all at once."""

import json
import re

import pytest
import running
from conftest import available_verbs
from small_run import CONFIG, TEXT, steps_in, write_model

engine = pytest.mark.skipif(
    "export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"
)

# The keys of LLaMA-Factory's examples of full fine-tuning.
LLAMA_FACTORY = """### model
model_name_or_path: model
trust_remote_code: true

### method
stage: sft
do_train: true
finetuning_type: full
deepspeed: examples/deepspeed/ds_z3_config.json  # choices: [ds_z0_config.json, ds_z2_config.json, ds_z3_config.json]

### dataset
dataset: identity,alpaca_en_demo
template: qwen3_nothink
cutoff_len: 64
max_samples: 1000
overwrite_cache: true
preprocessing_num_workers: 16
dataloader_num_workers: 4

### output
output_dir: saves/full
logging_steps: 10
save_steps: 500
plot_loss: true
overwrite_output_dir: true
save_only_model: false
report_to: none  # choices: [none, wandb, tensorboard, swanlab, mlflow]

### train
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
learning_rate: 1.0e-5
num_train_epochs: 3.0
lr_scheduler_type: cosine
warmup_ratio: 0.1
bf16: true
ddp_timeout: 180000000
resume_from_checkpoint: null
"""

PREDICTED = ["--machine", "h200", "--json"]


@pytest.fixture
def model(tmp_path):
    write_model(tmp_path / "model", CONFIG)
    return tmp_path / "model"


def errors(run):
    lines = run.err.splitlines()
    assert all(line.startswith(("sluice: error: ", "sluice: note: ")) for line in lines), lines
    return [line.removeprefix("sluice: error: ") for line in lines if line.startswith("sluice: error: ")]


def notes(run):
    return [line.removeprefix("sluice: note: ") for line in run.err.splitlines() if line.startswith("sluice: note: ")]


def test_a_llama_factory_example_is_read_as_it_is(run_sluice, model, tmp_path):
    (tmp_path / "full.yaml").write_text(LLAMA_FACTORY)
    run = run_sluice("predict", "full.yaml", *PREDICTED)
    assert run.json()["fits"] and errors(run) == []
    said = notes(run)
    for key in ("trust_remote_code", "do_train", "deepspeed", "overwrite_cache", "preprocessing_num_workers", "plot_loss"):
        assert sum(note.startswith(f"{key} is ignored: ") for note in said) == 1, key
    assert not [note for note in said if note.startswith(("resume_from", "save_only", "report_to"))]
    assert [note for note in said if note.startswith("defaults of LLaMA-Factory")][0].endswith(": optimizer.weight_decay 0")


def test_all_that_is_refused_is_said_at_once(run_sluice, model, tmp_path):
    (tmp_path / "wrong.yaml").write_text(
        "base_model: mdoel\ntrain_on_inputs: True\nsequence_length: 64\noptimizer: lion_8bit\n"
        "lr_scheduler: rex\ndatasets:\n  - path: a.jsonl\n    type: jeopardy\nlearning_rate: 2e-5x\n"
    )
    run = run_sluice("predict", "wrong.yaml", "seed=x", *PREDICTED, exit_code=2)
    found = errors(run)
    for start in (
        "wrong.yaml: line 2: train_on_inputs: is not done here (a key of axolotl)",
        'wrong.yaml: line 3: sequence_length: unknown key; did you mean "sequence_len"?',
        'wrong.yaml: line 4: optimizer: "lion_8bit" is not done here',
        'wrong.yaml: line 5: lr_scheduler: "rex" is not done here: nearest is polynomial',
        'wrong.yaml: line 6: datasets[0].type: "jeopardy" is not done here',
        'wrong.yaml: line 9: optimizer.lr: "2e-5x" is not a number',
        "seed: ",
        'model: "mdoel" ',
    ):
        assert [each for each in found if each.startswith(start)], (start, found)
    assert len(found) == 8


def test_a_word_of_the_command_line_mends_a_line_of_the_file(run_sluice, model, tmp_path):
    (tmp_path / "run.yaml").write_text("model: model\nseq_len: many\nbatch_size: 4\nfp16: true\n")
    run = run_sluice("predict", "run.yaml", *PREDICTED, exit_code=2)
    assert [each.split(": ")[2] for each in errors(run)] == ["seq_len", "fp16"]
    assert run_sluice("predict", "run.yaml", "--seq-len", "64", "fp16=False", *PREDICTED).json()["fits"]


def test_what_is_missing_is_said_at_once(run_sluice):
    found = errors(run_sluice("predict", "--machine", "h200", exit_code=2))
    assert [each.split(" is missing")[0] for each in found] == ["model", "seq_len", "batch_size"]


ADAPTERS = [
    "finetuning_type: lora\nlora_rank: 8\nlora_target: all\n",
    "adapter: qlora\nload_in_4bit: true\nlora_r: 32\nlora_alpha: 16\n",
    "use_peft: True\nlora_r: 16\n",
    "quantization_bit: 4\n",
    "finetuning_type: freeze\nfreeze_trainable_layers: 2\n",
    "lora_target_modules:\n  - q_proj\n  - v_proj\n",
]


@pytest.mark.parametrize("keys", ADAPTERS, ids=lambda keys: keys.split("\n")[0].replace(": ", "-").rstrip(":"))
def test_adapters_get_one_line_whose_command_works(run_sluice, model, tmp_path, keys):
    (tmp_path / "lora.yaml").write_text("model: model\nseq_len: 32\nbatch_size: 4\n" + keys)
    (line,) = errors(run_sluice("train", "lora.yaml", *PREDICTED, exit_code=2))
    assert "Sluice trains all weights, and adapters are coming" in line
    assert re.search(r"all 90\.\d K weights of \S+ take about 1\.\d+ MiB of host memory", line), line
    (words,) = re.findall(r"`sluice predict (.*?)`", line)
    run = run_sluice("predict", *words.split(), *PREDICTED)
    assert run.json()["fits"]
    assert len(notes(run)) == (1 if "lora_" in keys or "freeze_" in keys else 0)


@engine
def test_shares_become_steps(run_sluice, model, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "run.yaml").write_text(
        "model: model\ndataset: text.txt\ncutoff_len: 32\nper_device_train_batch_size: 4\nmax_steps: 10\n"
        "save_steps: 0.3\neval_steps: 0.5\nwarmup_steps: 0.2\nlr_scheduler_type: polynomial\n"
        "lr_scheduler_kwargs: {power: 2, lr_end: 0.0}\nlearning_rate: 1e-3\n"
        "data_format: text\nmachine: here\nbackend: host\noutput_dir: out\nfp16: False\n"
    )
    run_sluice("train", "run.yaml", "--hbm", "8MiB", "--host", "1GiB", "--json")
    assert steps_in(tmp_path / "out") == [3, 6, 9, 10]
    lines = [json.loads(line) for line in (tmp_path / "out/metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "val_loss" in line] == [5, 10]
    left = [1 - (step - 2) / 8 for step in range(3, 11)]
    assert [line["lr"] for line in lines] == pytest.approx([5e-4, 1e-3, *(1e-3 * each**2 for each in left)])


@engine
@pytest.mark.parametrize("columns", [30, 40, 80, 120, 200])
def test_a_bar_is_one_line_on_a_terminal_of_any_width(flags, tmp_path, columns):
    seen = running.on_terminal(["train", *flags, "steps=30", "out=run", "--no-checkpoint"], tmp_path, columns=columns)
    bars = [line for line in seen.replace("\x1b[K", "").split("\r") if "loss" in line]
    assert len(bars) >= 30
    assert max(len(bar.rstrip("\n")) for bar in bars) < columns, max(bars, key=len)
    if columns >= 80:
        assert all("tokens/s" in bar and "[" in bar for bar in bars), bars


@engine
def test_a_run_that_saves_nothing_names_no_checkpoints_and_hashes_where_asked(run_sluice, validate, flags, tmp_path):
    words = [*flags, "steps=3", "--no-checkpoint"]
    assert "checkpoints" not in run_sluice("train", *words, "--dry-run").out
    hashed = run_sluice("train", *words, "--json", "out=hashed").json()
    plain = run_sluice("train", *words, "--no-hashes", "--json", "out=plain").json()
    assert plain["weights_sha256"] is None and plain["state_sha256"] is None and hashed["weights_sha256"]
    assert plain["loss"] == hashed["loss"]
    validate(plain, "train-result")
    validate(tmp_path / "plain/manifest.json", "manifest")
    shown = run_sluice("train", *words, "--no-hashes", "out=shown").out
    assert "weights " not in shown and "loss" in shown

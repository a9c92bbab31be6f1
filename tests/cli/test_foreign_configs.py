"""Training files of other programs, as they are: what runs, what is said of it, and what is refused all at once."""

import json
import re

import pytest
import running
from chat_data import conversations, write_chat_model, write_jsonl
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


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


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


SMALL = ["machine=here", "backend=host", "--hbm", "8MiB", "--host", "1GiB", "--no-checkpoint", "--json"]


@engine
def test_a_llama_factory_example_trains_on_its_two_data_sets(run_sluice, tmp_path):
    pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
    pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")
    write_chat_model(tmp_path / "model")
    (tmp_path / "data").mkdir()
    for name, count in (("identity", 10), ("alpaca_en_demo", 30)):
        rows = [{"instruction": f"count to {i}", "input": "", "output": f"one two {i}"} for i in range(count)]
        (tmp_path / f"data/{name}.json").write_text(json.dumps(rows))
    registry = {name: {"file_name": f"{name}.json"} for name in ("identity", "alpaca_en_demo")}
    (tmp_path / "data/dataset_info.json").write_text(json.dumps(registry))
    (tmp_path / "full.yaml").write_text(LLAMA_FACTORY.replace("max_samples: 1000", "max_samples: 20"))
    done = run_sluice("train", "full.yaml", *SMALL).json()
    # 10 rows of one and 20 of the other, of which one is validation; two of them a step, three times.
    assert done["steps"] == 44 and done["run"] == "saves/full"
    assert metrics(tmp_path / "saves/full")[-1]["loss"] < metrics(tmp_path / "saves/full")[0]["loss"]


AXOLOTL = """base_model: model
model_type: LlamaForCausalLM
tokenizer_type: AutoTokenizer
load_in_8bit: false
load_in_4bit: false
strict: false
chat_template: tokenizer_default
datasets:
  - path: chat.jsonl
    type: chat_template
    field_messages: talk
    message_property_mappings:
      role: who
      content: words
    roles:
      assistant: [bot]
      user: [me]
      system: [rules]
dataset_prepared_path: last_run_prepared
val_set_size: 0.05
output_dir: ./outputs/out
sequence_len: 128
sample_packing: true
pad_to_sequence_len: true
wandb_project:
gradient_accumulation_steps: 2
micro_batch_size: 1
num_epochs: 2
optimizer: paged_adamw_8bit
lr_scheduler: cosine
learning_rate: 2e-3
train_on_inputs: false
bf16: auto
fp16:
tf32: false
gradient_checkpointing: true
gradient_checkpointing_kwargs:
  use_reentrant: false
resume_from_checkpoint:
logging_steps: 1
flash_attention: true
warmup_ratio: 0.1
evals_per_epoch: 2
saves_per_epoch: 1
weight_decay: 0.0
fsdp:
fsdp_config:
special_tokens:
  pad_token: <|endoftext|>
"""


@engine
def test_an_axolotl_example_trains_as_the_same_rows_by_our_names_do(run_sluice, tmp_path):
    pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
    pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")
    write_chat_model(tmp_path / "model")
    talks = conversations(60)
    theirs = {"user": "me", "assistant": "bot", "system": "rules"}
    write_jsonl(
        tmp_path / "chat.jsonl",
        [{"talk": [{"who": theirs[each["role"]], "words": each["content"]} for each in talk]} for talk in talks],
    )
    write_jsonl(tmp_path / "plain.jsonl", [{"messages": talk} for talk in talks])
    (tmp_path / "axolotl.yaml").write_text(AXOLOTL)
    one = run_sluice("train", "axolotl.yaml", *SMALL).json()
    lines = metrics(tmp_path / "outputs/out")
    assert lines[-1]["loss"] < lines[0]["loss"] and len([each for each in lines if "val_loss" in each]) >= 4
    other = run_sluice(
        "train", "--model", "model", "--data", "plain.jsonl", "--seq-len", "128", "--batch-size", "2", "epochs=2",
        "packing=documents", "optimizer.lr=2e-3", "optimizer.weight_decay=0", "schedule=cosine",
        "schedule.warmup_fraction=0.1", "evaluate_every=0.5 epochs", "out=ours", *SMALL,
    ).json()  # fmt: skip
    assert one["loss"] == other["loss"] and one["weights_sha256"] == other["weights_sha256"]


@engine
def test_what_axolotl_says_of_the_tokenizer_must_be_so(run_sluice, tmp_path):
    pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
    pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")
    write_chat_model(tmp_path / "model")
    write_jsonl(tmp_path / "chat.jsonl", [{"messages": talk} for talk in conversations(20)])
    write_jsonl(tmp_path / "text.jsonl", [{"text": "red is good. " * 20}] * 20)
    run = "base_model: model\ndatasets: [{path: chat.jsonl, type: chat_template}]\nsequence_len: 64\n"
    right = 'special_tokens: {eos_token: "<|im_end|>", pad_token: <p>}\neot_tokens: ["<|im_end|>"]\ntokens: ["<|im_start|>"]\n'
    (tmp_path / "right.yaml").write_text(run + right)
    run_sluice("data", "right.yaml")
    (tmp_path / "wrong.yaml").write_text(
        run + "special_tokens: {bos_token: <s>, additional_special_tokens: [<a>]}\neot_tokens: [<e>]\ntokens: [<b>]\n"
    )
    found = errors(run_sluice("data", "wrong.yaml", exit_code=2))
    for said in ('special_tokens.bos_token: is "<s>", and the tokenizer of model has none: write', 'additional_special_tokens: "<a>" is no token',
                 'eot_tokens: the chat template', 'tokens: "<b>" is no token of model: add it to the model\'s folder first'):  # fmt: skip
        assert any(said in line for line in found), said
    # Texts end with the tokenizer's own token, whatever a template writes.
    (tmp_path / "text.yaml").write_text(run.replace("chat.jsonl, type: chat_template", "text.jsonl, type: completion") + right)
    (line,) = errors(run_sluice("data", "text.yaml", exit_code=2))
    assert 'special_tokens.eos_token: is "<|im_end|>", and the tokenizer of model has "<|endoftext|>"' in line


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
    lines = metrics(tmp_path / "out")
    assert [line["step"] for line in lines if "val_loss" in line] == [5, 10]
    left = [1 - (step - 2) / 8 for step in range(3, 11)]
    assert [line["lr"] for line in lines] == pytest.approx([5e-4, 1e-3, *(1e-3 * each**2 for each in left)])


@engine
@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_bar_is_one_line_on_a_terminal_of_any_width(flags, tmp_path, columns):
    seen = running.on_terminal(["train", *flags, "steps=30", "out=run", "--no-checkpoint"], tmp_path, columns=columns)
    bars = [line for line in seen.replace("\x1b[K", "").split("\r") if "loss" in line]
    assert len(bars) >= 30
    assert max(len(bar.rstrip("\n")) for bar in bars) < columns, max(bars, key=len)
    assert all("tokens/s" in bar for bar in bars) == (columns >= 80), bars
    assert all("[" in bar for bar in bars) or columns < 120, bars


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
    assert not re.search("weights [0-9a-f]{64}", shown) and "loss" in shown

"""A run keeps what it trained with: its config.json, tokenizer and chat template are used whatever became of the model's
folder, the template's file and the working folder."""

import hashlib
import json
import shutil

import pytest
from chat_data import conversations, write_chat_model, write_jsonl
from chat_templates import CHATML
from conftest import available_verbs
from model_fixtures import write_folder
from small_run import CONFIG, bits, small_flags

pytestmark = pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")
HOST = ["--machine", "here", "--backend", "host"]
OWN = CHATML.replace("<|im_start|>", "<|im_start|>OWN ")
OTHER = CHATML.replace("<|im_start|>", "<|im_start|>changed ")


@pytest.fixture
def project(tmp_path):
    """The folder in which runs are started, and another one in which the same names lead to other things."""
    for name in ("project", "other"):
        (tmp_path / name).mkdir()
    return tmp_path / "project"


def loss_of(run_sluice, subject, text, cwd):
    return run_sluice("eval", subject, "--data", text, "--seq-len", "32", *HOST, "--json", cwd=cwd).json()["loss"]


def test_eval_and_generate_take_the_config_that_the_run_trained_with(run_sluice, refuses, project):
    flags = [*small_flags(project, "model"), "steps=4", "out=run"]
    folder = write_folder(project / "model")
    run_sluice("train", *flags, cwd=project)
    text, run = project / "text.txt", project / "run"
    run_sluice("export", "run", "-o", "out", "--dtype", "fp32", cwd=project)
    expected = loss_of(run_sluice, "out", text, project)
    assert loss_of(run_sluice, "run", text, project) == expected

    changed = {**CONFIG, "rope_theta": 3.0, "rms_norm_eps": 0.5}
    other = write_folder(project.parent / "other" / "model", changed).parent
    assert loss_of(run_sluice, run, text, other) == expected
    (folder / "config.json").write_text(json.dumps(changed))
    assert loss_of(run_sluice, "run", text, project) == expected
    assert loss_of(run_sluice, "run/checkpoints/step-4", text, project) == expected
    words = ["eval", "run", "--data", text, "--seq-len", "32", *HOST]
    refuses([*words, "--model", "model"], "is not the model of run/checkpoints/step-4", "leave model= out", cwd=project)
    shutil.rmtree(folder)
    assert loss_of(run_sluice, "run", text, project) == expected
    said = [run_sluice("generate", subject, "--prompt", "one", "--max-new-tokens", "4", *HOST, "--json", cwd=project).json()
            for subject in ("run", "out")]  # fmt: skip
    assert said[0]["ids"] == said[1]["ids"] and said[0]["model"] == "model"


@pytest.mark.parametrize("tokenizer", [False, True])
def test_a_run_goes_on_from_anywhere_without_its_models_folder(run_sluice, project, tokenizer):
    flags = [*small_flags(project, "model"), "evaluate_every=0"]
    config = {**CONFIG, "vocab_size": 300}
    write_folder(project / "model", config, weights=tokenizer, tokenizer=tokenizer)
    run_sluice("train", *flags, "steps=6", "out=whole", cwd=project)
    run_sluice("train", *flags, "steps=3", "out=run", cwd=project)
    assert f'working_folder: "{project}"' in (project / "run/run.yaml").read_text()
    other = write_folder(project.parent / "other" / "model", {**config, "rope_theta": 3.0}, tokenizer=tokenizer).parent
    (other / "text.txt").write_text("others " * 900)
    shutil.rmtree(project / "model")
    run_sluice("data", project / "run", "--rows", "0", cwd=other)
    run_sluice("train", project / "run", "--resume", "steps=5", cwd=other)
    run_sluice("train", "run/run.yaml", "--resume", "steps=6", cwd=project)
    assert bits(project / "run") == bits(project / "whole")
    run_sluice("trace", project / "run", cwd=other)
    said = run_sluice("generate", project / "run", "--prompt", "one", "--max-new-tokens", "2", *HOST, "--json", cwd=other).json()
    again = run_sluice("generate", "run/checkpoints/step-6", "--prompt", "one", "--max-new-tokens", "2", *HOST, "--json", cwd=project)
    assert said["ids"] == again.json()["ids"]


def test_another_model_on_the_command_line_is_not_passed_over(run_sluice, refuses, project):
    flags = [*small_flags(project, "model"), "steps=2", "out=run"]
    write_folder(project / "model")
    write_folder(project / "wide", {**CONFIG, "intermediate_size": 96})
    run_sluice("train", *flags, cwd=project)
    refuses(["train", "run", "--resume", "steps=3", "model=wide"], "is of another job", cwd=project)


@pytest.fixture
def chat_flags(project):
    pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")
    pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
    write_jsonl(project / "chat.jsonl", [{"messages": each} for each in conversations(24)])
    (project / "own.jinja").write_text(OWN)
    return ["--model", "model", "--data", "chat.jsonl", *HOST, "--seq-len", "64", "--batch-size", "4", "template=own.jinja",
            "optimizer.lr=0.003", "evaluate_every=0"]  # fmt: skip


def ids(run_sluice, subject, cwd, *words):
    words = [*words, "--prompt", "red?", "--max-new-tokens", "2", *HOST, "--json"]
    return run_sluice("generate", subject, "--chat", *words, cwd=cwd).json()["prompt_ids"]


@pytest.mark.parametrize("place", ["none", "tokenizer_config.json", "chat_template.jinja"])
def test_a_run_keeps_and_exports_the_template_that_it_trained_with(run_sluice, project, chat_flags, place):
    tokenizer = write_chat_model(project / "model", template=CHATML if place == "tokenizer_config.json" else None)
    if place == "chat_template.jinja":
        (project / "model" / place).write_text(CHATML)
    run_sluice("train", *chat_flags, "steps=2", "out=whole", cwd=project)
    run_sluice("train", *chat_flags, "steps=1", "out=run", cwd=project)
    expected = tokenizer.encode("<|im_start|>OWN user\nred?<|im_end|>\n<|im_start|>OWN assistant\n", add_special_tokens=False).ids
    run_sluice("export", "run", "-o", "out", cwd=project)
    assert (project / "out/chat_template.jinja").read_text() == OWN
    # Programs that know no chat_template.jinja read the one of tokenizer_config.json.
    kept = json.loads((project / "out/tokenizer_config.json").read_text())["chat_template"]
    assert kept == OWN
    other = project.parent / "other"
    (other / "own.jinja").write_text(OTHER)
    for spoil in ((project / "own.jinja").write_text, lambda text: (project / "own.jinja").unlink()):
        spoil(OTHER)
        for subject in ("run", "run/checkpoints/step-1", "out"):
            assert ids(run_sluice, subject, project) == expected
        assert ids(run_sluice, project / "run", other) == expected
    assert ids(run_sluice, project / "run", other, "template=own.jinja") != expected
    run_sluice("train", project / "run", "--resume", "steps=2", cwd=other)
    assert bits(project / "run") == bits(project / "whole")
    words = ["run" if word == "model" else word for word in chat_flags if word != "template=own.jinja"]
    said = run_sluice("data", *words, "--rows", "1", "--json", cwd=project).json()
    assert said["template"].endswith("run/tokenizer") and "OWN" in said["rows"][0]["text"][0]["text"]


def test_a_template_for_tools_beside_the_folders_own_is_kept(run_sluice, project, chat_flags):
    write_chat_model(project / "model")
    (project / "model/chat_template.jinja").write_text(CHATML)
    (project / "model/additional_chat_templates").mkdir()
    (project / "model/additional_chat_templates/tool_use.jinja").write_text(OWN)
    flags = [word for word in chat_flags if word != "template=own.jinja"]
    run_sluice("train", *flags, "steps=1", "out=run", cwd=project)
    shutil.rmtree(project / "model")
    run_sluice("train", "run", "--resume", "steps=2", cwd=project)
    run_sluice("export", "run", "-o", "out", cwd=project)
    assert (project / "out/additional_chat_templates/tool_use.jinja").read_text() == OWN


def without_facts(manifest, *names):
    """Makes a checkpoint.json one that an earlier version wrote, which knew no such facts."""
    body = json.loads(manifest.read_text())
    for name in ("hash", *names):
        body.pop(name, None)
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    manifest.write_text(json.dumps({**body, "hash": hashlib.sha256(text.encode()).hexdigest()}))


def test_a_run_that_kept_no_template_reads_the_one_that_it_names_and_says_so(run_sluice, project, chat_flags):
    write_chat_model(project / "model")
    run_sluice("train", *chat_flags, "steps=2", "out=whole", cwd=project)
    run_sluice("train", *chat_flags, "steps=1", "out=run", cwd=project)
    (project / "run/tokenizer/chat_template.jinja").unlink()
    words = ["generate", "run", "--chat", "--prompt", "red?", "--max-new-tokens", "2", *HOST, "--json"]
    said = run_sluice(*words, cwd=project)
    assert "has changed" not in said.err and "as it is now" not in said.err
    (project / "own.jinja").write_text(OTHER)
    changed = "template: the text of own.jinja has changed since the run trained with it"
    other = run_sluice(*words, cwd=project)
    assert changed in other.err and other.json()["prompt_ids"] != said.json()["prompt_ids"]
    assert changed in run_sluice("data", "run", "--json", cwd=project).err
    refused = run_sluice("train", "run", "--resume", "steps=2", cwd=project, exit_code=2).err
    assert "is of another text of the template own.jinja" in refused and "put the old text back" in refused

    without_facts(project / "run/checkpoints/step-1/checkpoint.json", "template_sha256", "jinja2")
    assert "note: template: own.jinja is read as it is now" in run_sluice(*words, cwd=project).err
    refused = run_sluice("train", "run", "--resume", "steps=2", cwd=project, exit_code=2).err
    assert "the template own.jinja, which the run keeps no copy of" in refused
    (project / "own.jinja").write_text(OWN)
    run_sluice("train", "run", "--resume", "steps=2", cwd=project)
    assert bits(project / "run") == bits(project / "whole")
